"""Which pairs of graphs covariant networks of an order and a number of levels tell apart, and which the
Weisfeiler-Lehman tests do.

The pairs are not isomorphic, and alike to colour refinement. What networks tell apart is decided exactly
(:mod:`ccn.expressivity.exact`), by level or for any number of levels. Orders 2 and 3 together are two networks side by
side: order 3 is asked for the pairs that order 2 leaves.

1-WL is that of :mod:`ccn.expressivity.colours`. 3-WL is computed as folklore 2-WL, which tells the same graphs apart
(Cai, Fürer and Immerman 1992; the numbering is that of the BREC paper, in which 2-WL is no stronger than 1-WL): it
colours ordered pairs (u, v) and collects the pairs of colours of (u, w) and (w, v) over all w. Colours are 64-bit
names, mixed as in :mod:`ccn.methods.kernels.bags`, so that those of different graphs can be compared. A wrapping sum of
mixed names stands for a multiset. Weights and features of edges are ignored by it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, permutations, product
from typing import Any

import networkx as nx
import numpy as np

from ccn.errors import ConfigurationError
from ccn.expressivity.colours import message_passing
from ccn.expressivity.exact import BITS, CHANNELS, classes, fits
from ccn.graphs.graph import Graph
from ccn.graphs.pack import Pack
from ccn.methods.kernels.bags import Names, mix, name, row_names
from ccn.paper.cells import NETWORKS, TABLES, WL_TESTS

__all__ = ["Told", "pairs", "run", "settings", "strongly_regular", "told_apart", "wl_3"]

_SKIPS = (2, 3, 4, 5, 6, 9, 11, 12, 13, 16)  # on 41 vertices no two of these give isomorphic graphs

Pairs = list[tuple[int, int]]


@dataclass(frozen=True)
class Told:
    """The pairs that are told apart, with the level that does so (0 for tests without levels), and pairs that were not
    shown to an order, since its tensors would be too large.
    """

    levels: dict[tuple[int, int], int]
    skipped: Pairs


def run(dataset: str, method: str) -> dict[str, Any]:
    """The details of a record: how many ``pairs`` there are and how many are told ``apart``, by how many of them need
    which number of ``levels``; how many were ``skipped``.
    """
    if method not in (*WL_TESTS, *NETWORKS):
        raise ConfigurationError(f"method={method!r}: choose one of {', '.join((*WL_TESTS, *NETWORKS))}")
    graphs, chosen = pairs(dataset)
    if method in WL_TESTS:
        of: Any = message_passing(Pack.of(graphs)) if method == "1-WL" else [wl_3(g).tobytes() for g in graphs]
        return _details(chosen, Told({(i, j): 0 for i, j in chosen if of[i] != of[j]}, []))
    orders, levels = NETWORKS[method]
    found = Told({}, [])
    for order in orders:
        left = [pair for pair in chosen if pair not in found.levels]
        more = told_apart(graphs, left, order, levels)
        found = Told({**found.levels, **more.levels}, more.skipped)
    return _details(chosen, found)


def _details(chosen: Pairs, found: Told) -> dict[str, Any]:
    levels = {str(level): count for level, count in sorted(Counter(found.levels.values()).items()) if level}
    return {"apart": len(found.levels), "pairs": len(chosen), "levels": levels, "skipped": len(found.skipped)}


def settings(method: str) -> dict[str, Any]:
    """The settings of a network, as plain data; a Weisfeiler-Lehman test has none."""
    if method in WL_TESTS:
        return {}
    orders, levels = NETWORKS[method]
    return {"orders": list(orders), "levels": levels, "channels": CHANNELS, "bits": BITS}


def told_apart(graphs: Sequence[Graph], pairs: Pairs, order: int, levels: int | None = None) -> Told:
    """The pairs, by indices of graphs, that networks of this order and number of levels tell apart.

    Example:
        >>> rook, shrikhande = (Graph.from_networkx(g) for g in next(strongly_regular()))
        >>> [told_apart([rook, shrikhande], [(0, 1)], order).levels for order in (1, 2)]
        [{}, {(0, 1): 2}]
    """
    found: dict[tuple[int, int], int] = {}
    skipped: Pairs = []
    for family in nx.connected_components(nx.Graph(pairs)):
        of_family = [pair for pair in pairs if pair[0] in family]
        members = sorted(family)
        if not fits([graphs[i] for i in members], order):
            skipped += of_family
            continue
        each = classes([graphs[i] for i in members], order, levels).levels
        for i, j in of_family:
            a, b = members.index(i), members.index(j)
            if (level := next((n for n, of in enumerate(each) if of[a] != of[b]), None)) is not None:
                found[i, j] = level
    return Told(found, skipped)


def wl_3(g: Graph) -> Names:
    """(n * n,) the stable colours of the pairs of vertices, sorted: equal for two graphs unless 3-WL tells them apart.

    A pair begins with the labels of its vertices, whether they are equal and whether they are adjacent. The colours are
    those of the round after the first that splits no class: graphs that agree there agree in every further round.
    """
    label, a = row_names(g.features.numpy()), g.adjacency().numpy() != 0
    c = name(label[:, None], label[None, :], np.eye(g.n, dtype=np.uint64), a.astype(np.uint64))
    count = 0
    while (found := len(np.unique(c))) > count:
        count, c = found, name(c, mix(name(c[:, :, None], c[None, :, :])).sum(1, dtype=np.uint64))
    out: Names = np.sort(c, axis=None)
    return out


def pairs(dataset: str) -> tuple[list[Graph], Pairs]:
    """The graphs of a set, each once and without features, and the pairs of them, by index.

    * ``BREC ..``: one category of the pairs of BREC.
    * ``circular skip links``: cycles of 41 vertices with links that skip 2, 3, 4, 5, 6, 9, 11, 12, 13 or 16 of them;
      every pair.
    * ``strongly regular``: every pair with equal parameters among those of :func:`strongly_regular`.
    """
    if dataset not in TABLES["expressivity"]:
        raise ConfigurationError(f"dataset={dataset!r}: choose one of {', '.join(TABLES['expressivity'])}")
    if dataset.startswith("BREC"):
        from ccn.datasets import load

        data = load("BREC")
        category = dataset.removeprefix("BREC ").lower().replace(" ", "_").replace("-", "_")
        rows = (data.targets[:, 0] == data.classes.index(category)).nonzero()[0]
        return [data.graphs[int(i)] for i in rows], [(i, i + 1) for i in range(0, len(rows), 2)]
    skip_links = [[nx.circulant_graph(41, [1, skip]) for skip in _SKIPS]]
    families = strongly_regular() if dataset == "strongly regular" else skip_links
    graphs: list[Graph] = []
    found: Pairs = []
    for family in families:
        found += combinations(range(len(graphs), len(graphs) + len(family)), 2)
        graphs += (Graph.from_networkx(g) for g in family)
    return graphs, found


def strongly_regular() -> Iterator[list[nx.Graph]]:
    """Families of strongly regular graphs of equal parameters (vertices, degree, common neighbours).

    * (16, 6, 2, 2): the 4x4 rook's graph and the Shrikhande graph; (16, 9, 4, 6): their complements;
    * (28, 12, 6, 4): the triangular graph T(8) and the three Chang graphs, which arise from it by Seidel switching
      with respect to a perfect matching, an 8-cycle, and a triangle with a pentagon;
    * (25, 12, 5, 6) and (36, 15, 6, 6): graphs of Latin squares;
    * (40, 12, 2, 4): the points and the lines of the symplectic generalised quadrangle over three elements.
    """
    rook = nx.line_graph(nx.complete_bipartite_graph(4, 4))
    steps = {(0, 1), (0, 3), (1, 0), (3, 0), (1, 1), (3, 3)}
    torus = combinations(product(range(4), repeat=2), 2)
    shrikhande = nx.Graph((u, v) for u, v in torus if ((u[0] - v[0]) % 4, (u[1] - v[1]) % 4) in steps)
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


def _switch(g: nx.Graph, subset: set[tuple[int, ...]]) -> nx.Graph:
    """Seidel switching: edges between the subset and the rest become non-edges and the other way round."""
    return nx.Graph((u, v) for u, v in combinations(g, 2) if g.has_edge(u, v) != ((u in subset) != (v in subset)))


def _latin(square: Sequence[Sequence[int]]) -> nx.Graph:
    """The cells of a Latin square, adjacent in the same row, in the same column and with the same symbol."""
    cells = [(i, j, symbol) for i, row in enumerate(square) for j, symbol in enumerate(row)]
    return nx.Graph((u, v) for u, v in combinations(cells, 2) if any(a == b for a, b in zip(u, v, strict=True)))
