"""Integrated gradients of covariant networks: what they add up to, and what they are the limit of."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import ccn
from ccn.graphs.adjacency import EdgeFeatures, Weights
from ccn.graphs.pack import Pack
from ccn.methods.gradients import integrated_gradients


def _graphs(seed: int, count: int = 4) -> Pack:
    rng = np.random.default_rng(seed)
    graphs = []
    for _ in range(count):
        n = int(rng.integers(2, 7))
        edges = [(int(rng.integers(j)), j) for j in range(1, n)]
        edges += [(0, n - 1)] if n > 3 and (0, n - 1) not in edges else []
        x, e = rng.normal(size=(n, 3)), rng.normal(size=(len(edges), 2))
        graphs.append(ccn.Graph(edges, torch.from_numpy(x), edge_features=torch.from_numpy(e)))
    return Pack.of(graphs).with_graph_features(rng.normal(size=(count, 4)))


def _network(**settings: Any) -> ccn.CCN:
    torch.manual_seed(0)
    how: dict[str, Any] = {"order": 1, "levels": 2, "channels": 4, "hidden": 6, "graph_features": 4, **settings}
    channels = (Weights(), EdgeFeatures(2))
    return ccn.CCN(3, 2, adjacency_channels=channels, **how).double().eval()


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"order": 2, "own": True},
        {"norm": "batch", "head_norm": "batch"},
        {"nonlinearity": "tanh", "graph_features": 0, "hidden": (5, 4)},
        {"nonlinearity": "leaky_relu", "activate_embedding": True, "scheme": "field"},
    ],
)
@pytest.mark.parametrize("segments", [1, 3])
def test_contributions_add_up_to_rounding_whatever_the_segments(settings: Any, segments: int) -> None:
    net, graphs = _network(**settings), _graphs(1)
    found = integrated_gradients(net, graphs, lambda o: o[:, 1], segments)
    with torch.no_grad():
        end = net(graphs.batch())[:, 1]
    np.testing.assert_allclose(found.prediction, end, rtol=1e-12)
    assert np.abs(found.residual).max() < 1e-12
    assert np.abs(found.atoms).min() > 0
    assert np.abs(found.bonds).min() > 0


def test_with_many_segments_they_are_the_integral_of_the_gradient() -> None:
    net, graphs = _network(nonlinearity="softplus", graph_features=0), _graphs(2, 2)
    found = integrated_gradients(net, graphs, lambda o: o[:, 0], 64)
    b = graphs.batch()
    x, e = b.features, b.edge_features
    assert e is not None
    total = torch.zeros_like(x), torch.zeros_like(e)
    nodes, weights = np.polynomial.legendre.leggauss(60)
    for t, w in zip((nodes + 1) / 2, weights / 2, strict=True):
        b.features, b.edge_features = (t * x).requires_grad_(), (t * e).requires_grad_()
        grads = torch.autograd.grad(net(b)[:, 0].sum(), (b.features, b.edge_features))
        for into, g in zip(total, grads, strict=True):
            into.add_(g, alpha=w)
    np.testing.assert_allclose(found.atoms, (total[0] * x).sum(1), rtol=1e-2, atol=1e-4)
    np.testing.assert_allclose(found.bonds, (total[1] * e).sum(1), rtol=1e-2, atol=1e-4)


def test_what_is_not_pointwise_leaves_a_small_residual() -> None:
    net, graphs = _network(norm="layer", head_norm="layer"), _graphs(3)
    few, many = (integrated_gradients(net, graphs, lambda o: o.log_softmax(1)[:, 0], k) for k in (2, 40))
    assert np.abs(many.residual).max() < np.abs(few.residual).max()
    assert np.abs(many.residual).max() < 0.05 * np.abs(many.difference).max()


@pytest.mark.parametrize("readout", ["sums", "root"])
def test_readouts_that_bend_leave_a_small_residual(readout: str) -> None:
    net, graphs = _network(readout=readout), _graphs(3)
    found = integrated_gradients(net, graphs, lambda o: o[:, 0], 32)
    gap = np.abs(found.prediction - found.baseline).max()
    assert np.abs(found.residual).max() < 0.05 * gap
