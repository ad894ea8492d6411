"""Kernels that count against plain Python: nested tuples as labels, paths of NetworkX, product graphs."""

from __future__ import annotations

from collections import Counter
from itertools import combinations

import networkx as nx
import numpy as np
import pytest
from labelled import label, labelled, products, rounds, same_as_grakel
from scipy.optimize import linear_sum_assignment

import ccn
from ccn.errors import ConfigurationError
from ccn.methods.kernels import WL, Graphlet, RandomWalk, ShortestPath, WLEdge, WLOptimalAssignment
from ccn.methods.kernels.counting import graphlets, induced_counts

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


def test_shortest_paths_are_those_of_grakel() -> None:
    grakel = pytest.importorskip("grakel")
    # It counts both directions: twice as many where all labels are one, and no constant multiple elsewhere.
    same_as_grakel(ShortestPath(), grakel.ShortestPath(), labelled(12, seed=1, labels=1, largest=8), factor=4)


def test_walks_on_the_product_graph() -> None:
    graphs, steps, discount = labelled(10, seed=3), 4, 0.3
    k = RandomWalk(steps, discount).gram(graphs, normalise=False)
    for i, g in enumerate(graphs):
        for j, h in enumerate(graphs):
            same = np.equal.outer(label(g), label(h)).reshape(-1).astype(float)
            product = np.kron(g.adjacency().numpy(), h.adjacency().numpy()) * np.outer(same, same)
            total = sum(discount**p * same @ np.linalg.matrix_power(product, p) @ same for p in range(steps + 1))
            np.testing.assert_allclose(k[i, j], total, rtol=1e-6)


def test_walks_are_those_of_grakel() -> None:
    grakel = pytest.importorskip("grakel")
    theirs = grakel.RandomWalk(p=3, lamda=0.1, method_type="baseline")
    same_as_grakel(RandomWalk(3, 0.1), theirs, labelled(12, seed=1, labels=1, largest=8))


@pytest.mark.parametrize("size", [3, 4])
def test_induced_subgraphs_by_looking_at_all(size: int) -> None:
    # Graphs of up to four vertices are told apart by their degrees.
    def degrees(g: nx.Graph) -> tuple[int, ...]:
        return tuple(sorted(d for _, d in g.degree))

    kinds = []
    for edges in graphlets(size):
        g = nx.empty_graph(size)
        g.add_edges_from(edges)
        kinds.append(degrees(g))
    assert len(set(kinds)) == len(kinds) == {3: 4, 4: 11}[size]
    graphs = labelled(15, seed=4, density=0.5)
    found = induced_counts(ccn.Pack.of(graphs), size)
    for row, g in zip(found, graphs, strict=True):
        whole = nx.empty_graph(g.n)
        whole.add_edges_from(g.edges.tolist())
        seen = Counter(degrees(whole.subgraph(some)) for some in combinations(range(g.n), size))
        assert row.tolist() == [seen[k] for k in kinds]


def test_frequencies_and_connected_ones() -> None:
    star = ccn.Graph([(0, 1), (0, 2), (0, 3)], n=4)
    frequencies = Graphlet(3).see(ccn.Pack.of([star])).count
    np.testing.assert_allclose(np.sort(frequencies), [0.25, 0.75])  # three wedges, one without edges
    assert Graphlet(3, connected=True).see(ccn.Pack.of([star])).count.tolist() == [1.0]
    with pytest.raises(ConfigurationError, match="size=5"):
        Graphlet(5).gram([star])
