"""Weisfeiler-Lehman kernels: subtree and edge (Shervashidze et al. 2011), optimal assignment (Kriege et al. 2016).

Every vertex begins with its label; in each round its new label is its old one together with the multiset of its
neighbours' labels. The kernels compare the labels of rounds 0 to ``depth``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ccn.features.vertices import neighbours
from ccn.graphs.pack import Pack
from ccn.methods.kernels.bags import Bag, Names, edge_names, graph_of, mix, name, tally, unary, vertex_names
from ccn.methods.kernels.kernel import BagKernel

__all__ = ["WL", "WLEdge", "WLOptimalAssignment"]


def _refinements(pack: Pack, depth: int) -> Iterator[Names]:
    """(vertices,) the labels of rounds 0, 1, .., depth."""
    a, label = neighbours(pack), vertex_names(pack)
    yield label
    for _ in range(depth):
        # A sum of mixed names stands for the multiset; sums wrap around, so that differences of running sums are exact.
        total = np.concatenate([np.zeros(1, dtype=np.uint64), np.cumsum(mix(label)[a.indices], dtype=np.uint64)])
        label = name(label, total[a.indptr[1:]] - total[a.indptr[:-1]])
        yield label


def _label_bag(pack: Pack, depth: int) -> Bag:
    """The labels of all rounds; equal labels of different rounds have different names."""
    keys = [name(i, label) for i, label in enumerate(_refinements(pack, depth))]
    return tally(np.tile(graph_of(pack), depth + 1), np.concatenate(keys), len(pack))


@dataclass(frozen=True)
class WL(BagKernel):
    """The number of pairs of equal labels of rounds 0 to ``depth``.

    Example:
        >>> from ccn import Graph
        >>> path, triangle = Graph([(0, 1), (1, 2)], n=3), Graph([(0, 1), (1, 2), (2, 0)], n=3)
        >>> WL(depth=1).gram([path, triangle], normalise=False).tolist()
        [[14.0, 12.0], [12.0, 18.0]]

    """

    depth: int = 3

    def see(self, graphs: Pack) -> Bag:
        return _label_bag(graphs, self.depth)


@dataclass(frozen=True)
class WLEdge(BagKernel):
    """The number of pairs of edges whose ends have the same labels, over rounds 0 to ``depth``.

    With ``edge_labels`` the features of the edges must be equal too, for undirected graphs without loops.
    """

    depth: int = 3
    edge_labels: bool = False

    def see(self, graphs: Pack) -> Bag:
        a = neighbours(graphs).tocoo()
        once = a.row < a.col
        u, v = a.row[once], a.col[once]
        edge = edge_names(graphs)[once] if self.edge_labels else np.zeros(len(u), dtype=np.uint64)
        keys = [
            name(i, np.minimum(label[u], label[v]), np.maximum(label[u], label[v]), edge)
            for i, label in enumerate(_refinements(graphs, self.depth))
        ]
        return tally(np.tile(graph_of(graphs)[u], self.depth + 1), np.concatenate(keys), len(graphs))


@dataclass(frozen=True)
class WLOptimalAssignment(BagKernel):
    """The best pairing of vertices by the labels of rounds 0 to ``depth``.

    The similarity of two vertices is the number of rounds in which their labels agree, and the kernel is the largest
    sum of similarities over all pairings of the vertices of two graphs. Refinement makes the labels a tree, and the
    best pairing takes ``min(count_g, count_h)`` pairs at every label: the histogram intersection over all rounds.
    """

    depth: int = 3

    def see(self, graphs: Pack) -> Bag:
        return unary(_label_bag(graphs, self.depth))
