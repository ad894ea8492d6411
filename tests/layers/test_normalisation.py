"""The scaling of features of graphs as a whole, against the same in numpy."""

from __future__ import annotations

import numpy as np
import torch

from ccn.layers import RobustScale


def _scaled(x: np.ndarray, new: np.ndarray) -> np.ndarray:
    layer = RobustScale(x.shape[1]).double()
    layer.fit(x)
    out: np.ndarray = layer(torch.from_numpy(new)).numpy()
    return out


def test_columns_are_scaled_by_median_and_quartiles_of_the_rows_fitted_on() -> None:
    rng = np.random.default_rng(0)
    x, new = rng.normal(3.0, 7.0, (51, 4)), rng.normal(3.0, 7.0, (9, 4))
    low, middle, high = np.quantile(x, (0.25, 0.5, 0.75), axis=0)
    expected = np.clip((new - middle) * 1.349 / (high - low), -5, 5)
    np.testing.assert_allclose(_scaled(x, new), expected, rtol=1e-12)
    np.testing.assert_array_equal(_scaled(x, new + 1e9), 5.0)


def test_counts_are_taken_as_logarithms_of_one_more() -> None:
    x = np.random.default_rng(1).poisson(4.0, (40, 2)).astype(float)
    low, middle, high = np.quantile(np.log1p(x), (0.25, 0.5, 0.75), axis=0)
    np.testing.assert_allclose(_scaled(x, x), np.clip((np.log1p(x) - middle) * 1.349 / (high - low), -5, 5), rtol=1e-12)
    assert np.isfinite(_scaled(x, -x)).all()  # in rows to predict a count may be anything


def test_rare_values_have_their_deviation_as_unit_and_constants_become_nothing() -> None:
    x = np.zeros((100, 3))
    x[:10, 0], x[:, 1], x[:, 2] = -0.5, 0.1, 1e-300 * np.arange(100)
    out = _scaled(x, x)
    np.testing.assert_allclose(out[:, 0], x[:, 0] / x[:, 0].std(), rtol=1e-12)
    np.testing.assert_array_equal(out[:, 1:], 0.0)
    np.testing.assert_array_equal(_scaled(x, x + 3.0)[:, 1:], 0.0)
