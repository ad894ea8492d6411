"""Tools for testing covariance: for us and for those who extend us.

:func:`assert_covariant` draws a permutation, never the identity, and compares ``f(g x)`` with
``g f(x)`` in float64. A module that is not covariant must fail it, and the tests check that too.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from ccn.algebra.operations import permute
from ccn.graphs.graph import Graph, batch
from ccn.layers.aggregation import Activation
from ccn.schemes.scheme import random_permutation

__all__ = ["assert_covariant", "random_graph", "random_molecule_like", "random_permutation"]


def random_graph(
    n: int,
    rng: np.random.Generator,
    *,
    density: float = 0.4,
    features: int = 3,
    weighted: bool = False,
    directed: bool = False,
    self_loops: bool = False,
    edge_features: int = 0,
) -> Graph:
    """A random graph of n vertices with normal features, in float64.

    Example:
        >>> random_graph(5, np.random.default_rng(0), directed=True)
        Graph(n=5, edges=7, features=3, directed=True)
    """
    pairs = [(i, j) for i in range(n) for j in range(n) if (directed and i != j) or i < j or (self_loops and i == j)]
    edges = [pair for pair in pairs if rng.random() < density]
    sign = rng.choice([-1.0, 1.0], len(edges))
    return Graph(
        edges,
        torch.from_numpy(rng.normal(size=(n, features))),
        weights=torch.from_numpy(sign * rng.uniform(0.5, 1.5, len(edges))) if weighted else None,
        edge_features=torch.from_numpy(rng.normal(size=(len(edges), edge_features))) if edge_features else None,
        directed=directed,
        self_loops=self_loops,
    )


def random_molecule_like(n: int, rng: np.random.Generator, features: int = 16) -> Graph:
    """A connected graph of degree at most 4: a tree with a few rings of 5 and 6 vertices closed in it.

    Example:
        >>> g = random_molecule_like(20, np.random.default_rng(0))
        >>> g.n, len(g.edges) >= 19
        (20, True)
    """
    degree, parent, edges = np.zeros(n, dtype=int), [-1], []
    for i in range(1, n):
        free = [j for j in range(max(0, i - 6), i) if degree[j] < 3] or [j for j in range(i) if degree[j] < 4]
        j = int(rng.choice(free[-3:]))
        edges.append((j, i))
        parent.append(j)
        degree[[i, j]] += 1
    for i in rng.permutation(n)[: n // 8]:
        walk = [int(i)]
        while len(walk) < int(rng.integers(5, 7)) and parent[walk[-1]] >= 0:
            walk.append(parent[walk[-1]])
        if len(walk) >= 5 and degree[walk[0]] < 4 and degree[walk[-1]] < 4 and (walk[-1], walk[0]) not in edges:
            edges.append((walk[-1], walk[0]))
            degree[[walk[0], walk[-1]]] += 1
    return Graph(edges, torch.from_numpy(rng.normal(size=(n, features)).astype(np.float32)))


def _close(what: str, a: Tensor, b: Tensor, rtol: float) -> None:
    scale = max(float(a.abs().max()), float(b.abs().max()), 1e-300) if a.numel() else 1.0
    worst = float((a - b).abs().max()) / scale if a.numel() else 0.0
    if not worst <= rtol:
        raise AssertionError(f"{what}: differs by {worst:.2e} of its largest entry, more than {rtol:.0e}")


def assert_covariant(
    module: nn.Module, graphs: Sequence[Graph], *, trials: int = 3, seed: int = 0, rtol: float = 1e-10
) -> None:
    """Assert that a network treats its graphs the same under any numbering of their vertices.

    ``module`` maps a list of graphs to one row per graph, which must not change. If it has
    ``activations`` (as :class:`ccn.CCN` does), every node's tensor must be the permuted tensor of the
    corresponding node; if it has ``embed``, so must its rows per vertex. Everything is run in float64
    on a copy in evaluation mode.

    Raises:
        AssertionError: naming what differs, and by how much.

    Example:
        >>> import ccn
        >>> assert_covariant(ccn.CCN(in_features=3, out_features=1), [random_graph(5, np.random.default_rng(0))])
    """
    net: Any = copy.deepcopy(module).double().eval()
    plain = [_in_double(g) for g in graphs]
    rng = np.random.default_rng(seed)
    with torch.no_grad():
        for _ in range(trials):
            sigmas = [random_permutation(g.n, rng) for g in plain]
            renamed = [g.permute(s) for g, s in zip(plain, sigmas, strict=True)]
            start = batch(plain).start
            sigma = np.concatenate([np.asarray(s) + o for s, o in zip(sigmas, start[:-1], strict=True)])
            _close("the output", net(plain), net(renamed), rtol)
            if hasattr(net, "embed"):
                rows, moved = net.embed(plain, per="vertex"), net.embed(renamed, per="vertex")
                _close("the embedding per vertex", rows, moved[torch.from_numpy(sigma)], rtol)
            if hasattr(net, "activations"):
                levels = zip(net.activations(plain), net.activations(renamed), strict=True)
                for number, (before, after) in enumerate(levels):
                    _compare_level(number, before, after, sigma, rtol)


def _compare_level(number: int, before: Activation, after: Activation, sigma: Any, rtol: float) -> None:
    """Every node of one level: matched by its renamed part and anchor, its tensor permuted accordingly."""

    def key(a: Activation, v: int, rename: Any) -> tuple[int, ...]:
        anchor = int(a.nodes.anchor[a.nodes.storage[v]])
        return (int(rename[anchor]) if anchor >= 0 else -1, *sorted(int(rename[i]) for i in a.part(v)))

    same = np.arange(len(sigma))
    found: dict[tuple[int, ...], list[int]] = {}
    for v in range(len(after)):
        found.setdefault(key(after, v, same), []).append(v)
    for v in range(len(before)):
        nodes = found.get(key(before, v, sigma))
        if not nodes:
            raise AssertionError(f"level {number}, node {v}: no counterpart; the scheme is not permutation invariant")
        if len(nodes) > 1:
            continue  # several nodes with one part: they cannot be told apart
        place = {a: i for i, a in enumerate(after.part(nodes[0]))}
        pi = [place[int(sigma[a])] for a in before.part(v)]
        _close(f"level {number}, node {v}", permute(before.node(v), pi), after.node(nodes[0]), rtol)


def _in_double(g: Graph) -> Graph:
    weights = None if g.weights is None else g.weights.double()
    edge_features = None if g.edge_features is None else g.edge_features.double()
    options: dict[str, Any] = {"directed": g.directed, "self_loops": g.self_loops, "name": g.name, "mol": g.mol}
    return Graph(g.edges, g.features.double(), weights=weights, edge_features=edge_features, **options)
