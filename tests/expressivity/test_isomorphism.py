"""Isomorphism against networkx, and on graphs whose symmetries mislead."""

from itertools import combinations

import networkx as nx
import numpy as np
import pytest
from hard import HEXAGON, ROOK, SHRIKHANDE, TRIANGLES

from ccn import Graph
from ccn.expressivity.isomorphism import form, isomorphic, matrix


def test_small_graphs_as_networkx_says() -> None:
    some = [g for g in nx.graph_atlas_g() if g.number_of_nodes() == 5]
    each = [matrix(Graph.from_networkx(g)) for g in some]
    assert len({form(m) for m in each}) == len(some)
    for (g, a), (h, b) in combinations(zip(some, each, strict=True), 2):
        assert isomorphic(a, b) == nx.is_isomorphic(g, h)


@pytest.mark.parametrize("seed", range(5))
def test_copies_are_the_same_and_mostly_of_one_form(seed: int) -> None:
    rng = np.random.default_rng(seed)
    edges = list(nx.gnp_random_graph(12, 0.3, seed=seed).edges)
    g = Graph(edges, np.eye(2)[rng.integers(0, 2, 12)], edge_features=np.eye(2)[rng.integers(0, 2, len(edges))])
    h = g.permute(rng.permutation(12))
    assert isomorphic(matrix(g), matrix(h))
    assert form(matrix(g)) == form(matrix(h))
    other = Graph(edges, g.features.flip(1), edge_features=g.edge_features)
    assert not isomorphic(matrix(g), matrix(other))


def test_regular_graphs() -> None:
    rng = np.random.default_rng(0)
    for g in (HEXAGON, TRIANGLES, ROOK, SHRIKHANDE):
        assert isomorphic(matrix(g), matrix(g.permute(rng.permutation(g.n))))
    assert isomorphic(matrix(HEXAGON), matrix(TRIANGLES)) is False
    assert isomorphic(matrix(ROOK), matrix(SHRIKHANDE)) is False


def test_too_few_trials_leave_it_open() -> None:
    assert isomorphic(matrix(ROOK), matrix(SHRIKHANDE), trials=3) is None
