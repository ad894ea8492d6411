"""The scale on which each target is fitted, by cross-validation on the training rows.

What a bent scale does to the error cannot be told from the distribution of a target alone: a long tail of values that
the molecule explains is better left as it is. So a few boosted trees, which take a second, predict every fold from the
others once for each shape (:data:`ccn.features.scaling.Shape`). The shape of least mean absolute error is taken, if its
error is clearly below that of the linear scale.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ccn.features.scaling import Shape, TargetScale
from ccn.graphs.pack import Pack
from ccn.learning.inputs import Inputs
from ccn.learning.task import Floats
from ccn.methods.columns import PartColumns
from ccn.methods.trees import boosted

__all__ = ["Fold", "choose_shapes", "quick_columns"]

_BENT: tuple[Shape, ...] = ("log", "power", "rank")
_CLEARLY = 0.03  # of the error of the linear scale
_MOST_ROWS = 3_000
_LEAST_ROWS = 50
_TREES, _LEAVES, _RATE, _COLUMNS = 80, 15, 0.1, 0.3

Fold = tuple[NDArray[np.int64], NDArray[np.int64]]
"""Rows to learn from, and rows held out."""


def quick_columns(graphs: Pack, inputs: Inputs) -> NDArray[np.float32]:
    """(graphs, columns) what the trees read: descriptors and columns of a table, else counts of kinds of parts."""
    columns = inputs.dense_columns(graphs)
    if len(columns):
        return np.asarray(graphs.graph_features[:, columns], dtype=np.float32)
    return PartColumns.fit(graphs, 1)(graphs)


def choose_shapes(x: NDArray[np.float32], targets: Floats, folds: Sequence[Fold], seed: int) -> tuple[Shape, ...]:
    """The shape for each target of the rows (rows, targets); ``folds`` hold numbers of rows.

    Targets with few known values stay linear.
    """
    return tuple(_choose(x, y, folds, seed) for y in targets.T)


def _choose(x: NDArray[np.float32], y: Floats, folds: Sequence[Fold], seed: int) -> Shape:
    known = ~np.isnan(y)
    few = np.flatnonzero(known)
    if len(few) < _LEAST_ROWS or len(np.unique(y[few])) < _LEAST_ROWS // 2:
        return "linear"
    if len(few) > _MOST_ROWS:
        drawn = np.random.default_rng(seed).choice(few, _MOST_ROWS, replace=False)
        known = np.isin(np.arange(len(y)), drawn)
    parts = [(a[known[a]], b[known[b]]) for a, b in folds]
    parts = [(a, b) for a, b in parts if len(a) and len(b)]
    errors: dict[Shape, float] = {"linear": _error(x, y, parts, "linear", seed)}
    for shape in _BENT:
        if shape != "log" or y[few].min() > 0:
            errors[shape] = _error(x, y, parts, shape, seed)
    best = min(errors, key=errors.__getitem__)
    return best if errors[best] < (1 - _CLEARLY) * errors["linear"] else "linear"


def _error(x: NDArray[np.float32], y: Floats, parts: Sequence[Fold], shape: Shape, seed: int) -> float:
    """The mean absolute error of held-out rows in the target's units, fitted on a scale of this shape."""
    errors = []
    how = {"objective": "regression", "num_leaves": _LEAVES, "learning_rate": _RATE, "feature_fraction": _COLUMNS}
    for train, held in parts:
        scale = TargetScale.fit(y[train, None], shape)
        booster = boosted(x[train], scale.scale(y[train, None])[:, 0], None, trees=_TREES, seed=seed, **how)
        errors.append(np.abs(scale.restore(booster.predict(x[held])[:, None])[:, 0] - y[held]))
    return float(np.concatenate(errors).mean())
