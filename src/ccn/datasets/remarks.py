"""Remarks on the rows of a file: which were dropped and why, and what was noted about those that were kept."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ccn.errors import DataError
from ccn.files import write_atomically

if TYPE_CHECKING:
    from ccn.datasets.dataset import Dataset

__all__ = ["CONTRADICTION", "NOT_A_NUMBER", "Remark", "check_strict", "shorten", "summary", "write_remarks"]

NOT_A_NUMBER = "not a number in a target column"
CONTRADICTION = "duplicate with another target"

_LONGEST = 200  # characters of a value that a report shows


@dataclass(frozen=True)
class Remark:
    """One remark on one row.

    Attributes:
        row: the row's number, counted from 1 without the header.
        value: the cell or the row.
        reason: what is wrong or unusual.

    """

    row: int
    value: str
    reason: str

    @property
    def kind(self) -> str:
        """The reason without its details, by which remarks are counted."""
        return self.reason.split(":", 1)[0]

    def __str__(self) -> str:
        return f"row {self.row}: {self.reason} ({shorten(self.value)!r})"


def shorten(value: str) -> str:
    """A value as a report shows it."""
    return value if len(value) <= _LONGEST else f"{value[:_LONGEST]}..."


def summary(dropped: Sequence[Remark], noted: Sequence[Remark] = ()) -> str:
    """One line: how many rows were dropped or noted, and why."""

    def counted(remarks: Iterable[Remark]) -> str:
        return ", ".join(f"{count} {kind}" for kind, count in Counter(r.kind for r in remarks).most_common())

    parts = []
    if dropped:
        rows = len({r.row for r in dropped})
        parts.append(f"{rows} row{'s' * (rows > 1)} dropped: {counted(dropped)}")
    if noted:
        parts.append(f"kept but noted: {counted(noted)}")
    return "; ".join(parts) or "no row dropped"


def write_remarks(path: Path, dropped: Iterable[Remark], noted: Iterable[Remark] = ()) -> Path:
    """Write a CSV with one line per remark: row, value, reason, and whether the row was ``dropped`` or ``kept``."""
    lines = [(r, "dropped") for r in dropped] + [(r, "kept") for r in noted]
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow(["row", "value", "reason", "action"])
    for remark, action in sorted(lines, key=lambda line: line[0].row):
        writer.writerow([remark.row, shorten(remark.value), remark.reason, action])
    write_atomically(path, text.getvalue().encode())
    return path


def check_strict(data: Dataset, strict: bool, where: str) -> None:
    """If ``strict``, an error at the first row that loses anything or contradicts another.

    Single atoms, salts and other encodings lose nothing: they are only noted.
    """
    lost = [*data.dropped, *(r for r in data.noted if r.kind in (NOT_A_NUMBER, CONTRADICTION))]
    if strict and lost:
        raise DataError(f"{where}: {min(lost, key=lambda r: r.row)}")
