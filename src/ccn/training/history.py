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
from ccn.training.sealed import write_atomically

__all__ = ["Tell", "progress_bar", "tensorboard", "write_history"]


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
def progress_bar(total: int, title: str, shown: bool) -> Iterator[Tell]:
    """A bar of ``total`` batches on standard error with the last epoch's losses; a line per epoch where that is no
    terminal, and nothing unless ``shown``.
    """
    if not shown:
        yield lambda done, row=None: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda done, row=None: None if row is None else print(_figures(title, row), file=sys.stderr, flush=True)
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, TextColumn("{task.fields[figures]}"), console=console) as bar:
        task = bar.add_task(title, total=total, figures="")

        def tell(done: int, row: Mapping[str, float] | None = None) -> None:
            bar.update(task, completed=done)
            if row is not None:
                bar.update(task, figures=_figures("", row))

        yield tell


def _figures(title: str, row: Mapping[str, float]) -> str:
    named = {"train_loss": "loss", "validation_loss": "validation"}
    shown = ", ".join(f"{name} {row[key]:.4g}" for key, name in named.items() if key in row)
    return f"{title + ', ' if title else ''}epoch {row['epoch']:.0f}: {shown}"


@contextmanager
def tensorboard(folder: Path | None) -> Iterator[Any]:
    """A function that writes a row of the history to TensorBoard, or one that does nothing without a folder."""
    if folder is None:
        yield lambda row: None
        return
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:
        raise DependencyError("a TensorBoard log needs TensorBoard: pip install tensorboard") from None
    with SummaryWriter(str(folder)) as writer:

        def log(row: Mapping[str, float]) -> None:
            for name, value in row.items():
                writer.add_scalar(name, value, int(row["epoch"]))

        yield log
