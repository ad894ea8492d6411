from __future__ import annotations

import numpy as np
from labelled import label, labelled

from ccn.baselines.kernels import RandomWalk


def test_walks_on_the_product_graph() -> None:
    graphs, steps, discount = labelled(10, seed=3), 4, 0.3
    k = RandomWalk(steps, discount).gram(graphs, normalise=False)
    for i, g in enumerate(graphs):
        for j, h in enumerate(graphs):
            same = np.equal.outer(label(g), label(h)).reshape(-1).astype(float)
            product = np.kron(g.adjacency().numpy(), h.adjacency().numpy()) * np.outer(same, same)
            total = sum(discount**p * same @ np.linalg.matrix_power(product, p) @ same for p in range(steps + 1))
            np.testing.assert_allclose(k[i, j], total, rtol=1e-6)
