"""Whether two labelled graphs are the same, by individualisation and refinement.

Colour refinement alone leaves vertices alike. One of them is given a colour of its own, all colours are refined again,
and so on until every vertex has its own: then the graphs are the same if their matrices are, in the order of colours.
Which vertex is taken does not matter where alike vertices are images of each other under a symmetry, as in nearly every
molecule; the matrix in that order is then a *form* that depends on no numbering. Elsewhere one vertex of one graph is
tried against each of the other (McKay and Piperno 2014 go much further), up to a number of trials.

A graph is a matrix of names (n, n): of the labels of its edges, 0 for none, and of its vertices on the diagonal.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ccn.expressivity.exact import labels_of
from ccn.graphs.graph import Graph
from ccn.methods.kernels.bags import Names, mix, name

__all__ = ["Matrix", "form", "isomorphic", "matrix"]

Matrix = NDArray[np.uint64]
_TRIALS = 300


def matrix(graph: Graph) -> Matrix:
    """The graph as a matrix of names."""
    vertices, edges = labels_of(graph)
    out = np.zeros((graph.n, graph.n), np.uint64)
    u, v = graph.edges.T.reshape(2, -1)
    out[u, v] = out[v, u] = mix(edges) | np.uint64(1)
    out[np.arange(graph.n), np.arange(graph.n)] = vertices
    return out


def form(m: Matrix) -> bytes:
    """The matrix in the order of colours, with one vertex after another taken as it comes: graphs with one form are
    the same, and nearly all graphs that are the same have one form.

    Example:
        >>> g = Graph([(0, 1), (1, 2), (2, 3), (3, 0), (0, 2)], n=4)
        >>> form(matrix(g)) == form(matrix(g.permute([2, 0, 3, 1])))
        True
    """
    colour = _refined(m, _begin(m))
    while len(cell := _cell(colour)):
        colour = _refined(m, _chosen(colour, int(cell[0])))
    return _ordered(m, colour).tobytes()


def isomorphic(a: Matrix, b: Matrix, trials: int = _TRIALS) -> bool | None:
    """Whether two graphs are the same; None if that many refinements do not decide it.

    Example:
        >>> path, star = (matrix(Graph(e, n=4)) for e in ([(0, 1), (1, 2), (2, 3)], [(0, 1), (0, 2), (0, 3)]))
        >>> isomorphic(path, star), isomorphic(path, path[::-1, ::-1])
        (False, True)
    """
    if a.shape != b.shape:
        return False
    left = trials

    def search(x: Names, y: Names) -> bool | None:
        nonlocal left
        x, y = _refined(a, x), _refined(b, y)
        if not np.array_equal(np.sort(x), np.sort(y)):
            return False
        cell = _cell(x)
        if not len(cell):
            return np.array_equal(_ordered(a, x), _ordered(b, y))
        known: bool | None = False
        for v in np.flatnonzero(y == x[cell[0]]).tolist():
            if left <= 0:
                return None
            left -= 1
            found = search(_chosen(x, int(cell[0])), _chosen(y, v))
            if found:
                return True
            known = None if found is None else known
        return known

    return search(_begin(a), _begin(b))


def _begin(m: Matrix) -> Names:
    return name(np.diagonal(m))


def _refined(m: Matrix, colour: Names) -> Names:
    """The stable colours of the vertices."""
    count, there = 0, (m != 0) & ~np.eye(len(m), dtype=bool)
    while (found := len(np.unique(colour))) > count:
        count = found
        heard = np.where(there, mix(name(np.broadcast_to(colour, m.shape), m)), np.uint64(0))
        colour = name(colour, heard.sum(1, dtype=np.uint64))
    return colour


def _cell(colour: Names) -> NDArray[np.int64]:
    """The vertices of the smallest class of several, of the least colour among these; none if all are single."""
    kinds, count = np.unique(colour, return_counts=True)
    several = count > 1
    if not several.any():
        return np.zeros(0, np.int64)
    least = np.lexsort((kinds[several], count[several]))[0]
    return np.flatnonzero(colour == kinds[several][least])


def _chosen(colour: Names, v: int) -> Names:
    out = colour.copy()
    out[v] = name(1, colour[v])[0]
    return out


def _ordered(m: Matrix, colour: Names) -> Matrix:
    order = np.argsort(colour)
    return m[np.ix_(order, order)]
