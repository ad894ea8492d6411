"""What the head of a network reads of the activations: one row per graph, per vertex or per edge.

* ``invariants``: the invariants of every node, one scalar per set partition of the axes, summed over each graph; of all
  levels, or of the last alone.
* ``sums``: of every node the sum of its entries and then the nonlinearity, summed over each graph.
* ``root``: the paper's root, a node whose part is the whole graph and whose children are the nodes of the last level;
  it is an :class:`~ccn.layers.Aggregation` to order 0 and not part of this module.
* ``vertex``: of vertex v, at every level, the invariants of the node anchored at v and ``sum_t F_t[v, .., v]`` over
  all nodes t whose part holds v.
* ``edge``: of edge (i, j) the rows of its two vertices (added up, or side by side where edges are directed) and, at
  every level, ``sum_t F_t[x, y, ..]`` over all nodes t that hold both, for all words x y .. of i and j. Order 2 has a
  component for every pair: F[i, j] + F[j, i] and F[i, i] + F[j, j], or all four.

Level 0 holds single vertices, whose features are read once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Literal

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from ccn.algebra.contractions import bell
from ccn.engine.backend import using_backend
from ccn.engine.sparse import SparseMap, gradient
from ccn.engine.torch_form import over_graphs
from ccn.errors import ConfigurationError
from ccn.graphs.graph import Batch
from ccn.graphs.ragged import Int, starts
from ccn.layers.aggregation import Activation
from ccn.layers.initialisation import reference
from ccn.schemes.packed import Composition, Level, Nodes

__all__ = ["READOUTS", "Readout", "ReadoutKind", "ReadoutLevels"]

ReadoutKind = Literal["invariants", "sums", "root", "vertex", "edge"]
ReadoutLevels = Literal["all", "last"]
READOUTS = ("invariants", "sums", "root", "vertex", "edge")


@dataclass(frozen=True)
class Readout:
    """Rows for the head from the activations of all levels; see the module.

    Attributes:
        kind: ``invariants``, ``sums``, ``vertex`` or ``edge``.
        orders, channels: of the levels 0, 1, ..
        levels: ``all``, or the ``last`` alone.
        directed: an edge (i, j) is not (j, i).
        nonlinearity: of ``sums``.
    """

    kind: ReadoutKind
    orders: tuple[int, ...]
    channels: tuple[int, ...]
    levels: ReadoutLevels = "all"
    directed: bool = False
    nonlinearity: Callable[[Tensor], Tensor] = torch.relu

    def __post_init__(self) -> None:
        for name, value, known in (("readout", self.kind, READOUTS), ("readout_levels", self.levels, ("all", "last"))):
            if value not in known:
                raise ConfigurationError(f"{name}={value!r}: choose one of {', '.join(known)}")

    @property
    def chosen(self) -> range:
        """The levels that are read."""
        return range(len(self.orders))[-1:] if self.levels == "last" else range(len(self.orders))

    @property
    def widths(self) -> list[int]:
        """Columns of each level that is read."""
        return [self._scalars(level) * self.channels[level] for level in self.chosen]

    def _scalars(self, level: int) -> int:
        """Numbers per channel of a level."""
        k = self.orders[level]
        if self.kind == "invariants":
            return bell(k)
        if self.kind == "sums":
            return 1
        of_vertex = bell(k) + 1 if level else 1
        if self.kind == "vertex":
            return of_vertex
        return of_vertex * (1 + self.directed) + (len(_words(k, self.directed)) if level else 0)

    def scales(self) -> list[float]:
        """For each column its value for activations of all ones on the reference graph, in the mean over rows."""
        b, scheme = reference(max(1, len(self.orders) - 1))
        linear, out = replace(self, nonlinearity=torch.positive), list[float]()
        # The torch form compiles nothing; sums of ones are exact in any form.
        with torch.device("cpu"), using_backend("torch"):
            for level in self.chosen:
                nodes, k = scheme.nodes(level), self.orders[level]
                ones = Activation(torch.ones(nodes.rows(k), 1), nodes, k)
                for scale in linear._level(level, ones, b, scheme).mean(0).tolist():
                    out += [scale] * self.channels[level]
        return out

    def rows(self, activations: Sequence[Activation], b: Batch, scheme: Composition) -> Tensor:
        """(graphs, vertices or edges; columns); zero where no scheme of the batch reaches up to a level."""
        rows = []
        for level, width in zip(self.chosen, self.widths, strict=True):
            if level < len(activations):
                rows.append(self._level(level, activations[level], b, scheme))
            else:
                rows.append(activations[0].data.new_zeros(len(self.graph_of(b)), width))
        return torch.cat(rows, dim=1)

    def prepare(self, b: Batch, scheme: Composition) -> int:
        """Build the maps of all levels, which keep them; returns their bytes."""
        total = 0
        for number in self.chosen:
            if self.kind in ("vertex", "edge") and 0 < number <= len(scheme.levels):
                level, k = scheme.levels[number - 1], self.orders[number]
                total += _held_at_vertices(level.nodes, k, b).nbytes
                total += _held_at_edges(level, k, b, self.directed).nbytes if self.kind == "edge" else 0
        return total

    def graph_of(self, b: Batch) -> Int:
        """(rows,) the graph of each row."""
        if self.kind == "vertex":
            return b.graph_of
        return np.arange(len(b)) if self.kind != "edge" else np.repeat(np.arange(len(b)), np.diff(b.edge_start))

    def _level(self, level: int, a: Activation, b: Batch, scheme: Composition) -> Tensor:
        if self.kind == "invariants":
            return a.per_graph(len(b))
        if self.kind == "sums":
            return over_graphs(self.nonlinearity(a.invariants[:, : a.channels]), a.nodes, len(b))
        if level == 0:
            vertices = a.data.new_zeros(b.n, a.channels).index_add(
                0, a.nodes.cached.on(a.data.device, "parts", lambda: a.nodes.parts), a.data
            )
        else:
            held = gradient(_held_at_vertices(a.nodes, a.order, b), 0, a.data, None)
            vertices = torch.cat([a.per_atom(b.n), held], dim=1)
        if self.kind == "vertex":
            return vertices
        ends = [vertices.index_select(0, end) for end in b.cached.on(b.device, "edge ends", lambda: b.edge_ends)]
        rows = ends if self.directed else [ends[0] + ends[1]]
        if level:
            held = gradient(_held_at_edges(scheme.levels[level - 1], a.order, b, self.directed), 0, a.data, None)
            words = len(_words(a.order, self.directed))
            rows = [*rows, held.view(len(rows[0]), words * a.channels)]
        return torch.cat(rows, dim=1)


def _words(k: int, directed: bool) -> list[tuple[tuple[int, ...], ...]]:
    """The words of length k of the ends 0 and 1 of an edge; undirected, each together with its exchange."""
    words = list(product((0, 1), repeat=k))
    if directed:
        return [(word,) for word in words]
    swapped = {word: tuple(1 - x for x in word) for word in words}
    return [(word, swapped[word]) if k else (word,) for word in words if word <= swapped[word]]


def _map(row: Int, column: Int, shape: tuple[int, int], device: torch.device) -> SparseMap:
    """The map that adds up what is listed; what is listed twice counts twice."""
    order = np.argsort(row, kind="stable")
    start = starts(np.bincount(row, minlength=shape[0]))
    return SparseMap.of(sp.csr_array((np.ones(len(row), np.int8), column[order], start), shape=shape), device)


def _held_at_vertices(nodes: Nodes, k: int, b: Batch) -> SparseMap:
    """From rows of tensors to vertices v: ``sum_t F_t[v, .., v]``."""

    def build() -> SparseMap:
        node = np.repeat(np.arange(len(nodes)), nodes.size)
        place = np.arange(len(nodes.parts)) - nodes.start[node]
        step = sum((nodes.size[node] ** a for a in range(k)), start=np.zeros(len(node), np.int64))
        column = nodes.row_start(k)[node] + place * step
        return _map(nodes.parts, column, (b.n, nodes.rows(k)), b.device)

    return nodes.cached(("vertices", k, b.device), build)


def _held_at_edges(level: Level, k: int, b: Batch, directed: bool) -> SparseMap:
    """From rows of tensors to rows (edge, word) of the nodes that hold both ends."""

    def build() -> SparseMap:
        nodes, inside = level.nodes, level.restrict(b.entries)
        node = np.repeat(np.arange(len(nodes)), np.diff(inside.start))
        edge = np.full(b.entries.shape[1], -1)
        edge[b.edge_entry] = np.arange(len(b.edge_entry))
        number = edge[inside.entry]
        there = number >= 0
        node, number = node[there], number[there]
        ends = inside.row[there].astype(np.int64), inside.column[there].astype(np.int64)
        words = _words(k, directed)
        row, column = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
        for i, together in enumerate(words):
            for word in together:
                step = sum((nodes.size[node] ** a * ends[x] for a, x in enumerate(word)), start=np.zeros_like(node))
                row.append(number * len(words) + i)
                column.append(nodes.row_start(k)[node] + step)
        return _map(
            np.concatenate(row), np.concatenate(column), (len(b.edge_entry) * len(words), nodes.rows(k)), b.device
        )

    return level.cached(("edges", k, directed, b.device), build)
