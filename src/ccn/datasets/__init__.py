"""Data sets: MUTAG ships with the package; others of the TU format are read from their path."""

from __future__ import annotations

from pathlib import Path

from ccn.datasets.dataset import Dataset
from ccn.datasets.tu import read_tu
from ccn.errors import CCNError

__all__ = ["Dataset", "load", "read_tu"]


def load(name_or_path: str | Path) -> Dataset:
    """A data set by name (``MUTAG``; case is ignored) or by the path of a TU folder or zip.

    Example:
        >>> print(load("MUTAG"))
        MUTAG: 188 graphs, 17.93 vertices and 19.79 edges on average, classes -1: 63, 1: 125

    """
    if str(name_or_path).upper() == "MUTAG":
        return read_tu(Path(__file__).parent / "mutag" / "MUTAG.zip", "MUTAG")
    path = Path(name_or_path)
    if path.exists():
        return read_tu(path, path.stem)
    raise CCNError(f"{name_or_path}: no data set of this name and no such file; MUTAG comes with the package")
