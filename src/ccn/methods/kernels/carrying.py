"""From kinds of parts to the atoms that form them.

A number for each kind of part of a graph goes to the parts of that kind in equal shares, and from a part to its atoms
in equal shares; the bonds within a part are its inner structure and have no share of their own. What follows of a graph
depends on how its vertices are numbered in no other way than the vertices themselves.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any

import numpy as np

from ccn.features.vertices import neighbours
from ccn.graphs.pack import Pack
from ccn.methods.kernels.bags import Bag, Names, graph_of, matrices, tally, unary
from ccn.methods.kernels.kernel import Floats
from ccn.methods.kernels.parts import PartKinds, PartShares, kinds, part_kinds

__all__ = ["carried", "kinds_of", "shares_of"]

_TOGETHER = 128  # graphs compared at a time: each with a row of all kinds among them


def carried(graphs: Pack, levels: Sequence[tuple[Bag, Floats]], found: Sequence[Names]) -> Floats:
    """(vertices,) from the numbers of the kinds in a bag for each level 0, 1, ..

    Args:
        graphs: the graphs.
        levels: for each level the bag of the kinds of these graphs, and a number for each.
        found: for each level the kinds of the parts of all vertices (:func:`part_kinds`).
    """
    of, total = graph_of(graphs), np.zeros(len(found[0]))
    for (bag, values), kinds_of_parts, members in zip(levels, found, _members(graphs), strict=False):
        order = np.lexsort((kinds_of_parts, of))  # that of the bag, in which the parts of a kind are one entry
        each = np.empty(len(kinds_of_parts))
        each[order] = np.repeat(values / bag.count, bag.count.astype(np.int64))
        total += members.T @ (each / np.diff(members.indptr))
    return total


def _members(graphs: Pack) -> Iterator[Any]:
    """For each level the sparse matrix (vertices, vertices) of the atoms of every vertex's part, as ones."""
    import scipy.sparse as sp

    a = neighbours(graphs).astype(np.float64)
    closed = (a + sp.eye_array(a.shape[0], format="csr")).tocsr()
    here = sp.eye_array(a.shape[0], format="csr")
    while True:
        yield here
        here = (here @ closed).tocsr()
        here.data[:] = 1.0


def shares_of(kernel: PartShares, graphs: Pack, seen: list[list[Bag]], alpha: Floats) -> Floats:
    """(vertices,) of the sum over h of ``alpha[h] P(g, h)``, with P the kernel and h the graphs that were ``seen``.

    The share of parts in common up to a depth is a sum of minima, one for each kind, over a sum of maxima. The minimum
    of each kind goes to its parts in g; the sum of maxima is held.
    """
    views = kernel.views(graphs)
    total = np.zeros(int(graphs.sizes.sum()))
    for view, theirs in zip(views, seen, strict=True):
        found = part_kinds(view, kernel.order, kernel.levels)
        total += _shared_parts(view, found, theirs, alpha, range(1, kernel.levels + 1))
    return total / (kernel.levels * len(views))


def kinds_of(kernel: PartKinds, graphs: Pack, others: Pack, alpha: Floats) -> Floats:
    """The same for :class:`PartKinds`, whose share is that of all levels together, and other graphs h."""
    found, known = (kinds(g, kernel.order, kernel.levels) for g in (graphs, others))
    theirs = [unary(tally(graph_of(others), of, len(others)), kernel.counted) for of in known]
    return _shared_parts(graphs, found, theirs, alpha, {kernel.levels}, kernel.counted)


def _shared_parts(
    graphs: Pack,
    found: Sequence[Names],
    theirs: Sequence[Bag],
    alpha: Floats,
    depths: Collection[int],
    counted: bool = True,
) -> Floats:
    """(vertices,) of the sum over h and depths of ``alpha[h]`` times the share of parts of g and h up to the depth.

    Args:
        graphs: the graphs g.
        found: for each level the kinds of the parts of their vertices.
        theirs: for each level the kinds of the graphs h, as :func:`unary` makes them.
        alpha: (graphs h,).
        depths: what is summed over.
        counted: whether it matters how often a kind occurs.
    """
    bags = [tally(graph_of(graphs), level, len(graphs)) for level in found]
    items = [unary(bag, counted) for bag in bags]
    entry = [np.repeat(np.arange(len(bag.key)), bag.count.astype(np.int64) if counted else 1) for bag in bags]
    pairs = [matrices(a, b) for a, b in zip(items, theirs, strict=True)]
    place = [
        np.searchsorted(np.unique(np.concatenate([a.key, b.key])), a.key) for a, b in zip(items, theirs, strict=True)
    ]
    values = [np.zeros(len(bag.key)) for bag in bags]
    for first in range(0, len(graphs), _TOGETHER):
        rows = slice(first, min(first + _TOGETHER, len(graphs)))
        both = np.zeros((rows.stop - rows.start, len(alpha)))
        either, held = np.zeros_like(both), []
        for level, (left, right) in enumerate(pairs):
            both += (left[rows] @ right.T).toarray()
            either += left[rows].sum(axis=1)[:, None] + right.sum(axis=1)
            held.append(alpha / np.maximum(either - both, 1) if level in depths else np.zeros_like(both))
        weight = np.zeros_like(both)
        for level in reversed(range(len(pairs))):
            weight += held[level]  # of this depth and those above, which count this level too
            some = slice(*np.searchsorted(items[level].graph, [rows.start, rows.stop]).tolist())
            columns, at = np.unique(place[level][some], return_inverse=True)
            each = (pairs[level][1].tocsc()[:, columns].T @ weight.T)[at, items[level].graph[some] - first]
            np.add.at(values[level], entry[level][some], each)
    return carried(graphs, list(zip(bags, values, strict=True)), found)
