"""The history of a training run: a plain table, a line per epoch, and TensorBoard if wanted."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ccn.errors import DependencyError
from ccn.files import write_atomically

__all__ = ["figures", "need_tensorboard", "tensorboard", "write_history"]


def write_history(path: Path, rows: Sequence[Mapping[str, float]]) -> None:
    """Write ``history.csv``: the table as a whole, so that it never has more rows than the run has epochs."""
    text = io.StringIO()
    table = csv.DictWriter(text, fieldnames=list(rows[0]) if rows else ["epoch"], lineterminator="\n")
    table.writeheader()
    table.writerows(rows)
    write_atomically(path, text.getvalue().encode())


def figures(row: Mapping[str, float], epochs: int) -> str:
    """The row of an epoch as one line."""
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
