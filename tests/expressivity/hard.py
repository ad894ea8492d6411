"""Pairs of graphs that are hard to tell apart."""

from itertools import combinations

import networkx as nx

from ccn import Graph
from ccn.paper.expressivity import strongly_regular

TRIANGLES = Graph([(0, 1), (1, 2), (2, 0), (3, 4), (4, 5), (5, 3)], n=6)
HEXAGON = Graph([(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (5, 0)], n=6)
ROOK, SHRIKHANDE = (Graph.from_networkx(g) for g in next(strongly_regular()))


def cfi(base: nx.Graph, twisted: bool) -> Graph:
    """The graph of Cai, Fürer and Immerman over a base: two vertices for each edge, and for each vertex one for every
    even set of its edges; twisted, the two of one edge are exchanged at one of its ends.
    """
    g = nx.Graph()
    first = min(tuple(sorted(e)) for e in base.edges)
    for v in base:
        around = [tuple(sorted(e)) for e in base.edges(v)]
        for chosen in (s for k in range(0, len(around) + 1, 2) for s in combinations(around, k)):
            for e in around:
                side = (e in chosen) != (twisted and e == first and v == e[0])
                g.add_edge((v, chosen), (*e, side))
    return Graph.from_networkx(nx.convert_node_labels_to_integers(g))
