"""The shortest path kernel (Borgwardt and Kriegel 2005): pairs of vertices by their labels and their distance."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ccn.features.vertices import blocks, neighbours, spheres
from ccn.graphs.pack import Pack
from ccn.methods.kernels.bags import Bag, graph_of, name, tally, vertex_names
from ccn.methods.kernels.kernel import BagKernel

__all__ = ["ShortestPath"]


@dataclass(frozen=True)
class ShortestPath(BagKernel):
    """Unordered pairs of connected vertices in common, with the same two labels at the same distance.

    ``reach`` is the largest distance considered, by default any.
    """

    reach: int | None = None

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
                keys.append(name(distance, np.minimum(label[u], label[v]), np.maximum(label[u], label[v])))
        return tally(np.concatenate(found), np.concatenate(keys), len(graphs))
