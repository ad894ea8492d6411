"""Graph and Batch: every rule of the input table, what is kept, and what errors say."""

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import ccn
from ccn import Graph
from ccn.errors import GraphError
from ccn.testing import random_graph, random_permutation

PATH = [(0, 1), (1, 2)]


@given(seed=st.integers(0, 10**6), n=st.integers(1, 7))
@settings(deadline=None, max_examples=30)
def test_an_undirected_edge_may_be_given_once_either_way_or_both_ways(seed: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    g = random_graph(n, rng, weighted=True)
    assert g.weights is not None
    a = torch.zeros(n, n, dtype=torch.float64)
    edges: list[tuple[int, int]] = []
    weights: list[torch.Tensor] = []
    for (u, v), w in zip(g.edges.tolist(), g.weights, strict=True):
        a[u, v] = a[v, u] = w
        ways = [[(u, v)], [(v, u)], [(u, v), (v, u)]][int(rng.integers(3))]
        edges += ways
        weights += [w] * len(ways)
    torch.testing.assert_close(g.adjacency(), a)
    order = rng.permutation(len(edges))
    again = Graph([edges[i] for i in order], n=n, weights=torch.tensor([float(weights[i]) for i in order]).double())
    torch.testing.assert_close(again.adjacency(), a)
    np.testing.assert_array_equal(again.entries, g.entries)
    # Entries are in row order, and each is backed by an edge between its two vertices.
    assert again.entries.T.tolist() == sorted(again.entries.T.tolist())
    ends = again.edges[again.entry_edge]
    np.testing.assert_array_equal(np.sort(ends, axis=1), np.sort(again.entries.T, axis=1))


@pytest.mark.parametrize("kind", [list, tuple, iter, np.array, torch.tensor])
def test_edges_may_be_any_list_of_pairs(kind: Any) -> None:
    assert Graph(kind(PATH), n=3).adjacency().tolist() == [[0, 1, 0], [1, 0, 1], [0, 1, 0]]


def test_a_graph_without_edges_works_and_features_default_to_one() -> None:
    g = Graph(edges=[], n=3)
    assert g.features.tolist() == [[1.0], [1.0], [1.0]]
    assert g.adjacency().tolist() == np.zeros((3, 3)).tolist()
    assert g.entries.shape == (2, 0)
    assert Graph(features=[5.0, 6.0]).features.tolist() == [[5.0], [6.0]]


def test_a_directed_edge_sets_one_entry_and_keeps_its_weight() -> None:
    g = Graph([(0, 1), (1, 0), (2, 1)], n=3, weights=[1.0, 2.0, 3.0], directed=True)
    assert g.adjacency().tolist() == [[0, 1, 0], [2, 0, 0], [0, 3, 0]]
    assert g.matrix_class == ccn.MatrixClass(directed=True)
    assert repr(g) == "Graph(n=3, edges=3, features=1, directed=True)"


@pytest.mark.parametrize("directed", [False, True])
def test_a_self_loop_when_asked_for_is_one_diagonal_entry(directed: bool) -> None:
    g = Graph([(0, 0), (0, 1)], n=2, weights=[5.0, 2.0], self_loops=True, directed=directed)
    assert g.adjacency().tolist() == [[5, 2], [0 if directed else 2, 0]]
    assert g.matrix_class == ccn.MatrixClass(directed, True)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.int64])
def test_features_and_weights_keep_their_dtype(dtype: torch.dtype) -> None:
    g = Graph(PATH, torch.ones(3, 2, dtype=dtype), weights=torch.tensor([1, 2], dtype=dtype))
    assert g.weights is not None
    assert g.features.dtype == g.weights.dtype == g.adjacency().dtype == ccn.batch([g, g]).features.dtype == dtype
    assert Graph(PATH, np.ones((3, 2))).features.dtype == torch.float64
    assert Graph(PATH, [[1.0], [2.0], [3.0]]).features.dtype == torch.float32


def test_gradients_reach_features_and_weights_given_once_or_both_ways() -> None:
    x = torch.randn(3, 2, requires_grad=True)
    once = torch.tensor([2.0, 3.0], requires_grad=True)
    both = torch.tensor([2.0, 3.0, 3.0, 2.0], requires_grad=True)
    probe = torch.arange(9.0).reshape(3, 3)
    a = Graph(PATH, x, weights=once).adjacency()
    assert torch.autograd.grad((a * probe).sum(), once)[0].tolist() == [1 + 3, 5 + 7]
    g = Graph([(0, 1), (1, 2), (2, 1), (1, 0)], x, weights=both)
    # Given both ways, each direction answers for its own entry.
    assert torch.autograd.grad((g.adjacency() * probe).sum(), both)[0].tolist() == [1, 5, 7, 3]
    assert torch.autograd.grad(ccn.batch([g, g]).features.sum(), x)[0].tolist() == [[2.0, 2.0]] * 3


