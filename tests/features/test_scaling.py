"""Scaling of targets: statistics of the training part, missing values, constants, and the way back."""

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy.stats import yeojohnson

from ccn.errors import ConfigurationError
from ccn.features import TargetScale
from ccn.features.scaling import Bend

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


TAILED = np.exp(np.random.default_rng(0).normal(2.0, 1.0, 300))[:, None]


@pytest.mark.parametrize("shape", ["log", "power"])
@pytest.mark.parametrize("sign", [1, -1])
def test_a_bent_scale_tames_a_tail_and_is_undone(shape: Any, sign: int) -> None:
    y = TAILED if shape == "log" else sign * TAILED - 3
    scale = TargetScale.fit(y, shape)
    scaled = scale.scale(y)
    assert abs(scaled).max() < 4 < abs(TargetScale.fit(y).scale(y)).max()
    np.testing.assert_allclose([scaled.mean(), scaled.std()], [0, 1], atol=1e-9)
    np.testing.assert_allclose(scale.restore(scaled), y, rtol=1e-9)
    order = np.argsort(y[:, 0])
    assert (np.diff(scaled[order, 0]) > 0).all()
    np.testing.assert_allclose(scale.slope(y), (scale.bend(y + 1e-6) - scale.bend(y - 1e-6)) / 2e-6, rtol=1e-5)
    assert TargetScale.from_json(json.loads(json.dumps(scale.to_json()))) == scale
    # However far out, a prediction is finite and within the range of training and half of it more.
    found = scale.restore([[-1e9], [-50.0], [50.0], [1e9], [NAN]])[:, 0]
    reach = np.ptp(y) / 2
    assert np.isnan(found[4])
    assert y.min() - reach - 1e-9 <= found[0] <= y.min()
    assert found[3] == pytest.approx(y.max() + reach)
    # The ends of an interval are not cut.
    assert scale.unbend(np.array([[-np.inf], [np.inf]]))[:, 0].tolist() == [0.0 if shape == "log" else -np.inf, np.inf]


@given(st.floats(-3, 5), st.floats(-1e4, 1e4))
def test_the_power_transform_is_that_of_scipy(power: float, y: float) -> None:
    x = np.array([y])
    bent = Bend("power", power).bend(x)
    np.testing.assert_allclose(bent, yeojohnson(x, power), rtol=1e-7, atol=1e-12)
    assert not np.isnan(Bend("power", power).unbend(bent)).any()


def test_auto_bends_heavy_tails_alone() -> None:
    rng = np.random.default_rng(1)
    shifted = TAILED[:, 0] - 3  # no logarithm
    y = np.stack(
        [rng.normal(size=300), TAILED[:, 0], shifted, -shifted, rng.random(300) < 0.2, rng.random(300)], axis=1
    )
    y[::7, 1] = NAN
    scale = TargetScale.fit(y, "auto")
    assert scale.shapes == ("linear", "log", "power", "power", "linear", "linear")
    np.testing.assert_allclose(scale.scale(y)[:, 0], TargetScale.fit(y[:, :1]).scale(y[:, :1])[:, 0])
    assert TargetScale.fit(y[:, [0]], "auto") == TargetScale.fit(y[:, [0]])
    assert TargetScale.fit(y[:15, [2]], "auto").shapes == ("linear",)  # too few to tell
    assert TargetScale.fit([[2.0], [2.0]], "power").bends == ()


def test_values_without_a_logarithm() -> None:
    with pytest.raises(ConfigurationError, match=r"target 0 has the value -1 .* power"):
        TargetScale.fit([[1.0], [-1.0]], "log")
    with pytest.raises(ConfigurationError, match="cubic"):
        TargetScale.fit([[1.0]], "cubic")  # type: ignore[arg-type]
    scale = TargetScale.fit([[1.0], [4.0]], "log")
    np.testing.assert_allclose(scale.restore(scale.scale([[0.0], [-3.0], [0.1]])), 0.5)  # of other rows than training
    assert scale.bend(np.array([[0.0], [-3.0]])).tolist() == [[-np.inf], [-np.inf]]


@pytest.mark.parametrize(
    "bend", [{"kind": "rank"}, {"kind": "power", "size": 0.0}, {"kind": "log", "low": "1"}, {"x": 1}]
)
def test_what_is_no_bend_is_an_error(bend: Any) -> None:
    with pytest.raises(ConfigurationError):
        TargetScale.from_json({"mean": [0.0], "deviation": [1.0], "bends": [bend]})
    with pytest.raises(ConfigurationError):
        TargetScale((0.0,), (1.0,), (Bend(), Bend()))


@pytest.mark.parametrize(
    "data", [{}, {"mean": [1.0]}, {"mean": [1.0], "deviation": [0.0]}, {"mean": 1, "deviation": 1}]
)
def test_what_is_no_scale_is_an_error(data: Any) -> None:
    with pytest.raises(ConfigurationError):
        TargetScale.from_json(data)
    with pytest.raises(ConfigurationError, match=r"2 .*1"):
        TargetScale((0.0,), (1.0,)).scale([[1.0, 2.0]])


def test_ranks_are_normal_and_undone() -> None:
    rng = np.random.default_rng(1)
    y = np.concatenate([100 - np.exp(rng.normal(1, 1, 400)), np.full(30, 100.0)])[:, None]
    scale = TargetScale.fit(y, "rank")
    scaled = scale.scale(y)
    assert abs(scaled).max() < 4
    order = np.argsort(y[:, 0], kind="stable")
    assert (np.diff(scaled[order, 0]) >= 0).all()
    np.testing.assert_allclose(scale.restore(scaled), y, rtol=1e-9)
    between = np.linspace(y.min() - 5, y.max() + 5, 997)[:, None]
    np.testing.assert_allclose(scale.unbend(scale.bend(between)), between, rtol=1e-9)
    step = (scale.bend(between + 1e-6) - scale.bend(between - 1e-6)) / 2e-6
    np.testing.assert_allclose(np.median(abs(step / scale.slope(between) - 1)), 0, atol=1e-6)
    far = scale.restore(np.array([[-50.0], [50.0]]))
    assert np.ptp(y) < np.ptp(far) <= 2 * np.ptp(y) + 1e-9
    assert TargetScale.from_json(json.loads(json.dumps(scale.to_json()))) == scale


def test_each_target_may_have_its_own_shape() -> None:
    y = np.concatenate([TAILED, TAILED, TAILED], axis=1)
    scale = TargetScale.fit(y, ("linear", "log", "rank"))
    assert scale.shapes == ("linear", "log", "rank")
    np.testing.assert_allclose(scale.restore(scale.scale(y)), y, rtol=1e-9)
    with pytest.raises(ConfigurationError):
        TargetScale.fit(y, ("linear", "log"))


@pytest.mark.parametrize(
    "knots", [[], [[0, 0]], [[0, 0], [0, 1]], [[0, 1], [1, 0]], [[0, 0, 0], [1, 1, 1]], [[0, 0], [1, NAN]]]
)
def test_forged_knots_are_refused(knots: Any) -> None:
    with pytest.raises(ConfigurationError):
        TargetScale.from_json({"mean": [0.0], "deviation": [1.0], "bends": [{"kind": "rank", "knots": knots}]})
