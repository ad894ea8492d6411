"""How settings are chosen: by cross-validation, or on the validation part alone where there are many rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from ccn.datasets.splits import Split, k_fold, random_split
from ccn.errors import ConfigurationError
from ccn.graphs.ragged import Int
from ccn.learning.examples import Examples
from ccn.learning.inputs import Inputs
from ccn.learning.task import Floats, Task
from ccn.methods.method import Method
from ccn.methods.objects import need_skops
from ccn.training.execution import Execution

__all__ = ["MANY", "MANY_DEAR", "POINTS", "Chosen", "Round", "best", "folds_of", "grid", "joined", "rounds"]

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


def folds_of(rows: int, folds: int, seed: int, *, labels: Floats | None = None, groups: Int | None) -> list[Split]:
    """Folds of rows, at least two, that divide no group; fewer where there are fewer groups.

    Rows that are all one group are dealt one by one.
    """
    if groups is not None:
        count = len(np.unique(groups))
        folds, groups = (min(folds, count), groups) if count > 1 else (folds, None)
    return k_fold(rows, max(2, min(folds, rows)), seed, labels=labels, groups=groups, validation=False)


def rounds(
    y: Floats,
    train: int,
    folds: int,
    seed: int,
    *,
    classification: bool,
    many: int = MANY,
    groups: Int | None = None,
) -> list[Round]:
    """Rows to fit on and rows to judge by, as often as settings are tried.

    The first ``train`` of the rows with targets y (rows,) are for training, the others for validation. Up to ``many``
    rows, all of them are dealt into folds, stratified by class; above, the training rows are fitted and the validation
    rows judge. Rows without a target are in neither. Folds do not divide ``groups`` (rows,).
    """
    known = np.flatnonzero(~np.isnan(y))
    if len(known) <= many:
        labels, together = y[known] if classification else None, None if groups is None else groups[known]
        dealt = folds_of(len(known), folds, seed, labels=labels, groups=together)
        return [(known[s.train], known[s.test]) for s in dealt]
    if train < len(y):
        return [(known[known < train], known[known >= train])]
    s = random_split(len(known), (0.9, 0.1, 0.0), seed)
    return [(known[s.train], known[s.validation])]


def best(
    points: Sequence[dict[str, Any]], tries: Sequence[Round], judge: Callable[[dict[str, Any], Int, Int], float]
) -> dict[str, Any]:
    """The point of the largest mean success over rounds, the first of several; one alone is not judged.

    ``judge(point, rows, held)`` fits to ``rows`` and gives the success on ``held``.
    """
    if len(points) == 1:
        return points[0]
    means = [float(np.mean([judge(point, rows, held) for rows, held in tries])) for point in points]
    return points[int(np.argmax([-np.inf if np.isnan(x) else x for x in means]))]


@dataclass(frozen=True, kw_only=True)
class Chosen(Method):
    """A method of scikit-learn whose settings are chosen by cross-validation, for each target.

    Attributes:
        settings: values of the method's settings that are tried, in place of its own.
        folds: of cross-validation.
        many: rows above which the validation part alone decides.
    """

    settings: Mapping[str, Any] | None = None
    folds: int = 5
    many: int = MANY
    grouped = True

    def check(self, examples: Examples, inputs: Inputs, execution: Execution) -> None:
        super().check(examples, inputs, execution)
        need_skops()

    def rounds(self, y: Floats, train: int, groups: Int | None) -> list[Round]:
        """Those of :func:`rounds` by the settings of this method."""
        return rounds(
            y, train, self.folds, self.seed, classification=self.classification, many=self.many, groups=groups
        )

    def success(self, y: Floats, predicted: Floats) -> float:
        """What is compared: accuracy, or minus the mean absolute error."""
        return float(np.mean(y == predicted)) if self.classification else -float(np.mean(np.abs(y - predicted)))


def joined(task: Task, each: Sequence[Floats]) -> Floats:
    """(1, rows, columns) the predictions of one model per target: scaled numbers, or probabilities (rows, classes)."""
    if task.kind == "regression":
        return task.restore(np.stack(each, axis=1))[None]
    return (np.stack([p[:, 1] for p in each], axis=1) if task.kind == "multilabel" else each[0])[None]
