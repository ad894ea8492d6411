"""Run one cell: read the data, cut the split, fit the method, measure it.

Splits are those of :mod:`ccn.paper.protocols`. Whatever a method chooses, it chooses on training and validation rows.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from ccn.datasets import Dataset
from ccn.errors import FileError
from ccn.estimators import CCNClassifier, CCNRegressor
from ccn.expressivity.alike import alike, error_floors
from ccn.files import cache_folder, digest
from ccn.learning.examples import Examples
from ccn.learning.model import Model
from ccn.learning.plain import plain
from ccn.learning.task import Floats
from ccn.methods.kernel_machine import KERNELS, FittedKernelMachine
from ccn.methods.method import Method, Outcome, fit
from ccn.methods.network import FittedNetworks
from ccn.methods.registry import make_method
from ccn.paper import expressivity
from ccn.paper.cells import FLOOR, Cell
from ccn.paper.competitors import COMPETITORS
from ccn.paper.protocols import MOLECULES, PROTOCOLS
from ccn.paper.records import Record
from ccn.paper.tasks import TASKS, Parts, Task, measure, read_task
from ccn.training.execution import Execution

__all__ = ["KERNEL_ROWS", "SETTINGS", "floor", "run_cell"]

KERNEL_ROWS = {"HCEP": 10_000, "QM9": 5_000}
"""Training rows of kernel methods. With twice as many, the Gram matrices of a grid and the computation of one of them
need nearly 20 GB; on QM9 there is one machine for each of 13 targets."""

SETTINGS: dict[tuple[str, str], dict[str, Any]] = {
    **{("ccn-2-default", name): {"members": 5} for name in ("MUTAG", "PTC_MR", "PTC")},
    **{("ccn-2-default", name): {"members": 3} for name in ("NCI1", "NCI109")},
    ("ccn-1-default", "QM9"): {"channels": 48, "loss": "mae", "epochs": 45, "molecules": "full"},
    ("ccn-1-default", "HCEP"): {
        "levels": 6,
        "order": (1, 1, 1, 1, 0, 0, 0),
        "loss": "mae",
        "epochs": 60,
        "molecules": "full",
    },
    ("ccn-2-default", "HCEP"): {"levels": 3, "loss": "mae", "epochs": 60},
    ("ccn-3-default", "HCEP"): {"loss": "mae", "epochs": 8},
    ("ccn-2-default", "ZINC"): {"levels": 3, "loss": "mae", "epochs": 120, "molecules": "full", "vertices": "given"},
}
"""What a method changes in its recipe on a data set; ``docs/results.md`` says how it was chosen."""

_TRAINING_ROWS = 5000
"""Training rows of HCEP on which errors are measured too, as in a draft of the paper."""


def run_cell(cell: Cell, began: Callable[[], None] = lambda: None) -> Record:
    """Run a cell; ``began`` is called once the data are read."""
    if cell.table == "expressivity":
        began()
        start = time.monotonic()
        details = expressivity.run(cell.dataset, cell.method)
        found = {"config": expressivity.settings(cell.method), "details": details}
        return cell.record("done", time.monotonic() - start, test=float(details["apart"]), **found)
    if cell.dataset in TASKS:
        return _task(cell, began)
    if cell.method == FLOOR:
        data = _data(cell.dataset, features="element", hydrogens=False)
        began()
        start = time.monotonic()
        details = floor(data)
        test = float(np.mean(np.divide(details["mae"], details["scale"])))
        return cell.record("done", time.monotonic() - start, test=test, config={}, details=details)
    return _learn(cell, began)


def _learn(cell: Cell, began: Callable[[], None]) -> Record:
    options: dict[str, Any] = {"random_state": cell.seed}
    protocol = PROTOCOLS[cell.dataset]
    if cell.method in KERNELS and cell.dataset in KERNEL_ROWS:
        options["max_rows"] = KERNEL_ROWS[cell.dataset]
    if (cell.method, protocol.dataset) in SETTINGS:
        options["settings"] = SETTINGS[cell.method, protocol.dataset]
    options |= cell.options
    given = {key: value for key, value in options.items() if key != "random_state"}
    seed = options["random_state"]
    method = make_method(cell.method, classification=protocol.classification, seed=seed, **given)
    reads = method.reads()
    molecules = {"features": reads.molecules, "hydrogens": reads.hydrogens} if cell.dataset in MOLECULES else {}
    data = _data(cell.dataset, **molecules)
    split = protocol.split(data, cell.split)
    began()
    start = time.monotonic()
    folder = cache_folder() / "cells" / digest(repr(cell), repr(method))[:16]
    model, outcome = _fit(method, Examples.of_dataset(data, split), folder)
    scale = data.targets[split.train].std(axis=0)
    test, details = _figures(model, data.subset(split.test), scale)
    fitted = outcome.fitted
    rows = len(fitted.graphs) if isinstance(fitted, FittedKernelMachine) else len(split.train)
    config = {"options": options, "rows": rows, **molecules, "chosen": plain([dict(c) for c in outcome.chosen])}
    if isinstance(fitted, FittedNetworks):
        config |= {"recipe": plain(fitted.recipe), "targets": "one network for all", "epochs": len(outcome.history[0])}
    found = {"validation": _validation(cell.metric, model, scale), "test": test[cell.metric], "details": details}
    seconds = time.monotonic() - start + outcome.earlier
    if cell.table == "hcep":
        drawn = np.random.default_rng(0).permutation(split.train)[:_TRAINING_ROWS]
        _, of = _figures(model, data.subset(np.sort(drawn)), scale)
        details |= {"train": {metric: of[metric] for metric in ("mae", "rmse")}}
    shutil.rmtree(folder, ignore_errors=True)
    return cell.record("done", seconds, config=config, **found)


def _task(cell: Cell, began: Callable[[], None]) -> Record:
    """Learn from the training rows of a task on molecules, and look once at its test rows."""
    from joblib.externals.loky import get_reusable_executor

    task = TASKS[cell.dataset]
    parts = read_task(task)
    began()
    start, before = time.monotonic(), sum(os.times()[:4])  # user and system, of this process and of its children
    if cell.method in COMPETITORS:
        competitor = COMPETITORS[cell.method]
        predicted = competitor.predict(parts.train, parts.y, parts.test, task, cell.seed)
        config = {"options": {}, "settings": competitor.settings, "versions": competitor.versions()}
    else:
        predicted, config = _estimate(cell, task, parts)
    get_reusable_executor().shutdown(wait=True)  # the time of a child counts once it has ended
    used = sum(os.times()[:4]) - before
    found = measure(task, parts, predicted)
    today = datetime.now(UTC).date().isoformat()
    details = {"metrics": found, "processor_seconds": used, "date": today}
    seconds = time.monotonic() - start
    return cell.record("done", seconds, test=found[task.metric], config=plain(config), details=details)


def _estimate(cell: Cell, task: Task, parts: Parts) -> tuple[Floats, dict[str, Any]]:
    """Predictions of a method of ours, which draws what it validates with from the training rows, as the test was."""
    options = dict(cell.options)
    kind = CCNClassifier if task.classification else CCNRegressor
    made = kind(method=cell.method, options=options or None, random_state=cell.seed)
    y = parts.y.astype(np.int64) if task.classification else parts.y
    made.fit(parts.train, y, groups=task.groups)
    if task.classification:
        predicted = made.predict_proba(parts.test)[:, made.classes_.tolist().index(1)]
    else:
        predicted = made.predict(parts.test)
    return np.asarray(predicted), {"method": cell.method, "options": options, "chosen": made.chosen_}


def _fit(method: Method, examples: Examples, folder: Path) -> tuple[Model, Outcome]:
    """Fit as ``ccn train`` does, resuming from the checkpoints of a cell that was killed."""
    execution = Execution(folder=folder, resume=True)
    try:
        return fit(method, examples, execution, domain=False)
    except FileError:
        if not folder.exists():
            raise
        shutil.rmtree(folder)  # checkpoints of other data
        return fit(method, examples, execution, domain=False)


@lru_cache(maxsize=2)
def _data(name: str, **options: Any) -> Dataset:
    """A data set, read once per process."""
    if name in MOLECULES:
        options["progress"] = False
    data = PROTOCOLS[name].read(draw=50_000 if name == "HCEP" else None, **options)
    # Without the rows that were not drawn: what is shared by all splits is shared by these graphs.
    return replace(data, graphs=data.pack.compact())


def _validation(metric: str, model: Model, scale: Floats) -> float:
    """The metric of the cell on the validation part, which the fit has measured."""
    measured = model.about["metrics"]["validation"]
    if metric == "accuracy":
        return float(measured["accuracy"])
    targets = model.task.targets
    mae = np.array([measured["mae"]] if len(targets) == 1 else [measured[f"mae[{t}]"] for t in targets])
    return float((mae / scale if metric == "scaled mae" else mae).mean())


def _figures(model: Model, part: Dataset, scale: Floats) -> tuple[dict[str, float], dict[str, Any]]:
    """The metrics on a part, and those of each target in its unit."""
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


def floor(data: Dataset) -> dict[str, Any]:
    """The least errors of any function of the graphs and vertex features, over all graphs of a regression.

    Such a function gives one value to all graphs that are isomorphic with their vertex features
    (:func:`ccn.expressivity.error_floors`); features of edges are left out.

    Returns the ``details`` of a record: ``targets``, ``mae`` and ``rmse`` per target in its unit, ``scale`` (the
    standard deviation of the target), and the number of distinct graphs.
    """
    group = alike(data.pack.without_edge_features(), orders=()).same
    mae, rmse = zip(*(error_floors(group, y) for y in data.targets.T), strict=True)
    errors = {"mae": list(mae), "rmse": list(rmse), "scale": data.targets.std(axis=0).tolist()}
    return {"targets": list(data.target_names), **errors, "graphs": len(np.unique(group))}
