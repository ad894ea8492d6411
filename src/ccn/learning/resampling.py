"""How sure a metric is: bootstrap over the rows, and paired comparisons of two models on the same rows.

A resample of n rows with replacement is a row of counts w (n,), so that a metric of it is a weighted metric. All
metrics of :mod:`ccn.learning.metrics` are computed for many resamples at once, from counts W (resamples, n); with
W = 1 they are the metrics themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from ccn.graphs.ragged import Int
from ccn.learning.metrics import each_target, summarised
from ccn.learning.task import Floats, Task

__all__ = ["Difference", "Interval", "differences", "intervals", "row_losses", "weighted_metrics"]

_RESAMPLES = 1_000
_AT_ONCE = 4_000_000  # counts held at a time


@dataclass(frozen=True)
class Interval:
    """A percentile interval of a metric with probability 95 %."""

    low: float
    high: float

    @property
    def half_width(self) -> float:
        return (self.high - self.low) / 2


@dataclass(frozen=True)
class Difference:
    """A metric of a second model minus that of a first, its interval, and the two-sided p-value of no difference."""

    value: float
    interval: Interval
    p: float


def _counts(rows: int, resamples: int, seed: int) -> Iterator[Floats]:
    """Counts (some resamples, rows) of all resamples, as many at a time as fit into memory."""
    rng = np.random.default_rng(seed)
    step = max(1, _AT_ONCE // max(1, rows))
    for first in range(0, resamples, step):
        many = min(step, resamples - first)
        drawn = rng.integers(rows, size=(many, rows)) + rows * np.arange(many)[:, None]
        yield np.bincount(drawn.ravel(), minlength=many * rows).reshape(many, rows).astype(np.float64)


def _resampled(task: Task, targets: Floats, predictions: Floats, resamples: int, seed: int) -> dict[str, Floats]:
    made = [weighted_metrics(task, targets, predictions, w) for w in _counts(len(targets), resamples, seed)]
    return {name: np.concatenate([one[name] for one in made]) for name in made[0]}


def intervals(
    task: Task, targets: Floats, predictions: Floats, resamples: int = _RESAMPLES, seed: int = 0
) -> dict[str, Interval]:
    """The interval of each metric, also ``name[target]`` of several targets; NaN where too few resamples define it."""
    if not len(targets) or not np.isfinite(predictions).all():
        return {}
    return {n: _percentiles(v) for n, v in _resampled(task, targets, predictions, resamples, seed).items()}


def _percentiles(values: Floats) -> Interval:
    there = values[~np.isnan(values)]
    if 2 * len(there) < len(values):
        return Interval(np.nan, np.nan)
    low, high = np.quantile(there, [0.025, 0.975])
    return Interval(float(low), float(high))


def differences(
    task: Task, targets: Floats, first: Floats, second: Floats, resamples: int = _RESAMPLES, seed: int = 0
) -> dict[str, Difference]:
    """Each metric of the second predictions minus that of the first, by a bootstrap of the rows that both share."""
    a, b = (_resampled(task, targets, p, resamples, seed) for p in (first, second))
    before, after = (weighted_metrics(task, targets, p, np.ones((1, len(targets)))) for p in (first, second))
    out = {}
    for name in a:
        change = b[name] - a[name]
        known = change[~np.isnan(change)]
        tail = 1 + min((known <= 0).sum(), (known >= 0).sum())
        p = min(1.0, 2 * float(tail) / (1 + len(known)))
        out[name] = Difference(float(after[name][0] - before[name][0]), _percentiles(change), p)
    return out


def row_losses(task: Task, targets: Floats, predictions: Floats) -> Floats:
    """(rows,) the absolute error, in deviations of each of several targets, or the negative log of the probability of
    the true class; the mean over the known targets of a row.
    """
    if task.kind == "regression":
        scale = np.nanstd(targets, axis=0) if targets.shape[1] > 1 else np.ones(1)
        each = np.abs(targets - predictions) / np.where(scale > 0, scale, 1.0)
    elif task.kind == "multilabel":
        each = -np.log(np.clip(np.where(targets > 0.5, predictions, 1 - predictions), 1e-6, 1))
        each = np.where(np.isnan(targets), np.nan, each)
    else:
        known = np.nan_to_num(targets[:, 0]).astype(int)
        each = -np.log(np.clip(predictions[np.arange(len(known)), known], 1e-6, 1))[:, None]
    return np.asarray(np.nansum(each, axis=1) / np.maximum((~np.isnan(each)).sum(axis=1), 1))


# Weighted metrics: y (n,), p (n,) or (n, classes), w (resamples, n) -> (resamples,)


def weighted_metrics(task: Task, targets: Floats, predictions: Floats, w: Floats) -> dict[str, Floats]:
    """The metrics of a task for each of several weightings (resamples, rows) of the rows.

    Over several targets the mean of those that are defined, and each as ``name[target]``.
    """
    of = _numbers if task.kind == "regression" else _classes
    with np.errstate(divide="ignore", invalid="ignore"):
        each = [of(y, p, w[:, known]) for known, y, p in each_target(task, targets, predictions)]
    return summarised(task, each, _mean)


def _mean(values: list[Floats]) -> Floats:
    """The mean of the numbers that are not NaN, NaN without any."""
    stacked = np.stack(values)
    count = (~np.isnan(stacked)).sum(axis=0)
    return np.where(count > 0, np.nansum(stacked, axis=0) / np.maximum(count, 1), np.nan)


def _numbers(y: Floats, p: Floats, w: Floats) -> dict[str, Floats]:
    n, error = w.sum(axis=1), y - p
    squares, mean = w @ error**2, (w @ y) / n
    total = w @ (y - y.mean() if len(y) else y) ** 2 - n * (mean - (y.mean() if len(y) else 0.0)) ** 2
    total = np.where(total > 1e-12 * np.maximum(1e-300, w @ y**2), total, np.nan)  # constant targets
    return {
        "mae": (w @ np.abs(error)) / n,
        "rmse": np.sqrt(squares / n),
        "r2": 1 - squares / total,
        "spearman": _correlation(_ranks(y, w), _ranks(p, w), w),
    }


def _tied(score: Floats) -> tuple[Int, Int]:
    """The order of the scores, and where in it each group of equal scores begins."""
    order = np.argsort(score, kind="stable")
    new = np.r_[True, np.diff(score[order]) != 0] if len(score) else np.zeros(0, dtype=bool)
    return order.astype(np.int64), np.flatnonzero(new).astype(np.int64)


def _ranks(values: Floats, w: Floats) -> Floats:
    """(resamples, n) the mean rank of each row among its resample."""
    order, begin = _tied(values)
    if not len(order):
        return np.zeros_like(w)
    size = np.add.reduceat(w[:, order], begin, axis=1)
    middle = np.cumsum(size, axis=1) - size / 2 + 0.5
    out = np.empty_like(w)
    out[:, order] = np.repeat(middle, np.diff(np.r_[begin, len(order)]), axis=1)
    return out


def _correlation(a: Floats, b: Floats, w: Floats) -> Floats:
    n = w.sum(axis=1, keepdims=True)
    a, b = (x - (w * x).sum(axis=1, keepdims=True) / n for x in (a, b))
    spread = np.sqrt((w * a * a).sum(axis=1) * (w * b * b).sum(axis=1))
    return np.asarray(np.where(spread > 0, (w * a * b).sum(axis=1) / spread, np.nan))


def _classes(y: Floats, p: Floats, w: Floats) -> dict[str, Floats]:
    number, guess, n = y.astype(int), p.argmax(axis=1), w.sum(axis=1)
    kinds = p.shape[1]
    true, said = (w @ np.eye(kinds)[k] for k in (number, guess))
    right = w @ (number == guess).astype(np.float64)
    spread = (n**2 - (true**2).sum(axis=1)) * (n**2 - (said**2).sum(axis=1))
    mcc = (right * n - (true * said).sum(axis=1)) / np.sqrt(np.maximum(spread, 1))
    one_class = true.max(axis=1, initial=0) == n
    columns = [1] if kinds == 2 else range(kinds)
    return {
        "accuracy": right / n,
        "roc_auc": _against_rest(_roc_auc, columns, number, p, w),
        "pr_auc": _against_rest(_pr_auc, columns, number, p, w),
        "mcc": np.where(one_class, np.nan, np.where(spread > 0, mcc, 0.0)),
    }


def _against_rest(
    score: Callable[[Floats, Floats], Floats], columns: range | list[int], number: Int, p: Floats, w: Floats
) -> Floats:
    """The mean over classes, each against the rest, of a score of positives and negatives by threshold."""
    made = []
    for c in columns:
        order, begin = _tied(p[:, c])
        if not len(order):
            made.append(np.full(len(w), np.nan))
            continue
        positive = (number == c)[order]
        made.append(score(*(np.add.reduceat(w[:, order] * is_it, begin, axis=1) for is_it in (positive, ~positive))))
    return _mean(made)


def _roc_auc(positive: Floats, negative: Floats) -> Floats:
    below = np.cumsum(negative, axis=1) - negative / 2
    pairs = positive.sum(axis=1) * negative.sum(axis=1)
    return np.asarray(np.where(pairs > 0, (positive * below).sum(axis=1) / pairs, np.nan))


def _pr_auc(positive: Floats, negative: Floats) -> Floats:
    positive, negative = positive[:, ::-1], negative[:, ::-1]  # from the highest threshold down
    found = np.cumsum(positive, axis=1)
    precision = found / np.maximum(found + np.cumsum(negative, axis=1), 1e-300)
    total, rest = found[:, -1], negative.sum(axis=1)
    return np.asarray(np.where((total > 0) & (rest > 0), (positive * precision).sum(axis=1) / total, np.nan))
