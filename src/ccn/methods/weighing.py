"""Weights of several methods, fitted on predictions of rows that they were not fitted on.

Predictions become margins ``z_m``: numbers on the scale of the targets, log odds of classes. The weights w and the
constant b minimise the loss of ``sum over m of w_m z_m + b``, drawn towards equal weights by as much as a few rows
count.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit, log_expit, log_softmax, softmax

from ccn.learning.fitted import Prediction
from ccn.learning.task import Floats, Task

__all__ = ["choose_weights", "combined", "fit_weights", "held_out_loss", "margins", "values_of"]

_LEAST_WEIGHT = 0.03  # of a member that is kept, as a share of all weights
_EQUAL_ROWS = 10.0  # rows that equal weights count for
_SMALLEST = 1e-6  # probability
_PARTS = 5  # of rows, by which weights are judged


def margins(task: Task, values: Floats) -> Floats:
    """(graphs, outputs) what is summed: scaled numbers, or log odds of classes."""
    if task.kind == "regression":
        return task.encode(values)
    p = np.clip(values, _SMALLEST, 1 - _SMALLEST)
    if task.kind == "multiclass":
        return np.asarray(np.log(p))
    p = p[:, 1:] if task.kind == "binary" else p
    return np.asarray(np.log(p) - np.log1p(-p))


def values_of(task: Task, z: Floats) -> Floats:
    """The inverse of :func:`margins`."""
    if task.kind == "regression":
        return task.restore(z)
    if task.kind == "multiclass":
        return np.asarray(softmax(z, axis=1))
    p: Floats = expit(z)
    return np.concatenate([1 - p, p], axis=1) if task.kind == "binary" else p


def combined(task: Task, each: Sequence[Floats], weights: Floats, constant: Floats) -> Prediction:
    """The weighed sum of the predictions of members, and how far they are apart."""
    z = np.stack([margins(task, values) for values in each])
    mean = values_of(task, np.tensordot(weights, z, axes=1) + constant)
    share = weights / max(float(weights.sum()), _SMALLEST)
    centre = np.tensordot(share, np.stack(each), axes=1)
    return Prediction(mean, np.sqrt(np.tensordot(share, (np.stack(each) - centre) ** 2, axes=1)))


def _losses(task: Task, z: Floats, y: Floats) -> Floats:
    """(rows, targets) Huber's loss of scaled numbers, or the log loss; zero where the target is missing."""
    known = ~np.isnan(y)
    y = np.where(known, y, 0.0)
    if task.kind == "regression":
        far = np.abs(z - y)
        each = np.where(far < 1, far**2 / 2, far - 0.5)
    elif task.kind == "multiclass":
        each = -log_softmax(z, axis=1)[np.arange(len(y)), y[:, 0].astype(np.int64)][:, None]
    else:
        each = -np.where(y > 0.5, log_expit(z), log_expit(-z))
    return np.where(known, each, 0.0)


def fit_weights(task: Task, z: Floats, y: Floats) -> tuple[Floats, Floats]:
    """The weights (members,) and the constant (outputs,) for margins (members, rows, outputs) and encoded targets.

    Example:
        >>> task = Task("regression", ("y",), scale=None)
        >>> y = np.linspace(-1, 1, 200)[:, None]
        >>> noise = np.random.default_rng(0).normal(size=y.shape)
        >>> fit_weights(task, np.stack([y, noise]), y)[0].round(1).tolist()
        [1.0, 0.0]
    """
    members, outputs = len(z), z.shape[2]
    rows = max(1, int((~np.isnan(y)).sum()))
    free = outputs if task.kind != "regression" else 0

    def split(parameters: Floats) -> tuple[Floats, Floats]:
        return parameters[:members], parameters[members:] if free else np.zeros(outputs)

    start = np.concatenate([np.full(members, 1 / members), np.zeros(free)])
    usual = float(_losses(task, z.mean(axis=0), y).sum()) / rows

    def loss(parameters: Floats) -> float:
        w, b = split(parameters)
        pull = _EQUAL_ROWS * usual * (members * ((w - 1 / members) ** 2).sum() + (b**2).sum())
        return float((_losses(task, np.tensordot(w, z, axes=1) + b, y).sum() + pull) / rows)

    bounds = [(0.0, 3.0)] * members + [(-5.0, 5.0)] * free
    return split(np.asarray(minimize(loss, start, bounds=bounds, method="L-BFGS-B").x))


def held_out_loss(task: Task, z: Floats, y: Floats) -> float:
    """The mean loss of the weighed sum, each fifth of the rows with weights of the others.

    Example:
        >>> task = Task("regression", ("y",), scale=None)
        >>> y = np.linspace(-1, 1, 200)[:, None]
        >>> noise = np.random.default_rng(0).normal(size=y.shape)
        >>> held_out_loss(task, noise[None], y) > held_out_loss(task, np.stack([noise, y / 2]), y)
        True
    """
    part = np.random.default_rng(0).permutation(len(y)) % _PARTS
    total = 0.0
    for i in range(_PARTS):
        held = part == i
        w, b = fit_weights(task, z[:, ~held], y[~held])
        total += float(_losses(task, np.tensordot(w, z[:, held], axes=1) + b, y[held]).sum())
    return total / max(1, int((~np.isnan(y)).sum()))


def choose_weights(task: Task, z: Floats, y: Floats) -> tuple[Floats, Floats, list[int]]:
    """The weights and the constant without the members of hardly any weight, and which members are left."""
    kept = list(range(len(z)))
    while True:
        weights, constant = fit_weights(task, z[kept], y)
        enough = weights >= _LEAST_WEIGHT * weights.sum()
        if enough.all() or not enough.any():
            return weights, constant, kept
        kept = [m for m, stays in zip(kept, enough, strict=True) if stays]
