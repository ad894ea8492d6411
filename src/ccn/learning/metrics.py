"""How good predictions are: the figures that people of the field expect, computed by scikit-learn.

Rows without a target are left out. A figure that the targets do not define, such as the area under a ROC
curve where only one class occurs, is NaN; over several targets the mean is that of the defined ones.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ccn.errors import ConfigurationError
from ccn.learning.task import Floats, Task

__all__ = ["CLASSIFICATION", "REGRESSION", "better", "check_monitor", "headline", "metrics", "names", "score"]

CLASSIFICATION = ("accuracy", "roc_auc", "pr_auc", "mcc")
REGRESSION = ("mae", "rmse", "r2")
_SMALLER = ("loss", "mae", "rmse")


def names(task: Task) -> tuple[str, ...]:
    """The metrics of a task."""
    return REGRESSION if task.kind == "regression" else CLASSIFICATION


def headline(task: Task) -> str:
    """The one figure to show where there is room for one."""
    return "mae" if task.kind == "regression" else "accuracy" if task.kind != "multilabel" else "roc_auc"


def better(name: str, value: float, than: float | None) -> bool:
    """Whether a figure improves on the best so far."""
    if np.isnan(value):
        return False
    return than is None or (value < than if name in _SMALLER else value > than)


def metrics(task: Task, targets: Floats, predictions: Floats, each: bool = False) -> dict[str, float]:
    """All metrics of a task.

    Args:
        targets: (rows, targets) as in the data: not scaled, NaN where missing, a class as its number.
        predictions: what :meth:`Task.decode` gives.
        each: of several targets, also every target's own, as ``name[target]``.

    """
    found: dict[str, list[float]] = {name: [] for name in names(task)}
    for t in range(len(task.targets)):
        there = ~np.isnan(targets[:, t])
        y = targets[there, t]
        p = predictions[there] if task.kind in ("binary", "multiclass") else predictions[there, t]
        for name, value in _one(task, y, p).items():
            found[name].append(value)
    out = {name: _mean(values) for name, values in found.items()}
    if each and len(task.targets) > 1:
        out.update({f"{n}[{t}]": v for n, values in found.items() for t, v in zip(task.targets, values, strict=True)})
    return out


def _mean(values: list[float]) -> float:
    there = [v for v in values if not np.isnan(v)]
    return float(np.mean(there)) if there else float("nan")


def _one(task: Task, y: Floats, p: Floats) -> dict[str, float]:
    """The metrics of one target."""
    from sklearn import metrics as sk

    if not len(y):
        return dict.fromkeys(names(task), float("nan"))
    if task.kind == "regression":
        return {
            "mae": float(sk.mean_absolute_error(y, p)),
            "rmse": float(np.sqrt(sk.mean_squared_error(y, p))),
            "r2": float(sk.r2_score(y, p)) if len(y) > 1 else float("nan"),
        }
    number = y.astype(int)
    if task.kind == "multilabel":
        p = np.stack([1 - p, p], axis=1)
    guess = p.argmax(axis=1)
    return {
        "accuracy": float(sk.accuracy_score(number, guess)),
        "roc_auc": _one_against_rest(sk.roc_auc_score, number, p),
        "pr_auc": _one_against_rest(sk.average_precision_score, number, p),
        "mcc": float(sk.matthews_corrcoef(number, guess)) if len(np.unique(number)) > 1 else float("nan"),
    }


def _one_against_rest(score: Callable[..., float], number: NDArray[np.int64], p: Floats) -> float:
    """A score of two classes, or its mean over the classes that occur, each against the rest."""
    columns = [1] if p.shape[1] == 2 else range(p.shape[1])
    return _mean(
        [float(score(number == c, p[:, c])) if 0 < (number == c).sum() < len(number) else float("nan") for c in columns]
    )


def check_monitor(task: Task, name: str) -> None:
    """An error unless ``name`` is something of this task that can be watched."""
    if name != "loss" and name not in names(task):
        raise ConfigurationError(f"monitor={name!r}: choose loss or one of {', '.join(names(task))}")


def score(known: Floats, found: NDArray[Any], *, classification: bool) -> float:
    """Accuracy of class numbers (rows, targets), or the coefficient of determination; NaN of ``known`` do not count.

    Of several labels all that are known must be right; of several numbers it is the mean.
    """
    from sklearn.metrics import r2_score

    there = ~np.isnan(known)
    if classification:
        return float(((found == known) | ~there).all(axis=1)[there.any(axis=1)].mean())
    return float(np.mean([r2_score(a[t], b[t]) for a, b, t in zip(known.T, found.T, there.T, strict=True)]))
