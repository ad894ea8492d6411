"""Run one cell: read the data, cut the split, fit the method, measure it.

Splits are those of :func:`ccn.datasets.splits.paper_splits`, and one random split of the large data sets. Whatever
a method chooses, it chooses on training and validation rows.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ccn.errors import FileError
from ccn.files import cache_folder, digest
from ccn.paper.cells import FLOOR, Cell
from ccn.paper.records import Record

if TYPE_CHECKING:
    from ccn.datasets import Dataset
    from ccn.datasets.splits import Split
    from ccn.learning.examples import Examples
    from ccn.learning.model import Model
    from ccn.learning.task import Floats
    from ccn.methods.method import Method, Outcome

__all__ = ["KERNEL_ROWS", "SETTINGS", "run_cell"]

KERNEL_ROWS = {"HCEP": 10_000, "QM9": 5_000}
"""Training rows of kernel methods. With twice as many, the Gram matrices of a grid and the computation of one of them
need nearly 20 GB; on QM9 there is one machine for each of 13 targets."""

SETTINGS: dict[tuple[str, str], dict[str, Any]] = {
    **{("ccn-2-default", name): {"members": 5} for name in ("MUTAG", "PTC_MR", "PTC")},
    **{("ccn-2-default", name): {"members": 3} for name in ("NCI1", "NCI109")},
    ("ccn-2-default", "HCEP"): {"levels": 3, "loss": "mae", "epochs": 60},
    ("ccn-3-default", "HCEP"): {"loss": "mae", "epochs": 8},
}
"""What a method changes in its recipe on a data set; ``docs/results.md`` says how it was chosen."""

_LARGE = ("HCEP", "QM9")


def run_cell(cell: Cell, began: Callable[[], None] = lambda: None) -> Record:
    """Run a cell; ``began`` is called once the data are read."""
    if cell.table == "expressivity":
        return _count_pairs(cell, began)
    return _bound(cell, began) if cell.method == FLOOR else _learn(cell, began)


def _count_pairs(cell: Cell, began: Callable[[], None]) -> Record:
    from ccn.paper import expressivity

    began()
    start = time.monotonic()
    apart, pairs = expressivity.run(cell.dataset, cell.method, seed=cell.seed)
    return cell.record(
        "done",
        time.monotonic() - start,
        test=float(apart),
        config=expressivity.settings(cell.method),
        details={"apart": apart, "pairs": pairs},
    )


def _bound(cell: Cell, began: Callable[[], None]) -> Record:
    from ccn.paper.floor import floor

    data = _data(cell.dataset, features="element", hydrogens=False)
    began()
    start = time.monotonic()
    details = floor(data)
    scaled = [m / s for m, s in zip(details["mae"], details["scale"], strict=True)]
    return cell.record("done", time.monotonic() - start, test=sum(scaled) / len(scaled), config={}, details=details)


def _learn(cell: Cell, began: Callable[[], None]) -> Record:
    from ccn.learning.examples import Examples
    from ccn.methods.kernel_machine import KERNELS
    from ccn.methods.registry import make_method

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
    folder = cache_folder() / "cells" / digest(repr(cell), repr(method))[:16]
    model, outcome = _fit(method, Examples.of_dataset(data, split), folder)
    scale = data.targets[split.train].std(axis=0)
    test, details = _figures(model, data.subset(split.test), scale)
    record = cell.record(
        "done",
        time.monotonic() - start + outcome.earlier,
        validation=_validation(cell.metric, model, scale),
        test=test[cell.metric],
        config={"options": options, **_config(outcome, len(split.train), molecules)},
        details=details,
    )
    shutil.rmtree(folder, ignore_errors=True)
    return record


def _fit(method: Method, examples: Examples, folder: Path) -> tuple[Model, Outcome]:
    """Fit as ``ccn train`` does, resuming from the checkpoints of a cell that was killed."""
    from ccn.methods.method import fit
    from ccn.training.execution import Execution

    execution = Execution(folder=folder, resume=True)
    try:
        return fit(method, examples, execution)
    except FileError:
        if not folder.exists():
            raise
        shutil.rmtree(folder)  # checkpoints of other data
        return fit(method, examples, execution)


@lru_cache(maxsize=2)
def _data(name: str, **options: Any) -> Dataset:
    """A data set, read once per process."""
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


def _validation(metric: str, model: Model, scale: Floats) -> float:
    """The metric of the cell on the validation part, which the fit has measured."""
    measured = model.about["metrics"]["validation"]
    if metric == "accuracy":
        return float(measured["accuracy"])
    targets = model.task.targets
    mae = [measured["mae"]] if len(targets) == 1 else [measured[f"mae[{t}]"] for t in targets]
    units = scale.tolist() if metric == "scaled mae" else [1.0] * len(mae)
    return float(sum(e / s for e, s in zip(mae, units, strict=True)) / len(mae))


def _figures(model: Model, part: Dataset, scale: Floats) -> tuple[dict[str, float], dict[str, Any]]:
    """The metrics on a part, and those of each target in its unit."""
    import numpy as np

    predicted = model.predict(part.pack)
    if part.task == "classification":
        return {"accuracy": model.metrics(part.targets, predicted)["accuracy"]}, {}
    error = predicted.mean - part.targets
    mae = np.abs(error).mean(axis=0)
    return {"mae": float(mae.mean()), "scaled mae": float((mae / scale).mean())}, {
        "targets": list(part.target_names),
        "mae": mae.tolist(),
        "rmse": np.sqrt((error**2).mean(axis=0)).tolist(),
        "scale": scale.tolist(),
    }


def _config(outcome: Outcome, rows: int, molecules: Mapping[str, Any]) -> dict[str, Any]:
    """What determined the result, as plain data."""
    from ccn.learning.plain import plain
    from ccn.methods.kernel_machine import FittedKernelMachine
    from ccn.methods.network import FittedNetworks

    fitted = outcome.fitted
    out: dict[str, Any] = {"rows": len(fitted.graphs) if isinstance(fitted, FittedKernelMachine) else rows, **molecules}
    out["chosen"] = plain([dict(c) for c in outcome.chosen])
    if isinstance(fitted, FittedNetworks):
        out["recipe"] = plain(fitted.recipe)
        out["targets"] = "one network for all"
        out["epochs"] = len(outcome.history[0])
    return out
