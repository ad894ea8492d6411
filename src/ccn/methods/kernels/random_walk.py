"""The p-step random walk kernel (Gaertner 2003): walks of up to p steps with the same sequence of labels.

On the product graph, whose vertices are the pairs (u, v) with equal labels, it is ``sum_k discount^k 1' W^k 1``. A walk
there is a walk in each graph with the same labels, so the kernel is the inner product of the counts of walks by
label sequence, and the product graph is never built.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ccn.features.vertices import neighbours
from ccn.graphs.pack import Pack
from ccn.graphs.ragged import ranges
from ccn.methods.kernels.bags import Bag, graph_of, name, tally, vertex_names
from ccn.methods.kernels.kernel import BagKernel

__all__ = ["RandomWalk"]


@dataclass(frozen=True)
class RandomWalk(BagKernel):
    """Walks of 0 to ``steps`` steps in common, those of k steps weighted with ``discount ** k``."""

    steps: int = 3
    discount: float = 0.1

    def see(self, graphs: Pack) -> Bag:
        a, label, graph = neighbours(graphs), vertex_names(graphs), graph_of(graphs)
        degree = np.diff(a.indptr)
        ends = tally(np.arange(len(label)), name(label), len(label))  # walks by their last vertex
        bags = [tally(graph, ends.key, len(graphs))]
        for k in range(1, self.steps + 1):
            times = degree[ends.graph].astype(np.int64)
            to = a.indices[ranges(a.indptr[ends.graph].astype(np.int64), times)]
            key = name(np.repeat(ends.key, times), label[to])
            ends = tally(to, key, len(label), np.repeat(ends.count, times))
            bags.append(tally(graph[ends.graph], ends.key, len(graphs), ends.count * self.discount ** (k / 2)))
        return tally(
            np.concatenate([b.graph for b in bags]),
            np.concatenate([b.key for b in bags]),
            len(graphs),
            np.concatenate([b.count for b in bags]),
        )
