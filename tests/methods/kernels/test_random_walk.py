from __future__ import annotations

import numpy as np
import pytest
from labelled import label, labelled, same_as_grakel

from ccn.methods.kernels import RandomWalk


def test_walks_on_the_product_graph() -> None:
    graphs, steps, discount = labelled(10, seed=3), 4, 0.3
    k = RandomWalk(steps, discount).gram(graphs, normalise=False)
    for i, g in enumerate(graphs):
        for j, h in enumerate(graphs):
            same = np.equal.outer(label(g), label(h)).reshape(-1).astype(float)
            product = np.kron(g.adjacency().numpy(), h.adjacency().numpy()) * np.outer(same, same)
            total = sum(discount**p * same @ np.linalg.matrix_power(product, p) @ same for p in range(steps + 1))
            np.testing.assert_allclose(k[i, j], total, rtol=1e-6)


def test_the_same_as_grakel() -> None:
    grakel = pytest.importorskip("grakel")
    theirs = grakel.RandomWalk(p=3, lamda=0.1, method_type="baseline")
    same_as_grakel(RandomWalk(3, 0.1), theirs, labelled(12, seed=1, labels=1, largest=8))
