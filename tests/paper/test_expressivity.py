"""Which pairs random networks tell apart, on generated graphs."""

import networkx as nx
import numpy as np
import pytest
import torch

from ccn import Graph
from ccn.errors import ConfigurationError
from ccn.paper.expressivity import apart, run
from ccn.paper.pairs import circular_skip_links, strongly_regular

ROOK, SHRIKHANDE = (Graph.from_networkx(g) for g in next(strongly_regular()))


@pytest.mark.parametrize("levels", [1, 2, 3, 4])
def test_rook_and_shrikhande_are_equal_to_order_one_and_apart_to_order_two(levels: int) -> None:
    for order in (0, 1):
        assert not apart([ROOK, SHRIKHANDE], [(0, 1)], order, levels)
    assert apart([ROOK, SHRIKHANDE], [(0, 1)], 2, levels) == ({(0, 1)} if levels > 1 else set())


@pytest.mark.parametrize(("order", "levels"), [(0, 4), (1, 4), (2, 2), (3, 2)])
def test_numberings_of_one_graph_are_never_apart(order: int, levels: int) -> None:
    rng = np.random.default_rng(1)
    some = [Graph.from_networkx(nx.gnp_random_graph(n, p, seed=n)) for n, p in ((7, 0.2), (10, 0.5), (12, 0.8))]
    some += [ROOK, *(Graph.from_networkx(g) for g in circular_skip_links(13, [5]))]
    graphs = [h for g in some for h in (g, g.permute(rng.permutation(g.n)))]
    assert not apart(graphs, [(i, i + 1) for i in range(0, len(graphs), 2)], order, levels)


def test_skip_links_need_levels_that_reach_round() -> None:
    graphs = [Graph.from_networkx(g) for g in circular_skip_links(17, [2, 3, 4])]
    chosen = [(0, 1), (0, 2), (1, 2)]
    found = [apart(graphs, chosen, 1, levels) for levels in (1, 2, 3)]
    assert found[0] == {(0, 1), (0, 2)}  # only a skip of 2 closes triangles
    assert found[0] < found[2] == set(chosen)


def test_graphs_that_differ_in_size_are_apart_and_all_seeds_agree() -> None:
    graphs = [Graph([], n=3), Graph([], n=4)]
    assert apart(graphs, [(0, 1)], 0, 1) == apart(graphs, [(0, 1)], 0, 1, seed=1) == {(0, 1)}


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
