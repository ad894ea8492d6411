"""The packed engine against the oracle: forward and gradients, in float64, to 1e-10."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import ccn
from ccn import reference
from ccn.engine.backend import FORMS, using_backend
from ccn.engine.cpu import layout
from ccn.graphs.adjacency import Closed, EdgeFeatures, Normalised, Power, Weights
from ccn.schemes import Balls, Clusters, Neighbourhoods, rings
from ccn.testing import random_graph

TOLERANCE = 1e-10


def _relative(a: torch.Tensor, b: torch.Tensor) -> float:
    a, b = a.detach(), b.detach()
    return float((a - b).abs().max()) / max(1e-12, float(b.abs().max())) if a.numel() else 0.0


def _redraw(net: ccn.CCN, seed: int) -> None:
    """Weights of one size, so that no contraction hides behind its small initial weight."""
    torch.manual_seed(seed)
    for p in net.parameters():
        torch.nn.init.normal_(p, std=0.5)


def _check(graphs: Sequence[ccn.Graph], seed: int = 0, **options: Any) -> None:
    """Both forms of the engine, compiled kernels and PyTorch's own operations."""
    net = ccn.CCN(graphs[0].features.shape[1], 2, **{"channels": 3, **options}).double()
    _redraw(net, seed)
    levels_of = [reference.activations(net, g) for g in graphs]
    given_values = [x for g in graphs for x in (g.features, g.weights, g.edge_features) if x is not None]
    wanted = [*net.parameters(), *(x for x in given_values if x.requires_grad)]
    oracle = reference.forward(net, graphs)
    probe = torch.randn_like(oracle)
    expected_gradients = torch.autograd.grad((oracle * probe).sum(), wanted, allow_unused=True)
    for form in FORMS:
        with using_backend(form):
            _compare(graphs, net.activations(graphs), levels_of)
            ours = net(graphs)
            assert _relative(ours, oracle) <= TOLERANCE
            gradients = torch.autograd.grad((ours * probe).sum(), wanted, allow_unused=True)
        for got, expected in zip(gradients, expected_gradients, strict=True):
            if got is None or expected is None:
                assert got is None or not got.any()
                assert expected is None or not expected.any()
            else:
                assert _relative(got, expected) <= TOLERANCE


def _compare(graphs: Sequence[ccn.Graph], packed: list[Any], levels_of: list[Any]) -> None:
    first, atoms = [0] * len(packed), 0
    for g, levels in zip(graphs, levels_of, strict=True):
        for number, level in enumerate(levels):
            for v, node in enumerate(level, start=first[number]):
                assert packed[number].part(v) == [a + atoms for a in node.part]
                got, expected = packed[number].node(v).detach(), node.activation.detach()
                assert got.shape == expected.shape
                assert float((got - expected).abs().max()) <= TOLERANCE * max(1.0, float(expected.abs().max()))
            first[number] += len(level)
        atoms += g.n


def _graphs(seed: int, **options: Any) -> list[ccn.Graph]:
    """A connected-ish graph, an isolated vertex on its own, two components, a graph without edges."""
    rng = np.random.default_rng(seed)
    shapes = [(4, 0.7), (1, 0.5), (5, 0.25), (2, 0.0)]
    return [random_graph(n, rng, density=density, **options) for n, density in shapes]


def _small(order: int, **options: Any) -> list[ccn.Graph]:
    """The same, smaller for order 3, where the oracle is slow."""
    graphs = _graphs(order, **options)
    return (
        [random_graph(3, np.random.default_rng(order), density=0.8, **options), *graphs[1::2]] if order == 3 else graphs
    )


@pytest.mark.slow
@pytest.mark.parametrize("order", [0, 1, 2, 3])
@pytest.mark.parametrize("adjacency", [True, False, "both"])
@pytest.mark.parametrize("contractions", ["distinct", "all", "paper10"])
def test_presets_equal_the_reference(order: int, adjacency: Any, contractions: str) -> None:
    _check(_small(order, weighted=True), order=order, adjacency=adjacency, contractions=contractions)


@pytest.mark.slow
@pytest.mark.parametrize("order", [0, 1, 2, 3])
@pytest.mark.parametrize(("directed", "self_loops"), [(True, False), (False, True), (True, True)])
def test_directed_graphs_and_self_loops(order: int, directed: bool, self_loops: bool) -> None:
    flags = {"directed": directed, "self_loops": self_loops}
    _check(_small(order, weighted=True, **flags), order=order, own=True, **flags)


def _tailed() -> list[ccn.Graph]:
    """Graphs in which children of level 2 reach beyond the part: a path, a cycle with a tail, a single vertex."""
    torch.manual_seed(0)
    paths = [(i, i + 1) for i in range(5)]
    shapes: list[tuple[list[tuple[int, int]], int]] = [(paths, 6), ([(0, 1), (1, 2), (2, 0), *paths[2:]], 6), ([], 1)]
    return [ccn.Graph(edges, torch.randn(n, 2, dtype=torch.float64)) for edges, n in shapes]


