from __future__ import annotations

from collections import Counter

import networkx as nx
import numpy as np
import pytest
from labelled import label, labelled, products, same_as_grakel

import ccn
from ccn.methods.kernels import ShortestPath


@pytest.mark.parametrize("reach", [None, 2])
def test_pairs_by_labels_and_distance(reach: int | None) -> None:
    graphs = labelled(12, seed=2)
    bags = []
    for g in graphs:
        lengths = nx.all_pairs_shortest_path_length(nx.Graph([(u, u) for u in range(g.n)] + g.edges.tolist()), reach)
        x = label(g)
        bags.append(Counter((*sorted((x[u], x[v])), d) for u, reached in lengths for v, d in reached.items() if u < v))
    np.testing.assert_array_equal(ShortestPath(reach).gram(graphs, normalise=False), products(bags))


def test_a_path_of_three() -> None:
    k = ShortestPath().gram([ccn.Graph([(0, 1), (1, 2)], n=3)], normalise=False)
    assert k.tolist() == [[2**2 + 1]]


def test_the_same_as_grakel() -> None:
    grakel = pytest.importorskip("grakel")
    # It counts both directions: twice as many where all labels are one, and no constant multiple elsewhere.
    same_as_grakel(ShortestPath(), grakel.ShortestPath(), labelled(12, seed=1, labels=1, largest=8), factor=4)
