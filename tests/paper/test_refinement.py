"""Colour refinement on pairs whose answers are known."""

from collections.abc import Callable

import networkx as nx
import numpy as np
import pytest

from ccn import Graph
from ccn.methods.kernels.bags import Names
from ccn.paper.pairs import circular_skip_links, strongly_regular
from ccn.paper.refinement import wl_1, wl_3

ROOK, SHRIKHANDE = next(strongly_regular())
PATH, STAR = nx.path_graph(4), nx.star_graph(3)
TRIANGLES, HEXAGON = nx.disjoint_union(nx.cycle_graph(3), nx.cycle_graph(3)), nx.cycle_graph(6)
SKIPS = circular_skip_links(11, [2, 3])


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
        (ROOK, SHRIKHANDE, False, False),
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
