"""Classes over integers: of copies, beside float64 networks, isomorphism, 1-WL and known hard pairs."""

from itertools import combinations

import networkx as nx
import numpy as np
import pytest
import torch
from hard import HEXAGON, ROOK, SHRIKHANDE, TRIANGLES, cfi

import ccn
from ccn import Graph
from ccn.errors import GraphError
from ccn.expressivity import message_passing
from ccn.expressivity.exact import BITS, CHANNELS, _hashed, _layer, classes, fits, labels_of
from ccn.graphs.adjacency import EdgeFeatures
from ccn.methods.kernels.integers import hash_of
from ccn.paper.expressivity import wl_3
from ccn.testing import random_permutation


def _random(seed: int, n: int = 9) -> Graph:
    """A random graph, often not connected, with labels of vertices and edges."""
    rng = np.random.default_rng(seed)
    edges = list(nx.gnp_random_graph(n, rng.uniform(0.15, 0.6), seed=seed).edges)
    kinds = rng.integers(0, 2, len(edges))
    return Graph(edges, np.eye(2)[rng.integers(0, 2, n)], edge_features=np.eye(2)[kinds].reshape(-1, 2))


def _atlas(n: int) -> list[Graph]:
    return [Graph.from_networkx(g) for g in nx.graph_atlas_g() if g.number_of_nodes() == n]


@pytest.mark.parametrize("order", [0, 1, 2, 3])
@pytest.mark.parametrize("levels", [2, None])
def test_copies_are_always_equal(order: int, levels: int | None) -> None:
    rng = np.random.default_rng(order)
    some = [*(_random(seed) for seed in range(6 if order < 3 else 3)), TRIANGLES, cfi(nx.cycle_graph(3), True)]
    copies = [g.permute(random_permutation(g.n, rng)) for g in some]
    found = classes([*some, *copies], order, levels)
    for of in found.levels:
        np.testing.assert_array_equal(of[: len(some)], of[len(some) :])


@pytest.mark.parametrize(("order", "levels"), [(0, 1), (0, 3), (1, 1), (1, 2), (2, 1), (2, 2)])
def test_what_is_apart_is_what_random_networks_in_float64_tell_apart(order: int, levels: int) -> None:
    graphs = [*_atlas(5), TRIANGLES, HEXAGON]
    found = classes(graphs, order, levels).at(levels)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        net = ccn.CCN(
            1, order=order, levels=levels, channels=6, adjacency="both", own=True, nonlinearity="tanh"
        ).double()
    with torch.no_grad():
        rows = net.embed(graphs)
    for i, j in combinations(range(len(graphs)), 2):
        gap = float((rows[i] - rows[j]).abs().max() / rows[i].abs().max())
        assert (gap < 1e-11) == (found[i] == found[j]), (i, j, gap)


@pytest.mark.parametrize("order", [0, 1, 2])
def test_it_is_the_network_with_these_weights(order: int) -> None:
    """A :class:`ccn.CCN` whose layers hold the integers embeds graphs as the classes compare them."""
    (a, b), width = _hashed([_random(1), _random(2)])
    net = ccn.CCN(
        CHANNELS, order=order, levels=3, channels=CHANNELS, adjacency="both", own=True,
        adjacency_channels=[EdgeFeatures(width)], nonlinearity=hash_of(BITS),
    ).double()  # fmt: skip
    layer = _layer(order, width)
    with torch.no_grad():
        net.embedding.weight.copy_(torch.eye(CHANNELS))
        for own in net.layers:
            own.weight.copy_(layer.weight)
            own.bias.copy_(layer.bias)
        x, y = net.embed([a, b])
        np.testing.assert_array_equal(net.embed([a.permute([8, 3, 1, 0, 2, 4, 7, 5, 6])])[0], x)
    assert torch.equal(x, x.round())
    assert not torch.equal(x, y)
    assert classes([_random(1), _random(2)], order, 3).of.tolist() == [0, 1]


def test_order_two_decides_isomorphism_of_small_graphs() -> None:
    graphs = _atlas(6)[::3]
    assert len(np.unique(classes([*graphs, *graphs], 2).of)) == len(graphs)


