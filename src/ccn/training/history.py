"""What is told of a run while it runs: a plain table, a bar on the terminal, and TensorBoard if wanted."""

from __future__ import annotations

import csv
import io
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

from ccn.errors import DependencyError
from ccn.files import write_atomically

__all__ = ["Tell", "need_tensorboard", "progress_bar", "tensorboard", "write_history"]


class Tell(Protocol):
    """Told of every batch done and of every epoch's row."""

    def __call__(self, done: int, row: Mapping[str, float] | None = None) -> None: ...


def write_history(path: Path, rows: Sequence[Mapping[str, float]]) -> None:
    """Write ``history.csv``: the table as a whole, so that it never has more rows than the run has epochs."""
    text = io.StringIO()
    table = csv.DictWriter(text, fieldnames=list(rows[0]) if rows else ["epoch"], lineterminator="\n")
    table.writeheader()
    table.writerows(rows)
    write_atomically(path, text.getvalue().encode())


@contextmanager
def progress_bar(total: int, batches: int, title: str, shown: bool) -> Iterator[Tell]:
    """A bar of ``total`` batches, so many of them an epoch, on standard error with the last epoch's figures; a line per
    epoch where that is no terminal, and nothing unless ``shown``.
    """
    epochs = total // batches
    if not shown:
        yield lambda done, row=None: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    if not console.is_terminal:

        def line(done: int, row: Mapping[str, float] | None = None) -> None:
            if row is not None:
                print(f"{title}, {_figures(row, epochs)}", file=sys.stderr, flush=True)

        yield line
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, TextColumn("{task.fields[figures]}"), console=console) as bar:
        task = bar.add_task(title, total=total, figures="")

        def tell(done: int, row: Mapping[str, float] | None = None) -> None:
            bar.update(task, completed=done)
            if row is not None:
                bar.update(task, figures=_figures(row, epochs))

        yield tell


def _figures(row: Mapping[str, float], epochs: int) -> str:
    named = {"loss": "loss", "mae": "MAE", "accuracy": "accuracy"}
    held = [f"{name} {row[f'validation_{key}']:.4g}" for key, name in named.items() if f"validation_{key}" in row]
    shown = f"; validation {', '.join(held)}" if held else ""
    return f"epoch {row['epoch']:.0f} of {epochs}: loss {row['train_loss']:.4g}{shown}"


def need_tensorboard() -> Any:
    """The writer of TensorBoard's logs, or an error that says how to install it."""
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:
        raise DependencyError("a TensorBoard log needs TensorBoard: pip install tensorboard") from None
    return SummaryWriter


@contextmanager
def tensorboard(folder: Path | None) -> Iterator[Any]:
    """A function that writes a row of the history to TensorBoard, or one that does nothing without a folder."""
    if folder is None:
        yield lambda row: None
        return
    with need_tensorboard()(str(folder)) as writer:

        def log(row: Mapping[str, float]) -> None:
            for name, value in row.items():
                writer.add_scalar(name, value, int(row["epoch"]))

        yield log
