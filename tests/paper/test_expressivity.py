"""Which pairs networks tell apart, on generated graphs."""

from itertools import combinations

import networkx as nx
import numpy as np
import pytest
import torch
from hard import HEXAGON, ROOK, SHRIKHANDE, TRIANGLES, cfi

from ccn import Graph, Pack
from ccn.errors import ConfigurationError
from ccn.expressivity import message_passing
from ccn.paper.expressivity import Told, pairs, run, strongly_regular, told_apart, wl_3


@pytest.mark.parametrize("levels", [1, 2, 3, None])
def test_rook_and_shrikhande_are_equal_to_order_one_and_apart_to_order_two(levels: int | None) -> None:
    for order in (0, 1):
        assert not told_apart([ROOK, SHRIKHANDE], [(0, 1)], order, levels).levels
    found = told_apart([ROOK, SHRIKHANDE], [(0, 1)], 2, levels).levels
    assert found == ({} if levels == 1 else {(0, 1): 2})


def test_skip_links_need_levels_that_reach_round() -> None:
    graphs = [Graph.from_networkx(nx.circulant_graph(17, [1, skip])) for skip in (2, 3, 4)]
    chosen = [(0, 1), (0, 2), (1, 2)]
    found = [told_apart(graphs, chosen, 1, levels).levels for levels in (1, 2, 3)]
    assert found[0].keys() == {(0, 1), (0, 2)}  # only a skip of 2 closes triangles
    assert found[0].keys() < found[2].keys() == set(chosen)


def test_pairs_that_are_too_large_are_skipped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ccn.expressivity.exact.LARGEST", 2 * 20**2)
    graphs = [ROOK, SHRIKHANDE, Graph([], n=3), Graph([], n=4)]
    found = told_apart(graphs, [(0, 1), (2, 3)], 2)
    assert (found.levels, found.skipped) == ({(2, 3): 0}, [(0, 1)])


def test_run_counts_and_leaves_the_generator_alone() -> None:
    state = torch.random.get_rng_state()
    assert run("strongly regular", "1-WL")["apart"] == run("strongly regular", "3-WL")["apart"] == 0
    assert run("strongly regular", "ccn-1, any levels") == {"apart": 0, "pairs": 11, "levels": {}, "skipped": 0}
    assert run("strongly regular", "ccn-2, 2 levels") == {"apart": 11, "pairs": 11, "levels": {"2": 11}, "skipped": 0}
    assert torch.equal(state, torch.random.get_rng_state())
    with pytest.raises(ConfigurationError, match="ccn-0, 1 levels"):
        run("strongly regular", "2-WL")


@pytest.mark.slow
def test_cycles_with_links_are_told_apart_by_any_order() -> None:
    assert run("circular skip links", "1-WL")["apart"] == 0
    assert run("circular skip links", "3-WL")["apart"] == run("circular skip links", "ccn-1, any levels")["apart"] == 45


def test_order_three_is_asked_for_what_order_two_leaves(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def told(graphs: object, pairs: list[tuple[int, int]], order: int, levels: int | None) -> Told:
        asked.append((order, len(pairs)))
        return Told(dict.fromkeys(pairs[:10], 2), [])

    monkeypatch.setattr("ccn.paper.expressivity.told_apart", told)
    assert run("strongly regular", "ccn-2 and ccn-3, any levels")["apart"] == 11
    assert asked == [(2, 11), (3, 1)]


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


PATH, STAR = (Graph.from_networkx(g) for g in (nx.path_graph(4), nx.star_graph(3)))
SKIPS = [Graph.from_networkx(nx.circulant_graph(11, [1, skip])) for skip in (2, 3)]


@pytest.mark.parametrize(
    ("a", "b", "by_1", "by_3"),
    [
        (PATH, STAR, True, True),
        (TRIANGLES, HEXAGON, False, True),
        (*SKIPS, False, True),
        (ROOK, SHRIKHANDE, False, False),
        (*(cfi(nx.complete_graph(3), twisted) for twisted in (False, True)), False, True),
        (*(cfi(nx.complete_graph(4), twisted) for twisted in (False, True)), False, False),
    ],
    ids=["path, star", "triangles, hexagon", "skips 2, 3", "rook, Shrikhande", "CFI of K3", "CFI of K4"],
)
def test_known_pairs(a: Graph, b: Graph, by_1: bool, by_3: bool) -> None:
    one, other = message_passing(Pack.of([a, b])).tolist()
    assert (one != other) == by_1
    assert (not np.array_equal(wl_3(a), wl_3(b))) == by_3


def test_numbering_does_not_matter_to_three_wl_and_labels_do() -> None:
    rng = np.random.default_rng(0)
    g = Graph.from_networkx(nx.gnp_random_graph(12, 0.3, seed=1))
    assert np.array_equal(wl_3(g), wl_3(g.permute(rng.permutation(g.n))))
    cycle = list(nx.cycle_graph(4).edges)
    a, b = (wl_3(Graph(cycle, labels)) for labels in ([0.0, 0, 1, 1], [0.0, 1, 0, 1]))
    assert not np.array_equal(a, b)
