"""How far predictions can be trusted, measured on rows that were not fitted.

The distance of a row to what a model has learned from is that of :class:`ccn.methods.domain.Domain`. Here are the
thresholds between the words for it, the errors and the coverage of intervals by word and by band of distance, and the
reliability of probabilities. All of it is plain data for metrics.json and the report.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ccn.learning.task import Floats, Task

__all__ = ["BANDS", "WORDS", "by_distance", "error_name", "errors", "reliability", "thresholds"]

WORDS = ("inside", "edge", "outside")
"""How far a graph is from what was learned."""
BANDS = 5
"""Bands of distance with equally many held-out rows."""
_FEW = 20  # rows that say too little about errors
_WORSE = 1.5  # times the usual error: what outside means
_BINS = 10  # of probabilities
_IN_BIN = 15  # rows in the mean, without which fewer bins are made


def error_name(task: Task) -> str:
    """What :func:`errors` measures."""
    if task.kind != "regression":
        return "Brier score"
    return "MAE" if _in_units(task) else "MAE on the fitted scale"


def _in_units(task: Task) -> bool:
    """Whether errors are in the units of the target: of one that was fitted on a linear scale."""
    return len(task.targets) == 1 and (task.scale is None or not task.scale.bends)


def errors(task: Task, targets: Floats, mean: Floats) -> Floats:
    """(rows,) the error of each row over its known targets, NaN where there are none.

    Of one number the absolute error; of several its mean, and of one with a heavy tail, that on the scale that is
    fitted, whose unit is the deviation of the training targets; of classes the squared error of the probabilities
    (Brier 1950).
    """
    if task.kind == "multiclass":
        each = ((mean - (targets == np.arange(mean.shape[1]))) ** 2).sum(axis=1, keepdims=True)
    elif task.kind == "regression":
        each = np.abs(mean - targets if _in_units(task) else task.encode(mean) - task.encode(targets))
    else:
        each = ((mean[:, 1:] if task.kind == "binary" else mean) - targets) ** 2
    known = ~np.isnan(targets)
    count = known.sum(axis=1)
    total: Floats = np.where(known, each, 0.0).sum(axis=1)
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)


def thresholds(distance: Floats, error: Floats | None = None) -> tuple[float, float]:
    """The largest distance that is inside, and beyond which distance is outside.

    Inside, the error that grows with distance (isotonic regression) is at most the mean over all held-out rows; outside
    it is at least half as large again. At least half and at most nine tenths of the rows are inside, at least one in a
    hundred and at most one in five outside. Without errors, or with few rows, these shares alone decide.

    Example:
        >>> d = np.linspace(0, 1, 101)
        >>> [round(t, 2) for t in thresholds(d, np.where(d > 0.705, 2.0, 1.0))]
        [0.7, 0.8]
        >>> [round(t, 2) for t in thresholds(d, np.ones(101))]
        [0.9, 0.99]
    """
    at = [float(x) for x in np.quantile(distance, (0.5, 0.9, 0.8, 0.99))]
    if error is None or len(error) < _FEW:
        return at[1], at[3]
    from sklearn.isotonic import IsotonicRegression

    error = np.minimum(error, np.quantile(error, 0.95))  # a few huge errors do not decide
    grown = IsotonicRegression().fit_transform(distance, error)
    usual = float(error.mean())
    near, far = distance[grown <= usual * (1 + 1e-9)], distance[grown < _WORSE * usual]
    inside = min(max(float(near.max(initial=0.0)), at[0]), at[1])
    return inside, max(min(max(float(far.max(initial=0.0)), at[2]), at[3]), inside)


def by_distance(
    task: Task,
    targets: Floats,
    mean: Floats,
    distance: Floats,
    word: NDArray[np.str_],
    bands: Floats,
    measure: Callable[[NDArray[np.bool_]], Mapping[str, Any]],
) -> dict[str, Any]:
    """Error and coverage of some rows by word and by band of distance.

    Args:
        task: what the predictions mean.
        targets, mean: (rows, targets) and the predictions.
        distance, word: (rows,).
        bands: the ends of the bands, in order.
        measure: what else is measured of some of the rows, such as metrics and the coverage of intervals.
    """
    error = errors(task, targets, mean)
    there = ~np.isnan(error)

    def of(rows: NDArray[np.bool_]) -> dict[str, Any]:
        known = rows & there
        count = int(known.sum())
        if not count:
            return {"rows": 0, "error": None}
        sure = {"standard_error": float(error[known].std(ddof=1) / np.sqrt(count))} if count > 1 else {}
        means = {"distance": float(distance[known].mean()), "error": float(error[known].mean())}
        return {"rows": count, **means, **sure, **measure(known)}

    band = np.searchsorted(bands[1:-1], distance, side="left")
    return {
        "rank_correlation": _spearman(distance[there], error[there]),
        "words": {w: of(word == w) for w in WORDS},
        "bands": [{"from": float(bands[b]), "to": float(bands[b + 1]), **of(band == b)} for b in range(len(bands) - 1)],
    }


def _spearman(a: Floats, b: Floats) -> float | None:
    from scipy.stats import spearmanr

    if len(a) < 3 or np.ptp(a) == 0 or np.ptp(b) == 0:
        return None
    return float(spearmanr(a, b).statistic)


def reliability(task: Task, targets: Floats, mean: Floats) -> dict[str, Any] | None:
    """How often what was predicted with some probability was so, in up to ten bins; None for numbers.

    Of two classes the probability of the second counts, of several labels those of all labels together, of many classes
    that of the likeliest. ``ece`` is the expected calibration error, the mean over rows of the difference in their bin.

    Example:
        >>> task = Task("binary", ("y",), classes=(0, 1))
        >>> found = reliability(task, np.array([[0.0], [1.0]]), np.array([[0.9, 0.1], [0.2, 0.8]]))
        >>> round(found["ece"], 2), [b["rows"] for b in found["bins"]]
        (0.15, [1, 1])
    """
    if task.kind == "regression":
        return None
    if task.kind == "multiclass":
        known = ~np.isnan(targets[:, 0])
        p = mean[known].max(axis=1)
        true = (mean[known].argmax(axis=1) == targets[known, 0]).astype(np.float64)
        what = "likeliest class"
    else:
        chance = mean[:, 1:] if task.kind == "binary" else mean
        known = ~np.isnan(targets)
        p, true = chance[known], targets[known]
        what = str(task.classes[1]) if task.kind == "binary" else "labels"
    if not len(p):
        return None
    count = max(2, min(_BINS, len(p) // _IN_BIN))
    place = np.minimum((p * count).astype(np.int64), count - 1)
    bins = [
        {"rows": int(n), "predicted": float(p[place == b].mean()), "observed": float(true[place == b].mean())}
        for b in range(count)
        if (n := (place == b).sum())
    ]
    ece = sum(b["rows"] * abs(b["predicted"] - b["observed"]) for b in bins) / len(p)
    return {"of": what, "rows": len(p), "ece": float(ece), "brier": float(((p - true) ** 2).mean()), "bins": bins}
