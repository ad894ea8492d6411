"""Conformal intervals: the rank by hand, and coverage over many draws, exact in expectation."""

import numpy as np
import pytest

from ccn.errors import ConfigurationError
from ccn.learning.conformal import Calibration, calibrate, quantile


def test_the_rank_is_that_of_the_finite_sample() -> None:
    scores = np.arange(1.0, 20.0)  # 19 of them: (19 + 1) 0.9 = 18
    assert quantile(scores, 0.9) == 18
    assert quantile(scores, 0.91) == 19
    assert quantile(scores, 0.96) == float("inf")
    assert quantile(np.zeros(0), 0.5) == float("inf")
    assert quantile(np.arange(1.0, 10.0), 0.1) == 1  # (9 + 1) 0.1 is 1, not a rounding error above it
    for level in (0.0, 1.0, 90.0):
        with pytest.raises(ConfigurationError, match="the level is a share"):
            quantile(scores, level)


@pytest.mark.parametrize("scaled", [False, True])
def test_coverage_is_what_is_promised_on_average(scaled: bool) -> None:
    rng = np.random.default_rng(0)
    n, level = 39, 0.8
    covered = []
    for _ in range(2000):
        # The noise grows with the spread, which a scaled calibration knows of.
        spread = rng.exponential(size=(n + 20, 1))
        y = rng.standard_normal((n + 20, 1)) * (0.1 + spread)
        made = calibrate(y[:n], np.zeros((n, 1)), spread[:n], [0.1] if scaled else [])
        covered.append(np.mean(np.abs(y[n:]) <= made.half_width(level, spread[n:])))
    # Exactly 32 / 40; the deviation of the mean over the draws is about 0.0025.
    assert np.mean(covered) == pytest.approx(32 / 40, abs=0.01)


def test_missing_targets_are_left_out_and_targets_have_widths_of_their_own() -> None:
    y = np.array([[1.0, np.nan], [2.0, 10.0], [np.nan, 20.0]])
    made = calibrate(y, np.zeros((3, 2)), np.zeros((3, 2)))
    assert made == Calibration(((1.0, 2.0), (10.0, 20.0)))
    assert made.half_width(0.5, np.zeros((4, 2))).tolist() == [[2.0, 20.0]] * 4
