"""The cells of the paper's tables: a method on one split of a data set, and what is done in each.

Splits are those of :func:`ccn.datasets.splits.paper_splits`, and one random split of the large data sets. Whatever
a method chooses, it chooses on training and validation rows.
"""

from __future__ import annotations

import re
import shutil
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ccn.errors import ConfigurationError, FileError
from ccn.files import cache_folder, digest
from ccn.paper.records import Key, Record, Status

if TYPE_CHECKING:
    from ccn.datasets import Dataset
    from ccn.datasets.splits import Split
    from ccn.graphs.ragged import Int
    from ccn.learning.model import Model
    from ccn.methods.method import Outcome

__all__ = ["FLOOR", "KERNEL_ROWS", "METHODS", "SETTINGS", "SPLITS", "TABLES", "Cell", "cells", "cost", "run_cell"]

KERNEL_ROWS = {"HCEP": 10_000, "QM9": 5_000}
"""Training rows of kernel methods: with twice as many the Gram matrices of a grid, and the making of one of them, need
nearly 20 GB, and on QM9 there is a machine for each of 13 targets."""

SPLITS = 10
"""Splits of the data sets of graph kernels, in the paper; cheap methods can have more."""

SETTINGS: dict[tuple[str, str], dict[str, Any]] = {
    **{("ccn-2-default", name): {"members": 5} for name in ("MUTAG", "PTC_MR", "PTC")},
    **{("ccn-2-default", name): {"members": 3} for name in ("NCI1", "NCI109")},
    ("ccn-2-default", "HCEP"): {"levels": 3, "loss": "mae", "epochs": 60},
    ("ccn-3-default", "HCEP"): {"loss": "mae", "epochs": 8},
}
"""What a method changes in its recipe on a data set; ``docs/results.md`` tells how it was chosen."""

# From cheap to dear, with the rough seconds of a cell of 1,000 graphs; only their ratios matter.
_SECONDS = {
    "floor": 1.0,
    "ridge": 1.0,
    "lasso": 2.0,
    "wl": 20.0,
    "wl-edge": 21.0,
    "wl-oa": 40.0,
    "shortest-path": 15.0,
    "graphlet": 25.0,
    "random-walk": 30.0,
    "forest": 100.0,
    "multiscale-laplacian": 100.0,
    "boosting": 200.0,
    "ngf": 200.0,
    "gin": 220.0,
    "pscn": 150.0,
    "ccn-2-kernel": 60.0,
    "ccn-1": 500.0,
    "ccn-2-default": 600.0,
    "ccn-2": 900.0,
    "ccn-3-default": 6000.0,
}
METHODS = (
    *("lasso", "ridge", "forest", "boosting", "wl", "wl-edge", "wl-oa", "shortest-path", "graphlet", "random-walk"),
    *("multiscale-laplacian", "ngf", "pscn", "gin", "ccn-1", "ccn-2", "ccn-2-default", "ccn-3-default", "ccn-2-kernel"),
)
"""All methods, in the order of the tables."""
_ORDER_3 = ("MUTAG", "PTC_MR", "PTC", "HCEP")
_GRAPHS = {"MUTAG": 188, "PTC_MR": 344, "PTC": 345, "NCI1": 4110, "NCI109": 4127, "HCEP": 50_000, "QM9": 130_831}
_LARGE = ("HCEP", "QM9")
FLOOR = "floor"
"""What no method that sees the heavy skeleton of QM9 can get below; no method itself."""
_QM9 = (FLOOR, "wl", "ngf", "pscn", "ccn-1", "ccn-2", "ccn-2-default")

TABLES: dict[str, tuple[str, ...]] = {
    "kernels": ("MUTAG", "PTC_MR", "PTC", "NCI1", "NCI109"),
    "hcep": ("HCEP",),
    "qm9": ("QM9",),
    "expressivity": (),
}
"""The data sets of each table; those of expressivity are known to :mod:`ccn.paper.expressivity`."""


@dataclass(frozen=True)
class Cell:
    """A method on one split of a data set.

    Attributes:
        seed: of the method.
        options: of the method, in place of those of the experiment.

    """

    table: str
    dataset: str
    method: str
    split: int
    seed: int
    options: Mapping[str, Any] = field(default_factory=dict, hash=False)

    @property
    def key(self) -> Key:
        """What names the cell in the records."""
        return self.dataset, self.method, self.split

    @property
    def metric(self) -> str:
        """What is measured."""
        return {"hcep": "mae", "qm9": "scaled mae", "expressivity": "pairs"}.get(self.table, "accuracy")

    def file(self, results: Path) -> Path:
        """Where its record is kept."""
        return results / self.table / f"{self.dataset.replace(' ', '-')}.jsonl"

    def record(self, status: Status, seconds: float, **more: Any) -> Record:
        """A record of this cell."""
        from ccn.version import __version__

        empty: dict[str, Any] = {"validation": None, "test": None, "config": {"options": dict(self.options)}}
        own = {k: v for k, v in asdict(self).items() if k not in ("table", "options")}
        return Record(**own, status=status, metric=self.metric, seconds=seconds, version=__version__, **(empty | more))


