"""The network: names that other tools rely on, errors, dtypes, initialisation, memory."""

import subprocess
import sys
from dataclasses import replace
from typing import Any

import networkx as nx
import numpy as np
import pytest
import torch

import ccn
from ccn.errors import CCNError, ConfigurationError, GraphError, SchemeError
from ccn.schemes import Balls, Neighbourhoods
from ccn.testing import assert_covariant, random_graph


def _pair() -> list[ccn.Graph]:
    rng = np.random.default_rng(0)
    return [random_graph(5, rng), random_graph(4, rng)]


def test_names_that_other_tools_rely_on() -> None:
    g, h = _pair()
    batch = ccn.batch([g, h])
    net = ccn.CCN(
        in_features=3, out_features=1, order=2, levels=2, channels=16, contractions="distinct", adjacency=True,
        own=False, directed=False, self_loops=False, scheme=ccn.schemes.Neighbourhoods(closed=True),
    )  # fmt: skip
    y = net(batch.to("cpu"))
    assert y.shape == (2, 1)
    torch.testing.assert_close(y, net([g, h]))
    assert net.embed(batch).shape == (2, 16 * 2 * 3)
    assert net.embed(batch, per="vertex").shape == (9, 16 * 2 * 3)
    torch.testing.assert_close(net.embed(batch, per="vertex")[:5].sum(0), net.embed(batch)[0])
    activations = net.activations(batch)
    assert len(activations) == 3
    assert activations[0].node(3).shape == (1, 1, 16)
    part = activations[2].part(7)
    assert activations[2].node(7).shape == (len(part), len(part), 16)
    assert all(5 <= v < 9 for v in part)
    layer = net.layers[0]
    assert layer.weight.shape == (16, len(layer.contractions), 16) == (16, 26, 16)
    assert layer.bias.shape == (16,)
    assert layer.weight_free is None
    c = layer.contractions[0]
    assert isinstance(c, ccn.Contraction)
    assert sorted([*c.survivors, *(a for b in c.blocks for a in b)]) == [0, 1, 2, 3, 4]
    assert len(ccn.contractions(order_in=5, order_out=2)) == 50


@pytest.mark.parametrize(("preset", "count"), [("distinct", 26), ("all", 50), ("paper10", 10)])
def test_presets_have_the_counts_of_the_spec(preset: str, count: int) -> None:
    net = ccn.CCN(3, 1, contractions=preset)
    assert len(net.layers[0].contractions) == count
    both = ccn.CCN(3, 1, contractions=preset, adjacency="both", own=True)
    assert len(both.layers[0].contractions) == count + 3 + 1
    assert both.layers[0].contractions[-1].source == "own"


def test_other_families_have_the_counts_of_the_spec() -> None:
    assert len(ccn.CCN(3, 1, adjacency=False, contractions="complete").layers[0].contractions) == 52
    assert len(ccn.CCN(3, 1, adjacency=False, self_product=True).layers[0].contractions) == 15
    assert len(ccn.CCN(3, 1, adjacency=False, self_product=True, contractions="all").layers[0].contractions) == 225
    channels: list[Any] = [ccn.adjacency.Weights(), ccn.adjacency.Power(2), ccn.adjacency.Normalised("random_walk")]
    layer = ccn.CCN(3, 1, adjacency_channels=channels).layers[0]
    assert [sum(c.channel == e for c in layer.contractions) for e in range(3)] == [26, 32, 44]
    assert [len(layer.contractions) for layer in ccn.CCN(3, 1, order=3, directed=True, self_loops=True).layers] == [
        100,
        100,
    ]


def test_weight_free_exists_only_where_there_may_be_free_children() -> None:
    assert [layer.weight_free is None for layer in ccn.CCN(3, 1, scheme=Balls((0, 1, 2))).layers] == [True, True]
    open_net = ccn.CCN(3, 1, scheme=Neighbourhoods(closed=False))
    assert [layer.weight_free is None for layer in open_net.layers] == [True, True]
    asked = ccn.CCN(3, 1, scheme=Neighbourhoods(closed=False), weight_free=True)
    assert [layer.weight_free is None for layer in asked.layers] == [True, False]
    hand_made = ccn.CCN(3, 1, scheme=ccn.schemes.Clusters(ccn.schemes.rings()))
    assert [layer.weight_free is None for layer in hand_made.layers] == [True, False]


