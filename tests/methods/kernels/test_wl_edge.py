from __future__ import annotations

from collections import Counter

import numpy as np
from labelled import labelled, products, rounds

import ccn
from ccn.methods.kernels import WLEdge


def test_edges_by_the_labels_of_their_ends() -> None:
    graphs = labelled(12, seed=1, largest=8)
    bags = [
        Counter((i, *sorted((x[u], x[v]), key=repr)) for i, x in enumerate(rounds(g, 3)) for u, v in g.edges.tolist())
        for g in graphs
    ]
    np.testing.assert_array_equal(WLEdge(3).gram(graphs, normalise=False), products(bags))


def test_labels_of_edges() -> None:
    def path(bonds: list[float]) -> ccn.Graph:
        return ccn.Graph([(0, 1), (1, 2)], n=3, edge_features=bonds)

    graphs = [path([1.0, 2.0]), path([2.0, 1.0]), path([1.0, 1.0])]
    k = WLEdge(0, edge_labels=True).gram(graphs, normalise=False)
    assert k.tolist() == [[2, 2, 2], [2, 2, 2], [2, 2, 4]]
    assert (WLEdge(0).gram(graphs, normalise=False) == 4).all()
