"""Which pairs random networks tell apart, on generated graphs."""

from collections.abc import Callable
from itertools import combinations

import networkx as nx
import numpy as np
import pytest
import torch

from ccn import Graph
from ccn.errors import ConfigurationError
from ccn.methods.kernels.bags import Names
from ccn.paper.expressivity import apart, pairs, run, strongly_regular, wl_1, wl_3

ROOK, SHRIKHANDE = (Graph.from_networkx(g) for g in next(strongly_regular()))


@pytest.mark.slow
@pytest.mark.parametrize("levels", [1, 2, 3, 4])
def test_rook_and_shrikhande_are_equal_to_order_one_and_apart_to_order_two(levels: int) -> None:
    for order in (0, 1):
        assert not apart([ROOK, SHRIKHANDE], [(0, 1)], order, levels)
    assert apart([ROOK, SHRIKHANDE], [(0, 1)], 2, levels) == ({(0, 1)} if levels > 1 else set())


@pytest.mark.slow
@pytest.mark.parametrize(("order", "levels"), [(0, 4), (1, 4), (2, 2), (3, 2)])
def test_numberings_of_one_graph_are_never_apart(order: int, levels: int) -> None:
    rng = np.random.default_rng(1)
    some = [Graph.from_networkx(nx.gnp_random_graph(n, p, seed=n)) for n, p in ((7, 0.2), (10, 0.5), (12, 0.8))]
    some += [ROOK, Graph.from_networkx(nx.circulant_graph(13, [1, 5]))]
    graphs = [h for g in some for h in (g, g.permute(rng.permutation(g.n)))]
    assert not apart(graphs, [(i, i + 1) for i in range(0, len(graphs), 2)], order, levels)


def test_skip_links_need_levels_that_reach_round() -> None:
    graphs = [Graph.from_networkx(nx.circulant_graph(17, [1, skip])) for skip in (2, 3, 4)]
    chosen = [(0, 1), (0, 2), (1, 2)]
    found = [apart(graphs, chosen, 1, levels) for levels in (1, 2, 3)]
    assert found[0] == {(0, 1), (0, 2)}  # only a skip of 2 closes triangles
    assert found[0] < found[2] == set(chosen)


def test_graphs_that_differ_in_size_are_apart_and_all_seeds_agree() -> None:
    graphs = [Graph([], n=3), Graph([], n=4)]
    assert apart(graphs, [(0, 1)], 0, 1) == apart(graphs, [(0, 1)], 0, 1, seed=1) == {(0, 1)}


@pytest.mark.slow
def test_run_counts_and_leaves_the_generator_alone() -> None:
    state = torch.random.get_rng_state()
    assert run("strongly regular", "1-WL") == run("strongly regular", "3-WL") == (0, 11)
    assert run("circular skip links", "1-WL") == (0, 45)
    assert run("circular skip links", "3-WL") == (45, 45)
    assert run("strongly regular", "ccn-1, 2 levels") == (0, 11)
    assert run("strongly regular", "ccn-2, 2 levels") == (11, 11)
    assert torch.equal(state, torch.random.get_rng_state())
    with pytest.raises(ConfigurationError, match="ccn-0, 1 levels"):
        run("strongly regular", "2-WL")


def _parameters(g: nx.Graph) -> tuple[int, set[int], set[int], set[int]]:
    return (
        len(g),
        {d for _, d in g.degree},
        {len(list(nx.common_neighbors(g, u, v))) for u, v in g.edges},
        {len(list(nx.common_neighbors(g, u, v))) for u, v in nx.complement(g).edges},
    )


def test_families_are_strongly_regular_of_equal_parameters_and_not_isomorphic() -> None:
    igraph = pytest.importorskip("igraph")
    families = list(strongly_regular())
    expected = [(16, 6, 2, 2), (16, 9, 4, 6), (28, 12, 6, 4), (25, 12, 5, 6), (36, 15, 6, 6), (40, 12, 2, 4)]
    assert [len(f) for f in families] == [2, 2, 4, 2, 2, 2]
    for family, (n, *rest) in zip(families, expected, strict=True):
        assert all(_parameters(g) == (n, *({x} for x in rest)) for g in family)
    for family in families:
        for a, b in combinations([igraph.Graph.from_networkx(g) for g in family], 2):
            assert not a.isomorphic(b)


def test_pairs_by_number() -> None:
    graphs, chosen = pairs("circular skip links")
    assert (len(graphs), len(chosen)) == (10, 45)
    assert {g.n for g in graphs} == {41}
    graphs, chosen = pairs("strongly regular")
    assert (len(graphs), len(chosen)) == (14, 11)
    assert all(graphs[i].n == graphs[j].n and len(graphs[i].edges) == len(graphs[j].edges) for i, j in chosen)
    with pytest.raises(ConfigurationError, match="BREC basic"):
        pairs("BREC")


PATH, STAR = nx.path_graph(4), nx.star_graph(3)
TRIANGLES, HEXAGON = nx.disjoint_union(nx.cycle_graph(3), nx.cycle_graph(3)), nx.cycle_graph(6)
SKIPS = [nx.circulant_graph(11, [1, skip]) for skip in (2, 3)]


def _cfi(base: nx.Graph, twisted: bool) -> nx.Graph:
    """The graph of Cai, Fürer and Immerman: even subsets of the edges at each vertex; one edge may be twisted."""
    g = nx.Graph()
    ends = {frozenset(e): [((e, v, 0), (e, v, 1)) for v in e] for e in map(frozenset, base.edges)}
    for number, (one, two) in enumerate(ends.values()):
        for side in (0, 1):
            g.add_edge(one[side], two[side ^ (twisted and number == 0)])
    for v in base:
        edges = sorted((frozenset((v, w)) for w in base[v]), key=sorted)
        for bits in np.ndindex(*[2] * len(edges)):
            if sum(bits) % 2 == 0:
                g.add_edges_from(((v, bits), (e, v, bit)) for e, bit in zip(edges, bits, strict=True))
    return g


@pytest.mark.parametrize(
    ("a", "b", "by_1", "by_3"),
    [
        (PATH, STAR, True, True),
        (TRIANGLES, HEXAGON, False, True),
        (*SKIPS, False, True),
        (*next(strongly_regular()), False, False),
        (_cfi(nx.complete_graph(3), False), _cfi(nx.complete_graph(3), True), False, True),
        (_cfi(nx.complete_graph(4), False), _cfi(nx.complete_graph(4), True), False, False),
    ],
    ids=["path, star", "triangles, hexagon", "skips 2, 3", "rook, Shrikhande", "CFI of K3", "CFI of K4"],
)
def test_known_pairs(a: nx.Graph, b: nx.Graph, by_1: bool, by_3: bool) -> None:
    for wl, expected in ((wl_1, by_1), (wl_3, by_3)):
        x, y = (wl(Graph.from_networkx(g)) for g in (a, b))
        assert (not np.array_equal(x, y)) == expected


@pytest.mark.parametrize("wl", [wl_1, wl_3])
def test_numbering_does_not_matter_and_labels_do(wl: Callable[[Graph], Names]) -> None:
    rng = np.random.default_rng(0)
    g = Graph.from_networkx(nx.gnp_random_graph(12, 0.3, seed=1))
    assert np.array_equal(wl(g), wl(g.permute(rng.permutation(g.n))))
    cycle = nx.cycle_graph(4).edges
    a, b = Graph(list(cycle), [0.0, 0.0, 1.0, 1.0]), Graph(list(cycle), [0.0, 1.0, 0.0, 1.0])
    assert not np.array_equal(wl(a), wl(b))
