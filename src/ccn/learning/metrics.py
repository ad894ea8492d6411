"""Metrics of predictions, computed by scikit-learn.

Rows without a target are left out. A metric that the targets do not define, such as the area under the ROC curve of a
single class, is NaN; the mean over several targets is that of the defined ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ccn.errors import ConfigurationError
from ccn.learning.task import Floats, Task

__all__ = [
    "CLASSIFICATION", "LABELS", "REGRESSION", "SMALLER", "better", "check_monitor", "each_target", "metrics", "names",
    "score", "summarised",
]  # fmt: skip

CLASSIFICATION = ("accuracy", "roc_auc", "pr_auc", "mcc")
REGRESSION = ("mae", "rmse", "r2", "spearman")
LABELS = {
    "mae": "MAE",
    "rmse": "RMSE",
    "r2": "R2",
    "spearman": "Spearman",
    "roc_auc": "ROC-AUC",
    "pr_auc": "PR-AUC",
    "mcc": "MCC",
}
"""How reports and tables call a metric, where that differs from its name."""
SMALLER = ("loss", "mae", "rmse")
Value = TypeVar("Value")


def names(task: Task) -> tuple[str, ...]:
    """The metrics of a task."""
    return REGRESSION if task.kind == "regression" else CLASSIFICATION


def better(name: str, value: float, than: float | None) -> bool:
    """Whether a value of a metric, or of the loss, improves on the best so far."""
    if np.isnan(value):
        return False
    return than is None or (value < than if name in SMALLER else value > than)


def metrics(task: Task, targets: Floats, predictions: Floats, each: bool = False) -> dict[str, float]:
    """All metrics of a task.

    Args:
        targets: (rows, targets) as in the data: not scaled, NaN where missing, a class as its number.
        predictions: what :meth:`Task.decode` gives.
        each: also the metrics of each of several targets, as ``name[target]``.
    """
    found = [_one(task, y, p) for _, y, p in each_target(task, targets, predictions)]
    return summarised(task, found, _mean, each=each)


def each_target(task: Task, targets: Floats, predictions: Floats) -> Iterator[tuple[NDArray[np.bool_], Floats, Floats]]:
    """For each target which rows have one (rows,), its values there (known,), and their predictions.

    These are numbers (known,), or probabilities (known, classes), two for each label where there are several.
    """
    for t in range(len(task.targets)):
        known = ~np.isnan(targets[:, t])
        p = predictions[known] if task.kind in ("binary", "multiclass") else predictions[known, t]
        yield known, targets[known, t], np.stack([1 - p, p], axis=1) if task.kind == "multilabel" else p


def summarised(
    task: Task, found: Sequence[Mapping[str, Value]], mean: Callable[[list[Value]], Value], *, each: bool = True
) -> dict[str, Value]:
    """The mean of each metric over the targets, and with ``each`` those of several targets as ``name[target]``."""
    out = {name: mean([one[name] for one in found]) for name in names(task)}
    if each and len(found) > 1:
        out |= {f"{name}[{t}]": one[name] for name in out for t, one in zip(task.targets, found, strict=True)}
    return out


def _mean(values: list[float]) -> float:
    there = [v for v in values if not np.isnan(v)]
    return float(np.mean(there)) if there else float("nan")


def _one(task: Task, y: Floats, p: Floats) -> dict[str, float]:
    from sklearn import metrics as sk

    if not len(y) or not np.isfinite(p).all():
        return dict.fromkeys(names(task), float("nan"))
    if task.kind == "regression":
        return {
            "mae": float(sk.mean_absolute_error(y, p)),
            "rmse": float(np.sqrt(sk.mean_squared_error(y, p))),
            "r2": float(sk.r2_score(y, p)) if len(y) > 1 else float("nan"),
            "spearman": _spearman(y, p),
        }
    number = y.astype(int)
    guess = p.argmax(axis=1)
    return {
        "accuracy": float(sk.accuracy_score(number, guess)),
        "roc_auc": _one_against_rest(sk.roc_auc_score, number, p),
        "pr_auc": _one_against_rest(sk.average_precision_score, number, p),
        "mcc": float(sk.matthews_corrcoef(number, guess)) if len(np.unique(number)) > 1 else float("nan"),
    }


def _spearman(y: Floats, p: Floats) -> float:
    """The rank correlation; NaN where either is constant."""
    from scipy.stats import rankdata

    ranks = np.stack([rankdata(y), rankdata(p)])
    return float(np.corrcoef(ranks)[0, 1]) if np.ptp(ranks, axis=1).all() else float("nan")


def _one_against_rest(score: Callable[..., float], number: NDArray[np.int64], p: Floats) -> float:
    """A score of two classes, or its mean over the classes that occur, each against the rest."""
    columns = [1] if p.shape[1] == 2 else range(p.shape[1])
    return _mean(
        [float(score(number == c, p[:, c])) if 0 < (number == c).sum() < len(number) else float("nan") for c in columns]
    )


def check_monitor(task: Task, name: str) -> None:
    """Raise an error unless ``name`` is the loss or a metric of the task."""
    if name != "loss" and name not in names(task):
        raise ConfigurationError(f"monitor={name!r}: choose loss or one of {', '.join(names(task))}")


def score(known: Floats, found: NDArray[Any], *, classification: bool) -> float:
    """Accuracy of class numbers (rows, targets), or the coefficient of determination; NaN in ``known`` is left out.

    A row of several labels is correct if all known ones are; over several numbers it is the mean.
    """
    from sklearn.metrics import r2_score

    there = ~np.isnan(known)
    if classification:
        return float(((found == known) | ~there).all(axis=1)[there.any(axis=1)].mean())
    return float(np.mean([r2_score(a[t], b[t]) for a, b, t in zip(known.T, found.T, there.T, strict=True)]))
