"""Against the definition, vertex by vertex, where the approximation has full rank."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import networkx as nx
import numpy as np
from labelled import label, labelled

import ccn
from ccn.methods.kernels import MultiscaleLaplacian

RIDGE, NOISE = 0.2, 0.3


def covariance(g: nx.Graph, members: list[int], features: Any) -> Any:
    some = g.subgraph(members)
    a = nx.to_numpy_array(some, nodelist=members)
    laplacian = np.diag(a.sum(1)) - a + RIDGE * np.eye(len(members))
    u = features[members]
    return u.T @ np.linalg.inv(laplacian) @ u + NOISE * np.eye(features.shape[1])


def overlap(s: Any, t: Any) -> float:
    mean = (np.linalg.inv(s) + np.linalg.inv(t)) / 2
    return float(np.linalg.det(mean) ** -0.5 / (np.linalg.det(s) * np.linalg.det(t)) ** 0.25)


def reference(graphs: list[ccn.Graph], levels: int) -> Any:
    """Exact features of every level: the square root of the kernel of all vertices."""
    whole = nx.empty_graph(0)
    start = np.cumsum([0] + [g.n for g in graphs])
    for first, g in zip(start, graphs, strict=False):
        whole.add_nodes_from(range(first, first + g.n))
        whole.add_edges_from((g.edges + first).tolist())
    features = np.eye(3)[[x for g in graphs for x in label(g)]]
    for level in range(1, levels + 1):
        balls = [sorted(nx.single_source_shortest_path_length(whole, v, level)) for v in range(len(whole))]
        s = [covariance(whole, ball, features) for ball in balls]
        value, vector = np.linalg.eigh([[overlap(a, b) for b in s] for a in s])
        kept = value > 1e-10 * value[-1]
        features = vector[:, kept] * np.sqrt(value[kept])
    s = [covariance(whole, list(range(a, b)), features) for a, b in pairwise(start)]
    return np.array([[overlap(a, b) for b in s] for a in s])


def test_the_definition() -> None:
    graphs = labelled(5, seed=5, largest=5, density=0.5)
    for levels in (0, 1, 2):
        made = MultiscaleLaplacian(levels, ridge=RIDGE, noise=NOISE, width=100, anchors=1000)
        np.testing.assert_allclose(made.gram(graphs), reference(graphs, levels), atol=1e-5)


def test_the_approximation_is_near() -> None:
    graphs = labelled(20, seed=6)
    exact = MultiscaleLaplacian(2, width=200, anchors=1000).gram(graphs)
    rough = MultiscaleLaplacian(2, width=10, anchors=30).gram(graphs)
    assert np.corrcoef(exact.ravel(), rough.ravel())[0, 1] > 0.9
