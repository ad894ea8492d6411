"""Metrics: known values, missing targets left out, and NaN where the targets do not define one."""

import math

import numpy as np
import pytest
from scipy.stats import spearmanr

from ccn.errors import ConfigurationError
from ccn.learning.metrics import better, check_monitor, metrics, score
from ccn.learning.task import Task, make_task

NAN = float("nan")
BINARY = Task("binary", ("c",), (0, 1))


def test_regression_over_several_targets_with_missing_ones() -> None:
    y = np.array([[0.0, 1.0], [2.0, NAN], [4.0, 3.0]])
    task = make_task(y, classification=False, names=["a", "b"])
    found = metrics(task, y, y + np.array([1.0, -2.0]), each=True)
    assert (found["mae"], found["rmse"]) == (1.5, 1.5)
    assert (found["mae[a]"], found["rmse[b]"]) == (1.0, 2.0)
    assert found["r2[a]"] == pytest.approx(1 - 3 / 8)


def test_the_rank_correlation_is_that_of_scipy_and_undefined_for_a_constant() -> None:
    rng = np.random.default_rng(0)
    y, p = rng.integers(5, size=(2, 30, 1)).astype(float)  # with ties
    task = make_task(y, classification=False, names=["a"])
    assert metrics(task, y, p)["spearman"] == pytest.approx(spearmanr(y[:, 0], p[:, 0]).statistic)
    assert math.isnan(metrics(task, y, np.ones_like(y))["spearman"])


def test_classes_known_by_heart() -> None:
    y = np.array([[0.0], [0.0], [1.0], [1.0], [NAN]])
    p = np.array([0.1, 0.6, 0.4, 0.9, 0.5])
    found = metrics(BINARY, y, np.stack([1 - p, p], axis=1))
    assert found["accuracy"] == 0.5
    assert found["roc_auc"] == 0.75
    assert found["pr_auc"] == pytest.approx((1 + 2 / 3) / 2)
    assert found["mcc"] == 0.0
    three = Task("multiclass", ("c",), ("x", "y", "z"))
    assert metrics(three, np.array([[0.0], [1.0], [1.0]]), np.eye(3)[[0, 1, 1]])["roc_auc"] == 1.0


def test_one_class_or_no_row_at_all_is_nan_and_no_error() -> None:
    found = metrics(BINARY, np.array([[1.0], [1.0]]), np.array([[0.2, 0.8], [0.7, 0.3]]))
    assert found["accuracy"] == 0.5
    assert all(math.isnan(found[name]) for name in ("roc_auc", "pr_auc", "mcc"))
    assert all(math.isnan(v) for v in metrics(BINARY, np.array([[NAN]]), np.array([[0.5, 0.5]])).values())
    labels = Task("multilabel", ("p", "q"), (0, 1))
    y = np.array([[0.0, 1.0], [1.0, 1.0]])
    assert metrics(labels, y, np.array([[0.1, 0.9], [0.8, 0.9]]))["roc_auc"] == 1.0


def test_a_metric_of_another_task_cannot_be_monitored() -> None:
    check_monitor(BINARY, "accuracy")
    with pytest.raises(ConfigurationError, match=r"'mae'.*accuracy"):
        check_monitor(BINARY, "mae")


def test_scores_leave_out_missing_targets() -> None:
    known = np.array([[0.0, 1.0], [1.0, NAN], [NAN, NAN]])
    assert score(known, np.array([[0, 0], [1, 1], [0, 0]]), classification=True) == 0.5
    assert score(known[:2, :1], known[:2, :1], classification=False) == 1.0


def test_better_knows_which_way_is_up() -> None:
    assert better("loss", 1.0, None)
    assert better("mae", 1.0, 2.0)
    assert better("accuracy", 2.0, 1.0)
    assert not better("accuracy", 1.0, 1.0)
    assert not better("loss", NAN, None)


def test_predictions_that_are_not_finite_have_no_metrics() -> None:
    task = Task("regression", ("a",))
    assert all(np.isnan(value) for value in metrics(task, np.ones((2, 1)), np.array([[1.0], [np.nan]])).values())