def cells(
    name: str,
    methods: Sequence[str] | None = None,
    splits: Iterable[int] | None = None,
    seed: int = 0,
    options: Mapping[str, Mapping[str, Any]] | None = None,
) -> list[Cell]:
    """The cells of a table, of one data set or of ``all``, the cheap ones first.

    Args:
        name: case is ignored.
        methods: those wanted; by default the ones of the table.
        splits: those wanted; by default ten where the paper has ten, of which there can be more, and one elsewhere.
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
        for split in _splits(table, wanted)
    ]
    if not made:
        raise ConfigurationError(
            f"{name}: there is no such cell; splits are numbered from 0 for kernels and 0 alone elsewhere, and "
            f"ccn-3-default is for {', '.join(_ORDER_3)}"
        )
    return sorted(made, key=cost)


def _splits(table: str, wanted: Sequence[int] | None) -> Sequence[int]:
    if table != "kernels":
        return [0] if wanted is None or 0 in wanted else []
    return range(SPLITS) if wanted is None else [i for i in wanted if i >= 0]


def cost(cell: Cell) -> float:
    """Roughly how long a cell takes, in no unit."""
    return _SECONDS.get(cell.method, 60.0) * _GRAPHS.get(cell.dataset, 500) / 1000


def _rows(name: str, methods: Sequence[str] | None) -> list[tuple[str, str, str]]:
    """(table, data set, method) of what is asked for."""
    found = [r for r in _learned() if name.lower() in ("all", r[0].lower(), r[1].lower())]
    if not found or name.lower() == "all":
        from ccn.paper import expressivity

        told = [("expressivity", *row) for row in expressivity.cells()]
        found += [r for r in told if name.lower() in ("all", r[0], r[1].lower())]
        if not found:
            sets = dict.fromkeys(row[1] for row in [*_learned(), *told])
            raise ConfigurationError(
                f"{name!r} is neither a table nor a data set; choose from {', '.join([*TABLES, 'all', *sets])}"
            )
    if methods is None:
        return [r for r in found if r[1] != "QM9" or r[2] in _QM9]
    there = list(dict.fromkeys(row[2] for row in found))
    for method in methods:
        if method not in there:
            raise ConfigurationError(f"method {method!r} is not one of {name}; choose from {', '.join(there)}")
    return [r for r in found if r[2] in methods]


def _learned() -> list[tuple[str, str, str]]:
    """The same of all tables in which something is learned."""
    return [
        (table, dataset, method)
        for table, datasets in TABLES.items()
        for dataset in datasets
        for method in (*METHODS, FLOOR)
        if (method != "ccn-3-default" or dataset in _ORDER_3) and (method != FLOOR or dataset == "QM9")
    ]


def run_cell(cell: Cell, began: Callable[[], None] = lambda: None) -> Record:
    """Do what a cell says; ``began`` is called once the data are read."""
    if cell.table == "expressivity":
        from ccn.paper import expressivity

        began()
        start = time.monotonic()
        apart, pairs = expressivity.run(cell.dataset, cell.method, seed=cell.seed)
        details = {"apart": apart, "pairs": pairs}
        config = expressivity.settings(cell.method)
        return cell.record("done", time.monotonic() - start, test=float(apart), config=config, details=details)
    return _bound(cell, began) if cell.method == FLOOR else _learn(cell, began)


def _bound(cell: Cell, began: Callable[[], None]) -> Record:
    from ccn.paper.floor import floor

    data = _data(cell.dataset, features="element", hydrogens=False)
    began()
    start = time.monotonic()
    details = floor(data)
    found = sum(m / s for m, s in zip(details["mae"], details["scale"], strict=True)) / len(details["mae"])
    return cell.record("done", time.monotonic() - start, test=found, config={}, details=details)


def _learn(cell: Cell, began: Callable[[], None]) -> Record:
    from ccn.learning.examples import Examples
    from ccn.methods.kernel_machine import KERNELS
    from ccn.methods.method import fit
    from ccn.methods.registry import make_method
    from ccn.training.execution import Execution

    options: dict[str, Any] = {"random_state": cell.seed}
    if cell.method in KERNELS and cell.dataset in KERNEL_ROWS:
        options["max_rows"] = KERNEL_ROWS[cell.dataset]
    if (cell.method, cell.dataset) in SETTINGS:
        options["settings"] = SETTINGS[cell.method, cell.dataset]
    options |= cell.options
    given = {key: value for key, value in options.items() if key != "random_state"}
    method = make_method(cell.method, classification=cell.table == "kernels", seed=options["random_state"], **given)
    reads = method.reads()
    molecules = {"features": reads.molecules, "hydrogens": reads.hydrogens} if cell.dataset in _LARGE else {}
    data = _data(cell.dataset, **molecules)
    split = _split(data, cell)
    began()
    start = time.monotonic()
    examples = Examples.of_dataset(data, split.train, split.validation)
    folder = _checkpoints(cell, repr(method))
    try:
        model, outcome = fit(method, examples, Execution(folder=folder, resume=True))
    except FileError:
        if not folder.exists():
            raise
        shutil.rmtree(folder)  # checkpoints of other data
        model, outcome = fit(method, examples, Execution(folder=folder, resume=True))
    (chosen_by, _), (found, details) = (_figures(model, data, split, rows) for rows in (split.validation, split.test))
    record = cell.record(
        "done",
        time.monotonic() - start + outcome.earlier,
        validation=chosen_by[cell.metric],
        test=found[cell.metric],
        config={"options": options, **_config(outcome, len(split.train), molecules)},
        details=details,
    )
    shutil.rmtree(folder, ignore_errors=True)
    return record


def _checkpoints(cell: Cell, method: str) -> Path:
    """Where the networks of a cell leave their checkpoints: one that is killed resumes from them."""
    return cache_folder() / "cells" / digest(repr(cell), method)[:16]


@lru_cache(maxsize=2)
def _data(name: str, **options: Any) -> Dataset:
    """The data set of a process, read once."""
    from ccn.datasets import load

    if name in _LARGE:
        options["progress"] = False
    data = load(name, draw=50_000 if name == "HCEP" else None, **options)
    # Without the rows that were not drawn: what is shared by all splits is shared by these graphs.
    return replace(data, graphs=data.pack.compact())


def _split(data: Dataset, cell: Cell) -> Split:
    from ccn.datasets.splits import random_split, stratified_split

    if cell.table == "kernels":
        return stratified_split(data.targets[:, 0], seed=(0, cell.split))  # one of paper_splits
    return random_split(len(data), seed=(0, cell.split))


def _figures(model: Model, data: Dataset, split: Split, rows: Int) -> tuple[dict[str, float], dict[str, Any]]:
    """The metrics on a part, and those of each target, in its units."""
    import numpy as np

    from ccn.learning.metrics import score

    targets, predicted = data.targets[rows], model.predict(data.pack.select(rows)).mean
    if data.task == "classification":
        return {"accuracy": score(targets, predicted.argmax(axis=1)[:, None], classification=True)}, {}
    error = predicted - targets
    mae, scale = np.abs(error).mean(axis=0), data.targets[split.train].std(axis=0)
    return {"mae": float(mae.mean()), "scaled mae": float((mae / scale).mean())}, {
        "targets": list(data.target_names),
        "mae": mae.tolist(),
        "rmse": np.sqrt((error**2).mean(axis=0)).tolist(),
        "scale": scale.tolist(),
    }


def _config(outcome: Outcome, rows: int, molecules: Mapping[str, Any]) -> dict[str, Any]:
    """What decided the result, as plain data."""
    from ccn.learning.plain import plain
    from ccn.methods.kernel_machine import FittedKernelMachine
    from ccn.methods.network import FittedNetworks
    from ccn.training.recipe import to_dict

    fitted = outcome.fitted
    out: dict[str, Any] = {"rows": len(fitted.graphs) if isinstance(fitted, FittedKernelMachine) else rows, **molecules}
    out["chosen"] = plain([dict(c) for c in outcome.chosen])
    if isinstance(fitted, FittedNetworks) and fitted.recipe is not None:
        out["recipe"] = to_dict(fitted.recipe)
        out["targets"] = "one network for all"
        out["epochs"] = len(outcome.history[0])
    return out


def parse_methods(text: str) -> list[str]:
    """Names between commas; a comma before a blank is part of a name."""
    return [name.strip() for name in re.split(r",(?! )", text) if name.strip()]
