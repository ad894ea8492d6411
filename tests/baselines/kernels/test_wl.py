"""Weisfeiler-Lehman labels as nested tuples, and the best pairing by the Hungarian algorithm."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from labelled import label, labelled, near
from scipy.optimize import linear_sum_assignment

import ccn
from ccn.baselines.kernels import WL, ShortestPath, WLEdge, WLOptimalAssignment

GRAPHS = labelled(12, seed=1, largest=8)
DEPTH = 3


def rounds(g: ccn.Graph) -> list[list[Any]]:
    found: list[list[Any]] = [label(g)]
    around = near(g)
    for _ in range(DEPTH):
        old = found[-1]
        found.append([(old[i], tuple(sorted((old[j] for j in around[i]), key=repr))) for i in range(g.n)])
    return found


def products(bags: list[Counter[Any]]) -> Any:
    return np.array([[sum(a[x] * b[x] for x in a) for b in bags] for a in bags], dtype=float)


def test_wl() -> None:
    bags = [Counter((i, x) for i, labels in enumerate(rounds(g)) for x in labels) for g in GRAPHS]
    np.testing.assert_array_equal(WL(DEPTH).gram(GRAPHS, normalise=False), products(bags))


def test_wl_edge() -> None:
    bags = [
        Counter((i, *sorted((x[u], x[v]), key=repr)) for i, x in enumerate(rounds(g)) for u, v in g.edges.tolist())
        for g in GRAPHS
    ]
    np.testing.assert_array_equal(WLEdge(DEPTH).gram(GRAPHS, normalise=False), products(bags))


def test_wl_edge_with_labels_of_edges() -> None:
    def path(bonds: list[float]) -> ccn.Graph:
        return ccn.Graph([(0, 1), (1, 2)], n=3, edge_features=bonds)

    graphs = [path([1.0, 2.0]), path([2.0, 1.0]), path([1.0, 1.0])]
    k = WLEdge(0, edge_labels=True).gram(graphs, normalise=False)
    assert k.tolist() == [[2, 2, 2], [2, 2, 2], [2, 2, 4]]
    assert (WLEdge(0).gram(graphs, normalise=False) == 4).all()


def test_wl_optimal_assignment() -> None:
    k = WLOptimalAssignment(DEPTH).gram(GRAPHS, normalise=False)
    for i, g in enumerate(GRAPHS):
        for j, h in enumerate(GRAPHS):
            alike = sum(
                np.array([[float(x == y) for y in b] for x in a]) for a, b in zip(rounds(g), rounds(h), strict=True)
            )
            rows, columns = linear_sum_assignment(-np.asarray(alike))
            assert k[i, j] == np.asarray(alike)[rows, columns].sum()


@pytest.mark.parametrize("name", ["wl", "wl-oa", "shortest-path"])
def test_the_same_as_grakel(name: str) -> None:
    grakel = pytest.importorskip("grakel")
    # GraKeL forgets vertices without edges, so that graphs with any are left out. Of shortest paths it counts both
    # directions, which is twice as many where all labels are one and not a constant multiple elsewhere.
    graphs = [g for g in GRAPHS if all(near(g))]
    one = name == "shortest-path"
    given = [
        (
            dict.fromkeys(map(tuple, g.entries.T.tolist()), 1),
            dict.fromkeys(range(g.n), 0) if one else dict(enumerate(label(g))),
        )
        for g in graphs
    ]
    theirs, ours = {
        "wl": (grakel.WeisfeilerLehman(n_iter=DEPTH), WL(DEPTH)),
        "wl-oa": (grakel.WeisfeilerLehmanOptimalAssignment(n_iter=DEPTH), WLOptimalAssignment(DEPTH)),
        "shortest-path": (grakel.ShortestPath(), ShortestPath()),
    }[name]
    assert len(graphs) >= 3
    own = [ccn.Graph(g.edges, n=g.n) if one else g for g in graphs]
    k = ours.gram(own, normalise=False) * (4 if one else 1)
    np.testing.assert_allclose(k, theirs.fit_transform(given))
