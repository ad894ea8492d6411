"""Shares of parts carried to atoms, against loops over kinds, parts and atoms."""

from __future__ import annotations

from collections import Counter
from typing import Any

import networkx as nx
import numpy as np
import pytest

import ccn
from ccn.graphs.pack import Pack
from ccn.graphs.ragged import starts
from ccn.learning.task import Floats
from ccn.methods.kernels import PartKinds, PartShares
from ccn.methods.kernels.bags import graph_of, tally
from ccn.methods.kernels.carrying import carried, kinds_of, shares_of
from ccn.methods.kernels.parts import kinds, part_kinds


def _graphs(seed: int, count: int) -> Pack:
    rng = np.random.default_rng(seed)
    made = []
    for _ in range(count):
        n = int(rng.integers(1, 8))
        edges = [(int(rng.integers(j)), j) for j in range(1, n)]
        made.append(ccn.Graph(edges, np.eye(2)[rng.integers(2, size=n)].astype(np.float32)))
    return Pack.of(made)


def _balls(graphs: Pack, i: int, level: int) -> list[set[int]]:
    g = nx.Graph()
    g.add_nodes_from(range(graphs[i].n))
    g.add_edges_from(graphs[i].edges.tolist())
    return [set(nx.single_source_shortest_path_length(g, v, cutoff=level)) for v in range(graphs[i].n)]


def _slow(own: Pack, other: Pack, alpha: Floats, found: Any, known: Any, depths: Any, counted: bool) -> Floats:
    start, begin = starts(own.sizes), starts(other.sizes)
    out = np.zeros(int(own.sizes.sum()))
    for g in range(len(own)):
        for h in range(len(other)):
            for depth in depths:
                a = [Counter(level[start[g] : start[g + 1]].tolist()) for level in found[: depth + 1]]
                b = [Counter(level[begin[h] : begin[h + 1]].tolist()) for level in known[: depth + 1]]
                if not counted:
                    a, b = ([Counter(dict.fromkeys(x, 1)) for x in y] for y in (a, b))
                either = sum((x | y).total() for x, y in zip(a, b, strict=True))
                for level, (x, y) in enumerate(zip(a, b, strict=True)):
                    balls = _balls(own, g, level)
                    for kind, count in (x & y).items():
                        parts = [v for v in range(own[g].n) if int(found[level][start[g] + v]) == kind]
                        for v in parts:
                            for atom in balls[v]:
                                out[start[g] + atom] += alpha[h] * count / either / len(parts) / len(balls[v])
    return out


def test_the_mean_share_over_depths() -> None:
    own, other = _graphs(0, 4), _graphs(1, 5)
    alpha, kernel = np.random.default_rng(2).normal(size=5), PartShares(levels=2)
    found = shares_of(kernel, own, kernel.see(other), alpha)
    seen = part_kinds(own, 2, 2), part_kinds(other, 2, 2)
    np.testing.assert_allclose(found, _slow(own, other, alpha, *seen, (1, 2), True) / 2, rtol=1e-10, atol=1e-14)
    total = np.bincount(graph_of(own), found)
    np.testing.assert_allclose(total, kernel.gram(own, other) @ alpha, rtol=1e-10)


@pytest.mark.parametrize("counted", [True, False])
def test_the_share_of_all_levels(counted: bool) -> None:
    own, other = _graphs(3, 4), _graphs(4, 5)
    alpha, kernel = np.random.default_rng(5).normal(size=5), PartKinds(levels=2, counted=counted)
    found = kinds_of(kernel, own, other, alpha)
    seen = kinds(own, 2, 2), kinds(other, 2, 2)
    np.testing.assert_allclose(found, _slow(own, other, alpha, *seen, (2,), counted), rtol=1e-10, atol=1e-14)
    np.testing.assert_allclose(np.bincount(graph_of(own), found), kernel.gram(own, other) @ alpha, rtol=1e-10)


def test_numbers_of_kinds_are_kept_in_sum() -> None:
    graphs = _graphs(6, 6)
    found = part_kinds(graphs, 2, 1)
    bags = [tally(graph_of(graphs), level, len(graphs)) for level in found]
    levels = [(bag, np.random.default_rng(7).normal(size=len(bag.key))) for bag in bags]
    total = np.bincount(graph_of(graphs), carried(graphs, levels, found))
    np.testing.assert_allclose(total, sum(np.bincount(bag.graph, x) for bag, x in levels), rtol=1e-10)
