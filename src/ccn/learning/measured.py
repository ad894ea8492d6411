"""The training graphs that a domain compares with, and their measured values.

They stand beside a model, not in it: structures and values are confidential to many users. A run writes them to
``training.csv.gz`` in its folder, where predictions find them; a model file holds them only if that is asked for.
"""

from __future__ import annotations

import csv
import gzip
import io
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np

from ccn.errors import FileError
from ccn.files import digest, write_atomically
from ccn.graphs.ragged import Int
from ccn.learning.task import Floats, Task

__all__ = ["FILE", "Measured"]

FILE = "training.csv.gz"
_MOST_BYTES = 1 << 28  # of the text in a file


@dataclass(frozen=True, eq=False)
class Measured:
    """Some training graphs.

    Attributes:
        row: (rows,) their numbers in the training data.
        names: what to call them: identifiers, or SMILES; empty where there is neither.
        smiles: empty where they are no molecules.
        targets: the names of the values.
        values: (rows, targets) as measured, a class as its text; empty where missing.
    """

    row: Int
    names: tuple[str, ...]
    smiles: tuple[str, ...]
    targets: tuple[str, ...]
    values: tuple[tuple[str, ...], ...]

    @classmethod
    def of(cls, rows: Int, task: Task, targets: Floats, smiles: Sequence[str] | None) -> Self:
        """From numbers of rows of ``targets`` and ``smiles``."""

        def cell(y: float) -> str:
            if np.isnan(y):
                return ""
            return f"{y:.10g}" if task.kind == "regression" else str(task.classes[int(y)])

        texts = () if smiles is None else tuple(smiles[i] for i in rows.tolist())
        return cls(rows, (), texts, task.targets, tuple(tuple(map(cell, y)) for y in targets[rows].tolist()))

    def __len__(self) -> int:
        return len(self.row)

    def text(self) -> str:
        """As CSV."""
        out = io.StringIO()
        columns: dict[str, Sequence[Any]] = {"row": self.row.tolist(), "id": self.names, "smiles": self.smiles}
        kept = {name: column for name, column in columns.items() if len(column)}
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow([*kept, *self.targets])
        writer.writerows([*(c[i] for c in kept.values()), *self.values[i]] for i in range(len(self)))
        return out.getvalue()

    @classmethod
    def from_text(cls, text: str, targets: Sequence[str]) -> Self:
        """What :meth:`text` wrote; a ValueError if it is nothing of the kind."""
        head, *lines = csv.reader(io.StringIO(text))
        known = head[: len(head) - len(targets)]
        if head[len(known) :] != list(targets) or known not in (["row"], ["row", "id"], ["row", "smiles"], _ALL):
            raise ValueError(f"the columns {head} are not those of training rows")
        if any(len(line) != len(head) for line in lines):
            raise ValueError("training rows of different lengths")
        columns = {name: tuple(line[i] for line in lines) for i, name in enumerate(known)}
        row = np.array([int(i) for i in columns["row"]], dtype=np.int64)
        values = tuple(tuple(line[len(known) :]) for line in lines)
        return cls(row, columns.get("id", ()), columns.get("smiles", ()), tuple(targets), values)

    def digest(self) -> str:
        """A SHA-256 by which a model knows its own."""
        return digest(self.text())

    def write(self, path: Path) -> None:
        """Write them as compressed CSV; the same rows give the same bytes."""
        write_atomically(path, gzip.compress(self.text().encode(), mtime=0))

    @classmethod
    def read(cls, path: Path, targets: Sequence[str], sha256: str) -> Self:
        """What :meth:`write` wrote; an error if it belongs to another model."""
        try:
            with gzip.open(path) as file:
                content = file.read(_MOST_BYTES + 1)
            made = cls.from_text(content.decode(), targets) if len(content) <= _MOST_BYTES else None
        except (OSError, EOFError, ValueError, csv.Error, zlib.error) as error:
            raise FileError(f"{path}: not the training rows of a run ({error}); restore it, or train again") from None
        if made is None or made.digest() != sha256:
            raise FileError(f"{path}: these are not the training rows of this model; restore them, or train again")
        return made


_ALL = ["row", "id", "smiles"]
