r"""What covariant networks of an order and a number of levels can distinguish, decided over integers.

**The network.** On level l of the closed neighbourhood scheme the node of vertex v has the ball of radius l around v as
its part, and an activation :math:`F_v` of order k. All levels share one :class:`ccn.layers.Aggregation`: the six steps
of the paper with all distinct contractions of T and of :math:`T \otimes A` (``adjacency="both"``), with one A for each
label of edges, and with the node's former activation (``own=True``). Its weights are fixed integers, and its
nonlinearity is a hash h with :data:`BITS` bits in each of :data:`CHANNELS` channels
(:mod:`ccn.methods.kernels.integers`),

.. math:: F_v \leftarrow h\Big(\sum_j W_j Q_j + b\Big).

A vertex begins with the hash of its label. What is compared is what the head of a network reads by default: the
invariants of all nodes, summed over the graph, of every level.

**Apart is certain.** Every sum is exact, so that the rows of isomorphic graphs agree to the last bit, and graphs whose
rows differ are distinguished by this network of order k. (A continuous function through the values of h makes it one
over real numbers.)

**Alike is almost certain, and then for every network** of this scheme and order, with or without A or its own former
activation, whatever its contractions, weights, width and pointwise nonlinearities. By induction over levels: where two
entries of ours are equal, so are those of any such network. The inputs of an entry are sums, along each contraction, of
entries of the level below. If such sums of ours agree, then almost certainly the two multisets of entries that were
added are equal, and then so are the sums of any function of them.

**The probability** is that of h and W, drawn once and for all without looking at any graph. Sums of hashes of two
different multisets agree in a channel with probability at most 2^-BITS (given all other hashes at most one value of the
last makes them equal), so in all channels with 2^-48. A linear form in random weights that does not vanish identically
vanishes with at most 2^-BITS, and so do two different sums under h: two entries with different inputs agree in a
channel with at most 2^-11 and in all four, whose weights differ, with at most 2^-44. A difference is thus lost at a
level with a probability of about 2^-44.

**All levels.** Above the level at which every part holds its whole component, every level does the same to the state
below. ``own`` makes a level refine the partition of all entries of all graphs into equal ones. Once a level does not
refine it, none will: what is alike then is alike to any number of levels.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import torch
from scipy.sparse.csgraph import shortest_path

from ccn.algebra.contractions import MatrixClass
from ccn.datasets.dealing import groups_of
from ccn.engine.matrices import Matrices
from ccn.errors import GraphError
from ccn.graphs.adjacency import EdgeFeatures
from ccn.graphs.graph import Graph, as_graph, batch
from ccn.graphs.pack import neighbour_pattern
from ccn.graphs.ragged import Int
from ccn.layers.aggregation import Activation, Aggregation
from ccn.methods.kernels.bags import Names, name, row_names
from ccn.methods.kernels.integers import code, draw_integers, hash_of
from ccn.schemes.generators import Neighbourhoods, composition

__all__ = ["BITS", "CHANNELS", "LARGEST", "Classes", "classes", "fits", "labels_of"]

CHANNELS = 4
BITS = 12
LARGEST = 1 << 25
"""Entries n^(k+1) of one level, of all graphs that are compared with each other; they take 32 bytes each."""


@dataclass(frozen=True)
class Classes:
    """Which graphs look alike.

    Attributes:
        levels: for every level 0, 1, .. that was computed, (graphs,) the class of each graph: equal numbers for graphs
            that this many levels do not distinguish.
        stable: no further level would distinguish more.

    Example:
        >>> from ccn import Graph
        >>> found = classes([Graph([(0, 1), (1, 2)], n=3), Graph([(0, 1), (1, 2), (0, 2)], n=3)], order=2)
        >>> found.at(0).tolist(), found.at(1).tolist()
        ([0, 0], [0, 1])
    """

    levels: tuple[Int, ...]
    stable: bool

    @property
    def of(self) -> Int:
        """(graphs,) the classes after the last level."""
        return self.levels[-1]

    def at(self, level: int | None) -> Int:
        """(graphs,) the classes of networks with so many levels, or with any number of them (None)."""
        if level is not None and level < len(self.levels):
            return self.levels[level]
        if not self.stable:
            raise GraphError(f"classes were computed up to level {len(self.levels) - 1} only")
        return self.of


def fits(graphs: Sequence[Graph], order: int) -> bool:
    """Whether graphs can be compared at this order: they have at most :data:`LARGEST` entries on a level."""
    return bool(sum(g.n ** (order + 1) for g in graphs) <= LARGEST)


def classes(graphs: Sequence[Any], order: int = 2, levels: int | None = None) -> Classes:
    """Which of these graphs covariant networks of an order can distinguish; see the module.

    Args:
        graphs: undirected graphs without self-loops. Equal rows of vertex features are equal labels, and likewise
            those of weights and features of edges.
        order: of the activations, from 0.
        levels: number of levels; None for any number.

    Example:
        Two triangles and a hexagon look alike to message passing, and not to order 1.

        >>> triangles = Graph([(0, 1), (1, 2), (2, 0), (3, 4), (4, 5), (5, 3)], n=6)
        >>> hexagon = Graph([(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (5, 0)], n=6)
        >>> found = classes([triangles, hexagon, hexagon.permute([3, 1, 4, 0, 5, 2])], order=1)
        >>> found.of.tolist(), found.stable
        ([0, 1, 1], True)
    """
    given = [as_graph(g) for g in graphs]
    if not fits(given, order):
        n = max(g.n for g in given)
        raise GraphError(
            f"{len(given)} graphs of up to {n} vertices have n^{order + 1} entries each on a level of order {order}, "
            f"more than {LARGEST:,}; compare fewer, or at a lower order"
        )
    hashed, width = _hashed(given)
    reach = max((_reach(g) for g in given), default=0)  # the level from which on every part is a component
    depth = reach + 1 if levels is None else min(levels, reach + 1)
    each = [_States(g, order, width, depth) for g in hashed]
    found = [_refined(np.zeros(len(each), np.int64), [s.readout() for s in each])]
    before = -1
    while levels is None or len(found) <= levels:
        shared = np.flatnonzero(np.bincount(found[-1])[found[-1]] > 1)
        if not len(shared):
            return Classes(tuple(found), stable=True)
        rows: list[Names] = [np.zeros(1, np.uint64)] * len(each)
        for i in shared.tolist():
            each[i].step(len(found))
            rows[i] = each[i].readout()
        found.append(_refined(found[-1], rows))
        if not np.array_equal(found[-1], found[-2]):
            before = -1  # of other graphs than those that are left
        elif len(found) > reach:  # it has this level or a higher one: further levels all do the same to it
            kinds = len(np.unique(np.concatenate([each[i].entries() for i in shared])))
            if kinds == before:
                return Classes(tuple(found), stable=True)
            before = kinds
    return Classes(tuple(found), stable=False)


def _refined(of: Int, rows: Sequence[Names]) -> Int:
    """The classes cut into those of equal rows, numbered in order of their first graphs."""
    return groups_of((c, row.tobytes()) for c, row in zip(of.tolist(), rows, strict=True))


class _States:
    """The activations of one graph, level by level."""

    def __init__(self, graph: Graph, order: int, width: int, depth: int) -> None:
        b = batch([graph])
        self.layer = _layer(order, width)
        scheme = composition(b, Neighbourhoods(levels=depth), depth)
        self.structure, self.matrices = scheme.levels, Matrices(b, (EdgeFeatures(width),), torch.float64)
        self.now = Activation(b.features.double(), scheme.leaves, order)

    def step(self, level: int) -> None:
        """Compute a level from the one below; those above the last that was built equal it in structure."""
        with torch.inference_mode():
            self.now = self.layer(self.now.data, self.structure[min(level, len(self.structure)) - 1], self.matrices)

    def readout(self) -> Names:
        """The invariants of all nodes, summed."""
        with torch.inference_mode():
            return self.now.per_graph(1).numpy().astype(np.uint64)

    def entries(self) -> Names:
        """The kinds of all entries."""
        return np.unique(row_names(self.now.data.numpy()))


@lru_cache(maxsize=8)
def _layer(order: int, width: int) -> Aggregation:
    """The layer for so many labels of edges, with the same weights on every machine."""
    with torch.random.fork_rng(devices=[]):
        made = Aggregation(
            CHANNELS,
            CHANNELS,
            order,
            adjacency="both",
            own=True,
            classes=(MatrixClass(),) * width,
            nonlinearity=hash_of(BITS),
        ).double()
    draw_integers([made], BITS, first=order)
    return made


def labels_of(graph: Graph) -> tuple[Names, Names]:
    """The names of the labels of vertices, and of edges by their weights and features.

    Example:
        >>> g = Graph([(0, 1), (1, 2)], [0, 1, 0], edge_features=[[1.0], [2.0]])
        >>> [len(np.unique(names)) for names in labels_of(g)]
        [2, 2]
    """
    if graph.directed or graph.self_loops:
        raise GraphError("graphs that are directed or have self-loops are not compared; give undirected ones")
    vertices, m = row_names(graph.features.detach().double().numpy()), len(graph.edges)
    weights = np.ones((m, 1)) if graph.weights is None else graph.weights.detach().double().numpy()[:, None]
    given = graph.edge_features
    features = np.zeros((m, 0)) if given is None else given.detach().double().numpy()
    return vertices, row_names(np.concatenate([weights, features], axis=1))


def _hashed(graphs: Sequence[Graph]) -> tuple[list[Graph], int]:
    """The graphs with a hash of each vertex's label per channel and edges labelled by numbers, one-hot; how many."""
    labels = [labels_of(g) for g in graphs]
    known = np.unique(np.concatenate([np.zeros(0, np.uint64), *(of_edges for _, of_edges in labels)]))
    width = max(1, len(known))
    out = []
    for g, (vertices, of_edges) in zip(graphs, labels, strict=True):
        features = np.stack([code(name(c, vertices), BITS) for c in range(CHANNELS)], axis=1)
        out.append(Graph(g.edges, features, edge_features=np.eye(width)[np.searchsorted(known, of_edges)]))
    return out, width


def _reach(graph: Graph) -> int:
    """The largest distance of two vertices of one component."""
    distance = shortest_path(neighbour_pattern(graph.entries, graph.n, graph.directed), unweighted=True)
    return int(distance[np.isfinite(distance)].max(initial=0))
