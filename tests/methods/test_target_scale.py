"""The scale of targets, chosen on held-out rows."""

import numpy as np
import pytest

from ccn.graphs.graph import Graph
from ccn.graphs.pack import Pack
from ccn.learning.inputs import Inputs
from ccn.methods.target_scale import choose_shapes, quick_columns

RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 6)).astype(np.float32)
ORDER = RNG.permutation(300)
FOLDS = [(np.sort(np.delete(ORDER, s)), np.sort(ORDER[s])) for s in (slice(i, i + 60) for i in range(0, 300, 60))]


def test_a_target_of_many_sizes_is_bent_and_one_of_one_size_is_not() -> None:
    signal = X[:, 0] + X[:, 1]
    plain = signal + 0.3 * RNG.normal(size=300)
    tailed = np.exp(2 * plain)
    y = np.stack([plain, tailed, np.where(RNG.random(300) < 0.3, np.nan, -tailed)], axis=1)
    linear, bent, missing = choose_shapes(X, y, FOLDS, seed=0)
    assert linear == "linear"
    assert bent in ("log", "power", "rank")
    assert missing in ("power", "rank")  # negative numbers have no logarithm
    assert choose_shapes(X, y, FOLDS, seed=0) == (linear, bent, missing)


@pytest.mark.parametrize("y", [np.exp(9 * X[:, 0]) > 1, np.where(np.arange(300) < 20, np.exp(9 * X[:, 0]), np.nan)])
def test_few_values_stay_on_a_linear_scale(y: np.ndarray) -> None:
    assert choose_shapes(X, y.astype(float)[:, None], FOLDS, seed=0) == ("linear",)


def test_graphs_without_features_as_a_whole_are_judged_by_their_parts() -> None:
    graphs = [Graph([(i, i + 1) for i in range(n - 1)], n=n) for n in (2, 3, 4, 5) for _ in range(4)]
    x = quick_columns(Pack.of(graphs), Inputs())
    assert x.shape[0] == 16
    assert len(np.unique(x, axis=0)) == 4
