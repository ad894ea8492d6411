"""The statistics of the named data sets, as computed by this code; ``python -m ccn.datasets.statistics`` computes those
of the data sets available and writes them to ``statistics.json``.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

from ccn.datasets import load
from ccn.datasets.dataset import Statistics
from ccn.datasets.registry import ENTRIES, find
from ccn.files import write_json

__all__ = ["compute", "known"]

_FILE = Path(__file__).parent / "statistics.json"


def known() -> dict[str, Statistics]:
    """The recorded statistics of every named data set."""
    table = json.loads(_FILE.read_text(encoding="utf-8"))
    return {name: Statistics(**{**row, "targets": tuple(row["targets"])}) for name, row in table.items()}


def compute() -> dict[str, Statistics]:
    """The statistics of every named data set that is available, from the data."""
    return {name: load(name).statistics() for name, entry in ENTRIES.items() if find(entry) is not None}


if __name__ == "__main__":
    write_json(_FILE, {name: asdict(s) for name, s in compute().items()})
