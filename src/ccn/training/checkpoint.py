"""What a run writes into its folder: checkpoints, the history and, if wanted, a TensorBoard log.

A checkpoint is one sealed file with the weights, the state of the optimiser, the best weights so far and the progress
of the run. Random numbers need no state: those of a step are a function of the seed and the number of the step. The
last two checkpoints are kept; a run is resumed from the newest intact one.
"""

from __future__ import annotations

import csv
import io
import os
import socket
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from ccn import sealed
from ccn.errors import ConfigurationError, FileError, needs
from ccn.files import write_atomically
from ccn.learning.fitted import under
from ccn.settings import Checked, setting

__all__ = ["Progress", "files", "load", "need_tensorboard", "save", "tensorboard", "write_history"]

FORM, VERSION = "ccn checkpoint", 1
_MOST = 2**53  # of steps; larger integers are no floats


@dataclass
class Progress(Checked):
    """How far a run has come."""

    epoch: int = setting(0, "The next epoch.", least=0, below=_MOST)
    batch: int = setting(0, "The next batch of it.", least=0, below=_MOST)
    step: int = setting(0, "Steps done.", least=0, below=_MOST)
    loss: float = setting(0.0, "Sum over the batches of this epoch so far.")
    weight: float = setting(0.0, "Sum over the batches of this epoch so far.")
    best: float | None = setting(None, "Best value of the monitored metric.")
    best_epoch: int = setting(-1, "Its epoch.", least=-1, below=_MOST)
    seconds: float = setting(0.0, "Training time so far.")
    ended: str = setting("", "Why the run is over: epochs, patience, time limit or validation loss rose; else empty.")
    earlier: float = setting(0.0, "Of these seconds, those before the run was last resumed.")
    history: list[dict[str, float]] = field(default_factory=list)
    """One row per completed epoch."""


def files(folder: Path) -> list[Path]:
    """The checkpoints of a folder, newest first."""
    return sorted(filter(Path.is_file, folder.glob("checkpoint-*.safetensors")), reverse=True)


def save(
    folder: Path,
    progress: Progress,
    net: nn.Module,
    best: Mapping[str, Tensor],
    optimiser: torch.optim.Optimizer,
    run: str,
) -> None:
    """Write a checkpoint; ``run`` is the fingerprint of the run."""
    tensors = {f"net.{k}": v for k, v in net.state_dict().items()} | {f"best.{k}": v for k, v in best.items()}
    for i, values in optimiser.state_dict()["state"].items():
        tensors |= {f"optimiser.{i}.{key}": value for key, value in values.items()}
    data = {"run": run, "progress": asdict(progress)}
    # Two checkpoints of one step differ in their progress: the end of an epoch adds its evaluation.
    name = f"checkpoint-{progress.epoch:06d}-{progress.batch:08d}.safetensors"
    while (folder / name).is_dir():  # not ours
        name = name.replace(".", "-0.")
    sealed.write(folder / name, FORM, VERSION, tensors, data)
    # This one and the one before it are kept. A newer one precedes a resume from the one before a damaged file.
    before = [path for path in files(folder) if path.name < name]
    for path in files(folder):
        if path.name != name and path not in before[:1]:
            path.unlink()


def load(
    folder: Path, net: nn.Module, optimiser: torch.optim.Optimizer, run: str
) -> tuple[Progress, dict[str, Tensor]] | None:
    """Load the newest intact checkpoint into the network and the optimiser; progress and best weights, or None.

    A file that was truncated or altered, or that does not fit the network and the optimiser, is passed over.
    """
    there = files(folder)
    for place, path in enumerate(there):
        try:
            held = sealed.read(path, {FORM: VERSION})
        except FileError:
            continue
        if isinstance(name := held.data.get("run"), str) and name != run:
            raise FileError(
                f"{folder}: the run there has other settings, seed or data; resume it with those, or choose another"
            )
        try:
            progress, weights, best, state = _checked(held, net, optimiser)
        except (AttributeError, ConfigurationError, IndexError, KeyError, TypeError, ValueError):
            continue
        net.load_state_dict(weights)
        # The settings of the groups belong to the run, and the learning rate is set at every step.
        optimiser.load_state_dict({"state": state, "param_groups": optimiser.state_dict()["param_groups"]})
        progress.earlier = progress.seconds
        for older in there[place + 2 :]:  # left by a run that was killed before it removed them
            older.unlink(missing_ok=True)
        return progress, best
    return None


