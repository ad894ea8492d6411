"""Checkpoints: all that a run needs to go on as if nothing had happened.

One sealed file holds the weights, the state of the optimiser, the best weights so far and how far the run
has come. Random numbers need no state: those of a step are a function of the seed and the number of the
step. The last two files are kept; the newest whole one wins.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from ccn import sealed
from ccn.errors import FileError

__all__ = ["Progress", "load", "save"]

FORM, VERSION = "ccn checkpoint", 1


@dataclass
class Progress:
    """How far a run has come.

    Attributes:
        epoch, batch: the batch to be done next.
        step: steps done.
        loss, weight: sums over the batches of this epoch so far.
        best, best_epoch: of the figure that is watched.
        history: one row per epoch done.
        seconds: training time so far.
        ended: why the run is over: ``epochs``, ``patience``; empty while it is not.
        earlier: of these seconds, those before the run was last resumed.

    """

    epoch: int = 0
    batch: int = 0
    step: int = 0
    loss: float = 0.0
    weight: float = 0.0
    best: float | None = None
    best_epoch: int = -1
    seconds: float = 0.0
    ended: str = ""
    earlier: float = 0.0
    history: list[dict[str, float]] = field(default_factory=list)


def _files(folder: Path) -> list[Path]:
    """The checkpoints of a folder, newest first."""
    return sorted(folder.glob("checkpoint-*.safetensors"), reverse=True)


def save(
    folder: Path,
    progress: Progress,
    net: nn.Module,
    best: Mapping[str, Tensor],
    optimiser: torch.optim.Optimizer,
    run: str,
) -> None:
    """Write a checkpoint; ``run`` is the fingerprint of what is being run."""
    state = optimiser.state_dict()
    tensors = {f"net.{k}": v for k, v in net.state_dict().items()} | {f"best.{k}": v for k, v in best.items()}
    numbers: dict[str, dict[str, Any]] = {}
    for i, values in state["state"].items():
        for key, value in values.items():
            if isinstance(value, Tensor):
                tensors[f"optimiser.{i}.{key}"] = value
            else:
                numbers.setdefault(str(i), {})[key] = value
    data = {"run": run, "progress": asdict(progress), "groups": state["param_groups"], "numbers": numbers}
    # Two checkpoints of one step differ in their progress: the end of an epoch adds its evaluation.
    name = f"checkpoint-{progress.epoch:06d}-{progress.batch:08d}.safetensors"
    sealed.write(folder / name, FORM, VERSION, tensors, data)
    # This one and the one before it are kept. A newer one is left from what a broken file made the run do again.
    before = [path for path in _files(folder) if path.name < name]
    for path in _files(folder):
        if path.name != name and path not in before[:1]:
            path.unlink()


def _whole(folder: Path) -> Iterator[tuple[dict[str, Tensor], dict[str, Any]]]:
    for path in _files(folder):
        try:
            held = sealed.read(path, {FORM: VERSION})
        except FileError:
            continue  # truncated or altered: the one before it serves
        yield held.tensors, held.data


def load(
    folder: Path, net: nn.Module, optimiser: torch.optim.Optimizer, run: str
) -> tuple[Progress, dict[str, Tensor]] | None:
    """Put the newest whole checkpoint into the network and the optimiser; progress and best weights, or None."""
    for tensors, data in _whole(folder):
        if data["run"] != run:
            raise FileError(
                f"{folder}: the run there has other settings, seed or data; go on with those, or begin in a new folder"
            )
        parts: dict[str, dict[str, Tensor]] = {"net": {}, "best": {}, "optimiser": {}}
        for key, value in tensors.items():
            part, _, name = key.partition(".")
            parts[part][name] = value
        net.load_state_dict(parts["net"])
        state: dict[int, dict[str, Any]] = {int(i): dict(values) for i, values in data["numbers"].items()}
        for key, value in parts["optimiser"].items():
            i, _, name = key.partition(".")
            state.setdefault(int(i), {})[name] = value
        optimiser.load_state_dict({"state": state, "param_groups": data["groups"]})
        progress = Progress(**data["progress"])
        progress.earlier = progress.seconds
        return progress, parts["best"]
    return None
