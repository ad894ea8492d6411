"""The kernel of a covariant network without learned weights: which kinds of parts two graphs have in common.

The vertices begin with their labels, hashed. At every level of the closed neighbourhood scheme a covariant network
of order k promotes, stacks, multiplies by A, contracts and mixes over integers, exactly
(:mod:`ccn.methods.kernels.integers`). Two parts are of one *kind* if all their invariants agree: different values have
different hashes, and a kind stands for a part as order k sees it. (At order 0 without A a kind would be a
Weisfeiler-Lehman label.)

With ``c_g(t)`` the number of parts of kind t in the graph g, over all levels (or 1 if there are any, since what matters
may be that a part occurs at all, such as one that makes a molecule toxic), the kernel is the share of parts in common,

    k(g, h) = sum over t of min(c_g(t), c_h(t)) / sum over t of max(c_g(t), c_h(t)),

which is positive definite and 1 on the diagonal (Ralaivola et al. 2005). :class:`PartKinds` has this kernel up to one
level; :class:`PartShares` has its mean over several levels, and sees the labels of edges.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from weakref import WeakKeyDictionary

import numpy as np
import torch

from ccn.graphs.adjacency import EdgeFeatures, Weights
from ccn.graphs.pack import Pack
from ccn.graphs.ragged import starts
from ccn.methods.kernels.bags import (
    Bag,
    Names,
    edge_names,
    edges,
    graph_of,
    matrices,
    mix,
    name,
    row_names,
    shares,
    tally,
    unary,
    vertex_names,
)
from ccn.methods.kernels.integers import code, draw_integers, hash_of
from ccn.methods.kernels.kernel import Floats, Kernel
from ccn.models import CCN
from ccn.settings import setting

__all__ = ["PartKinds", "PartShares", "kinds", "part_bags", "part_kinds"]

_TOGETHER = 1_024  # graphs compared with all others at a time

_CHANNELS = 8  # of eight bits each: different entries agree in all of them with probability 2^-64
_BITS = 8
_EDGE_BITS = 4  # entries of A are small, for sums to stay exact


@lru_cache(maxsize=8)
def _network(order: int, levels: int, labels: bool) -> CCN:
    """The network, with the same weights on every machine; with ``labels`` of edges as entries of A."""
    a = (EdgeFeatures(1),) if labels else (Weights(),)
    with torch.random.fork_rng(devices=[]):
        made = CCN(
            _CHANNELS,
            order=order,
            levels=levels,
            channels=_CHANNELS,
            own=True,
            nonlinearity=hash_of(_BITS),
            adjacency_channels=a,
        ).double()
    with torch.no_grad():
        made.embedding.weight.copy_(torch.eye(_CHANNELS))
    draw_integers(made.layers, _BITS)
    return made


def _hashed(graphs: Pack, labels: bool) -> Pack:
    """The graphs with a hash of each vertex's label per channel, and undirected edges: without weights, or with a hash
    of their label as the entry of A.
    """
    u, v, once = edges(graphs)
    graph, label = graph_of(graphs)[u], vertex_names(graphs)
    pairs = np.stack([u, v], axis=1) - starts(graphs.sizes)[graph, None]
    features = np.stack([code(name(c, label), _BITS) for c in range(_CHANNELS)], axis=1)
    entries = None
    if labels:
        entries = (mix(edge_names(graphs)[once]) >> np.uint64(64 - _EDGE_BITS)).astype(np.float64)[:, None] + 1
    return Pack.of_edges(graphs.sizes, np.bincount(graph, minlength=len(graphs)), pairs, features, entries)


def kinds(graphs: Pack, order: int, levels: int, *, edge_labels: bool = False, together: int = 2_000) -> list[Names]:
    """(vertices,) for every level 0..levels: the kind of each vertex's part; ``together`` vertices are a batch."""
    net, hashed = _network(order, levels, edge_labels), _hashed(graphs, edge_labels)
    block = np.cumsum(hashed.sizes) // together
    found: list[list[Names]] = [[np.zeros(0, np.uint64)] for _ in range(levels + 1)]
    with torch.inference_mode():
        for b in np.unique(block):
            z = net.embed(hashed.select(np.flatnonzero(block == b)).batch(), per="vertex").numpy()
            for level, rows in enumerate(np.split(z, np.cumsum(net.readout_widths)[:-1], axis=1)):
                found[level].append(name(level, row_names(rows)))
    return [np.concatenate(of) for of in found]


