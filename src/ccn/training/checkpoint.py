"""What a run writes into its folder: checkpoints, the history and, if wanted, a TensorBoard log.

A checkpoint is one sealed file with the weights, the state of the optimiser, the best weights so far and the progress
of the run. Random numbers need no state: those of a step are a function of the seed and the number of the step. The
last two checkpoints are kept; a run is resumed from the newest intact one.
"""

from __future__ import annotations

import csv
import io
import math
import os
import socket
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from ccn import sealed
from ccn.errors import DependencyError, FileError
from ccn.files import write_atomically

__all__ = ["Progress", "files", "load", "need_tensorboard", "save", "tensorboard", "write_history"]

FORM, VERSION = "ccn checkpoint", 1


@dataclass
class Progress:
    """How far a run has come.

    Attributes:
        epoch, batch: the next batch.
        step: steps done.
        loss, weight: sums over the batches of this epoch so far.
        best, best_epoch: of the monitored metric.
        history: one row per completed epoch.
        seconds: training time so far.
        ended: why the run is over: ``epochs``, ``patience``, ``time limit`` or ``validation loss rose``; else empty.
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
    found = files(folder)
    for place, path in enumerate(found):
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
        except (AttributeError, IndexError, KeyError, TypeError, ValueError):
            continue
        net.load_state_dict(weights)
        # The settings of the groups belong to the run, and the learning rate is set at every step.
        optimiser.load_state_dict({"state": state, "param_groups": optimiser.state_dict()["param_groups"]})
        progress.earlier = progress.seconds
        for older in found[place + 2 :]:  # left by a run that was killed before it removed them
            older.unlink(missing_ok=True)
        return progress, best
    return None


_Weights = dict[str, Tensor]


def _checked(
    held: sealed.Sealed, net: nn.Module, optimiser: torch.optim.Optimizer
) -> tuple[Progress, _Weights, _Weights, dict[int, _Weights]]:
    """Progress, weights, best weights and the state of the optimiser; an error unless all of them can be loaded."""
    parts: dict[str, _Weights] = {"net": {}, "best": {}, "optimiser": {}}
    for key, value in held.tensors.items():
        part, _, name = key.partition(".")
        parts[part][name] = value
    shapes = {k: v.shape for k, v in net.state_dict().items()}
    for weights in filter(None, (parts["net"], parts["best"])):  # there is no best before the end of an epoch
        if {k: v.shape for k, v in weights.items()} != shapes:
            raise ValueError("weights of another network")
    parameters = [p for group in optimiser.param_groups for p in group["params"]]
    state: dict[int, _Weights] = {}
    for key, value in parts["optimiser"].items():
        i, _, name = key.partition(".")
        if value.shape != (() if name == "step" else parameters[int(i)].shape):
            raise ValueError("the state of another optimiser")
        state.setdefault(int(i), {})[name] = value
    kinds = {frozenset(values) for values in state.values()}
    adam = isinstance(optimiser, torch.optim.Adam | torch.optim.AdamW)
    if not parts["net"] or kinds - {frozenset(("step", "exp_avg", "exp_avg_sq") if adam else ("momentum_buffer",))}:
        raise ValueError("the state of another network or optimiser")
    if "run" not in held.data:
        raise ValueError("of no run")
    return _progress(held.data["progress"]), parts["net"], parts["best"], state


def _progress(data: Mapping[str, Any]) -> Progress:
    """The progress in a checkpoint; an error unless every field has its type."""
    made, usual = Progress(**data), Progress(best=0.0)
    for f in fields(Progress):
        value, kind = getattr(made, f.name), type(getattr(usual, f.name))
        fits = _small(value) and abs(value) < math.inf if kind is float else isinstance(value, kind)
        if not (fits or (f.name == "best" and value is None)):
            raise TypeError(f"{f.name} is not a {kind.__name__}")
    for number in (made.epoch, made.batch, made.step, made.best_epoch + 1):
        if not 0 <= number < 2**53:
            raise ValueError("a negative number of steps, or one that no run has")
    if made.step < made.batch:
        raise ValueError("fewer steps than batches")
    for row in made.history:
        if not all(map(_small, row.values())):
            raise TypeError("the history is not a table of numbers")
        if "validation_loss" not in row and any(name.startswith("validation_") for name in row):
            raise TypeError("the history has metrics of the validation part, but not its loss")
    return made


def _small(value: Any) -> bool:
    """Whether a value is a number that a float can be."""
    return isinstance(value, float) or (isinstance(value, int) and abs(value) < 2**53)


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
    try:
        from torch.utils.tensorboard import summary
    except ImportError:
        raise DependencyError("a TensorBoard log needs TensorBoard: pip install tensorboard") from None
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
