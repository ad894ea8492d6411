"""The cells of the paper's tables: a method on one split of a data set.

:mod:`ccn.paper.experiment` runs a cell, :mod:`ccn.paper.runner` runs many.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ccn.errors import ConfigurationError
from ccn.methods.registry import METHODS as _REGISTERED
from ccn.paper.competitors import COMPETITORS
from ccn.paper.protocols import FOLDS, PROTOCOLS
from ccn.paper.records import METRICS, Key, Record, Status
from ccn.paper.tasks import ADMET, CLIFFS, OURS, TASKS
from ccn.version import __version__

__all__ = [
    "CONTENDERS",
    "FLOOR",
    "METHODS",
    "NETWORKS",
    "SEEDS",
    "TABLES",
    "WL_TESTS",
    "Cell",
    "cells",
    "parse_methods",
]

SEEDS = 5
"""Splits of the tasks on molecules, which are seeds: their test parts are fixed."""
TABLES: dict[str, tuple[str, ...]] = {
    "kernels": ("MUTAG", "PTC_MR", "PTC", "NCI1", "NCI109"),
    "hcep": ("HCEP",),
    "qm9": ("QM9",),
    "folds": tuple(FOLDS),
    "zinc": ("ZINC",),
    "expressivity": (
        *("BREC basic", "BREC regular", "BREC strongly regular", "BREC distance regular", "BREC 4-vertex condition"),
        *("BREC extension", "BREC CFI", "circular skip links", "strongly regular"),
    ),
    "admet": ADMET,
    "cliffs": CLIFFS,
}
"""The data sets of each table; those of expressivity are sets of pairs of graphs."""
FLOOR = "floor"
"""A lower bound in place of a method: the least error of any function of the heavy atoms and bonds of QM9."""
_LATER = ("ccn", "auto", "gp", "trees")  # not in the tables of the paper
METHODS = tuple(name for name in _REGISTERED if name not in _LATER)
"""The methods in the order of the tables; ``ccn`` is another name of ``ccn-2-default``."""
CONTENDERS = (*OURS, *COMPETITORS)
"""The methods on molecules, in the order of the tables."""
WL_TESTS = ("1-WL", "3-WL")
NETWORKS: dict[str, tuple[tuple[int, ...], int | None]] = {
    **{f"ccn-{order}, {levels} levels": ((order,), levels) for order in range(3) for levels in range(1, 5)},
    **{f"ccn-{order}, any levels": ((order,), None) for order in range(4)},
    "ccn-2 and ccn-3, any levels": ((2, 3), None),
}
"""Orders, side by side, and number of levels (None: any) of the networks that tell pairs of graphs apart."""
_LONG_AT_ORDER_3 = ("BREC distance regular", "BREC 4-vertex condition", "BREC CFI")

_FEW = ("gin", "ccn-2", "ccn-2-authors", "ccn-1-default", "ccn-2-default", "ccn-2-kernel")
# The methods of data sets where not all of them are usual.
_USUAL = {
    "QM9": (FLOOR, "wl", "ngf", "pscn", "ccn-1", "ccn-2", "ccn-2-authors", "ccn-1-default", "ccn-2-default"),
    **dict.fromkeys(("ZINC", *FOLDS), _FEW),
}
_ORDER_3 = ("MUTAG", "PTC_MR", "PTC", "HCEP")
_GRAPHS = {"MUTAG": 188, "PTC_MR": 344, "PTC": 345, "NCI1": 4110, "NCI109": 4127, "HCEP": 50_000, "QM9": 130_831}
_GRAPHS |= {"ZINC": 12_000} | {name: _GRAPHS[protocol.dataset] for name, protocol in FOLDS.items()}
_GRAPHS |= {name: task.rows for name, task in TASKS.items()}
# Rough seconds of a cell of 1,000 graphs, of which only the ratios matter; other methods take about 30.
_SECONDS = {
    1.0: (FLOOR, "ridge"),
    2.0: ("lasso",),
    150.0: ("forest", "boosting", "multiscale-laplacian", "ngf", "pscn", "gin", "maplight", "auto"),
    600.0: ("ccn-1", "ccn-2", "ccn-2-authors", "ccn-1-default", "ccn-2-default", "chemprop"),
    6000.0: ("ccn-3-default",),
}


@dataclass(frozen=True)
class Cell:
    """A method, with its random seed, on one split of a data set; ``options`` replace those of the experiment."""

    table: str
    dataset: str
    method: str
    split: int
    seed: int
    options: Mapping[str, Any] = field(default_factory=dict, hash=False)

    @property
    def key(self) -> Key:
        return self.dataset, self.method, self.split

    @property
    def metric(self) -> str:
        return METRICS[self.dataset if self.dataset in TASKS else self.table]

    @property
    def cost(self) -> float:
        """Roughly how long it takes, in arbitrary units."""
        seconds = next((seconds for seconds, methods in _SECONDS.items() if self.method in methods), 30.0)
        return seconds * _GRAPHS.get(self.dataset, 500) / 1000

    def file(self, results: Path) -> Path:
        """The file of its record in a results folder."""
        return results / self.table / f"{self.dataset.replace(' ', '-')}.jsonl"

    def record(self, status: Status, seconds: float, **more: Any) -> Record:
        empty = {"validation": None, "test": None, "config": {"options": dict(self.options)}}
        how: dict[str, Any] = {"seconds": seconds, "seed": self.seed, "version": __version__, **empty, **more}
        return Record(*self.key, status, self.metric, **how)


def cells(
    name: str,
    methods: Sequence[str] | None = None,
    splits: Iterable[int] | None = None,
    seed: int = 0,
    options: Mapping[str, Mapping[str, Any]] | None = None,
) -> list[Cell]:
    """The cells of a table, of one data set or of ``all``, the cheapest first.

    Args:
        name: of the table or data set, in upper or lower case.
        methods: by default those of the table.
        splits: by default those of the protocol and five seeds of the tasks on molecules,
            which have more, and the only one of others.
        seed: is added to the number of the split.
        options: of methods, by their names.

    Example:
        >>> [c.method for c in cells("mutag", ["wl", "ridge"], splits=[0])]
        ['ridge', 'wl']
    """
    wanted = None if splits is None else sorted(set(splits))
    made = [
        Cell(table, dataset, method, split, split + seed, (options or {}).get(method, {}))
        for table, dataset, method in _rows(name, methods)
        for split in _splits(dataset, wanted)
    ]
    if not made:
        raise ConfigurationError(
            f"{name}: no cell has these splits; they are numbered from 0, of folds up to their number, of "
            f"{', '.join(TABLES['kernels'])}, ZINC, admet and cliffs without limit; other data sets have split 0 only"
        )
    return sorted(made, key=lambda cell: cell.cost)


def parse_methods(text: str) -> list[str]:
    """Names between commas; a comma followed by a space is part of a name."""
    return [name.strip() for name in re.split(r",(?! )", text) if name.strip()]


def _splits(dataset: str, wanted: Sequence[int] | None) -> Sequence[int]:
    protocol = PROTOCOLS.get(dataset)
    usual = SEEDS if dataset in TASKS else 1 if protocol is None else protocol.count
    if wanted is None:
        return range(usual)
    more = dataset in TASKS or (protocol is not None and protocol.more)
    return [i for i in wanted if i >= 0 and (more or i < usual)]


def _rows(name: str, methods: Sequence[str] | None) -> list[tuple[str, str, str]]:
    """Table, data set and method of the cells asked for."""
    asked = name.lower()
    found = [
        (table, dataset, method)
        for table, datasets in TABLES.items()
        for dataset in datasets
        if asked in ("all", table, dataset.lower())
        for method in _methods(dataset)
    ]
    if not found:
        known = [*TABLES, "all", *(dataset for datasets in TABLES.values() for dataset in datasets)]
        raise ConfigurationError(f"{name!r} is neither a table nor a data set; choose from {', '.join(known)}")
    if methods is None:
        return [row for row in found if row[1] not in _USUAL or row[2] in _USUAL[row[1]]]
    offered = list(dict.fromkeys(method for _, _, method in found))
    for method in methods:
        if method not in offered:
            raise ConfigurationError(f"method {method!r} is not one of {name}; choose from {', '.join(offered)}")
    return [row for row in found if row[2] in methods]


def _methods(dataset: str) -> list[str]:
    """All methods that can run on a data set."""
    if dataset in TABLES["expressivity"]:
        return [
            *WL_TESTS,
            *(m for m, (orders, _) in NETWORKS.items() if orders != (3,) or dataset not in _LONG_AT_ORDER_3),
        ]
    if dataset in TASKS:
        return list(CONTENDERS)
    found = [m for m in METHODS if m != "ccn-3-default" or dataset in _ORDER_3]
    return [*found, FLOOR] if dataset == "QM9" else found
