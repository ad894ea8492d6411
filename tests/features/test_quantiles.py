"""Columns on a normal scale."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import ndtri
from scipy.stats import rankdata

from ccn.errors import FileError
from ccn.features.quantiles import QuantileScale


def test_ranks_become_normal_deviates() -> None:
    x = np.random.default_rng(0).lognormal(size=(500, 1))
    found = QuantileScale.fit(x)(x)[:, 0]
    share = (rankdata(x[:, 0]) - 1) / 499
    inner = (share > 0.05) & (share < 0.95)
    np.testing.assert_allclose(found[inner], ndtri(share[inner]), atol=0.05)


def test_outliers_and_constants_do_not_stretch() -> None:
    x = np.array([[0.0, 7], [1, 7], [2, 7], [1e30, 7]], dtype=np.float32)
    found = QuantileScale.fit(x)(x)
    assert np.abs(found).max() <= 3
    assert (found[:, 1] == 0).all()
    assert (np.diff(found[:, 0]) > 0).all()


def test_equal_values_share_the_middle_of_their_ranks() -> None:
    x = np.repeat([[0.0], [1.0]], [50, 50], axis=0)
    np.testing.assert_allclose(np.unique(QuantileScale.fit(x)(x)), [ndtri(0.25), ndtri(0.75)], atol=0.05)


@pytest.mark.parametrize("bad", [np.zeros(3, np.float32), np.array([[2.0], [1.0]]), np.array([[np.nan], [1.0]])])
def test_altered_quantiles_are_refused(bad: np.ndarray) -> None:
    with pytest.raises(FileError):
        QuantileScale.from_state(bad)
