"""The arithmetic of contributions: sums, multiples, functions, means of values, softmax."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import expit, log_softmax, logit

import ccn
from ccn.features.scaling import TargetScale
from ccn.graphs.pack import Pack
from ccn.learning.contributions import Contributions, margin_of, pooled, softmaxed, unscaled, value_of
from ccn.learning.task import Task

GRAPHS = Pack.of([ccn.Graph([(0, 1), (1, 2)], n=3), ccn.Graph([], n=1), ccn.Graph([(0, 1)], n=2)])
WITH_WHOLE = GRAPHS.with_graph_features(np.ones((3, 2)))


def made(seed: int) -> Contributions:
    """Contributions that add up."""
    rng = np.random.default_rng(seed)
    bare = Contributions.none(WITH_WHOLE, rng.normal(size=3), rng.normal(size=3))
    drawn = replace(
        bare,
        atoms=rng.normal(size=6),
        bonds=rng.normal(size=3),
        whole=rng.normal(size=(3, 2)),
        lacking=rng.normal(size=3),
    )
    return replace(drawn, prediction=drawn.prediction - drawn.residual)


def test_sums_multiples_and_functions_add_up() -> None:
    one, other = made(0), made(1)
    for found in (one, one + other, one.times(3.0, 2.0), one.times(np.array([1.0, -2.0, 0.5])), one.through(np.tanh)):
        np.testing.assert_allclose(found.residual, 0, atol=1e-12)
    np.testing.assert_allclose(one.through(np.tanh).prediction, np.tanh(one.prediction))
    np.testing.assert_allclose((one + other).atoms, one.atoms + other.atoms)


def test_a_function_of_what_does_not_change_has_the_slope_of_the_tangent() -> None:
    one = made(0)
    still = replace(one, atoms=0 * one.atoms, bonds=0 * one.bonds, whole=0 * one.whole, lacking=0 * one.lacking)
    still.atoms[:2] = [1.0, -1.0]
    still = replace(still, prediction=still.baseline)
    found = still.through(np.exp)
    np.testing.assert_allclose(found.atoms[0], np.exp(still.prediction[0]), rtol=1e-6)
    np.testing.assert_allclose(found.residual, 0, atol=1e-12)


def test_rows_are_chosen_and_joined() -> None:
    one = made(0)
    order = np.array([2, 0])
    some = one.select(order)
    np.testing.assert_array_equal(some.atoms, np.r_[one.atoms[4:], one.atoms[:3]])
    np.testing.assert_array_equal(some.bonds, np.r_[one.bonds[2:], one.bonds[:2]])
    back = Contributions.join([some, one.select(np.array([1]))]).select(np.array([1, 2, 0]))
    for name in ("prediction", "baseline", "atoms", "bonds", "whole", "lacking", "atom_counts", "bond_counts"):
        np.testing.assert_array_equal(getattr(back, name), getattr(one, name))


@pytest.mark.parametrize(
    "task",
    [
        Task("regression", ("y",), scale=TargetScale((1.0,), (2.0,))),
        Task("regression", ("y",), scale=TargetScale.fit([[1.0], [10.0], [100.0]], "log")),
        Task("binary", ("y",), classes=("a", "b")),
    ],
)
def test_the_mean_of_values_is_explained_on_the_margin(task: Task) -> None:
    each = [unscaled(task, 0, made(i)) if task.scale else made(i) for i in range(3)]
    found = pooled(task, 0, [(task, c) for c in each])
    to_value, to_margin = (f(task, 0) or (lambda x: x) for f in (value_of, margin_of))
    np.testing.assert_allclose(found.prediction, to_margin(np.mean([to_value(c.prediction) for c in each], axis=0)))
    np.testing.assert_allclose(found.residual, 0, atol=1e-10)
    if task.kind == "binary":
        np.testing.assert_allclose(found.prediction, logit(np.mean([expit(c.prediction) for c in each], axis=0)))


def test_scores_of_classes_are_explained_through_the_softmax() -> None:
    scores = [made(i) for i in range(4)]
    found = softmaxed(scores, 2)
    end = np.stack([s.prediction for s in scores], axis=1)
    np.testing.assert_allclose(found.prediction, log_softmax(end, axis=1)[:, 2])
    np.testing.assert_allclose(found.residual, 0, atol=1e-8)


def test_graphs_without_whole_features() -> None:
    found = Contributions.none(GRAPHS, np.zeros(3), 0.5)
    assert found.whole.shape == (3, 0)
    np.testing.assert_allclose(found.residual, -0.5)
