"""Message passing: colour refinement (1-WL) of many graphs at once.

The colour of a vertex begins with its label. In each round it becomes the old one with the multiset of the colours of
its neighbours and the labels of the edges between. Once a round splits no class of any graph, one more round decides:
two graphs whose colours agree in it agree in every further one, since both are stable. No network of messages
between neighbours, and no covariant network of order 0 without A, distinguishes what 1-WL does not. A colour is a name
of 64 bits (:mod:`ccn.methods.kernels.bags`); a wrapping sum of mixed names stands for a multiset.
"""

from __future__ import annotations

import numpy as np

from ccn.datasets.dealing import groups_of
from ccn.errors import GraphError
from ccn.graphs.pack import Pack
from ccn.graphs.ragged import Int, starts
from ccn.methods.kernels.bags import Names, edge_names, edges, graph_of, mix, name, vertex_names

__all__ = ["colours", "message_passing"]


def colours(graphs: Pack) -> Names:
    """(vertices,) the colours of that round: sorted, equal for two graphs unless 1-WL distinguishes them."""
    if graphs.directed or graphs.self_loops:
        raise GraphError("graphs that are directed or have self-loops are not compared; give undirected ones")
    u, v, once = edges(graphs)
    label = edge_names(graphs)
    if (weights := graphs.compact().arrays.get("weights")) is not None:
        a = graphs.compact().arrays
        first = np.repeat(a["edge_start"][:-1], np.diff(a["entry_start"]))
        label = name(label, weights[a["edge"] + first].astype(np.float64).view(np.uint64))
    receiver, sender, between = np.concatenate([u, v]), np.concatenate([v, u]), np.tile(label[once], 2)
    order = np.argsort(receiver, kind="stable")
    receiver, sender, between = receiver[order], sender[order], between[order]
    colour, count, graph = vertex_names(graphs), 0, mix(graph_of(graphs))
    reached = np.unique(receiver)
    first = np.searchsorted(receiver, reached)
    while (found := _distinct(colour ^ graph)) > count:
        count, heard = found, np.zeros(len(colour), np.uint64)
        if len(first):
            heard[reached] = np.add.reduceat(mix(name(colour[sender], between)), first)
        colour = name(colour, heard)
    return colour


def _distinct(names: Names) -> int:
    """How many different ones there are; sorting is many times faster than hashing here."""
    ordered = np.sort(names)
    return int((ordered[1:] != ordered[:-1]).sum()) + bool(len(ordered))


def message_passing(graphs: Pack) -> Int:
    """(graphs,) equal numbers for graphs that 1-WL does not distinguish.

    Example:
        >>> from ccn import Graph
        >>> triangles = Graph([(0, 1), (1, 2), (2, 0), (3, 4), (4, 5), (5, 3)], n=6)
        >>> hexagon = Graph([(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (5, 0)], n=6)
        >>> message_passing(Pack.of([triangles, hexagon, Graph([(0, 1)], n=2)])).tolist()
        [0, 0, 1]
    """
    colour = colours(graphs)
    found = name(graphs.sizes.astype(np.uint64))
    if len(colour):
        found = name(found, np.add.reduceat(mix(colour), starts(graphs.sizes)[:-1]))
    return groups_of(found.tolist())