@pytest.mark.parametrize(
    "options",
    [
        {"order": 2, "adjacency_channels": [Closed()], "contractions": "authors18"},
        {"order": 1, "levels": 3, "own": True},
        {"order": [1, 1, 0], "own": True, "adjacency": "both"},
        {"order": 1, "self_product": True},
        {"order": 1, "scheme": Neighbourhoods(field=True, max_part=4)},
        {"order": 1, "scheme": Neighbourhoods(field=True, closed=False)},
    ],
    ids=str,
)
def test_whole_fields_with_children_that_reach_beyond_the_part(options: dict[str, Any]) -> None:
    _check(_tailed(), **{"scheme": "field", **options})


def test_the_former_self_of_an_open_scheme_lies_outside_of_the_part() -> None:
    """Its sum is that of what lies inside, which is nothing; but a number stays what it is."""
    options: dict[str, Any] = {"own": True, "scheme": Neighbourhoods(closed=False), "adjacency": False}
    for order in ([1, 1, 0], 0, 1):
        _check(_tailed()[:1], order=order, **options)


@pytest.mark.slow
@pytest.mark.parametrize("order", [0, 1, 2, 3])
@pytest.mark.parametrize("adjacency", [True, False])
def test_open_schemes_with_free_children(order: int, adjacency: bool) -> None:
    scheme = Neighbourhoods(closed=False)
    _check(_small(order), order=order, scheme=scheme, own=True, adjacency=adjacency)
    bipartite = ccn.Graph([(0, 1), (1, 2), (2, 3), (1, 4)], torch.randn(5, 3, dtype=torch.float64))
    _check([bipartite], order=order, scheme=scheme, adjacency=adjacency, levels=3)
    _check([bipartite], order=order, scheme=scheme, adjacency=adjacency, weight_free=True)
    if order < 3:
        flags = {"directed": True, "self_loops": True}
        _check(_graphs(order, **flags)[:3], order=order, scheme=scheme, adjacency=adjacency, **flags)


@pytest.mark.slow
@pytest.mark.parametrize("order", [0, 1, 2, 3])
def test_balls_and_three_levels(order: int) -> None:
    _check(_small(order), order=order, scheme=Balls((0, 1, 3)))
    _check(_small(order)[:2], order=order, levels=3)


@pytest.mark.parametrize("order", [0, 1, 2])
def test_clusters(order: int) -> None:
    scheme = Clusters(rings(), lambda g: [range(g.n)])
    _check(_small(order), order=order, scheme=scheme, own=True)


def _by_hand(g: ccn.Graph) -> ccn.Scheme:
    """Children of different heights, two children with one anchor, unsorted parts, a child without an anchor."""
    return ccn.Scheme(
        parts=[(0,), (1,), (2,), (3,), (2, 0), (3, 1), (1, 2, 0), (3, 2, 1), (0, 2, 1, 3)],
        children=[(), (), (), (), (0, 2), (1, 3), (4, 1, 0), (5, 2), (6, 7)],
        anchors=[None, None, None, None, 0, None, 0, 2, None],
    )


@pytest.mark.slow
@pytest.mark.parametrize("order", [0, 1, 2, 3])
@pytest.mark.parametrize("adjacency", [True, False, "both"])
def test_hand_made_schemes(order: int, adjacency: Any) -> None:
    rng = np.random.default_rng(order)
    graphs = [random_graph(4, rng, density=0.7, weighted=True) for _ in range(2)]
    _check(graphs, order=order, scheme=_by_hand, adjacency=adjacency, own=True, weight_free=order % 2 == 0)


@pytest.mark.slow
@pytest.mark.parametrize("order", [[0, 1, 2], [2, 1, 0], [1, 2, 3], [3, 2, 1], [1, 3, 0]])
@pytest.mark.parametrize("adjacency", [True, "both", [False, True]])
def test_orders_that_change_from_level_to_level(order: list[int], adjacency: Any) -> None:
    if adjacency == [False, True] and order[1] > order[0] + 1:
        adjacency = [True, False]  # without A an order grows by one at most
    _check(_graphs(1)[:3], order=order, adjacency=adjacency, own=True, channels=[2, 3, 4])


@pytest.mark.slow
@pytest.mark.parametrize("order", [0, 1, 2, [1, 2, 0], [0, 2, 1]])
def test_complete_basis(order: Any) -> None:
    _check(_graphs(2)[:3], order=order, adjacency=False, contractions="complete")
    _check(_graphs(3)[:3], order=order, adjacency=False, contractions="complete", scheme=Neighbourhoods(closed=False))


