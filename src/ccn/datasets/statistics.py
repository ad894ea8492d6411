"""The statistics of the data sets that have a name, as this code computed them; ``python -m ccn.datasets.statistics``
computes those at hand again and writes them down.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

from ccn.datasets import load
from ccn.datasets.dataset import Statistics
from ccn.datasets.registry import ENTRIES, find

__all__ = ["compute", "known"]

_FILE = Path(__file__).parent / "statistics.json"


def known() -> dict[str, Statistics]:
    """The statistics of every named data set, as they were written down."""
    table = json.loads(_FILE.read_text(encoding="utf-8"))
    return {name: Statistics(**{**row, "targets": tuple(row["targets"])}) for name, row in table.items()}


def compute() -> dict[str, Statistics]:
    """The statistics of every named data set that is at hand, from the data."""
    return {name: load(name).statistics() for name, entry in ENTRIES.items() if find(entry) is not None}


if __name__ == "__main__":
    _FILE.write_text(json.dumps({n: asdict(s) for n, s in compute().items()}, indent=1) + "\n", encoding="utf-8")