@given(seed=st.integers(0, 10**6), n=st.integers(1, 7), directed=st.booleans(), self_loops=st.booleans())
@settings(deadline=None, max_examples=30)
def test_permute_renames_vertex_i_to_sigma_i(seed: int, n: int, directed: bool, self_loops: bool) -> None:
    rng = np.random.default_rng(seed)
    g = random_graph(n, rng, weighted=True, edge_features=2, directed=directed, self_loops=self_loops)
    sigma = random_permutation(n, rng)
    h = g.permute(sigma)
    a, renamed = g.adjacency(), h.adjacency()
    assert h.matrix_class == g.matrix_class
    for i in range(n):
        torch.testing.assert_close(h.features[sigma[i]], g.features[i])
        for j in range(n):
            assert renamed[sigma[i], sigma[j]] == a[i, j]
    assert g.edge_features is not None
    assert h.edge_features is not None
    rows = {(sigma[u], sigma[v]): row for (u, v), row in zip(g.edges.tolist(), g.edge_features.tolist(), strict=True)}
    assert rows == {(u, v): r for (u, v), r in zip(h.edges.tolist(), h.edge_features.tolist(), strict=True)}


NAN, INF = float("nan"), float("inf")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"edges": [(0, 1), (1, 3)], "n": 3}, r"edge 1 \(1, 3\) .*3.*0\.\.2"),
        ({"edges": [(0, -1)], "n": 3}, r"edge 0 \(0, -1\) .*-1"),
        ({"edges": [(0, 1), (2, 2)], "n": 3}, r"edge 1 \(2, 2\) .*self_loops=True"),
        ({"edges": [(0, 1), (1, 2), (0, 1)], "n": 3}, r"edge 2 \(0, 1\)"),
        ({"edges": [(0, 1), (1, 0), (0, 1)], "n": 3}, r"edge 2 \(0, 1\)"),
        ({"edges": [(0, 1), (0, 1)], "n": 2, "directed": True}, r"edge 1 \(0, 1\)"),
        ({"edges": [(1, 1), (1, 1)], "n": 2, "self_loops": True}, r"edge 1 \(1, 1\)"),
        ({"edges": [(0, 1), (1, 0), (2, 3), (2, 3)], "n": 4}, r"edge 3 \(2, 3\)"),
        ({"edges": [(0, 1), (1, 0), (1, 0)], "n": 2}, r"edge 2 \(1, 0\)"),
        ({"edges": PATH, "n": 3, "weights": [1.0, 0.0]}, r"edge 1 \(1, 2\) .* 0"),
        (
            {"edges": [(0, 1), (1, 0)], "n": 2, "weights": [1.0, 2.0]},
            r"edge 0 \(0, 1\) and edge 1 \(1, 0\) .* weights .*directed=True",
        ),
        ({"edges": [(0, 1), (1, 0)], "n": 2, "edge_features": [1.0, 2.0]}, "edge 0 .* edge 1 .* features"),
        ({"edges": PATH, "n": 3, "weights": [1.0]}, r"2 .*weights .*\(1,\)"),
        ({"edges": PATH, "n": 3, "edge_features": [[1.0]]}, r"2 .*edge features .*\(1, 1\)"),
        ({"features": [[1.0, 0.0], [NAN, 0.0]]}, r"features .*\(1, 0\)"),
        ({"edges": PATH, "n": 3, "weights": [1.0, INF]}, r"edge 1 \(1, 2\) .*inf"),
        ({"edges": PATH, "n": 3, "edge_features": [[1.0], [NAN]]}, r"edge features .*\(1, 0\)"),
        ({"features": [[1.0], [1.0, 2.0]]}, "features"),
        ({"features": [[1j]]}, "features .*complex"),
        ({"features": torch.ones(2, 2, 2)}, "features"),
        ({"features": torch.ones(2, 1), "n": 3}, "n=3.* 2 "),
        ({"edges": PATH}, "n="),
        ({"n": 0}, "n=0"),
        ({"n": -1}, "n=-1"),
        ({"n": 2.5}, r"n=2\.5"),
        ({"n": "2"}, "n='2'"),
        ({"edges": [(0, 1)], "n": True}, "n=True"),
        ({"features": torch.ones(2, 1), "n": 2.5}, r"n=2\.5"),
        ({"features": torch.ones(0, 1)}, ""),
        ({"edges": [[0, 1, 2], [1, 2, 0]], "n": 3}, r"\(u, v\)"),
        ({"edges": [(0, 0.5)], "n": 3}, r"edge 0 \(0\.0, 0\.5\)"),
        ({"edges": [(0, 1), (0, INF)], "n": 2}, r"edge 1 \(0\.0, inf\)"),
        ({"edges": [(0, -INF)], "n": 2}, "edge 0 "),
        ({"edges": [(0, NAN)], "n": 2}, "edge 0 "),
        ({"edges": [(0, 1e300)], "n": 2}, "edge 0 "),
        ({"edges": [("a", "b")], "n": 2}, "edges .*U1"),
        ({"edges": [(0, 1), (1,)], "n": 3}, r"\(u, v\)"),
    ],
)
def test_bad_input_is_an_error_that_names_the_graph_and_the_place(options: dict[str, Any], message: str) -> None:
    with pytest.raises(GraphError, match=f"^graph caffeine: .*{message}"):
        Graph(**options, name="caffeine")


