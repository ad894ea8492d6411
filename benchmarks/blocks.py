"""Whether parts can be cut to biconnected components: ``python -m benchmarks.blocks`` with ``CCN_DATA`` set.

Two schemes are compared over integers (:mod:`ccn.expressivity.exact`) on molecules that message passing cannot tell
from another: that of closed neighbourhoods, in which parts are balls, and one in which a part keeps of its ball the
neighbours of its vertex and what shares a block (a biconnected component) with it. Children reach beyond such parts and
are read restricted. Beside the number of classes that each tells apart is the size of what a network computes: entries
of parent-child pairs and of nodes.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable, Sequence
from typing import Any
from unittest.mock import patch

import networkx as nx
import numpy as np

import ccn
from benchmarks.work import smiles_of
from ccn.expressivity.colours import message_passing
from ccn.expressivity.exact import classes
from ccn.graphs.graph import Graph
from ccn.reports.markup import markdown
from ccn.schemes import Neighbourhoods, Scheme, composition


def within_blocks(levels: int) -> Callable[[Graph], Scheme]:
    """The scheme of so many levels whose parts are cut to blocks."""

    def made(graph: Graph) -> Scheme:
        g = nx.Graph()
        g.add_nodes_from(range(graph.n))
        g.add_edges_from((int(a), int(b)) for a, b in zip(*graph.entries, strict=True))
        near = [{v, *g[v]} for v in range(graph.n)]
        shared = [set(x) for x in near]
        for block in nx.biconnected_components(g):
            for v in block:
                shared[v] |= block
        parts: list[tuple[int, ...]] = [(v,) for v in range(graph.n)]
        children: list[tuple[int, ...]] = [()] * graph.n
        anchors = list(range(graph.n))
        for level in range(1, levels + 1):
            for v in range(graph.n):
                ball = nx.single_source_shortest_path_length(g, v, cutoff=level)
                parts.append(tuple(sorted(near[v] | (shared[v] & set(ball)))))
                children.append(tuple((level - 1) * graph.n + w for w in sorted(near[v])))
                anchors.append(v)
        parts.append(tuple(range(graph.n)))
        children.append(tuple(range(levels * graph.n, (levels + 1) * graph.n)))
        return Scheme(parts, children, [*anchors, None], restricted=True)

    return made


def entries(graphs: Sequence[Graph], scheme: Callable[[int], object], order: int, levels: int) -> int:
    """Entries of parent-child pairs and of nodes on all levels."""
    made = composition(ccn.batch(graphs), scheme(levels), levels).levels
    return int(sum((x.below.size[x.stacked.child] ** order).sum() + (x.nodes.size**order).sum() for x in made))


def compared(
    name: str, graphs: Sequence[Graph], orders: Sequence[int], levels: Sequence[int | None]
) -> list[list[str]]:
    """One row per order and number of levels."""
    rows = []
    schemes: list[Callable[[int], Any]] = [lambda n: Neighbourhoods(levels=n), within_blocks]
    for order, number in itertools.product(orders, levels):
        found = []
        for scheme in schemes:
            with patch("ccn.expressivity.exact.Neighbourhoods", lambda levels, of=scheme: of(levels)):
                found.append(classes(graphs, order, number).at(number))
        both = len(np.unique(np.stack(found), axis=1).T)
        counts = [str(int(x)) for x in (*(c.max() + 1 for c in found), both)]
        depth = 3 if number is None else number
        balls, cut = (entries(graphs, scheme, order, depth) for scheme in schemes)
        rows.append([name, str(order), str(number or "any"), *counts, f"{cut / balls:.2f} ({depth})"])
        print(*rows[-1], flush=True)
    return rows


def main(most: int = 300) -> None:
    """Compare, and print the table."""
    rows = []
    qm9 = [ccn.Graph.from_smiles(s) for s in smiles_of("qm9", 20_000) or []]
    for name, pack in (("qm9", ccn.Pack.of(qm9)), ("NCI1", ccn.datasets.load("NCI1").pack)):
        of = message_passing(pack)
        chosen = np.flatnonzero(np.bincount(of)[of] > 1)[:most]
        rows += compared(name, [pack[i] for i in chosen.tolist()], (1, 2), (2, None))
    head = ["", "order", "levels", "classes, balls", "classes, blocks", "classes, both", "entries, blocks / balls"]
    print(markdown(head, rows))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
