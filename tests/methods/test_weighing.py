"""Weights of members, from rows that they were not fitted on."""

from __future__ import annotations

import numpy as np
import pytest

from ccn.learning.task import Task
from ccn.methods.weighing import fit_weights, held_out_loss


def test_weights_are_those_of_the_better_member() -> None:
    rng = np.random.default_rng(0)
    y = rng.normal(size=(400, 1))
    z = np.stack([y + 0.3 * rng.normal(size=y.shape), y + 0.6 * rng.normal(size=y.shape)])
    w, b = fit_weights(Task("regression", ("y",)), z, y)
    best = np.linalg.lstsq(z[:, :, 0].T, y[:, 0], rcond=None)[0]
    np.testing.assert_allclose(w, best, atol=0.05)
    assert b.tolist() == [0.0]


@pytest.mark.parametrize("kind", ["binary", "multilabel", "multiclass"])
def test_weights_of_classes_are_not_negative_and_ignore_noise(kind: str) -> None:
    rng = np.random.default_rng(1)
    classes = (0, 1, 2) if kind == "multiclass" else (0, 1)
    outputs = 3 if kind == "multiclass" else 2 if kind == "multilabel" else 1
    y = rng.integers(0, len(classes), size=(500, 2 if kind == "multilabel" else 1)).astype(float)
    signal = 2.0 * (y == np.arange(3)) if kind == "multiclass" else 4 * y - 2
    z = np.stack([signal + rng.normal(size=(500, outputs)), -signal, rng.normal(size=(500, outputs))])
    w, b = fit_weights(Task(kind, tuple("ab"[: y.shape[1]]), classes=classes), z, y)  # type: ignore[arg-type]
    assert (w >= 0).all()
    assert w[0] > 0.5 > w[1] + w[2]
    assert b.shape == (outputs,)


def test_few_rows_leave_weights_nearly_equal() -> None:
    rng = np.random.default_rng(2)
    y = rng.normal(size=(4, 1))
    w, _ = fit_weights(Task("regression", ("y",)), np.stack([y, rng.normal(size=y.shape)]), y)
    assert abs(w[0] - w[1]) < 0.4


def test_a_member_of_noise_costs_on_rows_that_its_weight_was_not_fitted_on() -> None:
    rng = np.random.default_rng(2)
    y = rng.normal(size=(300, 1))
    task, good = Task("regression", ("y",)), y + 0.5 * rng.normal(size=y.shape)
    other, noise = y + 0.5 * rng.normal(size=y.shape), rng.normal(size=y.shape)
    alone = held_out_loss(task, good[None], y)
    assert held_out_loss(task, np.stack([good, other]), y) < alone < held_out_loss(task, np.stack([good, noise]), y)
    y[::3] = np.nan  # missing targets do not count
    assert held_out_loss(task, np.stack([good, other]), y) == pytest.approx(alone, rel=0.5)