@pytest.mark.parametrize("sigma", [(0, 1), (0, 1, 1), (1, 2, 3), (0, 1, -1), (0.0, 1.0, 2.0), [(0, 1, 2)], 0])
def test_what_is_no_permutation_cannot_permute(sigma: Any) -> None:
    with pytest.raises(GraphError, match=r"^graph caffeine: sigma=.*0\.\.2"):
        Graph(PATH, n=3, name="caffeine").permute(sigma)


def test_a_batch_numbers_vertices_edges_and_entries_through() -> None:
    rng = np.random.default_rng(0)
    graphs = [random_graph(n, rng, weighted=True, edge_features=2, density=0.6) for n in (3, 1, 4)]
    b = ccn.batch(graphs)
    assert (len(b), b.n, b.start.tolist(), b.graph_of.tolist()) == (3, 8, [0, 3, 4, 8], [0, 0, 0, 1, 2, 2, 2, 2])
    torch.testing.assert_close(b.features, torch.cat([g.features for g in graphs]))
    assert b.weights is not None
    assert b.edge_features is not None
    a = torch.zeros(8, 8, dtype=torch.float64)
    a[b.entries[0], b.entries[1]] = b.weights[b.entry_edge]
    torch.testing.assert_close(a, torch.block_diag(*[g.adjacency() for g in graphs]))
    edges = np.concatenate([g.edges + s for g, s in zip(graphs, b.start[:-1], strict=True)])
    np.testing.assert_array_equal(np.sort(edges[b.entry_edge]), np.sort(b.entries.T))
    assert len(b.edge_features) == len(edges)


def test_in_a_batch_weights_that_are_not_given_are_one_and_the_widest_class_holds() -> None:
    b = ccn.batch([Graph(PATH, n=3), Graph([(0, 1)], n=2, weights=torch.tensor([0.5]).double())])
    assert b.weights is not None
    assert b.weights.dtype == torch.float64
    assert b.weights.tolist() == [1.0, 1.0, 0.5]
    assert ccn.batch([Graph(PATH, n=3)]).weights is None
    b = ccn.batch([Graph(PATH, n=3, directed=True), Graph([(0, 0)], n=1, self_loops=True), Graph(n=1)])
    assert b.matrix_class == ccn.MatrixClass(True, True)


def test_a_batch_moves_with_its_structure_and_is_built_once() -> None:
    b = ccn.batch([Graph(PATH, n=3, weights=[1.0, 2.0])])
    assert ccn.batch(b) is b
    made = b.cached("key", object)
    # The meta device stands for any other.
    moved = b.to("meta")
    assert moved.weights is not None
    assert moved.device == moved.weights.device == torch.device("meta")
    assert b.device == torch.device("cpu")
    assert moved.cached("key", object) is made


@pytest.mark.parametrize(
    ("graphs", "message"),
    [
        ([], "graph"),
        ([Graph(n=2), Graph([], torch.ones(2, 3))], "graph 1: features .*3.*graph 0 1"),
        ([Graph([(0, 1)], n=2, edge_features=[[1.0]]), Graph([(0, 1)], n=2)], "graph 1 .*edge features"),
        (
            [Graph([(0, 1)], n=2, edge_features=[[1.0]]), Graph([(0, 1)], n=2, edge_features=[[1.0, 2.0]])],
            "graph 1: edge_features .*2",
        ),
        (None, "graph 0: .*NoneType"),
        (np.zeros((2, 3)), r"graph 0: .*\(2, 3\)"),
        ([Graph(n=1), object()], "graph 1: .*object"),
        (["CC", np.array([[0, 1], [0, 0]])], r"graph 1: A\[1, 0\] is 0"),
        (["CC", "not a molecule"], "graph 1: .*'not a molecule'"),
    ],
)
def test_a_bad_batch_is_an_error_that_names_the_graph(graphs: Any, message: str) -> None:
    with pytest.raises(GraphError, match=message):
        ccn.batch(graphs)
