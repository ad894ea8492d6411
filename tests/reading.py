"""What tests of several rooms read files with."""

from __future__ import annotations

import csv
from pathlib import Path

__all__ = ["csv_rows"]


def csv_rows(path: Path, delimiter: str = ",") -> list[dict[str, str]]:
    """The rows of a table, by the names of their columns."""
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file, delimiter=delimiter))
