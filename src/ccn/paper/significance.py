"""A test of whether one method is better than another over splits that share most of their rows."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ccn.errors import ConfigurationError

__all__ = ["corrected_t_test"]


def corrected_t_test(a: Sequence[float], b: Sequence[float], ratio: float = 1 / 8) -> float:
    """The two-sided p-value of the corrected resampled t-test of Nadeau and Bengio (2003).

    With the differences ``d`` of J splits, ``t = mean(d) / sqrt((1/J + ratio) var(d))`` has J - 1 degrees of freedom.
    The usual test omits the ratio, as if overlapping splits were independent.

    Args:
        a, b: figures of each method on the same J splits.
        ratio: test rows divided by training rows.

    Example:
        >>> corrected_t_test([0.90, 0.88, 0.91, 0.87], [0.80, 0.81, 0.83, 0.79]) < 0.01
        True

    """
    from scipy.stats import t as student

    if len(a) != len(b) or len(a) < 2:
        raise ConfigurationError(f"{len(a)} and {len(b)} figures: a test needs the same splits of both, at least two")
    d = np.asarray(a, dtype=np.float64) - np.asarray(b, dtype=np.float64)
    deviation = math.sqrt((1 / len(d) + ratio) * d.var(ddof=1))
    if deviation == 0:
        return 1.0 if d[0] == 0 else 0.0
    return float(2 * student.sf(abs(d.mean()) / deviation, len(d) - 1))