def test_activations_are_relu_of_the_layer() -> None:
    net = ccn.CCN(3, 1).double()
    batch = ccn.batch(_pair())
    below, above = net.activations(batch)[:2]
    level = ccn.schemes.composition(batch, net.scheme, 2).levels[0]
    matrices = ccn.engine.matrices.Matrices(batch, net.adjacency_channels, torch.float64)
    torch.testing.assert_close(above.data, torch.relu(net.layers[0].linear(below.data, level, matrices)[0]))


def test_a_network_in_float64_runs_in_float64_and_one_in_float32_takes_any_features() -> None:
    graphs = _pair()
    assert ccn.CCN(3, 1).double()(graphs).dtype == torch.float64
    assert ccn.CCN(3, 1)(graphs).dtype == torch.float32
    whole = [ccn.Graph(g.edges, torch.ones(g.n, 3, dtype=torch.int64)) for g in graphs]
    assert ccn.CCN(3, 1)(whole).dtype == torch.float32


def test_same_seed_same_result_and_any_batch_gives_the_same_rows() -> None:
    graphs = _pair()
    outputs = []
    for _ in range(2):
        torch.manual_seed(3)
        outputs.append(ccn.CCN(3, 1)(graphs))
    assert torch.equal(*outputs)
    net = ccn.CCN(3, 1).double()
    torch.testing.assert_close(net(graphs), torch.cat([net([g]) for g in graphs]), rtol=1e-12, atol=1e-12)


def test_weights_may_change_between_calls_on_one_batch() -> None:
    batch = ccn.batch([random_graph(5, np.random.default_rng(0), weighted=True)])
    net = ccn.CCN(3, 1).double()
    assert batch.weights is not None
    before = net(batch)
    batch.weights.mul_(2)
    assert not torch.allclose(before, net(batch))


@pytest.mark.slow
@pytest.mark.parametrize("norm", ["batch", "layer"])
def test_normalisation_keeps_covariance_and_dropout_only_acts_while_training(norm: str) -> None:
    graphs = _pair()
    net = ccn.CCN(3, 1, norm=norm, dropout=0.5)
    net([*graphs, *graphs])
    assert_covariant(net, graphs)
    net.eval()
    torch.testing.assert_close(net(graphs), net(graphs))
    net.train()
    assert not torch.equal(net(graphs), net(graphs))


def test_dropout_drops_whole_channels_of_a_node() -> None:
    net = ccn.CCN(3, 1, dropout=0.5, nonlinearity="identity")
    a = net.activations(_pair())[2]
    for v in range(len(a)):
        zero = (a.node(v) == 0).reshape(-1, 16)
        assert bool((zero.all(0) | ~zero.any(0)).all())


def _rms(a: ccn.layers.Activation) -> float:
    return float(a.data.detach().square().mean().sqrt())


@pytest.mark.parametrize("order", [0, 1, 2, 3])
@pytest.mark.parametrize("options", [{}, {"adjacency": False}, {"adjacency": "both", "own": True}], ids=str)
def test_activations_keep_their_size_with_default_initialisation(order: int, options: dict[str, Any]) -> None:
    mutag = ccn.datasets.load("MUTAG").pack.without_edge_features()[:40]
    regular = nx.random_regular_graph(4, 24, seed=0)
    features = torch.randn(24, 7, generator=torch.Generator().manual_seed(0))
    random = [ccn.Graph(list(regular.edges), features)]
    for seed in range(3):
        torch.manual_seed(seed)
        net = ccn.CCN(7, 1, order=order, **options)
        for graphs in (mutag, random):
            for level, a in enumerate(net.activations(graphs)):
                assert 0.1 <= _rms(a) <= 10, f"level {level}: {_rms(a)}"


def test_objects_with_fewer_levels_add_zero_to_the_higher_readouts() -> None:
    def scheme(g: ccn.Graph) -> ccn.Scheme:
        n, leaves = g.n, [(i,) for i in range(g.n)]
        if n == 4:  # leaves and root only
            return ccn.Scheme([*leaves, range(n)], [*[()] * n, range(n)])
        return Neighbourhoods(levels=2)(g)

    net = ccn.CCN(3, 1, scheme=scheme).double()
    z = net.embed(_pair())
    assert bool(z[1, 32:].eq(0).all())
    assert not bool(z[0, 64:].eq(0).all())
    torch.testing.assert_close(z[1:], net.embed([_pair()[1]]))


