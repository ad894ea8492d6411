"""A level that does not fit is an error that says what would, before anything large is allocated."""

import networkx as nx
import numpy as np
import pytest
import torch

import ccn
from ccn.engine import memory, using_backend
from ccn.errors import ConfigurationError
from ccn.schemes import Balls, Neighbourhoods, generators, is_permutation_invariant
from ccn.testing import assert_covariant


def _star(n: int) -> ccn.Graph:
    return ccn.Graph([(0, i) for i in range(1, n)], n=n)


@pytest.mark.slow
def test_a_graph_too_large_for_the_order_names_bytes_and_settings_that_fit() -> None:
    graph = _star(1500)  # the hub's part at level 1, and all parts at level 2, are the whole graph
    with pytest.raises(
        ConfigurationError,
        match=r"level 1 at order 3 needs [\d,.]+ GB .* what fits: order=\d, a scheme with max_part=\d+",
    ):
        ccn.CCN(1, order=3)([graph])
    assert torch.isfinite(ccn.CCN(1, order=0)([graph])).all()


@pytest.mark.parametrize("prepared", [True, False])
def test_it_is_said_before_the_scheme_is_packed(prepared: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    net = ccn.CCN(1, order=2)
    monkeypatch.setattr(memory, "available_bytes", lambda device: 5_000_000)
    monkeypatch.setattr(generators, "compose", lambda *given: pytest.fail("packed"))
    with pytest.raises(ConfigurationError):
        (net.prepare if prepared else net)([_star(40)])


def test_the_settings_that_are_named_do_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = _star(40)
    monkeypatch.setattr(memory, "available_bytes", lambda device: 5_000_000)
    with pytest.raises(ConfigurationError, match=r"order=1, levels=1, a scheme with max_part=(\d+)") as error:
        ccn.CCN(1, order=2)([graph])
    cap = int(str(error.value).split("max_part=")[1].split(",")[0])
    assert torch.isfinite(ccn.CCN(1, order=1)([graph])).all()
    assert torch.isfinite(ccn.CCN(1, order=2, levels=1)([graph])).all()
    assert torch.isfinite(ccn.CCN(1, order=2, scheme=Neighbourhoods(max_part=cap))([graph])).all()


def test_what_parents_hold_of_children_counts_too(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = ccn.Graph(list(nx.path_graph(40).edges), n=40)
    net = ccn.CCN(1, order=2, channels=[4, 64, 4], scheme="field")
    above = memory.level_bytes(np.full(40, 5), 2, 4, 4)
    monkeypatch.setattr(memory, "available_bytes", lambda device: above + memory.level_bytes(np.full(40, 3), 2, 64, 4))
    with pytest.raises(ConfigurationError, match="level 1 at order 2"):
        net([graph])
    plain = ccn.CCN(1, order=2, channels=[4, 64, 4])
    assert torch.isfinite(plain([graph])).all()


def test_memory_is_asked_for_once_for_a_batch_and_a_kind_of_network(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[torch.device] = []

    def available(device: torch.device) -> int:
        asked.append(device)
        return 10**12

    monkeypatch.setattr(memory, "available_bytes", available)
    b, net = ccn.batch([_star(4)]), ccn.CCN(1, channels=2)
    net(b)
    before = len(asked)
    net(b)
    assert len(asked) == before
    ccn.CCN(1, channels=4)(b)
    assert len(asked) > before


def test_a_level_that_is_not_stored_needs_less(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = ccn.Graph(list(nx.path_graph(40).edges), n=40)
    need = memory.level_bytes(np.array([3, 3, *[5] * 36, 4, 4]), 2, 16, 4)
    monkeypatch.setattr(memory, "available_bytes", lambda device: int(0.9 * need))
    net = ccn.CCN(1, order=2)
    assert torch.isfinite(net([graph])).all()
    assert torch.isfinite(net.embed([graph], per="vertex")).all()
    net.prepare([graph])
    for refused in (net.activations, ccn.CCN(1, order=2, nonlinearity="tanh"), ccn.CCN(1, order=2, readout="vertex")):
        with pytest.raises(ConfigurationError, match="level 2 at order 2"):
            refused([graph])
    with using_backend("torch"), pytest.raises(ConfigurationError, match="level 2 at order 2"):
        net([graph])


@pytest.mark.parametrize("scheme", [Neighbourhoods(levels=3, max_part=4), Balls((0, 1, 3), max_part=5)])
def test_a_capped_part_stops_growing_whatever_the_numbering(scheme: Neighbourhoods | Balls) -> None:
    graph = ccn.Graph(list(nx.barbell_graph(4, 3).edges), n=11)
    made = scheme(graph)  # a Scheme checks that descendants stay subsets
    largest = max(len(part) for node, part in enumerate(made.parts) if node != made.root)
    assert largest <= (scheme.max_part or 0)
    assert is_permutation_invariant(scheme, graph)
    assert_covariant(ccn.CCN(1, levels=len(made.levels) - 1, scheme=scheme), [graph])


def test_a_capped_node_keeps_its_own_node_below_as_its_one_child() -> None:
    star = Neighbourhoods(levels=2, max_part=3)(_star(6))
    assert star.parts[6] == (0,)  # the hub would hold all six
    assert star.children[6] == (0,)
    assert star.parts[7] == (0, 1)


def test_long_work_is_warned_of_with_what_would_shorten_it(monkeypatch: pytest.MonkeyPatch) -> None:
    clique = ccn.Graph(list(nx.complete_graph(8).edges), n=8)
    monkeypatch.setattr(memory, "_ROWS", 8 * 8 * 8**2 - 1)
    with pytest.warns(UserWarning, match=r"level 2 adds up 4,096 rows .* max_part"):
        ccn.CCN(1, order=2, own=True)([clique])
    ccn.CCN(1, order=2)([clique])  # all of its nodes are twins
    ccn.CCN(1, order=2, own=True, scheme=Neighbourhoods(max_part=7))([clique])


def test_the_scheme_itself_counts_where_it_is_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(generators, "_LARGE", 1000)
    monkeypatch.setattr(memory, "available_bytes", lambda device: 60_000)
    with pytest.raises(ConfigurationError, match="level 2 at order 0"):
        ccn.CCN(1, order=0)([_star(40)])