@pytest.mark.slow
@pytest.mark.parametrize("order", [0, 1, 2])
@pytest.mark.parametrize("contractions", [None, "distinct"])
def test_self_product(order: int, contractions: Any) -> None:
    options = {"adjacency": False, "self_product": True, "contractions": contractions, "order": order, "own": True}
    _check(_graphs(order)[:3], levels=1, **options)
    if contractions is None:
        _check(_graphs(order)[:3], scheme=Neighbourhoods(closed=False), **options)


@pytest.mark.slow
@pytest.mark.parametrize("order", [0, 1, 2])
def test_channels_of_the_adjacency(order: int) -> None:
    channels = [Weights(), Normalised(), Normalised("random_walk"), Power(2), Power(3), EdgeFeatures(2)]
    graphs = _graphs(order, weighted=True, edge_features=2)
    _check(graphs, order=order, adjacency_channels=channels, adjacency="both")
    directed = _graphs(order, weighted=True, directed=True, self_loops=True)
    _check(directed, order=order, adjacency_channels=channels[:4], directed=True, self_loops=True)


@pytest.mark.slow
@pytest.mark.parametrize("order", [0, 1, 2, 3])
@pytest.mark.parametrize("closed", [True, False])
def test_gradients_reach_features_weights_and_edge_features(order: int, closed: bool) -> None:
    few = order == 3  # for time
    graphs = _small(order, weighted=True, directed=True, self_loops=True, **({} if few else {"edge_features": 2}))
    for g in graphs:
        for x in (g.features, g.weights, g.edge_features):
            assert few or x is not None
            if x is not None:
                x.requires_grad_()
    channels: list[Any] = [Weights()] if few else [Weights(), Normalised("random_walk"), EdgeFeatures(2)]
    flags: dict[str, Any] = {"directed": True, "self_loops": True, "adjacency_channels": channels}
    _check(graphs, order=order, scheme=Neighbourhoods(closed=closed), **flags)


def test_higher_orders_are_correct() -> None:
    graphs = [random_graph(3, np.random.default_rng(4), density=0.8), random_graph(1, np.random.default_rng(5))]
    _check(graphs, order=4, levels=1, channels=2)
    _check(graphs, order=[1, 2, 3, 4], levels=3, channels=2, contractions="paper10")
    _check(graphs[:1], order=5, levels=1, channels=1, adjacency=False, own=True)


def test_one_list_of_contractions_for_every_level() -> None:
    chosen = [ccn.contractions(5, 2)[i] for i in (0, 3, 17, 49)]
    net = ccn.CCN(3, 1, contractions=chosen)
    assert [c.einsum for c in net.layers[0].contractions] == [f"{c.letters[:3]},{c.letters[3:]}->ab" for c in chosen]
    _check(_graphs(4), contractions=chosen)
    _check(_graphs(4), contractions=[chosen, "paper10"], own=True)


def test_other_nonlinearities() -> None:
    for name in ("tanh", "silu", "identity", torch.sin):
        _check(_graphs(5)[:2], nonlinearity=name)


@settings(deadline=None, max_examples=25)
@given(
    seed=st.integers(0, 10_000),
    order=st.integers(0, 2),
    sizes=st.lists(st.integers(1, 6), min_size=1, max_size=3),
    density=st.floats(0.0, 1.0),
    adjacency=st.sampled_from([True, False, "both"]),
    closed=st.booleans(),
    own=st.booleans(),
)
@pytest.mark.slow
def test_random_networks_on_random_graphs(
    seed: int, order: int, sizes: list[int], density: float, adjacency: Any, closed: bool, own: bool
) -> None:
    rng = np.random.default_rng(seed)
    graphs = [random_graph(n, rng, density=density, weighted=True) for n in sizes]
    _check(graphs, seed, order=order, adjacency=adjacency, own=own, scheme=Neighbourhoods(closed=closed))


def test_all_and_distinct_are_the_same_functions() -> None:
    """Moving each weight of `all` to its representative gives a network of `distinct` with equal output."""
    from ccn.algebra.contractions import reduce

    graphs = _graphs(8, weighted=True)
    wide = ccn.CCN(3, 1, channels=4, contractions="all").double()
    narrow = ccn.CCN(3, 1, channels=4, contractions="distinct").double()
    narrow.load_state_dict({**narrow.state_dict(), **{k: v for k, v in wide.state_dict().items() if "weight" not in k}})
    with torch.no_grad():
        narrow.embedding.weight.copy_(wide.embedding.weight)
        narrow.head.load_state_dict(wide.head.state_dict())
        for source, target in zip(wide.layers, narrow.layers, strict=True):
            target.weight.zero_()
            number = {c: i for i, c in enumerate(target.contractions)}
            for i, c in enumerate(source.contractions):
                assert isinstance(c, ccn.Contraction)
                r = reduce(c)
                if r is not None:
                    target.weight[:, number[r]] += source.weight[:, i]
    assert _relative(narrow(graphs), wide(graphs)) <= TOLERANCE


