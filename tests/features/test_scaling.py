"""Scaling of targets: statistics of the training part, missing values, constants, and the way back."""

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ccn.errors import ConfigurationError
from ccn.features import TargetScale

NAN = float("nan")


def test_the_known_values_of_training_get_mean_0_and_deviation_1() -> None:
    rng = np.random.default_rng(0)
    y = rng.normal([5.0, -300.0], [0.1, 40.0], size=(200, 2))
    y[rng.random(y.shape) < 0.3] = np.nan
    scaled = TargetScale.fit(y).scale(y)
    np.testing.assert_array_equal(np.isnan(scaled), np.isnan(y))
    np.testing.assert_allclose(np.nanmean(scaled, axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(np.nanstd(scaled, axis=0), 1, rtol=1e-12)


@example([0.0, 1e-160])
@given(st.lists(st.floats(-1e6, 1e6) | st.just(NAN), min_size=1, max_size=20).filter(lambda v: not np.isnan(v).all()))
def test_restoring_undoes_scaling_on_any_values(values: list[float]) -> None:
    y = np.array(values)[:, None]
    scale = TargetScale.fit(y)
    other = np.array([[0.0], [NAN], [1e3]])
    # To rounding at the size of the numbers that meet in the sum.
    size = max(abs(scale.mean[0]), 1e3, scale.deviation[0])
    np.testing.assert_allclose(scale.restore(scale.scale(other)), other, rtol=0, atol=1e-12 * size)
    assert TargetScale.from_json(json.loads(json.dumps(scale.to_json()))) == scale


def test_a_constant_target_is_shifted_only() -> None:
    scale = TargetScale.fit([[0.1, 4.0]] * 7 + [[NAN, 4.0]])
    assert scale == TargetScale(mean=(0.1, 4.0), deviation=(1.0, 1.0))
    assert scale.scale([[0.1, 6.0]]).tolist() == [[0.0, 2.0]]
    # Constant but for rounding, and too close together for a deviation.
    assert TargetScale.fit([[0.3], [0.1 + 0.2], [0.3]]).deviation == (1.0,)
    assert TargetScale.fit([[0.0], [1e-200]]).deviation == (1.0,)


@pytest.mark.parametrize(
    ("targets", "message"),
    [
        ([[1.0, NAN], [2.0, NAN]], "target 1"),
        ([[1.0], [np.inf]], "target 0"),
        ([1.0, 2.0], r"\(2,\)"),
        (np.zeros((0, 1)), "target 0"),
    ],
)
def test_targets_without_statistics_are_errors(targets: Any, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        TargetScale.fit(targets)


@pytest.mark.parametrize(
    "data", [{}, {"mean": [1.0]}, {"mean": [1.0], "deviation": [0.0]}, {"mean": 1, "deviation": 1}]
)
def test_what_is_no_scale_is_an_error(data: Any) -> None:
    with pytest.raises(ConfigurationError):
        TargetScale.from_json(data)
    with pytest.raises(ConfigurationError, match=r"2 .*1"):
        TargetScale((0.0,), (1.0,)).scale([[1.0, 2.0]])
