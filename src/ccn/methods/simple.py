"""Simple predictions that a fitted method should be better than.

``constant`` does not look at the graph: the median of numbers, the shares of the classes. ``linear`` is ridge
regression on the columns of :func:`ccn.methods.target_scale.quick_columns`, on a normal scale; classes are numbers
there, 1 for the class and 0 for the others. Its penalty is chosen by leaving out one row at a time.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ccn.features.quantiles import QuantileScale
from ccn.learning.task import Floats, Task
from ccn.methods.target_scale import Fold

__all__ = ["constant", "linear", "simple_predictions"]

_PENALTIES = np.geomspace(1, 1e4, 9)
_LEAST = 0.01  # of a probability


def simple_predictions(task: Task, x: NDArray[np.float32], targets: Floats, folds: Sequence[Fold]) -> dict[str, Floats]:
    """Predictions (rows, columns) by name; the arguments are those of :func:`linear`."""
    return {"linear": linear(task, x, targets, folds), "constant": constant(task, targets)}


def constant(task: Task, targets: Floats) -> Floats:
    """(rows, columns) the same for every row.

    Example:
        >>> constant(Task("regression", ("y",)), np.array([[1.0], [2.0], [9.0]])).ravel().tolist()
        [2.0, 2.0, 2.0]
    """
    if task.kind == "regression":
        best = np.nanmedian(targets, axis=0)
    elif task.kind == "multilabel":
        best = np.nanmean(targets, axis=0)
    else:
        known = targets[~np.isnan(targets)].astype(np.int64)
        best = np.bincount(known, minlength=len(task.classes)) / len(known)
    return np.repeat(best[None], len(targets), axis=0)


def linear(task: Task, x: NDArray[np.float32], targets: Floats, folds: Sequence[Fold]) -> Floats:
    """(rows, columns) of each fold by a model of the others; constant where a fold leaves too little to learn from.

    Args:
        task: what is predicted.
        x: (rows, features).
        targets: (rows, targets); NaN where missing.
        folds: rows to learn from, and rows held out.

    Example:
        >>> x = np.linspace(-1, 1, 40, dtype=np.float32)[:, None]
        >>> even, odd = np.arange(0, 40, 2), np.arange(1, 40, 2)
        >>> found = linear(Task("regression", ("y",)), x, 3.0 * x.astype(float), [(even, odd), (odd, even)])
        >>> bool(np.corrcoef(found[:, 0], x[:, 0])[0, 1] > 0.9)
        True
    """
    from sklearn.linear_model import RidgeCV

    wanted, out = _numbers(task, targets), constant(task, targets)
    for train, held in folds:
        scale = QuantileScale.fit(x[train])
        known, asked = scale(x[train]).astype(np.float64), scale(x[held]).astype(np.float64)
        if task.kind == "regression":
            out[held] = task.encode(out[held])
        for k, y in enumerate(wanted[train].T):
            there = ~np.isnan(y)
            if there.sum() > 2 and len(np.unique(y[there])) > 1:
                out[held, k] = RidgeCV(_PENALTIES).fit(known[there], y[there]).predict(asked)
        out[held] = task.restore(out[held]) if task.kind == "regression" else np.clip(out[held], _LEAST, 1 - _LEAST)
    return out / out.sum(axis=1, keepdims=True) if task.kind in ("binary", "multiclass") else out


def _numbers(task: Task, targets: Floats) -> Floats:
    """(rows, columns) what is regressed: scaled targets, or 1 for the class and 0 for the others."""
    if task.kind in ("regression", "multilabel"):
        return task.encode(targets)
    return np.where(np.isnan(targets), np.nan, targets == np.arange(len(task.classes)))
