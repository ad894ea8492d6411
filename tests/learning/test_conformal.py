"""Conformal intervals: the rank by hand, and coverage over many draws, exact in expectation."""

import numpy as np
import pytest

from ccn.errors import ConfigurationError
from ccn.learning.conformal import Calibration, calibrate, quantile, rows_needed


def test_the_rank_is_that_of_the_finite_sample() -> None:
    scores = np.arange(1.0, 20.0)  # 19 of them: (19 + 1) 0.9 = 18
    assert quantile(scores, 0.9) == 18
    assert quantile(scores, 0.91) == 19
    assert quantile(scores, 0.96) == float("inf")
    assert quantile(np.zeros(0), 0.5) == float("inf")
    assert quantile(np.arange(1.0, 10.0), 0.1) == 1  # (9 + 1) 0.1 is 1, not a rounding error above it
    for level in (0.0, 1.0, 90.0):
        with pytest.raises(ConfigurationError, match=repr(level)):
            quantile(scores, level)


def test_a_level_needs_as_many_rows_as_make_its_intervals_finite() -> None:
    for level in (0.01, 0.1, 0.3, 0.5, 2 / 3, 0.8, 0.9, 0.95, 0.975, 0.99, 0.999, 0.9999):
        needed = rows_needed(level)
        assert np.isfinite(quantile(np.zeros(needed), level))
        assert quantile(np.zeros(needed - 1), level) == float("inf")
    assert [rows_needed(level) for level in (0.9, 0.99, 0.999999)] == [9, 99, 999_999]
    few, why = Calibration(((1.0,) * 9, (1.0,) * 8, ())).shortage(0.9, ["a", "b", "c"])
    assert few == ["b", "c"]
    assert "9 calibration rows" in why


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
