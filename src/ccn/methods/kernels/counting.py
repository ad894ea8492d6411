"""Kernels that count: refined labels of vertices, shortest paths and walks by label, and small subgraphs.

* Weisfeiler-Lehman: subtree and edge (Shervashidze et al. 2011), optimal assignment (Kriege et al. 2016). Every vertex
  begins with its label; in each round its new label is its old one together with the multiset of its neighbours'
  labels. The kernels compare the labels of rounds 0 to ``depth``.
* Shortest paths (Borgwardt and Kriegel 2005): pairs of vertices by their labels and their distance.
* The p-step random walk kernel (Gaertner 2003): walks of up to p steps with the same sequence of labels. On the product
  graph, whose vertices are the pairs (u, v) with equal labels, it is ``sum_k discount^k 1' W^k 1``. A walk there is a
  walk in each graph with the same labels, so the kernel is the inner product of the counts of walks by label sequence,
  and the product graph is never built.
* Graphlets (Shervashidze et al. 2009): how often each graph of 3 or 4 vertices occurs as an induced subgraph, exactly
  and for all graphs of a pack at once. The number of copies, induced or not, follows from degrees, common neighbours
  and triangles; every such copy of F lies in an induced copy of some H on the same vertices, so that with ``M[F, H]``
  the number of copies of F on all vertices of H, ``copies = M induced`` and ``induced = M^-1 copies``. M is triangular
  in the number of edges with a unit diagonal, so its inverse has integer entries.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import permutations

import numpy as np
from numpy.typing import NDArray

from ccn.errors import ConfigurationError
from ccn.features.vertices import blocks, neighbours, spheres
from ccn.graphs.pack import Pack
from ccn.graphs.ragged import ranges
from ccn.methods.kernels.bags import Bag, edge_names, edges, graph_of, mix, name, pair_names, tally, unary, vertex_names
from ccn.methods.kernels.kernel import BagKernel, Floats
from ccn.settings import setting

__all__ = ["WL", "Graphlet", "RandomWalk", "ShortestPath", "WLEdge", "WLOptimalAssignment"]

_GRAPHLETS = {
    3: ("", "01", "01 12", "01 12 02"),
    4: (
        *("", "01", "01 12", "01 23", "01 02 03", "01 12 02", "01 12 23", "01 12 23 03", "01 12 02 03"),
        *("01 12 23 03 02", "01 12 23 03 02 13"),
    ),
}


def _refinements(pack: Pack, depth: int) -> Iterator[NDArray[np.uint64]]:
    """(vertices,) the labels of rounds 0, 1, .., depth."""
    a, label = neighbours(pack), vertex_names(pack)
    yield label
    for _ in range(depth):
        # A sum of mixed names stands for the multiset; sums wrap around, so that differences of running sums are exact.
        total = np.concatenate([np.zeros(1, dtype=np.uint64), np.cumsum(mix(label)[a.indices], dtype=np.uint64)])
        label = name(label, total[a.indptr[1:]] - total[a.indptr[:-1]])
        yield label


@dataclass(frozen=True)
class WL(BagKernel):
    """The number of pairs of equal labels of rounds 0 to ``depth``.

    Example:
        >>> from ccn import Graph
        >>> path, triangle = Graph([(0, 1), (1, 2)], n=3), Graph([(0, 1), (1, 2), (2, 0)], n=3)
        >>> WL(depth=1).gram([path, triangle], normalise=False).tolist()
        [[14.0, 12.0], [12.0, 18.0]]
    """

    depth: int = setting(3, "Rounds.", least=0, below=101)

    def see(self, graphs: Pack) -> Bag:
        # Equal labels of different rounds have different names.
        keys = [name(i, label) for i, label in enumerate(_refinements(graphs, self.depth))]
        return tally(np.tile(graph_of(graphs), self.depth + 1), np.concatenate(keys), len(graphs))


@dataclass(frozen=True)
class WLOptimalAssignment(WL):
    """The best pairing of vertices by the labels of rounds 0 to ``depth``.

    The similarity of two vertices is the number of rounds in which their labels agree, and the kernel is the largest
    sum of similarities over all pairings of the vertices of two graphs. Refinement makes the labels a tree, and the
    best pairing takes ``min(count_g, count_h)`` pairs at every label: the histogram intersection over all rounds.
    """

    def see(self, graphs: Pack) -> Bag:
        return unary(super().see(graphs))


@dataclass(frozen=True)
class WLEdge(BagKernel):
    """The number of pairs of edges whose ends have the same labels, over rounds 0 to ``depth``.

    ``edge_labels`` are for undirected graphs without loops.
    """

    depth: int = setting(3, "Rounds.", least=0, below=101)
    edge_labels: bool = setting(False, "Compare the features of edges too.")

    def see(self, graphs: Pack) -> Bag:
        u, v, once = edges(graphs)
        edge = edge_names(graphs)[once] if self.edge_labels else np.zeros(len(u), dtype=np.uint64)
        keys = [pair_names(i, label, u, v, edge) for i, label in enumerate(_refinements(graphs, self.depth))]
        return tally(np.tile(graph_of(graphs)[u], self.depth + 1), np.concatenate(keys), len(graphs))


@dataclass(frozen=True)
class ShortestPath(BagKernel):
    """Unordered pairs of connected vertices in common, with the same two labels at the same distance."""

    reach: int | None = setting(None, "Largest distance considered; none is any.", least=0, below=10**6)

    def see(self, graphs: Pack) -> Bag:
        a, label, graph = neighbours(graphs), vertex_names(graphs), graph_of(graphs)
        reach = int(graphs.sizes.max(initial=1)) if self.reach is None else self.reach
        found, keys = [graph[:0]], [label[:0]]
        for block in blocks(graphs.sizes):
            for distance, reached in enumerate(spheres(a, block, reach)):
                u = np.repeat(np.arange(block.start, block.stop), np.diff(reached.indptr))
                v = reached.indices
                u, v = u[u < v], v[u < v]
                found.append(graph[u])
                keys.append(pair_names(distance, label, u, v))
        return tally(np.concatenate(found), np.concatenate(keys), len(graphs))


@dataclass(frozen=True)
class RandomWalk(BagKernel):
    """Walks of 0 to ``steps`` steps in common, those of k steps weighted with ``discount ** k``."""

    steps: int = setting(3, "Longest walk.", least=0, below=13)
    discount: float = setting(0.1, "Weight of a step.", least=0, below=1000)

    def see(self, graphs: Pack) -> Bag:
        a, label, graph = neighbours(graphs), vertex_names(graphs), graph_of(graphs)
        degree = np.diff(a.indptr)
        ends = tally(np.arange(len(label)), name(label), len(label))  # walks by their last vertex
        found = [(graph, ends.key, ends.count)]
        for k in range(1, self.steps + 1):
            times = degree[ends.graph].astype(np.int64)
            to = a.indices[ranges(a.indptr[ends.graph].astype(np.int64), times)]
            key = name(np.repeat(ends.key, times), label[to])
            ends = tally(to, key, len(label), np.repeat(ends.count, times))
            found.append((graph[ends.graph], ends.key, ends.count * self.discount ** (k / 2)))
        of, keys, counts = (np.concatenate(column) for column in zip(*found, strict=True))
        return tally(of, keys, len(graphs), counts)


def graphlets(size: int) -> list[list[tuple[int, int]]]:
    """The edges of every graph of 3 or 4 vertices, one per isomorphism class, in the order of the counts."""
    if size not in _GRAPHLETS:
        raise ConfigurationError(f"size={size!r}: choose 3 or 4, the sizes of graphlets that are counted")
    return [[(int(pair[0]), int(pair[1])) for pair in text.split()] for text in _GRAPHLETS[size]]


@cache
def _spanning(size: int) -> Floats:
    """M[F, H], the number of copies of F on all vertices of H."""
    found = graphlets(size)
    out = np.zeros((len(found), len(found)))
    for f, small in enumerate(found):
        copies = {frozenset(frozenset((s[u], s[v])) for u, v in small) for s in permutations(range(size))}
        for h, large in enumerate(found):
            edges = {frozenset(e) for e in large}
            out[f, h] = sum(copy <= edges for copy in copies)
    return out


def _copies(pack: Pack, size: int) -> Floats:
    """(graphs, graphlets) the number of copies, induced or not."""
    a = neighbours(pack).astype(np.float64)
    graph, graphs = graph_of(pack), len(pack)
    n = pack.sizes.astype(np.float64)
    degree = np.diff(a.indptr).astype(np.float64)

    def over(values: Floats, where: NDArray[np.int64]) -> Floats:
        return np.bincount(where, values, minlength=graphs).astype(np.float64)

    u, v, _ = edges(pack)
    common = a[u].multiply(a[v]).tocsr()  # (edges, vertices) the common neighbours of each edge's ends
    on_edge = np.asarray(common.sum(axis=1)).reshape(-1)  # triangles on each edge
    edge_graph = graph[u]
    m, wedges = over(np.ones(len(u)), edge_graph), over(degree * (degree - 1) / 2, graph)
    triangles = over(on_edge, edge_graph) / 3
    if size == 3:
        return np.stack([n * (n - 1) * (n - 2) / 6, m * (n - 2), wedges, triangles], axis=1)
    at_vertex = np.asarray((a.multiply(a @ a)).sum(axis=1)).reshape(-1) / 2
    two = (a @ a).tocoo()
    pair = two.row < two.col
    squares = over(two.data[pair] * (two.data[pair] - 1) / 2, graph[two.row[pair]]) / 2
    inside = np.asarray((common @ a).multiply(common).sum(axis=1)).reshape(-1) / 2  # edges among common neighbours
    return np.stack(
        [
            n * (n - 1) * (n - 2) * (n - 3) / 24,
            m * (n - 2) * (n - 3) / 2,
            wedges * (n - 3),
            m * (m - 1) / 2 - wedges,
            over(degree * (degree - 1) * (degree - 2) / 6, graph),
            triangles * (n - 3),
            over((degree[u] - 1) * (degree[v] - 1), edge_graph) - 3 * triangles,
            squares,
            over(at_vertex * (degree - 2), graph),
            over(on_edge * (on_edge - 1) / 2, edge_graph),
            over(inside, edge_graph) / 6,
        ],
        axis=1,
    )


def induced_counts(pack: Pack, size: int) -> NDArray[np.int64]:
    """(graphs, graphlets) the number of induced copies, in the order of :func:`graphlets`."""
    inverse = np.rint(np.linalg.inv(_spanning(size)))
    return np.asarray(np.rint(_copies(pack, size) @ inverse.T), dtype=np.int64)


@dataclass(frozen=True)
class Graphlet(BagKernel):
    """Frequencies of the graphlets of ``size`` vertices; labels are ignored.

    Disconnected graphlets are the most numerous and depend on little but the size of the graph.
    """

    size: int = setting(4, "Vertices of a graphlet: 3 or 4.", least=3, below=5)
    connected: bool = setting(False, "Leave out disconnected graphlets.")

    def see(self, graphs: Pack) -> Bag:
        counts = induced_counts(graphs, self.size).astype(np.float64)
        if self.connected:
            import networkx as nx

            drawn = [nx.Graph(graphlet) for graphlet in graphlets(self.size)]
            counts *= [len(g) == self.size and nx.is_connected(g) for g in drawn]
        counts /= np.maximum(counts.sum(axis=1, keepdims=True), 1)
        graph, which = np.nonzero(counts)
        return tally(graph, name(which), len(graphs), counts[graph, which])
