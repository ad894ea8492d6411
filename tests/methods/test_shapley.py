"""Shapley values of trees, against their definition and against LightGBM's."""

from __future__ import annotations

from itertools import combinations
from math import factorial

import lightgbm
import numpy as np
import pytest

from ccn.learning.task import Floats
from ccn.methods.shapley import leaves_of
from ccn.methods.trees import Trees


def _booster(seed: int, columns: int, **settings: object) -> tuple[lightgbm.Booster, Floats]:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(200, columns)).round(1)
    y = x[:, 0] * x[:, 1] + np.abs(x[:, 2])
    if settings.get("objective") == "multiclass":
        y = np.digitize(y, [0, 1]).astype(float)
    how = {"verbosity": -1, "num_threads": 1, "min_data_in_leaf": 3, "use_missing": False, **settings}
    return lightgbm.train(how, lightgbm.Dataset(x, y), 7), x


def _value(t: Trees, node: int, x: Floats, known: frozenset[int]) -> float:
    """The mean of a tree over training rows that agree with x in the known columns."""
    if t.left[node] == node:
        return float(t.value[node])
    children = int(t.left[node]), int(t.right[node])
    if int(t.feature[node]) in known:
        return _value(t, children[int(x[t.feature[node]] > t.threshold[node])], x, known)
    assert t.cover is not None
    return sum(float(t.cover[c] / t.cover[node]) * _value(t, c, x, known) for c in children)


def _shapley(t: Trees, x: Floats) -> Floats:
    """By the sum over all sets of columns."""
    d = len(x)
    out = np.zeros(d)
    for i in range(d):
        others = [j for j in range(d) if j != i]
        for k in range(d):
            weight = factorial(k) * factorial(d - 1 - k) / factorial(d)
            for chosen in combinations(others, k):
                known = frozenset(chosen)
                out[i] += weight * sum(_value(t, r, x, known | {i}) - _value(t, r, x, known) for r in t.root.tolist())
    return out


@pytest.mark.parametrize(("columns", "leaves"), [(3, 4), (4, 12), (5, 20)])
def test_values_are_those_of_the_definition(columns: int, leaves: int) -> None:
    booster, x = _booster(columns, columns, objective="regression", num_leaves=leaves)
    trees = Trees.of_booster(booster)
    found = trees.conditions(1).shapley(x[:2])[:, 0]
    np.testing.assert_allclose(found, [_shapley(trees, row) for row in x[:2]], rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("objective", ["regression", "multiclass"])
def test_values_are_those_of_lightgbm(objective: str) -> None:
    outputs = 3 if objective == "multiclass" else 1
    booster, x = _booster(9, 8, objective=objective, num_class=outputs, num_leaves=31)
    leaves = Trees.of_booster(booster).conditions(outputs)
    expected = np.asarray(booster.predict(x, pred_contrib=True)).reshape(len(x), outputs, 9)
    np.testing.assert_allclose(leaves.shapley(x, outputs), expected[..., :-1], rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(leaves.baseline(outputs), expected[0, :, -1], rtol=1e-6)


def test_a_tree_of_one_leaf_has_its_value_as_the_baseline() -> None:
    one = np.zeros(1, np.int64)
    leaves = leaves_of(one, one, one, one, np.array([2.5]), np.ones(1), one)
    assert leaves.baseline().tolist() == [2.5]
    assert not leaves.shapley(np.ones((3, 2))).any()


def test_trees_of_old_files_count_leaves_alike() -> None:
    booster, x = _booster(3, 4, objective="regression")
    trees = Trees.of_booster(booster)
    arrays = {name: a for name, a in trees.state().items() if name != "cover"}
    old = Trees.from_state(arrays, 4).conditions(1)
    total = old.shapley(x)[:, 0].sum(axis=1) + old.baseline()[0]
    np.testing.assert_allclose(total, trees.sums(x)[:, 0], rtol=1e-10)