@pytest.mark.parametrize("channels", [1, 8, 16, 27])
def test_any_number_of_channels(channels: int) -> None:
    rng = np.random.default_rng(5)
    _check([random_graph(n, rng, weighted=True) for n in (4, 1)], channels=channels)


def _cliques(seed: int) -> list[ccn.Graph]:
    """Cliques that share a vertex, a vertex alone, a random graph: some nodes are twins, others are not."""
    rng = np.random.default_rng(seed)
    edges = [(a, b) for c in ((0, 1, 2), (2, 3, 4, 5)) for a in c for b in c if a < b]
    shared = ccn.Graph(edges, torch.from_numpy(rng.normal(size=(6, 3))), weights=rng.normal(size=len(edges)))
    return [shared, *(random_graph(n, rng, weighted=True) for n in (1, 4))]


@pytest.mark.parametrize("options", [{}, {"own": True}, {"scheme": Neighbourhoods(closed=False)}])
@pytest.mark.parametrize(("order", "chunk"), [(1, 1), (2, 7), (2, 1 << 18), (3, 7)])
def test_twins_and_chunks(order: int, chunk: int, options: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """What else is done for large graphs only."""
    monkeypatch.setattr(layout, "TWIN_ROWS", 0)
    monkeypatch.setattr(layout, "CHUNK_ROWS", chunk)
    graphs = _cliques(order) if order < 3 else [ccn.Graph([(0, 1), (0, 2), (1, 2), (2, 3)], torch.randn(4, 3).double())]
    _check(graphs, order=order, channels=2, **options)


@pytest.mark.slow
@pytest.mark.parametrize("order", [0, 1, 2, 3])
@pytest.mark.parametrize("rank", [1, 2])
def test_mixing_that_factors(order: int, rank: int) -> None:
    _check(_small(order, weighted=True), order=order, rank=rank, own=True)
    _check(_small(order), order=order, rank=rank, scheme=Neighbourhoods(closed=False), weight_free=order % 2 == 0)


@pytest.mark.parametrize(
    "options",
    [
        {"order": 2, "rank": 2, "channels": [3, 21, 23]},  # vectors of 16, of 4, and single numbers
        {"order": [1, 1, 0], "rank": 1, "channels": [2, 4, 1], "adjacency": "both"},
        {"order": 1, "rank": 2, "self_product": True},
        {"order": 1, "rank": 2, "scheme": "field", "levels": 3},
        {"order": 1, "rank": 1, "readout": "root"},
    ],
    ids=str,
)
def test_mixing_that_factors_wherever_it_is_used(options: dict[str, Any]) -> None:
    _check(_tailed(), **options)


def test_mixing_that_factors_with_twins_and_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(layout, "TWIN_ROWS", 0)
    monkeypatch.setattr(layout, "CHUNK_ROWS", 7)
    _check(_cliques(2), order=2, channels=2, rank=3)


def test_of_full_rank_mixing_that_factors_can_be_any_w() -> None:
    full, factored = (ccn.CCN(3, 1, channels=4, rank=rank).double() for rank in (None, 4))
    given = full.state_dict()
    given |= {f"layers.{i}.basis": torch.eye(4).double()[:, None].expand(4, 4, 4) for i in range(2)}
    factored.load_state_dict(given)
    assert _relative(factored(_graphs(9)), full(_graphs(9))) <= TOLERANCE


def _star(leaves: int, seed: int) -> ccn.Graph:
    rng = np.random.default_rng(seed)
    features = torch.from_numpy(rng.normal(size=(leaves + 1, 2)))
    return ccn.Graph([(0, leaf) for leaf in range(1, leaves + 1)], features)


@pytest.mark.parametrize("order", [0, 1, 2])
def test_large_parts_beside_small_ones(order: int) -> None:
    """From 65 atoms on a part has records only where it occurs; the oracle's dense tensors allow order 0 there."""
    graphs = [_star(leaves, leaves) for leaves in (63, 64, 3, 70)]
    if order == 0:
        _check(graphs, order=0, levels=1)
    net = ccn.CCN(2, 2, order=order, levels=1, channels=2).double()
    _redraw(net, order)
    found = []
    for form in FORMS:
        with using_backend(form):
            out = net(graphs)
            found.append([out, *torch.autograd.grad(out.pow(2).sum(), list(net.parameters()))])
    for ours, other in zip(*found, strict=True):
        assert _relative(ours, other) <= TOLERANCE
