"""How settings are chosen: by cross-validation, or on the validation part alone where there are many rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np

from ccn.datasets.splits import k_fold, random_split
from ccn.errors import ConfigurationError
from ccn.graphs.ragged import Int
from ccn.learning.task import Floats, Task

__all__ = ["MANY", "MANY_DEAR", "POINTS", "Round", "best", "grid", "joined", "rounds", "success"]

MANY = 10_000
"""Rows above which choices are made on the validation part alone."""
MANY_DEAR = 2_000
"""The same for methods that are expensive to fit: kernel machines."""
POINTS = 16
"""The largest number of points of a grid."""

Round = tuple[Int, Int]


def grid(values: Mapping[str, Any], known: Iterable[str] | None = None) -> list[dict[str, Any]]:
    """All points of a grid, the first values first; a value by itself stands for one point.

    Settings other than the ``known`` are refused.

    Example:
        >>> grid({"depth": 2, "C": (1.0, 10.0)})
        [{'depth': 2, 'C': 1.0}, {'depth': 2, 'C': 10.0}]
    """
    names = list(values if known is None else known)
    for name in values:
        if name not in names:
            raise ConfigurationError(f"settings: there is no {name!r}; choose from {', '.join(names) or 'none'}")
    lists = [v if isinstance(v, list | tuple | range | np.ndarray) else (v,) for v in values.values()]
    points = [dict(zip(values, point, strict=True)) for point in product(*lists)]
    if not 1 <= len(points) <= POINTS:
        raise ConfigurationError(f"a grid of {len(points)} points: give 1 to {POINTS} of them")
    return points


def rounds(y: Floats, train: int, folds: int, seed: int, *, classification: bool, many: int = MANY) -> list[Round]:
    """Rows to fit on and rows to judge by, as often as settings are tried.

    The first ``train`` of the rows with targets y (rows,) are for training, the others for validation. Up to ``many``
    rows, all of them are dealt into folds, stratified by class; above, the training rows are fitted and the validation
    rows judge. Rows without a target are in neither.
    """
    known = np.flatnonzero(~np.isnan(y))
    if len(known) <= many:
        labels = y[known] if classification else None
        dealt = k_fold(len(known), max(2, min(folds, len(known))), seed, labels=labels, validation=False)
        return [(known[s.train], known[s.test]) for s in dealt]
    if train < len(y):
        return [(known[known < train], known[known >= train])]
    s = random_split(len(known), (0.9, 0.1, 0.0), seed)
    return [(known[s.train], known[s.validation])]


def success(y: Floats, predicted: Floats, *, classification: bool) -> float:
    """What is compared: accuracy, or minus the mean absolute error."""
    return float(np.mean(y == predicted)) if classification else -float(np.mean(np.abs(y - predicted)))


def best(points: Sequence[dict[str, Any]], judge: Callable[[dict[str, Any]], float]) -> dict[str, Any]:
    """The point of the largest mean success, the first of several; one alone is not judged."""
    if len(points) == 1:
        return points[0]
    found = [judge(point) for point in points]
    return points[int(np.argmax([-np.inf if np.isnan(x) else x for x in found]))]


def joined(task: Task, each: Sequence[Floats]) -> Floats:
    """(1, rows, columns) the predictions of one model per target: scaled numbers, or probabilities (rows, classes)."""
    if task.kind == "regression":
        return task.restore(np.stack(each, axis=1))[None]
    return (np.stack([p[:, 1] for p in each], axis=1) if task.kind == "multilabel" else each[0])[None]