def test_errors_name_the_argument() -> None:
    loop_free = ccn.Graph([(0, 1)], n=2)
    g = ccn.Graph([(0, 1)], n=2, directed=True)
    loop = ccn.Graph([(0, 0)], n=1, self_loops=True)
    cases: list[tuple[type[CCNError], str, Any]] = [
        (
            ConfigurationError,
            "graph 1 has directed=True; make the network with directed=True",
            lambda: ccn.CCN(1)([loop_free, g]),
        ),
        (ConfigurationError, "self_loops=True", lambda: ccn.CCN(1)([loop])),
        (GraphError, "in_features=2", lambda: ccn.CCN(2)([loop_free])),
        (ConfigurationError, "levels", lambda: ccn.CCN(1, order=[1, 2])),
        (ConfigurationError, "order", lambda: ccn.CCN(1, order=-1)),
        (ConfigurationError, "distinct, all", lambda: ccn.CCN(1, contractions="some")),
        (ConfigurationError, "contractions=5", lambda: ccn.CCN(1, contractions=5)),  # type: ignore[arg-type]
        (ConfigurationError, "orders 0 to 2", lambda: ccn.CCN(1, order=3, self_product=True, adjacency=False)),
        (ConfigurationError, "5 to 2", lambda: ccn.CCN(1, contractions=ccn.contractions(4, 1))),
        (ConfigurationError, "nonlinearity", lambda: ccn.CCN(1, nonlinearity="sigmoidal")),
        (ConfigurationError, "norm", lambda: ccn.CCN(1, norm="instance")),
        (ConfigurationError, "dropout", lambda: ccn.CCN(1, dropout=1.0)),
        (ConfigurationError, "1 to order 2", lambda: ccn.CCN(1, order=[0, 2, 2], adjacency=False)),
        (ConfigurationError, "'graph' or 'vertex'", lambda: ccn.CCN(1).embed([loop_free], per="edge")),  # type: ignore[arg-type]
        (SchemeError, "levels=1", lambda: ccn.CCN(1, levels=1, scheme=Balls((0, 1, 2)))([loop_free])),
        (SchemeError, "ccn.Scheme", lambda: ccn.CCN(1, scheme=lambda g: None)([loop_free])),  # type: ignore[arg-type]
        (ConfigurationError, "node 9", lambda: ccn.CCN(1).activations([loop_free])[1].node(9)),
    ]
    for kind, message, call in cases:
        with pytest.raises(kind, match=message.replace("(", r"\(")):
            call()


def test_lists_of_contractions_round_trip_and_keep_their_channels() -> None:
    channels: list[Any] = [ccn.adjacency.Weights(), ccn.adjacency.EdgeFeatures(2)]
    for options in ({"own": True}, {"adjacency": "both"}):
        net = ccn.CCN(3, 1, adjacency_channels=channels, **options)
        listed: Any = list(net.layers[0].contractions)
        again = ccn.CCN(3, 1, adjacency_channels=channels, contractions=listed, **options)
        assert again.layers[0].contractions == net.layers[0].contractions
        texts: Any = [str(c) for c in dict.fromkeys(replace(c, channel=0) for c in listed)]
        text = ccn.CCN(3, 1, adjacency_channels=channels, contractions=texts, **options)
        # Every channel reads a string, also where a contraction is redundant for the channel of edges alone.
        assert set(text.layers[0].contractions) >= set(net.layers[0].contractions)
    plain = ccn.contractions(5, 2)[3]
    spread = ccn.CCN(3, 1, adjacency_channels=channels, contractions=[plain]).layers[0].contractions
    assert [c.channel for c in spread] == [0, 1, 2]
    with pytest.raises(ConfigurationError, match="2 to 1 or TA of order 4 to 1"):
        ccn.CCN(3, 1, order=1, adjacency="both", contractions=[*ccn.contractions(4, 1), plain])


def test_edge_features_that_a_network_ignores_are_told_once() -> None:
    edges = [(0, 1), (1, 2)]
    g = ccn.Graph(edges, n=3, edge_features=torch.ones(2, 4))
    reads: Any = [ccn.adjacency.Weights(), ccn.adjacency.EdgeFeatures(4)]
    for options in ({}, {"adjacency": False, "adjacency_channels": reads}):
        net = ccn.CCN(1, **options)
        with pytest.warns(UserWarning, match=r"width 4.*EdgeFeatures\(4\)"):
            net([g])
        net([g])  # a second warning would be an error
    ccn.CCN(1, adjacency_channels=reads)([g])
    ccn.CCN(1)([ccn.Graph(edges, n=3)])
    ccn.CCN(1)(ccn.Pack.of([g]).without_edge_features())


