"""What each order can tell apart, by brute force in float64 on known hard pairs."""

from itertools import combinations
from typing import Any

import networkx as nx
import numpy as np
import pytest
import torch

import ccn
from ccn.schemes import Neighbourhoods

TREE = [(0, 1), (0, 2), (2, 3), (2, 4), (1, 5), (1, 6)]
MERGED = [(0, 1), (0, 2), (2, 3), (2, 4), (1, 5), (1, 4)]
MESSAGE_PASSING = {"order": 0, "adjacency": False}


def _graph(g: nx.Graph, labels: list[int] | None = None) -> ccn.Graph:
    n = g.number_of_nodes()
    features = None if labels is None else np.eye(max(labels) + 1)[labels]
    return ccn.Graph(list(nx.convert_node_labels_to_integers(g).edges), features, n=n)


def _difference(a: ccn.Graph, b: ccn.Graph, seed: int = 0, **options: object) -> float:
    """The largest relative difference of two embeddings under one random network."""
    torch.manual_seed(seed)
    net = ccn.CCN(a.features.shape[1], 1, **{"channels": 4, **options}).double()  # type: ignore[arg-type]
    with torch.no_grad():
        x, y = net.embed([a]), net.embed([b])
    return float((x - y).abs().max() / x.abs().max())


def _skip_links(n: int, skip: int) -> ccn.Graph:
    return _graph(nx.circulant_graph(n, [1, skip]))


def _shrikhande() -> ccn.Graph:
    steps = [(0, 1), (1, 0), (1, 1)]
    edges = {
        tuple(sorted((4 * i + j, 4 * ((i + a) % 4) + (j + b) % 4)))
        for i in range(4)
        for j in range(4)
        for a, b in steps
    }
    return ccn.Graph(sorted(edges), n=16)


def _rook() -> ccn.Graph:
    return _graph(nx.line_graph(nx.complete_bipartite_graph(4, 4)))


def test_the_aggregation_figure() -> None:
    """Merging two leaves of the tree is invisible at vertex 1 to order 0, visible to orders 1 and 2."""
    tree, merged = ccn.Graph(TREE, n=7), ccn.Graph(MERGED, n=6)
    for order in (0, 1, 2):
        torch.manual_seed(0)
        net = ccn.CCN(1, 1, order=order, channels=4, adjacency=order > 0).double()
        rows = [net.activations([g])[2] for g in (tree, merged)]
        a, b = (r.invariants[r.nodes.storage[0]].detach() for r in rows)
        gap = float((a - b).abs().max() / a.abs().max())
        assert gap < 1e-12 if order == 0 else gap > 1e-6
        if order == 0:
            torch.testing.assert_close(rows[0].node(0), rows[1].node(0), rtol=1e-12, atol=0)


@pytest.mark.parametrize("order", [1, 2])
def test_the_aggregation_figure_without_the_adjacency_product(order: int) -> None:
    torch.manual_seed(0)
    net = ccn.CCN(1, 1, order=order, channels=4, adjacency=False).double()
    a, b = (net.activations([ccn.Graph(e, n=n)])[2] for e, n in ((TREE, 7), (MERGED, 6)))
    x, y = (r.invariants[r.nodes.storage[0]].detach() for r in (a, b))
    assert float((x - y).abs().max() / x.abs().max()) > 1e-6


@pytest.mark.parametrize(
    ("a", "b", "levels"),
    [
        (_graph(nx.disjoint_union(nx.cycle_graph(3), nx.cycle_graph(3))), _graph(nx.cycle_graph(6)), 2),
        (_skip_links(41, 2), _skip_links(41, 3), 2),
        (_skip_links(41, 5), _skip_links(41, 6), 3),
    ],
    ids=["triangles and hexagon", "skips 2 and 3", "skips 5 and 6"],
)
def test_pairs_that_1_wl_confuses_are_apart_at_order_two(a: ccn.Graph, b: ccn.Graph, levels: int) -> None:
    assert _difference(a, b, levels=levels, **MESSAGE_PASSING) < 1e-12
    assert _difference(a, b, levels=levels, own=True, **MESSAGE_PASSING) < 1e-12
    assert _difference(a, b, levels=levels, order=2) > 1e-6


OPEN = Neighbourhoods(closed=False)


@pytest.mark.parametrize("levels", [1, 2, 3, 4])
def test_order_zero_in_open_neighbourhoods_is_message_passing_unless_weight_free_is_asked_for(levels: int) -> None:
    triangles = _graph(nx.disjoint_union(nx.cycle_graph(3), nx.cycle_graph(3)))
    hexagon = _graph(nx.cycle_graph(6))
    options: dict[str, Any] = {"levels": levels, "scheme": OPEN, **MESSAGE_PASSING}
    assert _difference(triangles, hexagon, **options) < 1e-12
    assert _difference(triangles, hexagon, own=True, **options) < 1e-12
    if levels > 1:
        assert _difference(triangles, hexagon, weight_free=True, **options) > 1e-6


