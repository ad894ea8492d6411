"""The graphlet kernel (Shervashidze et al. 2009): how often each small graph occurs as an induced subgraph.

All graphlets of 3 and 4 vertices are counted, exactly and for all graphs of a pack at once. The number of copies,
induced or not, follows from degrees, common neighbours and triangles; every such copy of F lies in an induced copy of
some H on the same vertices, so that with ``M[F, H]`` the number of copies of F on all vertices of H

    copies = M induced,    induced = M^-1 copies.

M is triangular in the number of edges with a unit diagonal, so its inverse has integer entries.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from itertools import permutations

import networkx as nx
import numpy as np
from numpy.typing import NDArray

from ccn.errors import ConfigurationError
from ccn.features.vertices import neighbours
from ccn.graphs.pack import Pack
from ccn.methods.kernels.bags import Bag, edges, graph_of, name, tally
from ccn.methods.kernels.kernel import BagKernel

__all__ = ["Graphlet", "graphlets", "induced_counts"]

Edges = list[tuple[int, int]]
Floats = NDArray[np.float64]
_GRAPHLETS = {
    3: ("", "01", "01 12", "01 12 02"),
    4: (
        *("", "01", "01 12", "01 23", "01 02 03", "01 12 02", "01 12 23", "01 12 23 03", "01 12 02 03"),
        *("01 12 23 03 02", "01 12 23 03 02 13"),
    ),
}


def graphlets(size: int) -> list[Edges]:
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
    """Frequencies of the graphlets of ``size`` vertices, 3 or 4; labels are ignored.

    ``connected`` leaves out disconnected graphlets, which are the most numerous and depend on little but the size.
    """

    size: int = 4
    connected: bool = False

    def see(self, graphs: Pack) -> Bag:
        counts = induced_counts(graphs, self.size).astype(np.float64)
        if self.connected:
            drawn = [nx.Graph(graphlet) for graphlet in graphlets(self.size)]
            counts *= [len(g) == self.size and nx.is_connected(g) for g in drawn]
        counts /= np.maximum(counts.sum(axis=1, keepdims=True), 1)
        graph, which = np.nonzero(counts)
        return tally(graph, name(which), len(graphs), counts[graph, which])
