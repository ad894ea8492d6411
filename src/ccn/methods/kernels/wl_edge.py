"""The Weisfeiler-Lehman edge kernel (Shervashidze et al. 2011): edges by the refined labels of their two ends."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ccn.features.vertices import neighbours
from ccn.graphs.pack import Pack
from ccn.methods.kernels.bags import Bag, edge_names, graph_of, name, tally
from ccn.methods.kernels.kernel import BagKernel
from ccn.methods.kernels.wl import refinements

__all__ = ["WLEdge"]


@dataclass(frozen=True)
class WLEdge(BagKernel):
    """Edges in common whose ends have the same labels, over rounds 0 to ``depth``.

    ``edge_labels`` asks that the edges' own features be the same too, for undirected graphs without loops.
    """

    title = "Weisfeiler-Lehman edge"
    depth: int = 3
    edge_labels: bool = False

    def see(self, graphs: Pack) -> Bag:
        a = neighbours(graphs).tocoo()
        once = a.row < a.col
        u, v = a.row[once], a.col[once]
        own = edge_names(graphs)[once] if self.edge_labels else np.zeros(len(u), dtype=np.uint64)
        keys = [
            name(i, np.minimum(label[u], label[v]), np.maximum(label[u], label[v]), own)
            for i, label in enumerate(refinements(graphs, self.depth))
        ]
        return tally(np.tile(graph_of(graphs)[u], self.depth + 1), np.concatenate(keys), len(graphs))