def test_order_zero_in_open_neighbourhoods_is_algorithm_1() -> None:
    """Every vertex takes the sum over its neighbours, times W, plus b; so does every further level."""
    g = _graph(nx.gnp_random_graph(7, 0.4, seed=1), [0, 1, 1, 0, 1, 0, 0])
    net = ccn.CCN(2, 1, levels=3, channels=4, scheme=OPEN, **MESSAGE_PASSING).double()  # type: ignore[arg-type]
    a = nx.to_numpy_array(nx.gnp_random_graph(7, 0.4, seed=1))
    assert a.sum(1).all()  # no isolated vertex
    f = net.embedding(g.features.double())
    for layer, level in zip(net.layers, net.activations([g])[1:], strict=True):
        f = torch.relu(torch.from_numpy(a) @ f @ layer.weight[:, 0].T + layer.bias)
        torch.testing.assert_close(torch.stack([level.node(v) for v in range(7)]), f, rtol=1e-12, atol=1e-12)


def test_skip_links_5_and_6_look_alike_within_two_levels() -> None:
    assert _difference(_skip_links(41, 5), _skip_links(41, 6), order=2, levels=2) < 1e-10


def test_rook_and_shrikhande_are_equal_at_order_one_and_apart_at_order_two() -> None:
    rook, shrikhande = _rook(), _shrikhande()
    assert sorted(len(n) for n in (rook.edges, shrikhande.edges)) == [48, 48]
    assert _difference(rook, shrikhande, order=1) < 1e-12
    assert _difference(rook, shrikhande, order=2) > 1e-6


def _colours(g: ccn.Graph, rounds: int) -> list[tuple[object, ...]]:
    """1-WL with the vertex's own colour, the colours of all rounds as sorted multisets."""
    colour: list[object] = [tuple(row) for row in g.features.tolist()]
    neighbours: list[list[int]] = [[] for _ in range(g.n)]
    for i, j in g.entries.T.tolist():
        neighbours[i].append(j)
    out = [tuple(sorted(map(repr, colour)))]
    for _ in range(rounds):
        colour = [repr((colour[v], sorted(repr(colour[w]) for w in neighbours[v]))) for v in range(g.n)]
        out.append(tuple(sorted(map(str, colour))))
    return out  # type: ignore[return-value]


def _labelled_graphs() -> list[ccn.Graph]:
    rng = np.random.default_rng(0)
    atlas = [g for g in nx.graph_atlas_g() if g.number_of_nodes() == 5][::2]
    out = [_graph(g, [0, 1, *rng.integers(0, 2, 3).tolist()]) for g in atlas]
    return [g.permute(rng.permutation(5)) for g in out] + out[:5]


@pytest.mark.slow
def test_order_zero_without_adjacency_is_never_finer_than_1_wl_and_with_own_1_wl_is_an_instance() -> None:
    graphs = _labelled_graphs()
    wl = [_colours(g, 2) for g in graphs]
    torch.manual_seed(0)
    plain = ccn.CCN(2, 1, channels=8, **MESSAGE_PASSING).double()  # type: ignore[arg-type]
    opened = ccn.CCN(2, 1, channels=8, own=True, scheme=OPEN, **MESSAGE_PASSING).double()  # type: ignore[arg-type]
    own = ccn.CCN(2, 1, channels=32, own=True, nonlinearity="softplus", **MESSAGE_PASSING).double()  # type: ignore[arg-type]
    with torch.no_grad():
        x, y, z = plain.embed(graphs), own.embed(graphs), opened.embed(graphs)
    pairs = list(combinations(range(len(graphs)), 2))
    assert any(wl[i] == wl[j] for i, j in pairs)
    for i, j in pairs:
        equal = wl[i] == wl[j]
        if equal:
            assert float((x[i] - x[j]).abs().max()) < 1e-10
            assert float((y[i] - y[j]).abs().max()) < 1e-10
            assert float((z[i] - z[j]).abs().max()) < 1e-10
        else:
            assert float((y[i] - y[j]).abs().max()) > 1e-9


def test_order_zero_without_own_is_strictly_coarser_than_1_wl() -> None:
    """Labels AABB and ABAB on a 4-cycle: every closed neighbourhood sum agrees."""
    cycle = nx.cycle_graph(4)
    a, b = _graph(cycle, [0, 0, 1, 1]), _graph(cycle, [0, 1, 0, 1])
    assert _colours(a, 1) != _colours(b, 1)
    # Level 0 and 1 sum to the same, and so does every further level.
    assert _difference(a, b, levels=3, **MESSAGE_PASSING) < 1e-12 or _level_sets_agree(a, b)
    assert _difference(a, b, levels=2, own=True, **MESSAGE_PASSING) > 1e-6


def _level_sets_agree(a: ccn.Graph, b: ccn.Graph) -> bool:
    torch.manual_seed(0)
    net = ccn.CCN(2, 1, levels=3, channels=4, **MESSAGE_PASSING).double()  # type: ignore[arg-type]
    return all(
        torch.allclose(x.data.sort(0).values, y.data.sort(0).values)
        for x, y in zip(net.activations([a]), net.activations([b]), strict=True)
    )


def test_order_zero_with_adjacency_counts_edges_inside_parts() -> None:
    """More than message passing: the triangles of two graphs that 1-WL confuses are seen at order 0 with A."""
    a = _graph(nx.disjoint_union(nx.cycle_graph(3), nx.cycle_graph(3)))
    assert _difference(a, _graph(nx.cycle_graph(6)), order=0) > 1e-6


def test_open_and_closed_schemes_differ() -> None:
    a, b = ccn.Graph(TREE, n=7), ccn.Graph(MERGED, n=6)
    assert _difference(a, b, order=2, scheme=Neighbourhoods(closed=False)) > 1e-6
