"""Bootstrap intervals and paired differences, against metrics of rows that are drawn one by one."""

from __future__ import annotations

import numpy as np
import pytest

from ccn.learning.metrics import metrics
from ccn.learning.resampling import _counts, differences, intervals, row_losses, weighted_metrics
from ccn.learning.task import Floats, Task

ROWS = 40


def problem(kind: str, rng: np.random.Generator) -> tuple[Task, Floats, Floats]:
    if kind == "regression":
        y = rng.normal(size=(ROWS, 3)).round(1)  # with ties
        y[rng.random(y.shape) < 0.2] = np.nan
        return Task("regression", ("a", "b", "c")), y, (np.nan_to_num(y) + rng.normal(size=y.shape)).round(1)
    if kind == "multilabel":
        y = rng.integers(2, size=(ROWS, 2)).astype(float)
        y[rng.random(y.shape) < 0.2] = np.nan
        return Task("multilabel", ("a", "b"), (0, 1)), y, rng.random(y.shape).round(1)
    classes = ("no", "yes") if kind == "binary" else ("x", "y", "z")
    p = rng.dirichlet(np.ones(len(classes)), size=ROWS).round(2)
    return Task(kind, ("a",), classes), rng.integers(len(classes), size=(ROWS, 1)).astype(float), p  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", ["regression", "binary", "multiclass", "multilabel"])
def test_weighted_metrics_are_those_of_the_rows_drawn(kind: str) -> None:
    rng = np.random.default_rng(3)
    task, y, p = problem(kind, rng)
    w = rng.multinomial(ROWS, np.full(ROWS, 1 / ROWS), size=6).astype(float)
    w[0] = 1
    w[1] = 0
    w[1, 0] = ROWS  # one row only: most metrics are undefined
    found = weighted_metrics(task, y, p, w)
    for i, counts in enumerate(w.astype(int)):
        rows = np.repeat(np.arange(ROWS), counts)
        expected = metrics(task, y[rows], p[rows], each=True)
        for name, value in expected.items():
            if i == 1 and name.startswith("r2"):  # scikit-learn's is 0 or 1 where targets are constant
                continue
            np.testing.assert_allclose(found[name][i], value, rtol=1e-9, atol=1e-9, err_msg=f"{name} {i}")


def test_resamples_have_as_many_rows_as_there_are_and_repeat() -> None:
    one, again = (np.concatenate(list(_counts(7, 50, 1))) for _ in range(2))
    assert one.shape == (50, 7)
    assert (one.sum(axis=1) == 7).all()
    assert (one == again).all()


def test_intervals_hold_the_metric_and_shrink_with_rows() -> None:
    rng = np.random.default_rng(0)
    task = Task("regression", ("a",))
    y = rng.normal(size=(800, 1))
    p = y + rng.normal(size=y.shape)
    few, many = (intervals(task, y[:n], p[:n], 300) for n in (50, 800))
    for name, value in metrics(task, y, p).items():
        assert many[name].low < value < many[name].high
        assert many[name].half_width < few[name].half_width
    assert intervals(task, y[:0], p[:0]) == {}


def test_a_better_model_is_told_from_a_worse_and_an_equal_one() -> None:
    rng = np.random.default_rng(0)
    task = Task("regression", ("a",))
    y = rng.normal(size=(200, 1))
    good, bad = (y + s * rng.normal(size=y.shape) for s in (0.3, 1.0))
    found = differences(task, y, bad, good, 300)["mae"]
    assert found.value < 0
    assert found.interval.high < 0
    assert found.p < 0.02
    same = differences(task, y, good, good, 300)["mae"]
    assert (same.value, same.p) == (0.0, 1.0)


@pytest.mark.parametrize("kind", ["regression", "binary", "multiclass", "multilabel"])
def test_every_row_has_a_loss(kind: str) -> None:
    task, y, p = problem(kind, np.random.default_rng(1))
    found = row_losses(task, y, p)
    assert found.shape == (ROWS,)
    assert np.isfinite(found).all()
    assert (found >= 0).all()
