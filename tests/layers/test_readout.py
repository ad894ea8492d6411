"""Readouts against the reference: the root, vertices and edges, in every form of the engine."""

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np
import pytest
import torch

import ccn
from ccn import reference
from ccn.algebra import MatrixClass, preset
from ccn.engine.backend import FORMS, using_backend
from ccn.errors import ConfigurationError, SchemeError
from ccn.graphs.adjacency import Closed
from ccn.schemes import Clusters, Neighbourhoods, rings
from ccn.testing import assert_covariant, random_graph

OPTIONS: list[dict[str, Any]] = [{}, {"directed": True, "self_loops": True}]


def _graphs(seed: int, **flags: bool) -> list[ccn.Graph]:
    rng = np.random.default_rng(seed)
    shapes = ((4, 0.7), (1, 0.5), (5, 0.3), (2, 0.0))
    return [random_graph(n, rng, density=density, weighted=True, **flags) for n, density in shapes]


def _net(seed: int, **options: Any) -> ccn.CCN:
    torch.manual_seed(seed)
    net = ccn.CCN(3, 2, **{"channels": 3, **options}).double()
    for p in net.parameters():
        torch.nn.init.normal_(p, std=0.5)
    return net


def _check(net: ccn.CCN, graphs: Sequence[ccn.Graph]) -> None:
    expected = reference.forward(net, graphs)
    probe = torch.randn_like(expected)
    wanted = list(net.parameters())
    gradients = torch.autograd.grad((expected * probe).sum(), wanted, allow_unused=True)
    for form in FORMS:
        with using_backend(form):
            found = net(graphs)
        torch.testing.assert_close(found, expected, rtol=1e-10, atol=1e-10)
        ours = torch.autograd.grad((found * probe).sum(), wanted, allow_unused=True)
        for got, known in zip(ours, gradients, strict=True):
            assert known is None or got is not None
            if got is not None:
                torch.testing.assert_close(got, torch.zeros_like(got) if known is None else known, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("readout", ["invariants", "sums", "root", "vertex", "edge"])
@pytest.mark.parametrize("order", [0, 1, 2])
@pytest.mark.parametrize("flags", OPTIONS)
def test_every_readout_equals_the_reference(readout: str, order: int, flags: dict[str, Any]) -> None:
    levels = "last" if order == 1 else "all"
    options = {"order": order, "readout": readout, "readout_levels": levels, "channels": [3, 4, 5], **flags}
    _check(_net(order, **options), _graphs(order, **flags))


@pytest.mark.parametrize("readout", ["root", "vertex", "edge"])
def test_readouts_of_clusters_whose_nodes_have_no_anchor(readout: str) -> None:
    _check(_net(1, order=1, readout=readout, scheme=Clusters(rings())), _graphs(3))


@pytest.mark.parametrize("options", [{"adjacency": False}, {"adjacency": "both"}, {"order": [1, 2, 3]}, {"levels": 0}])
def test_the_root_after_other_levels(options: dict[str, Any]) -> None:
    _check(_net(2, readout="root", **options), _graphs(4)[:3])


@pytest.mark.parametrize(("order", "count"), [(0, 2), (1, 6), (2, 21), (3, 83)])
def test_the_scalars_of_the_root(order: int, count: int) -> None:
    net = ccn.CCN(1, 1, order=order, channels=2, readout="root", hidden=5)
    assert net.root is not None
    assert net.root.weight.shape == (5, count, 2)
    assert len(preset("distinct", order + 3, 0, "TA", MatrixClass())) == count
    graphs = [ccn.Graph([(0, 1), (1, 2)], n=3)] * 2
    assert net.embed(graphs).shape == (2, 5)
    assert net(graphs).shape == (2, 1)


def test_the_root_sees_what_invariants_of_single_nodes_do_not() -> None:
    """Level 0 alone: a sum over vertices has no A, the root has, and counts the edges at each label."""
    labels = np.eye(2)[[0, 0, 1, 1]]
    a, b = ccn.Graph([(0, 1)], labels), ccn.Graph([(2, 3)], labels)
    for readout, apart in (("invariants", False), ("root", True)):
        torch.manual_seed(0)
        net = ccn.CCN(2, 1, order=1, levels=0, channels=4, readout=readout).double()  # type: ignore[arg-type]
        x, y = net.embed([a]).detach(), net.embed([b]).detach()
        assert (float((x - y).abs().max()) > 1e-6) == apart


def test_rows_of_vertices_and_edges_follow_the_graph() -> None:
    g = ccn.Graph([(0, 1), (3, 1), (1, 2)], torch.randn(5, 3))
    for readout, rows in (("vertex", 5), ("edge", 3)):
        net = ccn.CCN(3, 2, channels=4, readout=readout).double().eval()  # type: ignore[arg-type]
        out = net([g, g])
        assert out.shape == (2 * rows, 2)
        torch.testing.assert_close(out[:rows], out[rows:])
        sigma = np.random.default_rng(0).permutation(5)
        moved = net([g.permute(sigma)])  # edges keep their order, vertices are renamed
        expected = out[:rows] if readout == "edge" else out[np.argsort(sigma)]
        torch.testing.assert_close(moved, expected)
    packed = net(ccn.Pack.of([g, g]))
    torch.testing.assert_close(packed, out)


def test_an_edge_is_symmetric_unless_the_network_is_directed() -> None:
    x = torch.randn(3, 3)
    net = ccn.CCN(3, 1, channels=3, readout="edge").double()
    one, other = net([ccn.Graph([(0, 1), (1, 2)], x)]), net([ccn.Graph([(1, 0), (2, 1)], x)])
    torch.testing.assert_close(one, other)
    directed = ccn.CCN(3, 1, channels=3, readout="edge", directed=True).double()
    both = directed([ccn.Graph([(0, 1), (1, 0), (1, 2)], x, directed=True)])
    assert both.shape == (3, 1)
    assert float((both[0] - both[1]).detach().abs().max()) > 1e-9


def test_features_of_graphs_as_a_whole_reach_every_row() -> None:
    g = ccn.Graph([(0, 1), (1, 2)], torch.randn(3, 3))
    whole = np.array([[1.0, 2.0], [3.0, 4.0]], dtype=np.float32)
    for readout, rows in (("root", 2), ("vertex", 6), ("edge", 4)):
        net = ccn.CCN(3, 1, channels=3, graph_features=2, readout=readout).double()  # type: ignore[arg-type]
        out = net(ccn.Pack.of([g, g]).with_graph_features(whole))
        assert out.shape == (rows, 1)
        assert float((out[: rows // 2] - out[rows // 2 :]).detach().abs().min()) > 0


@pytest.mark.parametrize("readout", ["root", "invariants"])
def test_networks_with_a_root_are_covariant(readout: Any) -> None:
    assert_covariant(ccn.CCN(3, 2, channels=4, readout=readout, readout_levels="last"), _graphs(7))


def test_bad_readouts_are_errors_that_say_what_to_do() -> None:
    with pytest.raises(ConfigurationError, match="readout="):
        ccn.CCN(1, readout="nonsense")  # type: ignore[arg-type]
    with pytest.raises(ConfigurationError, match="readout_levels="):
        ccn.CCN(1, readout_levels="first")  # type: ignore[arg-type]
    one_level = Clusters(rings())
    with pytest.raises(SchemeError, match="one order"):
        ccn.CCN(1, order=[1, 1, 2], scheme=one_level, readout="root")([ccn.Graph([(0, 1)], n=2)])
    net = ccn.CCN(1, readout="root")
    with pytest.raises(ConfigurationError, match="invariants"):
        net(ccn.Graph([], n=1_000_000))


def test_open_neighbourhoods_with_a_root() -> None:
    _check(_net(5, readout="root", order=1, scheme=Neighbourhoods(closed=False)), _graphs(8)[:3])


def test_the_network_of_the_authors_step_by_step() -> None:
    """Embedding, two levels and readout, written down for one graph with dense matrices."""
    options: dict[str, Any] = {
        "scheme": "field",
        "adjacency_channels": [Closed()],
        "contractions": "paper10",
        "hidden": (),
    }
    options |= {"nonlinearity": "leaky_relu", "activate_embedding": True, "readout": "sums", "readout_levels": "last"}
    net, n = _net(0, **options), 5
    graph = ccn.Graph([(i, i + 1) for i in range(n - 1)], torch.randn(n, 3, dtype=torch.float64))
    bend = torch.nn.functional.leaky_relu
    a = graph.adjacency(torch.float64) + torch.eye(n)
    f = {v: bend(net.embedding(graph.features[v])).view(1, 1, -1) for v in range(n)}
    fields = {v: [v] for v in range(n)}
    for layer in net.layers:
        wider = {v: sorted({u for w in range(n) if a[v, w] for u in fields[w]}) for v in range(n)}
        above = {}
        for v, part in wider.items():
            t = torch.zeros(len(part), len(part), len(part), 3, dtype=torch.float64)
            for j, w in enumerate(part):  # every vertex of the field, not the neighbours alone
                for x, p in enumerate(part):
                    for y, q in enumerate(part):
                        if p in fields[w] and q in fields[w]:
                            t[x, y, j] = f[w][fields[w].index(p), fields[w].index(q)]
            h = torch.einsum("abjc,de->abjdec", t, a[part][:, part])
            total = layer.bias.expand(len(part), len(part), -1)
            for i, keep in enumerate(combinations(range(5), 2)):  # the order in which contractions are listed
                summed = [axis for axis in range(5) if axis not in keep]
                total = total + h.sum(summed) @ layer.weight[:, i].T
            above[v] = bend(total)
        f, fields = above, wider
    rows = torch.stack([bend(x.sum((0, 1))) for x in f.values()]).sum(0)
    scale, last = net.head
    torch.testing.assert_close(net([graph])[0], last(scale(rows)), rtol=1e-10, atol=1e-10)


def test_a_nonlinearity_with_parameters_belongs_to_the_levels_alone() -> None:
    net = _net(0, nonlinearity=torch.nn.PReLU(), activate_embedding=True, readout="sums")
    names = {name for name in net.state_dict() if name.endswith("nonlinearity.weight")}
    assert names == {f"layers.{i}.nonlinearity.weight" for i in range(2)}
    _check(net, _graphs(0))
