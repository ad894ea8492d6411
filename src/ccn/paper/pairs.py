"""Pairs of graphs that are hard to tell apart: not isomorphic, and alike to colour refinement."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations, permutations, product
from typing import TYPE_CHECKING

from ccn.errors import ConfigurationError
from ccn.graphs.graph import Graph
from ccn.paper.cells import TABLES

if TYPE_CHECKING:
    import networkx as nx

__all__ = ["circular_skip_links", "pairs", "strongly_regular"]

_SKIPS = (2, 3, 4, 5, 6, 9, 11, 12, 13, 16)  # on 41 vertices no two of these give isomorphic graphs

Pairs = tuple[list[Graph], list[tuple[int, int]]]


def pairs(dataset: str) -> Pairs:
    """The graphs of a set, each once and without features, and the pairs of them, by index.

    * ``BREC ..``: one category of the pairs of BREC.
    * ``circular skip links``: cycles of 41 vertices with links that skip 2, 3, 4, 5, 6, 9, 11, 12, 13 or 16 of them;
      every pair.
    * ``strongly regular``: every pair with equal parameters among those of :func:`strongly_regular`.
    """
    if dataset not in TABLES["expressivity"]:
        raise ConfigurationError(f"dataset={dataset!r}: choose one of {', '.join(TABLES['expressivity'])}")
    if dataset.startswith("BREC"):
        return _brec(dataset.removeprefix("BREC "))
    families = strongly_regular() if dataset == "strongly regular" else [circular_skip_links(41, _SKIPS)]
    graphs: list[Graph] = []
    found: list[tuple[int, int]] = []
    for family in families:
        found += combinations(range(len(graphs), len(graphs) + len(family)), 2)
        graphs += (Graph.from_networkx(g) for g in family)
    return graphs, found


def _brec(category: str) -> Pairs:
    from ccn.datasets import load

    data = load("BREC")
    rows = (data.targets[:, 0] == data.classes.index(category)).nonzero()[0]
    return [data.graphs[int(i)] for i in rows], [(i, i + 1) for i in range(0, len(rows), 2)]


def circular_skip_links(n: int, skips: Sequence[int]) -> list[nx.Graph]:
    """One graph per skip: a cycle of n vertices with an edge from each vertex to that many further."""
    import networkx as nx

    return [nx.circulant_graph(n, [1, skip]) for skip in skips]


def strongly_regular() -> Iterator[list[nx.Graph]]:
    """Families of strongly regular graphs of equal parameters (vertices, degree, common neighbours).

    * (16, 6, 2, 2): the 4x4 rook's graph and the Shrikhande graph; (16, 9, 4, 6): their complements;
    * (28, 12, 6, 4): the triangular graph T(8) and the three Chang graphs, which arise from it by Seidel switching
      with respect to a perfect matching, an 8-cycle, and a triangle with a pentagon;
    * (25, 12, 5, 6) and (36, 15, 6, 6): graphs of Latin squares;
    * (40, 12, 2, 4): the points and the lines of the symplectic generalised quadrangle over three elements.
    """
    import networkx as nx

    rook = nx.line_graph(nx.complete_bipartite_graph(4, 4))
    torus = list(product(range(4), repeat=2))
    steps = {(0, 1), (0, 3), (1, 0), (3, 0), (1, 1), (3, 3)}
    shrikhande = nx.Graph((u, v) for u, v in combinations(torus, 2) if _minus(u, v, 4) in steps)
    yield [rook, shrikhande]
    yield [nx.complement(rook), nx.complement(shrikhande)]

    triangular = nx.line_graph(nx.complete_graph(8))
    switched = (
        [(0, 1), (2, 3), (4, 5), (6, 7)],
        nx.cycle_graph(8).edges,
        [(0, 1), (1, 2), (0, 2), (3, 4), (4, 5), (5, 6), (6, 7), (3, 7)],
    )
    yield [triangular, *(_switch(triangular, {tuple(sorted(e)) for e in edges}) for edges in switched)]

    cyclic = [[(i + j) % 5 for j in range(5)] for i in range(5)]
    other = [[0, 1, 2, 3, 4], [1, 0, 3, 4, 2], [2, 3, 4, 0, 1], [3, 4, 1, 2, 0], [4, 2, 0, 1, 3]]
    yield [_latin(cyclic), _latin(other)]
    turns = list(permutations(range(3)))
    symmetric = [[turns.index(tuple(a[i] for i in b)) for b in turns] for a in turns]
    yield [_latin([[(i + j) % 6 for j in range(6)] for i in range(6)]), _latin(symmetric)]

    points = [p for p in product(range(3), repeat=4) if next((x for x in p if x), 0) == 1]
    collinear = nx.Graph(
        (p, q) for p, q in combinations(points, 2) if (p[0] * q[1] - p[1] * q[0] + p[2] * q[3] - p[3] * q[2]) % 3 == 0
    )
    # Every edge lies in one line, a clique of four points.
    lines = [frozenset(line) for line in nx.find_cliques(collinear)]
    yield [collinear, nx.Graph((s, t) for s, t in combinations(lines, 2) if s & t)]


def _minus(u: tuple[int, ...], v: tuple[int, ...], modulus: int) -> tuple[int, ...]:
    return tuple((a - b) % modulus for a, b in zip(u, v, strict=True))


def _switch(g: nx.Graph, subset: set[tuple[int, ...]]) -> nx.Graph:
    """Seidel switching: edges between the subset and the rest become non-edges and the other way round."""
    import networkx as nx

    return nx.Graph((u, v) for u, v in combinations(g, 2) if g.has_edge(u, v) != ((u in subset) != (v in subset)))


def _latin(square: Sequence[Sequence[int]]) -> nx.Graph:
    """The cells of a Latin square, adjacent in the same row, in the same column and with the same symbol."""
    import networkx as nx

    cells = [(i, j, symbol) for i, row in enumerate(square) for j, symbol in enumerate(row)]
    return nx.Graph((u, v) for u, v in combinations(cells, 2) if any(a == b for a, b in zip(u, v, strict=True)))
