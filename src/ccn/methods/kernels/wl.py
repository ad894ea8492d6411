"""The Weisfeiler-Lehman subtree kernel (Shervashidze et al. 2011).

Every vertex begins with its label; in each round its new label is its old one together with the multiset of its
neighbours' labels. The kernel counts the labels of rounds 0 to ``depth`` that two graphs share.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ccn.features.vertices import neighbours
from ccn.graphs.pack import Pack
from ccn.methods.kernels.bags import Bag, Names, graph_of, mix, name, tally, vertex_names
from ccn.methods.kernels.kernel import BagKernel

__all__ = ["WL", "label_bags", "refinements"]


def refinements(pack: Pack, depth: int) -> Iterator[Names]:
    """(vertices,) the labels of rounds 0, 1, .., depth."""
    a, label = neighbours(pack), vertex_names(pack)
    yield label
    for _ in range(depth):
        # A sum of mixed names stands for the multiset; sums wrap around, so that differences of running sums are exact.
        total = np.concatenate([np.zeros(1, dtype=np.uint64), np.cumsum(mix(label)[a.indices], dtype=np.uint64)])
        label = name(label, total[a.indptr[1:]] - total[a.indptr[:-1]])
        yield label


def label_bags(pack: Pack, depth: int) -> Bag:
    """The labels of all rounds; those of different rounds are different things."""
    keys = [name(i, label) for i, label in enumerate(refinements(pack, depth))]
    return tally(np.tile(graph_of(pack), depth + 1), np.concatenate(keys), len(pack))


@dataclass(frozen=True)
class WL(BagKernel):
    """Labels of rounds 0 to ``depth`` in common.

    Example:
        >>> from ccn import Graph
        >>> path, triangle = Graph([(0, 1), (1, 2)], n=3), Graph([(0, 1), (1, 2), (2, 0)], n=3)
        >>> WL(depth=1).gram([path, triangle], normalise=False).tolist()
        [[14.0, 12.0], [12.0, 18.0]]

    """

    title = "Weisfeiler-Lehman"
    depth: int = 3

    def see(self, graphs: Pack) -> Bag:
        return label_bags(graphs, self.depth)
