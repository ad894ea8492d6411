"""The Weisfeiler-Lehman kernels against nested tuples as labels."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from labelled import labelled, products, rounds, same_as_grakel
from scipy.optimize import linear_sum_assignment

import ccn
from ccn.methods.kernels import WL, WLEdge, WLOptimalAssignment

GRAPHS = labelled(12, seed=1, largest=8)
DEPTH = 3


@pytest.mark.parametrize("depth", [0, 3])
def test_labels_as_nested_tuples(depth: int) -> None:
    bags = [Counter((i, x) for i, labels in enumerate(rounds(g, depth)) for x in labels) for g in GRAPHS]
    np.testing.assert_array_equal(WL(depth).gram(GRAPHS, normalise=False), products(bags))


def test_labels_are_those_of_grakel() -> None:
    grakel = pytest.importorskip("grakel")
    same_as_grakel(WL(3), grakel.WeisfeilerLehman(n_iter=3), GRAPHS)


def test_edges_by_the_labels_of_their_ends() -> None:
    bags = [
        Counter((i, *sorted((x[u], x[v]), key=repr)) for i, x in enumerate(rounds(g, 3)) for u, v in g.edges.tolist())
        for g in GRAPHS
    ]
    np.testing.assert_array_equal(WLEdge(3).gram(GRAPHS, normalise=False), products(bags))


def test_labels_of_edges() -> None:
    def path(bonds: list[float]) -> ccn.Graph:
        return ccn.Graph([(0, 1), (1, 2)], n=3, edge_features=bonds)

    graphs = [path([1.0, 2.0]), path([2.0, 1.0]), path([1.0, 1.0])]
    k = WLEdge(0, edge_labels=True).gram(graphs, normalise=False)
    assert k.tolist() == [[2, 2, 2], [2, 2, 2], [2, 2, 4]]
    assert (WLEdge(0).gram(graphs, normalise=False) == 4).all()


def test_the_best_pairing() -> None:
    k = WLOptimalAssignment(DEPTH).gram(GRAPHS, normalise=False)
    for i, g in enumerate(GRAPHS):
        for j, h in enumerate(GRAPHS):
            alike = np.zeros((g.n, h.n))
            for a, b in zip(rounds(g, DEPTH), rounds(h, DEPTH), strict=True):
                alike += [[x == y for y in b] for x in a]
            assert k[i, j] == alike[linear_sum_assignment(-alike)].sum()


def test_optimal_assignment_is_that_of_grakel() -> None:
    grakel = pytest.importorskip("grakel")
    same_as_grakel(WLOptimalAssignment(DEPTH), grakel.WeisfeilerLehmanOptimalAssignment(n_iter=DEPTH), GRAPHS)
