"""Channels of A: formulas against numpy, in the dtype of the network, and caches that see every change."""

from typing import Any

import numpy as np
import pytest
import torch

import ccn
from ccn.engine import using_backend
from ccn.engine.cpu.workspace import release
from ccn.errors import ConfigurationError, GraphError
from ccn.graphs.adjacency import Closed, EdgeFeatures, Normalised, Power, Weights
from ccn.testing import random_graph

CHANNELS = [Weights(), Closed(), Normalised(), Normalised("random_walk"), Power(2), Power(3)]


def _formula(channel: Any, a: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    r, c = np.abs(a).sum(1), np.abs(a).sum(0)
    r, c = np.where(r > 0, r, 1), np.where(c > 0, c, 1)
    if isinstance(channel, Power):
        return np.linalg.matrix_power(a, channel.p)
    if isinstance(channel, Normalised):
        return a / r[:, None] if channel.kind == "random_walk" else a / np.sqrt(np.outer(r, c))
    if isinstance(channel, Closed):
        np.fill_diagonal(a, 1)
    return a


@pytest.mark.parametrize("channel", CHANNELS, ids=str)
@pytest.mark.parametrize("kind", ["unweighted", "int", "float32", "float64", "directed"])
def test_channels_are_their_formula_in_the_asked_dtype(channel: Any, kind: str) -> None:
    g = random_graph(6, np.random.default_rng(0), density=0.6, directed=kind == "directed")
    weights = None
    if kind != "unweighted":
        weights = torch.arange(1, len(g.edges) + 1).to(getattr(torch, kind, torch.float64))
    g = ccn.Graph(g.edges, g.features, weights=weights, directed=g.directed)
    a = np.zeros((6, 6))
    for i, (u, v) in enumerate(g.edges.tolist()):
        a[u, v] = 1 if weights is None else float(weights[i])
        if not g.directed:
            a[v, u] = a[u, v]
    expected = _formula(channel, a)
    dense = channel.dense(g, torch.float64)[0]
    places, values = channel.sparse(ccn.batch([g]), torch.float64)
    spread = np.zeros((6, 6))
    spread[places[0], places[1]] = values[:, 0].numpy()
    for got in (dense.numpy(), spread):
        np.testing.assert_allclose(got, expected, rtol=1e-14, atol=1e-14)


def test_loops_of_a_graph_give_way_to_the_ones_of_the_diagonal() -> None:
    g = ccn.Graph([(0, 0), (0, 1)], torch.ones(2, 1), weights=torch.tensor([5.0, 3.0]), self_loops=True)
    assert Closed().dense(g, torch.float64).tolist() == [[[1.0, 3.0], [3.0, 1.0]]]
    _, values = Closed().sparse(ccn.batch([g]), torch.float64)
    assert values[:, 0].tolist() == [1.0, 3.0, 3.0, 1.0]


def test_edge_features_are_one_matrix_per_column() -> None:
    g = random_graph(5, np.random.default_rng(1), edge_features=2)
    dense = EdgeFeatures(2).dense(g, torch.float64)
    assert g.edge_features is not None
    for i, (u, v) in enumerate(g.edges.tolist()):
        torch.testing.assert_close(dense[:, u, v], g.edge_features[i])
        torch.testing.assert_close(dense[:, v, u], g.edge_features[i])
    with pytest.raises(GraphError, match=r"3 .* 2"):
        EdgeFeatures(3).dense(g, torch.float64)


def test_bad_settings_are_errors() -> None:
    with pytest.raises(ConfigurationError, match="symmetric"):
        Normalised("both")  # type: ignore[arg-type]
    with pytest.raises(ConfigurationError, match="at least 1"):
        Power(0)


def test_new_weights_on_one_batch_are_always_seen() -> None:
    """Tensors come and go, and addresses are used again: the cache must not be taken in."""
    edges = [(0, 1), (1, 2)]
    batch = ccn.batch([ccn.Graph(edges, n=3, weights=[1.0, 1.0])])
    net = ccn.CCN(1, channels=4)
    with torch.no_grad():
        for _ in range(20):
            batch.weights = torch.rand(2) + 0.1
            fresh = net([ccn.Graph(edges, n=3, weights=batch.weights.clone())])
            torch.testing.assert_close(net(batch), fresh)
            batch.weights.add_(1)
            torch.testing.assert_close(net(batch), net([ccn.Graph(edges, n=3, weights=batch.weights.clone())]))


@pytest.mark.parametrize("weights", [None, [1.0, 2.0]])
@pytest.mark.parametrize("backend", ["cpu", "torch"])
def test_inference_mode_then_training_and_training_then_inference_mode(weights: Any, backend: str) -> None:
    edges = [(0, 1), (1, 2)]
    channels = 37 + 2 * (weights is None) + (backend == "torch")  # a number for which no other test has built anything
    net = ccn.CCN(1, channels=channels)
    batch = ccn.batch([ccn.Graph(edges, n=3, weights=weights)])
    release()
    with using_backend(backend):
        with torch.inference_mode():
            first = net(batch).clone()
            made_there = net([ccn.Graph(edges, n=3, weights=weights)]).clone()
        again = net(batch)
        again.sum().backward()
        torch.testing.assert_close(first, again.detach())
        torch.testing.assert_close(made_there, again.detach())
        other = ccn.batch([ccn.Graph(edges, n=3, weights=weights)])
        net(other).sum().backward()
        with torch.inference_mode():
            torch.testing.assert_close(net(other), first)