@dataclass(frozen=True)
class PartKinds(Kernel[Bag]):
    """The share of parts in common, over levels 0 to ``levels``, as a network of order ``order`` sees them.

    Example:
        >>> from ccn import Graph
        >>> path, triangle = Graph([(0, 1), (1, 2)], n=3), Graph([(0, 1), (1, 2), (2, 0)], n=3)
        >>> PartKinds(levels=1).gram([path, triangle]).round(3).tolist()
        [[1.0, 0.333], [0.333, 1.0]]
    """

    version = 2
    order: int = setting(2, "Order of the network.", least=0, below=4)
    levels: int = setting(6, "Levels of the network.", least=0, below=21)
    counted: bool = setting(True, "Whether it matters how often a kind occurs.")

    def see(self, graphs: Pack) -> Bag:
        keys = np.concatenate(kinds(graphs, self.order, self.levels))
        return unary(tally(np.tile(graph_of(graphs), self.levels + 1), keys, len(graphs)), self.counted)

    def compare(self, a: Bag, b: Bag) -> Floats:
        return shares(*matrices(a, b))

    def squares(self, a: Bag) -> Floats:
        return np.ones(a.graphs)


@dataclass(frozen=True)
class PartShares(Kernel[list[list[Bag]]]):
    """The mean, over depths 1 to ``levels`` and over views, of the share of parts in common up to that depth.

    The labels of edges are entries of A. With ``hidden`` columns of vertices and edges, such as those of chirality,
    there is a second view of the graphs, in which they are zero: parts that differ in them alone are then half in
    common. Every view is hashed once for all depths.
    """

    order: int = setting(2, "Order of the network.", least=0, below=4)
    levels: int = setting(3, "Levels of the network.", least=0, below=21)
    hidden: tuple[tuple[int, ...], tuple[int, ...]] = setting(
        ((), ()), "Columns of vertex features and of edge features that the second view does not see."
    )

    def see(self, graphs: Pack) -> list[list[Bag]]:
        """For each view the bag of every level."""
        return [[unary(bag) for bag in part_bags(view, self.order, self.levels)] for view in self.views(graphs)]

    def views(self, graphs: Pack) -> list[Pack]:
        """The graphs, and as they are without the hidden columns."""
        if not any(self.hidden):
            return [graphs]
        arrays = dict(graphs.compact().arrays)
        for key, columns in zip(("features", "edge_features"), self.hidden, strict=True):
            if columns:
                arrays[key] = arrays[key].copy()
                arrays[key][:, list(columns)] = 0
        return [graphs, Pack(arrays, directed=graphs.directed, self_loops=graphs.self_loops)]

    def compare(self, a: list[list[Bag]], b: list[list[Bag]]) -> Floats:
        total = np.zeros((a[0][0].graphs, b[0][0].graphs))
        for left_view, right_view in zip(a, b, strict=True):
            levels = [matrices(*bags) for bags in zip(left_view, right_view, strict=True)]
            across = [right.T.tocsr() for _, right in levels]
            for start in range(0, len(total), _TOGETHER):  # so that what is sparse stays small
                rows = slice(start, start + _TOGETHER)
                some = total[rows]
                both, either = np.zeros_like(some), np.zeros_like(some)
                for level, ((left, right), turned) in enumerate(zip(levels, across, strict=True)):
                    both += (left[rows] @ turned).toarray()
                    either += left[rows].sum(axis=1)[:, None] + right.sum(axis=1)
                    if level:
                        some += both / np.maximum(either - both, 1)
        total /= self.levels * len(a)
        return total

    def squares(self, a: list[list[Bag]]) -> Floats:
        return np.ones(a[0][0].graphs)


def part_kinds(graphs: Pack, order: int, levels: int) -> list[Names]:
    """(vertices,) for every level 0..levels the kind of each vertex's part, by the labels of edges too if any.

    Kept as long as the pack is, since several methods may read the same graphs.
    """
    kept = _KINDS.setdefault(graphs, {})
    if len(kept.get(order, ())) <= levels:
        labels = "edge_features" in graphs.arrays and not graphs.directed
        kept[order] = kinds(graphs, order, max(levels, _LEVELS), edge_labels=labels)
    return kept[order][: levels + 1]


def part_bags(graphs: Pack, order: int, levels: int) -> list[Bag]:
    """For every level 0..levels how often each kind of part occurs in each graph."""
    return [tally(graph_of(graphs), keys, len(graphs)) for keys in part_kinds(graphs, order, levels)]


_LEVELS = 3  # that are hashed at once
_KINDS: WeakKeyDictionary[Pack, dict[int, list[Names]]] = WeakKeyDictionary()