_Weights = dict[str, Tensor]


def _checked(
    held: sealed.Sealed, net: nn.Module, optimiser: torch.optim.Optimizer
) -> tuple[Progress, _Weights, _Weights, dict[int, _Weights]]:
    """Progress, weights, best weights and the state of the optimiser; an error unless all of them can be loaded."""
    weights, best, moments = (under(f"{part}.", held.tensors) for part in ("net", "best", "optimiser"))
    if len(weights) + len(best) + len(moments) < len(held.tensors):
        raise ValueError("tensors of something else")
    shapes = {k: v.shape for k, v in net.state_dict().items()}
    for given in (weights, best or weights):  # there is no best before the end of an epoch
        if {k: v.shape for k, v in given.items()} != shapes:
            raise ValueError("weights of another network")
    parameters = [p for group in optimiser.param_groups for p in group["params"]]
    state: dict[int, _Weights] = {}
    for key, value in moments.items():
        i, _, name = key.partition(".")
        if value.shape != (() if name == "step" else parameters[int(i)].shape):
            raise ValueError("the state of another optimiser")
        state.setdefault(int(i), {})[name] = value
    kinds = {frozenset(values) for values in state.values()}
    adam = isinstance(optimiser, torch.optim.Adam | torch.optim.AdamW)
    if kinds - {frozenset(("step", "exp_avg", "exp_avg_sq") if adam else ("momentum_buffer",))}:
        raise ValueError("the state of another optimiser")
    if "run" not in held.data:
        raise ValueError("of no run")
    return _progress(held.data["progress"]), weights, best, state


def _progress(data: Mapping[str, Any]) -> Progress:
    """The progress in a checkpoint; an error unless every field has its type."""
    made = Progress(**data)
    if made.step < made.batch:
        raise ValueError("fewer steps than batches")
    if not isinstance(made.history, list):
        raise TypeError("the history is not a list")
    for row in made.history:
        if not all(isinstance(x, float) or (isinstance(x, int) and abs(x) < _MOST) for x in row.values()):
            raise TypeError("the history is not a table of numbers")
        if "validation_loss" not in row and any(name.startswith("validation_") for name in row):
            raise TypeError("the history has metrics of the validation part, but not its loss")
    return made


def write_history(path: Path, rows: Sequence[Mapping[str, float]]) -> None:
    """Write ``history.csv`` anew, so that it never has more rows than the run has epochs."""
    text = io.StringIO()
    names = dict.fromkeys(name for row in rows for name in row)  # those of a checkpoint may be other ones
    table = csv.DictWriter(text, fieldnames=list(names) or ["epoch"], lineterminator="\n")
    table.writeheader()
    table.writerows(rows)
    write_atomically(path, text.getvalue().encode())


def need_tensorboard() -> Any:
    """The module that makes summaries for TensorBoard, or an error that says how to install it."""
    with needs("a TensorBoard log", "tensorboard"):
        from torch.utils.tensorboard import summary
    return summary


@contextmanager
def tensorboard(folder: Path | None) -> Iterator[Any]:
    """A function that writes a row of the history to TensorBoard; without a folder it does nothing.

    Records are written here and not by TensorBoard's own thread, which shows a traceback where the disk is full.
    """
    if folder is None:
        yield lambda row: None
        return
    summary = need_tensorboard()
    from tensorboard.compat.proto.event_pb2 import Event
    from tensorboard.summary.writer.record_writer import RecordWriter

    path = folder / f"events.out.tfevents.{time.time():.0f}.{socket.gethostname()}.{os.getpid()}"

    def write(*events: Any) -> None:
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with path.open("ab") as file:
                records = RecordWriter(file)
                for event in events:
                    records.write(event.SerializeToString())
        except OSError as error:
            raise FileError(f"{path}: cannot be written ({error.strerror or error}); free space") from error

    def log(row: Mapping[str, float]) -> None:
        about: Any = {"wall_time": time.time(), "step": int(row["epoch"])}
        write(*(Event(summary=summary.scalar(name, value), **about) for name, value in row.items()))

    write(Event(wall_time=time.time(), file_version="brain.Event:2"))
    yield log