def test_order_zero_is_as_fine_as_message_passing() -> None:
    graphs = [_random(seed, n=6) for seed in range(30)]
    graphs += [g.permute([5, 3, 1, 0, 2, 4]) for g in graphs]
    finest = classes(graphs, 0).of
    coarse = message_passing(ccn.Pack.of(graphs))
    assert all(len(np.unique(coarse[finest == c])) == 1 for c in np.unique(finest))


def test_known_hard_pairs() -> None:
    assert classes([ROOK, SHRIKHANDE], 1).of.tolist() == [0, 0]
    found = classes([ROOK, SHRIKHANDE], 2)
    assert [of.tolist() for of in found.levels] == [[0, 0], [0, 0], [0, 1]]
    assert found.stable


def test_order_two_sees_a_pair_that_three_wl_does_not() -> None:
    pair = [cfi(nx.complete_graph(4), twisted) for twisted in (False, True)]
    np.testing.assert_array_equal(wl_3(pair[0]), wl_3(pair[1]))
    assert classes(pair, 1).of.tolist() == [0, 0]
    assert classes(pair, 2).of.tolist() == [0, 1]


def test_levels_refine_and_stop() -> None:
    cycles = [Graph([(i, (i + 1) % n) for i in range(n)], n=n) for n in (9, 10)]
    long = [Graph([*g.edges.tolist(), *((u + g.n, v + g.n) for u, v in h.edges.tolist())], n=19)
            for g, h in (cycles, cycles[::-1])]  # fmt: skip
    found = classes([*long, HEXAGON, TRIANGLES, HEXAGON], 1)
    assert found.stable
    assert found.of.tolist() == [0, 0, 1, 2, 1]
    for before, after in zip(found.levels, found.levels[1:], strict=False):
        assert len({*zip(before.tolist(), after.tolist(), strict=True)}) == len(np.unique(after))
    np.testing.assert_array_equal(found.at(None), found.at(1000))


def test_fewer_levels_are_not_all() -> None:
    paths = [Graph([(i, i + 1) for i in range(7)], np.eye(2)[[1, *[0] * k, 1, *[0] * (6 - k)]]) for k in (2, 3)]
    short = classes(paths, 1, 1)
    assert not short.stable
    assert short.of.tolist() == [0, 0]
    with pytest.raises(GraphError, match="level 1"):
        short.at(None)
    assert classes(paths, 1).of.tolist() == [0, 1]


def test_labels_of_edges_are_no_numbers() -> None:
    """Two edges with label 2 are not one with 1 and one with 3."""
    star = [(0, 1), (0, 2)]
    graphs = [Graph(star, n=3, edge_features=[[a], [b]]) for a, b in ((2.0, 2.0), (1.0, 3.0), (3.0, 1.0))]
    assert classes(graphs, 0).of.tolist() == [0, 1, 1]
    weighted = [Graph(star, n=3, weights=w) for w in ([1.0, 2.0], [2.0, 1.0], [1.0, 1.0])]
    assert classes(weighted, 1).of.tolist() == [0, 0, 1]


def test_what_cannot_be_compared() -> None:
    assert fits([Graph([], n=60)], 3)
    assert not fits([Graph([], n=60)] * 3, 3)
    with pytest.raises(GraphError, match="60"):
        classes([Graph([], n=60)] * 3, 3)
    with pytest.raises(GraphError, match="directed"):
        labels_of(Graph([(0, 1)], n=2, directed=True))
    assert classes([], 2).stable


def test_a_family_is_judged_as_its_pairs_are() -> None:
    """Graphs that drop out of a family on the way change nothing for those that are left."""
    graphs = [Graph.from_networkx(nx.circulant_graph(19, [1, s])) for s in (2, 3, 4, 5)]
    graphs += [graphs[2].permute(random_permutation(19, np.random.default_rng(0)))]
    together = classes(graphs, 1)
    for i, j in combinations(range(len(graphs)), 2):
        alone = classes([graphs[i], graphs[j]], 1)
        assert (alone.of[0] == alone.of[1]) == (together.of[i] == together.of[j])
