"""Conformal prediction intervals, with guaranteed coverage.

From n calibration rows, used neither to fit nor to choose, take the scores ``s_i = |y_i - f(x_i)| / d(x_i)``. For an
exchangeable new row, ``P(s <= q) >= level`` if q is the k-th smallest score, ``k = ceil((n + 1) level)``: the new score
has any rank among the n + 1 with equal probability. For k > n no finite interval has this coverage, and q is infinite.
With ``d = 1`` all intervals are equally wide. With d the spread of an ensemble they are wider where its members
disagree; the less the spread says about errors, the larger the constant that is added to it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil, floor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ccn.errors import ConfigurationError

__all__ = ["Calibration", "calibrate", "choose_floor", "quantile", "rows_needed"]

Floats = NDArray[np.float64]
_FLOORS = (0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 64.0)  # times the usual spread


def quantile(scores: Floats, level: float) -> float:
    """The smallest width that covers a new score with probability ``level``; infinite if there are too few.

    Example:
        >>> quantile(np.arange(1.0, 10.0), 0.9), quantile(np.arange(1.0, 9.0), 0.9)
        (9.0, inf)
    """
    k = _rank(len(scores), level)
    return float(np.sort(scores)[k - 1]) if k <= len(scores) else float("inf")


def _rank(rows: int, level: float) -> int:
    if not 0 < level < 1:
        raise ConfigurationError(f"an interval of level {level!r}: the level is a share, more than 0 and less than 1")
    # Without rounding, a product slightly above an integer would become the next rank.
    return ceil(round((rows + 1) * level, 9))


def rows_needed(level: float) -> int:
    """The least number of calibration rows that support intervals of this level, ``ceil(1 / (1 - level)) - 1``.

    Example:
        >>> rows_needed(0.9), rows_needed(0.99), rows_needed(0.5)
        (9, 99, 1)
    """
    _rank(0, level)
    rows = ceil(1 / (1 - level)) - 1
    return rows - (_rank(rows - 1, level) < rows)  # the division is not exact


@dataclass(frozen=True)
class Calibration:
    """The scores of the calibration rows.

    Attributes:
        scores: for each target in increasing order.
        floor: one per target, added to the spread of the ensemble, so that intervals are not too narrow where members
            agree by chance. Without it all intervals of a target are equally wide.
    """

    scores: tuple[tuple[float, ...], ...]
    floor: tuple[float, ...] = ()

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Calibration:
        """The inverse of ``asdict``."""
        return cls(tuple(map(tuple, data["scores"])), tuple(data["floor"]))

    def shortage(self, level: float, names: Sequence[str]) -> tuple[list[str], str]:
        """The targets, by name, with too few rows for intervals of this level, and what to do."""
        needed, counts = rows_needed(level), [len(s) for s in self.scores]
        few, least = [name for name, count in zip(names, counts, strict=True) if count < needed], min(counts)
        lower = f"choose a level of at most {floor(1000 * least / (least + 1)) / 1000:g}, or " if least else ""
        return few, (
            f"an interval of level {level:g} needs {needed} calibration rows, there are {least} for "
            f"{', '.join(few)}: {lower}keep a larger validation part, half of which calibrates"
        )

    def half_width(self, level: float, spread: Floats) -> Floats:
        """(rows, targets) half the width of the intervals; ``spread`` is the deviation of the members' predictions."""
        q = np.array([quantile(np.array(s), level) for s in self.scores])
        return q * _divisor(spread, self.floor)


def _divisor(spread: Floats, floor: Sequence[float]) -> Floats:
    return spread + np.array(floor) if len(floor) else np.ones_like(spread)


def choose_floor(errors: Floats, spread: Floats, level: float) -> float:
    """What is added to the spread (rows,) so that intervals of this level are the narrowest for errors (rows,).

    A multiple of the median spread: from half of it, where the spread predicts errors, to so many times that all
    intervals are nearly equally wide. Without enough rows for the level it is half.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> s = rng.uniform(0.5, 1.5, 400)
        >>> telling = choose_floor(np.abs(s * rng.normal(size=400)), s, 0.9)
        >>> useless = choose_floor(np.abs(rng.normal(size=400)), s, 0.9)
        >>> telling < useless
        True
    """
    usual = float(np.median(spread))

    def width(times: float) -> float:
        divisor = spread + times * usual
        return quantile(errors / np.maximum(divisor, 1e-300), level) * float(divisor.mean())

    return usual * min(_FLOORS, key=width)


def calibrate(targets: Floats, predictions: Floats, spread: Floats, floor: Sequence[float] = ()) -> Calibration:
    """From calibration rows, all of shape (rows, targets); a target that is NaN is left out.

    The floor must not be computed from the calibration rows: their scores must be exchangeable with those of new rows.
    """
    scores = np.abs(targets - predictions) / _divisor(spread, floor)
    return Calibration(tuple(tuple(np.sort(s[~np.isnan(s)]).tolist()) for s in scores.T), tuple(floor))
