"""Thresholds between words, errors by distance, and the reliability of probabilities."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import brier_score_loss

from ccn.features.scaling import TargetScale
from ccn.learning.task import Task
from ccn.learning.trust import WORDS, by_distance, error_name, errors, reliability, thresholds

BINARY = Task("binary", ("y",), classes=(0, 1))
NUMBER = Task("regression", ("y",))


def test_errors_of_each_kind_of_task() -> None:
    y = np.array([[1.0], [0.0], [np.nan]])
    np.testing.assert_allclose(errors(NUMBER, y, y + 2)[:2], 2.0)
    assert np.isnan(errors(NUMBER, y, y)[2])
    p = np.array([[0.2, 0.8], [0.6, 0.4], [0.5, 0.5]])
    np.testing.assert_allclose(errors(BINARY, y, p)[:2], [0.04, 0.16])
    assert errors(BINARY, y[:2], p[:2]).mean() == pytest.approx(brier_score_loss([1, 0], [0.8, 0.4]))
    many = Task("multiclass", ("y",), classes=(0, 1, 2))
    np.testing.assert_allclose(errors(many, np.array([[2.0]]), np.array([[0.1, 0.2, 0.7]])), 0.01 + 0.04 + 0.09)
    labels = Task("multilabel", ("a", "b"), classes=(0, 1))
    found = errors(labels, np.array([[1.0, np.nan], [1.0, 0.0]]), np.array([[0.5, 0.9], [0.5, 0.1]]))
    np.testing.assert_allclose(found, [0.25, (0.25 + 0.01) / 2])


def test_several_numbers_are_on_the_scale_that_is_fitted() -> None:
    y = np.array([[0.0, 0.0], [2.0, 200.0]])
    task = Task("regression", ("a", "b"), scale=TargetScale.fit(y))
    np.testing.assert_allclose(errors(task, y, y + np.array([1.0, 100.0])), [1.0, 1.0])
    assert error_name(task) != error_name(NUMBER)


@pytest.mark.parametrize("seed", range(5))
def test_thresholds_leave_most_rows_inside_and_few_outside(seed: int) -> None:
    rng = np.random.default_rng(seed)
    d = rng.beta(2, 2, 300)
    for error in (rng.exponential(size=300), d * rng.exponential(size=300), np.zeros(300), None):
        inside, outside = thresholds(d, error)
        assert 0 <= inside <= outside <= 1
        assert 0.49 <= (d <= inside).mean() <= 0.91
        assert (d > outside).mean() <= 0.21


def test_errors_that_grow_move_the_thresholds_inwards() -> None:
    d = np.linspace(0, 1, 200)
    flat, steep = thresholds(d, np.ones(200)), thresholds(d, np.where(d > 0.6, 5.0, 1.0))
    assert steep[0] < flat[0]
    assert steep[1] < flat[1]
    assert steep[0] == pytest.approx(0.6, abs=0.02)


def test_equal_distances_and_few_rows() -> None:
    assert thresholds(np.zeros(50), np.ones(50)) == (0.0, 0.0)
    assert thresholds(np.array([0.4]), np.array([1.0])) == (0.4, 0.4)


def test_every_row_is_in_one_word_and_one_band() -> None:
    rng = np.random.default_rng(0)
    d = rng.uniform(size=101)
    d[:10] = 0.0
    y = rng.normal(size=(101, 1))
    y[3] = np.nan
    word = np.array(WORDS)[(d > 0.5).astype(int) + (d > 0.8)]
    bands = np.array([0.0, 0.25, 0.5, 1.0])
    found = by_distance(NUMBER, y, y + d[:, None], d, word, bands, lambda rows: {"count": int(rows.sum())})
    assert found["rank_correlation"] == pytest.approx(1.0)
    for groups in (found["words"].values(), found["bands"]):
        assert sum(g["rows"] for g in groups) == 100
        assert all(g["count"] == g["rows"] for g in groups)
    means = [b["error"] for b in found["bands"]]
    np.testing.assert_allclose(means, [b["distance"] for b in found["bands"]])
    assert means == sorted(means)
    empty = by_distance(NUMBER, y, y, d, np.array(["inside"] * 101), bands, lambda rows: {})
    assert empty["words"]["outside"] == {"rows": 0, "error": None}
    assert empty["rank_correlation"] is None


def test_reliability_of_true_and_of_overconfident_probabilities() -> None:
    rng = np.random.default_rng(0)
    p = rng.uniform(size=20_000)
    y = (rng.uniform(size=p.shape) < p).astype(float)[:, None]
    good = reliability(BINARY, y, np.stack([1 - p, p], axis=1))
    sharp = (p > 0.5).astype(float)
    bad = reliability(BINARY, y, np.stack([1 - sharp, sharp], axis=1))
    assert good is not None
    assert bad is not None
    assert good["ece"] < 0.02 < 0.2 < bad["ece"]
    assert sum(b["rows"] for b in good["bins"]) == 20_000
    assert good["brier"] == pytest.approx(brier_score_loss(y[:, 0], p))
    assert len(good["bins"]) == 10


def test_reliability_of_many_classes_and_labels() -> None:
    assert reliability(NUMBER, np.zeros((3, 1)), np.zeros((3, 1))) is None
    many = Task("multiclass", ("y",), classes=("a", "b", "c"))
    found = reliability(many, np.array([[0.0], [np.nan], [1.0]]), np.array([[0.7, 0.2, 0.1]] * 3))
    assert found is not None
    assert found["rows"] == 2
    assert found["ece"] == pytest.approx(0.2)
    labels = Task("multilabel", ("a", "b"), classes=(0, 1))
    of = reliability(labels, np.array([[0.0, np.nan], [1.0, 1.0]]), np.full((2, 2), 0.5))
    assert of is not None
    assert of["rows"] == 3
    assert reliability(labels, np.full((2, 2), np.nan), np.full((2, 2), 0.5)) is None
