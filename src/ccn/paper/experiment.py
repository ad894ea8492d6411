"""Run one cell: read the data, cut the split, fit the method, measure it.

Splits are those of :func:`ccn.datasets.splits.paper_splits`, and one random split of the large data sets. Whatever
a method chooses, it chooses on training and validation rows.
"""

from __future__ import annotations

import hashlib
import shutil
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ccn.paper.cells import FLOOR, Cell
from ccn.paper.records import Record

if TYPE_CHECKING:
    from ccn.datasets import Dataset
    from ccn.datasets.splits import Split
    from ccn.methods.method import Baseline
    from ccn.training.recipe import Recipe

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
    from ccn.methods import method
    from ccn.methods.kernel_machine import KERNELS
    from ccn.methods.network import NetworkMethod

    task: Any = "classification" if cell.table == "kernels" else "regression"
    options: dict[str, Any] = {"random_state": cell.seed}
    if cell.method in KERNELS and cell.dataset in KERNEL_ROWS:
        options["max_rows"] = KERNEL_ROWS[cell.dataset]
    if (cell.method, cell.dataset) in SETTINGS:
        options["settings"] = SETTINGS[cell.method, cell.dataset]
    options |= cell.options
    made = method(cell.method, task, **options)
    if isinstance(made, NetworkMethod):
        made.folder = str(_checkpoints(cell, made.resolved_recipe()))
    reads = made.feature_definition()
    molecules = {"features": reads.molecules, "hydrogens": reads.hydrogens} if cell.dataset in _LARGE else {}
    data = _data(cell.dataset, **molecules)
    split = _split(data, cell)
    began()
    start = time.monotonic()
    train, validation = data.subset(split.train), data.subset(split.validation)
    made.fit(train, validation=validation)
    start -= getattr(made, "earlier_", 0.0)
    (chosen_by, _), (found, details) = (_figures(made, train, p) for p in (validation, data.subset(split.test)))
    record = cell.record(
        "done",
        time.monotonic() - start,
        validation=chosen_by[cell.metric],
        test=found[cell.metric],
        config={"options": options, **_config(made, len(train), molecules)},
        details=details,
    )
    if isinstance(made, NetworkMethod):
        shutil.rmtree(made.folder or "", ignore_errors=True)
    return record


def _checkpoints(cell: Cell, recipe: Recipe) -> Path:
    """The folder of the checkpoints of a cell's networks, from which a cell that was killed resumes."""
    from ccn.files import cache_folder

    name = hashlib.blake2b(repr((cell, recipe)).encode(), digest_size=8).hexdigest()
    return cache_folder() / "cells" / name


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


def _figures(made: Baseline, train: Dataset, part: Dataset) -> tuple[dict[str, float], dict[str, Any]]:
    """The metrics on a part, and those of each target in its unit."""
    import numpy as np

    if part.task == "classification":
        return {"accuracy": made.score(part)}, {}
    error = made.predict(part).reshape(part.targets.shape) - part.targets
    mae, scale = np.abs(error).mean(axis=0), train.targets.std(axis=0)
    return {"mae": float(mae.mean()), "scaled mae": float((mae / scale).mean())}, {
        "targets": list(part.target_names),
        "mae": mae.tolist(),
        "rmse": np.sqrt((error**2).mean(axis=0)).tolist(),
        "scale": scale.tolist(),
    }


def _config(made: Baseline, rows: int, molecules: Mapping[str, Any]) -> dict[str, Any]:
    """What determined the result, as plain data."""
    from ccn.training.recipe import plain, to_dict

    out: dict[str, Any] = {"rows": len(getattr(made, "support_", range(rows))), **molecules}
    out["chosen"] = plain(made.chosen_)
    if (recipe := getattr(made, "recipe_", None)) is not None:
        out["recipe"] = to_dict(recipe)
        out["targets"] = "one network for all"
        out["epochs"] = len(getattr(made, "history_", ()))
    return out
