"""Which pairs of graphs each order tells apart, by random networks, and which the Weisfeiler-Lehman tests do.

The pairs are not isomorphic, and alike to colour refinement. Two graphs are told apart if one of eight random networks
embeds them clearly further from each other than numberings of one graph, which differ by rounding alone. The networks
are :class:`ccn.CCN` with its defaults, the adjacency product among them, but in float64, with few channels and with the
hyperbolic tangent: what they see then depends on order and levels and hardly on the draw, whereas ReLUs are linear or
zero on many of these graphs.

1-WL colours vertices: in each round the new colour of a vertex is its old one with the multiset of its neighbours'.
3-WL is computed as folklore 2-WL, which tells the same graphs apart (Cai, Fürer and Immerman 1992; the numbering is
that of the BREC paper, in which 2-WL is no stronger than 1-WL): it colours ordered pairs (u, v) and collects the
pairs of colours of (u, w) and (w, v) over all w. Colours are 64-bit names, mixed as in
:mod:`ccn.methods.kernels.bags`, so that those of different graphs can be compared. A wrapping sum of mixed names stands
for a multiset. Weights and features of edges are ignored.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import combinations, groupby, permutations, product
from typing import Any

import networkx as nx
import numpy as np
import torch
from numpy.typing import NDArray

from ccn.errors import ConfigurationError
from ccn.graphs.graph import Graph
from ccn.methods.kernels.bags import Names, mix, name, row_names
from ccn.models import CCN
from ccn.paper.cells import RANDOM_NETWORKS, TABLES, WL_TESTS
from ccn.testing import random_permutation

__all__ = ["CHANNELS", "NUMBERINGS", "SEEDS", "apart", "pairs", "run", "settings", "strongly_regular", "wl_1", "wl_3"]

SEEDS = 8
CHANNELS = 4
NUMBERINGS = 3
_ROWS = 500_000
# Relative to the norm of an embedding rounding is about 1e-15, and graphs that differ do so by 1e-7 or more.
_FLOOR, _FACTOR = 1e-10, 1e3
_SKIPS = (2, 3, 4, 5, 6, 9, 11, 12, 13, 16)  # on 41 vertices no two of these give isomorphic graphs

Pairs = list[tuple[int, int]]


def run(dataset: str, method: str, seed: int = 0) -> tuple[int, int]:
    """How many of the pairs the method tells apart, and how many there are."""
    if method not in (*WL_TESTS, *RANDOM_NETWORKS):
        raise ConfigurationError(f"method={method!r}: choose one of {', '.join((*WL_TESTS, *RANDOM_NETWORKS))}")
    graphs, chosen = pairs(dataset)
    if method in RANDOM_NETWORKS:
        return len(apart(graphs, chosen, *RANDOM_NETWORKS[method], seed=seed)), len(chosen)
    colours = [(wl_1 if method == "1-WL" else wl_3)(g) for g in graphs]
    return sum(not np.array_equal(colours[i], colours[j]) for i, j in chosen), len(chosen)


def settings(method: str) -> dict[str, Any]:
    """The settings of a network, as plain data; a Weisfeiler-Lehman test has none."""
    if method in WL_TESTS:
        return {}
    order, levels = RANDOM_NETWORKS[method]
    net = {"order": order, "levels": levels, "channels": CHANNELS, "nonlinearity": "tanh", "precision": "float64"}
    return {**net, "seeds": SEEDS, "numberings": NUMBERINGS, "factor": _FACTOR, "floor": _FLOOR}


def apart(graphs: Sequence[Graph], pairs: Pairs, order: int, levels: int, seed: int = 0) -> set[tuple[int, int]]:
    """The pairs, by indices of graphs, that networks of this order and number of levels tell apart.

    With x and y the embeddings of the two graphs in the given numbering, relative to the larger of their norms, the
    pair is told apart if ``|x - y| > max(1e-10, 1000 r)``, where r is the largest distance of x or y from the embedding
    of the same graph in one of two random numberings. A pair that one network tells apart is not shown to the next.
    """
    rng = np.random.default_rng(seed)
    found: set[tuple[int, int]] = set()
    for number in range(SEEDS):
        left = [pair for pair in pairs if pair not in found]
        if not left:
            break
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(SEEDS * seed + number)
            width = graphs[0].features.shape[1]
            net = CCN(width, order=order, levels=levels, channels=CHANNELS, nonlinearity="tanh").double().eval()
        seen = sorted({i for pair in left for i in pair})
        rows = dict(zip(seen, _embed(net, [graphs[i] for i in seen], order, rng), strict=True))
        found |= {(i, j) for i, j in left if _differ(rows[i], rows[j])}
    return found


def _embed(net: CCN, graphs: Sequence[Graph], order: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """(graphs, numberings, width) the embeddings, the given numbering first."""
    each = [[g, *(g.permute(random_permutation(g.n, rng)) for _ in range(NUMBERINGS - 1))] for g in graphs]
    flat = [g for numberings in each for g in numberings]
    # A graph has at most n nodes of n^order entries a level; batches of this many entries stay small in memory.
    batch_of = np.cumsum([g.n ** (order + 1) for g in flat]) // _ROWS
    with torch.no_grad():
        rows = [net.embed([flat[i] for i in part]) for _, part in groupby(range(len(flat)), batch_of.__getitem__)]
    out: NDArray[np.float64] = torch.cat(rows).numpy().reshape(len(graphs), NUMBERINGS, -1)
    return out


def _differ(x: NDArray[np.float64], y: NDArray[np.float64]) -> bool:
    rounding = max(float(np.linalg.norm(z[1:] - z[0], axis=1).max()) for z in (x, y))
    size = max(float(np.linalg.norm(z[0])) for z in (x, y))
    return float(np.linalg.norm(x[0] - y[0])) > max(_FACTOR * rounding, _FLOOR * size)


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
        rows = (data.targets[:, 0] == data.classes.index(dataset.removeprefix("BREC "))).nonzero()[0]
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