def test_contractions_are_listed_as_strings_for_all_levels_or_one() -> None:
    listed = ["abx,xy->ab", "axx,by->ab"]
    for layer in ccn.CCN(3, 1, levels=3, contractions=listed).layers:
        assert [str(c) for c in layer.contractions] == listed
    first, second = ccn.CCN(3, 1, contractions=["distinct", "ijk,kl->ij"]).layers
    assert (len(first.contractions), [str(c) for c in second.contractions]) == (26, listed[:1])
    square = ccn.CCN(3, 1, adjacency=False, self_product=True, contractions=["abx,xyy->ab"]).layers[0]
    assert [c.source for c in square.contractions] == ["TT"]
    for bad, fact in (("abx,xyy->ab", "TT"), ("abx->ab", "5 to 2"), ("abx,xy>ab", "abx,xy>ab"), ("own ab->ab", "own")):
        with pytest.raises(ConfigurationError, match=fact):
            ccn.CCN(3, 1, contractions=["abx,xy->ab", bad])


def test_contractions_that_all_vanish_leave_the_bias() -> None:
    zero = ccn.contractions(5, 2)[0]  # abxxx->ab: the diagonal of A
    net = ccn.CCN(3, 1, contractions=[zero])
    a = net.activations(_pair())[1]
    torch.testing.assert_close(a.data, torch.relu(net.layers[0].bias).expand_as(a.data))
    net(_pair()).sum().backward()


def test_orders_may_grow_where_children_may_be_free() -> None:
    """T reaches the order, U may not, and then contributes nothing."""
    open_scheme = Neighbourhoods(closed=False)
    net = ccn.CCN(3, 1, order=[1, 1, 2], adjacency=False, scheme=open_scheme)
    assert net.layers[1].contractions_free == ()
    asked = ccn.CCN(3, 1, order=[1, 1, 2], adjacency=False, scheme=open_scheme, weight_free=True)
    assert asked.layers[1].contractions_free == ()
    assert asked(_pair()).shape == net(_pair()).shape
    assert net(_pair()).shape == (2, 1)
    net(_pair()).sum().backward()


def test_settings_of_any_whole_type_and_schemes_of_any_kind_work() -> None:
    class Generator:
        """Compares by value and so cannot be hashed."""

        def __eq__(self, other: object) -> bool:
            return isinstance(other, Generator)

        def __call__(self, graph: ccn.Graph, /) -> ccn.Scheme:
            return Neighbourhoods(levels=2)(graph)

    net = ccn.CCN(np.int64(3), 1, order=np.int64(2), channels=np.int64(4), scheme=Generator())  # type: ignore[arg-type]
    assert net(_pair()).shape == (2, 1)
    assert ccn.CCN(3, 1, adjacency_channels=ccn.adjacency.Power(2))(_pair()).shape == (2, 1)  # type: ignore[arg-type]
    deep = ccn.CCN(3, 1, levels=3, scheme=Balls((0, 1)))
    assert [len(a) for a in deep.activations(_pair())] == [9, 9, 0, 0]


@pytest.mark.parametrize(
    "bad",
    [
        {"order": 1.5}, {"order": None}, {"adjacency": None}, {"levels": 2.0}, {"in_features": "a"}, {"scheme": 3},
        {"contractions": []}, {"adjacency_channels": []}, {"order": True}, {"channels": 0},
    ],
    ids=str,
)  # fmt: skip
def test_bad_settings_are_configuration_errors(bad: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError):
        ccn.CCN(**{"in_features": 3, **bad})


def test_children_of_different_heights_need_one_order_and_the_error_names_node_and_child() -> None:
    def scheme(g: ccn.Graph) -> ccn.Scheme:
        return ccn.Scheme([(0,), (1,), (2,), (0, 1), (0, 1, 2), (0, 1, 2)], [(), (), (), (0, 1), (3, 2), (4,)])

    graph = ccn.Graph([(0, 1)], n=3)
    assert ccn.CCN(1, scheme=scheme)([graph]).shape == (1, 1)
    with pytest.raises(SchemeError, match=r"node 0 of level 2 .*child 2 of level 0"):
        ccn.CCN(1, scheme=scheme, order=[1, 2, 2])([graph])


@pytest.mark.slow
def test_nothing_is_stored_of_order_three_and_2000_molecules_take_less_than_2_gb() -> None:
    """Peak memory of a forward pass at order 2, in a process of its own."""
    code = """
import re, numpy as np, torch, ccn
from ccn.testing import random_molecule_like
rng = np.random.default_rng(0)
graphs = [random_molecule_like(int(rng.integers(12, 21)), rng) for _ in range(2000)]
net = ccn.CCN(16, 1, order=2, levels=2, channels=16)
with torch.no_grad():
    assert torch.isfinite(net(graphs)).all()
print(int(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1]) // 1024)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert int(done.stdout) < 2000, f"{done.stdout} MB"
