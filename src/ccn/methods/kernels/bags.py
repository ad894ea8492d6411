"""Bags: multisets of 64-bit names, which count what occurs in each graph.

A kernel with a feature map counts things in each graph: refined labels, pairs of labels at a distance, walks. The name
of a thing is a hash of what it is, not an index into a vocabulary. The bag of a graph then depends on that graph alone,
new graphs need no fitted dictionary, and all of it is array operations over a pack. Names are mixed by the finaliser of
splitmix64; among ten million things two share a name with probability 3e-6.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ccn.features.vertices import neighbours
from ccn.graphs.pack import Pack
from ccn.graphs.ragged import Int, ranges

__all__ = [
    "Bag", "Names", "edge_names", "edges", "graph_of", "matrices", "mix", "name", "pair_names", "row_names", "shares",
    "tally", "unary", "vertex_names",
]  # fmt: skip

Names = NDArray[np.uint64]
_STEP, _FIRST, _SECOND = (np.uint64(x) for x in (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB))


@dataclass(frozen=True)
class Bag:
    """Graph ``graph[i]`` has ``count[i]`` things named ``key[i]``; each pair of graph and key occurs once, in order."""

    graph: Int
    key: Names
    count: NDArray[np.float64]
    graphs: int

    def table(self, names: Names, dtype: type[np.floating[Any]] = np.float64) -> NDArray[Any]:
        """(graphs, names) the counts of the sorted ``names``; other things are left out."""
        out = np.zeros((self.graphs, len(names)), dtype=dtype)
        known, column = self._known(names)
        out[self.graph[known], column] = self.count[known]
        return out

    def taken(self, names: Names, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """For each pair of graph and key its number in a table (graphs, names) such as :meth:`table`; else zero."""
        out = np.zeros(len(self.key))
        known, column = self._known(names)
        out[known] = values[self.graph[known], column]
        return out

    def _known(self, names: Names) -> tuple[NDArray[np.bool_], Int]:
        """Which keys are among the names, and where these stand there."""
        known = np.isin(self.key, names)
        return known, np.searchsorted(names, self.key[known])


def mix(x: Any) -> Names:
    """A pseudorandom bijection of 64-bit integers."""
    x = np.atleast_1d(x).astype(np.uint64) + _STEP
    x = (x ^ (x >> np.uint64(30))) * _FIRST
    x = (x ^ (x >> np.uint64(27))) * _SECOND
    out: Names = x ^ (x >> np.uint64(31))
    return out


def name(*parts: Any) -> Names:
    """The names of things made of named parts, in order; integers are names too."""
    out = mix(np.uint64(len(parts)))
    for part in parts:
        out = mix(out ^ mix(np.asarray(part)))
    return out


def row_names(rows: NDArray[Any], first: int = 0) -> Names:
    """The names of rows of numbers, whose columns are numbered from ``first``; equal rows have equal names."""
    bits = np.ascontiguousarray(rows, dtype=np.float64) + 0.0  # minus zero becomes zero
    out = np.zeros(len(bits), dtype=np.uint64)
    for j, column in enumerate(bits.view(np.uint64).T, first):
        out += name(j, column)
    return out


def _label_names(a: Mapping[str, NDArray[Any]], labels: str, features: str) -> Names:
    """The names of rows of features, where labels stand for columns: those of the columns, which are not made."""
    if labels not in a:
        return row_names(a[features])
    width = int(a[f"{labels}_width"][0])
    zero, one = np.zeros(1).view(np.uint64), np.ones(1).view(np.uint64)
    column = np.arange(width)
    absent = name(column, zero)
    gain = np.append(name(column, one) - absent, np.uint64(0))  # the last for no label, -1
    out: Names = absent.sum(dtype=np.uint64) + gain[a[labels]].sum(1, dtype=np.uint64)
    return out + row_names(a[features], width) if features in a else out


def vertex_names(pack: Pack) -> Names:
    """(vertices,) the label of each vertex: the name of its features."""
    return _label_names(pack.compact().arrays, "labels", "features")


def edge_names(pack: Pack) -> Names:
    """(entries,) the label of the edge of each nonzero entry of A; zero without edge features."""
    a = pack.compact().arrays
    if "edge_features" not in a and "edge_labels" not in a:
        return np.zeros(len(a["row"]), dtype=np.uint64)
    first = np.repeat(a["edge_start"][:-1], np.diff(a["entry_start"]))
    out: Names = _label_names(a, "edge_labels", "edge_features")[a["edge"] + first]
    return out


def edges(pack: Pack) -> tuple[Int, Int, NDArray[np.bool_]]:
    """The ends u < v of each edge, and which of the nonzero entries of A these are."""
    a = neighbours(pack).tocoo()
    once = a.row < a.col
    return a.row[once], a.col[once], once


def pair_names(kind: int, label: Names, u: Int, v: Int, *more: Names) -> Names:
    """The names of unordered pairs of vertices by their labels."""
    return name(kind, np.minimum(label[u], label[v]), np.maximum(label[u], label[v]), *more)


def graph_of(pack: Pack) -> Int:
    """(vertices,) the graph of each vertex."""
    return np.repeat(np.arange(len(pack)), pack.sizes)


def tally(graph: NDArray[Any], key: Names, graphs: int, count: NDArray[np.float64] | None = None) -> Bag:
    """The bag of things given with repetitions, each counted once or ``count`` times."""
    weight = np.ones(len(key)) if count is None else count
    order = np.lexsort((key, graph))
    graph, key, weight = np.asarray(graph, dtype=np.int64)[order], key[order], weight[order]
    new = np.ones(len(key), dtype=bool)
    new[1:] = (graph[1:] != graph[:-1]) | (key[1:] != key[:-1])
    first = np.flatnonzero(new)
    return Bag(graph[first], key[first], np.add.reduceat(weight, first) if len(first) else weight, graphs)


def unary(bag: Bag, counted: bool = True) -> Bag:
    """A thing that occurs c times as c things, or as one; products of bags are then minima of counts.

    ``min(c, d) = sum over k of [c >= k] [d >= k]``.
    """
    if not counted:
        return replace(bag, count=np.ones(len(bag.key)))
    times = bag.count.astype(np.int64)
    key = name(np.repeat(bag.key, times), ranges(np.ones_like(times), times))
    return Bag(np.repeat(bag.graph, times), key, np.ones(len(key)), bag.graphs)


def shares(left: Any, right: Any) -> NDArray[np.float64]:
    """(graphs of left, graphs of right) sums of minima over sums of maxima, of :func:`matrices` of unary bags."""
    both = (left @ right.T).toarray()
    return np.asarray(both / np.maximum(left.sum(axis=1)[:, None] + right.sum(axis=1) - both, 1))


def matrices(*bags: Bag) -> list[Any]:
    """Bags as sparse matrices (graphs, columns) with common columns, one per name in any of them."""
    import scipy.sparse as sp

    keys, column = np.unique(np.concatenate([b.key for b in bags]), return_inverse=True)
    cuts = np.split(column, np.cumsum([len(b.key) for b in bags])[:-1])
    return [
        sp.csr_array((b.count, (b.graph, where)), shape=(b.graphs, len(keys)))
        for b, where in zip(bags, cuts, strict=True)
    ]
