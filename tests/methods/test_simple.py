"""Simple predictions: each row by rows of other folds alone."""

import numpy as np
import pytest

from ccn.learning.task import Task, make_task
from ccn.methods.simple import constant, linear

RNG = np.random.default_rng(0)
X = RNG.normal(size=(200, 5)).astype(np.float32)
FOLDS = [(np.setdiff1d(np.arange(200), held), held) for held in np.array_split(RNG.permutation(200), 4)]


def test_numbers_on_the_scale_of_the_targets() -> None:
    y = np.stack([100 + 7 * X[:, 0], np.where(RNG.random(200) < 0.5, np.nan, np.exp(X[:, 1]))], axis=1).astype(float)
    task = make_task(y, classification=False, names=("a", "b"), scale=("linear", "log"))
    found = linear(task, X, y, FOLDS)
    assert np.abs(found[:, 0] - y[:, 0]).mean() < 0.2 * y[:, 0].std()
    assert np.nanmean(np.abs(found[:, 1] - y[:, 1])) < 0.3 * np.nanstd(y[:, 1])


def test_no_row_is_predicted_by_a_model_that_has_seen_its_fold() -> None:
    y = X[:, :1] + RNG.normal(size=(200, 1))
    task, held = make_task(y, classification=False, names=("y",)), FOLDS[0][1]
    other = y.copy()
    other[held] += 100 * RNG.normal(size=(len(held), 1))
    np.testing.assert_array_equal(linear(task, X, y, FOLDS)[held], linear(task, X, other, FOLDS)[held])
    assert np.square(linear(task, X, y, FOLDS) - y).mean() < 0.8 * y.var()


@pytest.mark.parametrize("classes", [2, 3])
def test_classes(classes: int) -> None:
    y = np.argmax(X[:, :classes], axis=1).astype(float)[:, None]
    task = make_task(y, classification=True, names=("y",), classes=tuple(range(classes)))
    found = linear(task, X, y, FOLDS)
    np.testing.assert_allclose(found.sum(axis=1), 1)
    assert (found.argmax(axis=1) == y[:, 0]).mean() > 0.8
    assert constant(task, y).shape == found.shape


def test_labels_with_gaps_and_of_one_value() -> None:
    y = np.stack([X[:, 0] > 0, np.ones(200), X[:, 1] > 0], axis=1).astype(float)
    y[::3, 2] = np.nan
    task = Task("multilabel", ("a", "b", "c"), classes=(0, 1))
    found = linear(task, X, y, FOLDS)
    assert ((found[:, 0] > 0.5) == y[:, 0]).mean() > 0.8
    assert ((found > 0) & (found < 1)).all()
