"""The Weisfeiler-Lehman tests: colour refinement of vertices and of pairs of vertices.

1-WL colours vertices: in each round the new colour of a vertex is its old one with the multiset of its neighbours'.
3-WL is computed as folklore 2-WL, which tells the same graphs apart (Cai, Fürer and Immerman 1992; the numbering is
that of the BREC paper, in which 2-WL is no stronger than 1-WL): it colours ordered pairs (u, v) and collects the
pairs of colours of (u, w) and (w, v) over all w.

Colours are 64-bit names, mixed as in :mod:`ccn.methods.kernels.bags`, so that those of different graphs can be
compared. A wrapping sum of mixed names stands for a multiset. Weights and features of edges are ignored.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ccn.graphs.graph import Graph
from ccn.methods.kernels.bags import Names, mix, name, row_names

__all__ = ["wl_1", "wl_3"]


def wl_1(g: Graph) -> Names:
    """(n,) the stable colours of the vertices, sorted: equal for two graphs unless 1-WL tells them apart."""
    a = g.adjacency().numpy() != 0
    return _stable(row_names(g.features.numpy()), lambda c: name(c, (a * mix(c)).sum(1, dtype=np.uint64)))


def wl_3(g: Graph) -> Names:
    """(n * n,) the stable colours of the pairs of vertices, sorted: equal for two graphs unless 3-WL tells them apart.

    A pair begins with the labels of its vertices, whether they are equal and whether they are adjacent.
    """
    label, a = row_names(g.features.numpy()), g.adjacency().numpy() != 0
    start = name(label[:, None], label[None, :], np.eye(g.n, dtype=np.uint64), a.astype(np.uint64))
    return _stable(start, lambda c: name(c, mix(name(c[:, :, None], c[None, :, :])).sum(1, dtype=np.uint64)))


def _stable(colour: Names, refine: Callable[[Names], Names]) -> Names:
    """The sorted colours of the round after the first that splits no class.

    Two graphs whose colours agree in that round agree in every further one, since both are stable there.
    """
    classes = 0
    while (found := len(np.unique(colour))) > classes:
        classes, colour = found, refine(colour)
    out: Names = np.sort(colour, axis=None)
    return out
