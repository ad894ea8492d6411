"""Channels of A: the matrices that a layer may multiply T with.

The paper multiplies by the adjacency matrix itself (:class:`Weights`) and allows A to enter in other ways. Each channel
is a matrix over all vertices of the graph, restricted to the parts afterwards, and declares its class, from which
follows which contractions are redundant.

A channel has two forms: ``dense`` is its formula on one graph (for the reference), ``sparse`` is the same on a batch.
Values are differentiable in edge weights and edge features.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol, cast

import numpy as np
import torch
from torch import Tensor

from ccn.algebra.contractions import MatrixClass
from ccn.errors import ConfigurationError, GraphError
from ccn.graphs.graph import Batch, Graph, entry_weights
from ccn.graphs.ragged import Int, ranges, starts

__all__ = ["AdjacencyChannel", "Closed", "EdgeFeatures", "Normalised", "Power", "Weights", "needs_grad", "sources"]


class AdjacencyChannel(Protocol):
    """One or more matrices over the vertices, as functions of the graph.

    Example:
        >>> import ccn
        >>> channel = Normalised()
        >>> channel.dense(ccn.Graph([(0, 1)], n=2), torch.float32).shape  # (channels, n, n)
        torch.Size([1, 2, 2])
    """

    @property
    def width(self) -> int:
        """Number of matrices."""
        ...

    def matrix_class(self, graphs: MatrixClass) -> MatrixClass:
        """The class of these matrices for graphs of the given class."""
        ...

    def dense(self, graph: Graph, dtype: torch.dtype) -> Tensor:
        """(width, n, n), by the formula, computed in the given dtype."""
        ...

    def sparse(self, b: Batch, dtype: torch.dtype) -> tuple[Int, Tensor]:
        """Places (2, nnz), in row order, and values (nnz, width) for a batch, computed in the given dtype."""
        ...


@dataclass(frozen=True)
class Weights:
    """The adjacency matrix itself: ``A[i, j] = w_ij``."""

    width = 1

    def matrix_class(self, graphs: MatrixClass) -> MatrixClass:
        return graphs

    def dense(self, graph: Graph, dtype: torch.dtype) -> Tensor:
        return graph.adjacency(dtype)[None]

    def sparse(self, b: Batch, dtype: torch.dtype) -> tuple[Int, Tensor]:
        return b.entries, entry_weights(b.weights, b.entry_edge, dtype).to(b.device)[:, None]


@dataclass(frozen=True)
class Closed:
    """The adjacency matrix with ones on its diagonal, as the code of the paper's authors has it.

    Example:
        >>> Closed().dense(Graph([(0, 1)], n=2), torch.float32).tolist()
        [[[1.0, 1.0], [1.0, 1.0]]]
    """

    width = 1

    def matrix_class(self, graphs: MatrixClass) -> MatrixClass:
        return MatrixClass(graphs.directed, self_loops=True)

    def dense(self, graph: Graph, dtype: torch.dtype) -> Tensor:
        a = graph.adjacency(dtype)
        return (a + torch.diag_embed(1 - a.diagonal()))[None]

    def sparse(self, b: Batch, dtype: torch.dtype) -> tuple[Int, Tensor]:
        entries, order = b.cached("closed", lambda: _closed(b))
        w = entry_weights(b.weights, b.entry_edge, dtype).to(b.device)
        values = torch.cat([w, w.new_ones(b.n)])[torch.from_numpy(order).to(w.device)]
        return entries, values[:, None]


def _closed(b: Batch) -> tuple[Int, Int]:
    """The places of A with the diagonal, in row order, and where the value of each stands: in A, or behind it."""
    off = np.flatnonzero(b.entries[0] != b.entries[1])
    every = np.arange(b.n)
    entries = np.concatenate([b.entries[:, off], [every, every]], axis=1)
    order = np.lexsort(entries[::-1])
    return entries[:, order], np.concatenate([off, b.entries.shape[1] + every])[order]


@dataclass(frozen=True)
class Normalised:
    """A divided by degrees, ``r_i = sum_j |A_ij|`` and ``c_j = sum_i |A_ij|``.

    ``symmetric``: ``A_ij / sqrt(r_i c_j)``; ``random_walk``: ``A_ij / r_i``, which is not symmetric.
    """

    kind: Literal["symmetric", "random_walk"] = "symmetric"
    width = 1

    def __post_init__(self) -> None:
        if self.kind not in ("symmetric", "random_walk"):
            raise ConfigurationError(f"Normalised(kind={self.kind!r}): choose 'symmetric' or 'random_walk'")

    def matrix_class(self, graphs: MatrixClass) -> MatrixClass:
        return MatrixClass(graphs.directed or self.kind == "random_walk", graphs.self_loops)

    def dense(self, graph: Graph, dtype: torch.dtype) -> Tensor:
        a = graph.adjacency(dtype)
        r, c = a.abs().sum(1), a.abs().sum(0)
        r, c = (torch.where(degree > 0, degree, torch.ones_like(degree)) for degree in (r, c))
        return (a / r[:, None] if self.kind == "random_walk" else a / (r[:, None] * c[None, :]).sqrt())[None]

    def sparse(self, b: Batch, dtype: torch.dtype) -> tuple[Int, Tensor]:
        w = entry_weights(b.weights, b.entry_edge, dtype).to(b.device)
        row, col = torch.from_numpy(b.entries).to(w.device)
        r = w.new_zeros(b.n).index_add(0, row, w.abs())
        if self.kind == "random_walk":
            return b.entries, (w / r[row])[:, None]
        c = w.new_zeros(b.n).index_add(0, col, w.abs())
        return b.entries, (w / (r[row] * c[col]).sqrt())[:, None]


@dataclass(frozen=True)
class Power:
    """A power of A: ``A^p``, weighted walks of length p. It has a diagonal."""

    p: int = 2
    width = 1

    def __post_init__(self) -> None:
        if self.p < 1:
            raise ConfigurationError(f"Power({self.p}): the power must be at least 1")

    def matrix_class(self, graphs: MatrixClass) -> MatrixClass:
        return MatrixClass(graphs.directed, graphs.self_loops or self.p > 1)

    def dense(self, graph: Graph, dtype: torch.dtype) -> Tensor:
        return cast(Tensor, torch.linalg.matrix_power(graph.adjacency(dtype), self.p))[None]

    def sparse(self, b: Batch, dtype: torch.dtype) -> tuple[Int, Tensor]:
        steps, entries = b.cached(("walks", self.p), lambda: _walks(b, self.p))
        w = entry_weights(b.weights, b.entry_edge, dtype).to(b.device)
        values = w
        for before, last, target, count in steps:
            product = values[before.to(w.device)] * w[last.to(w.device)]
            values = w.new_zeros(count).index_add(0, target.to(w.device), product)
        return entries, values[:, None]


def _walks(b: Batch, p: int) -> tuple[list[tuple[Tensor, Tensor, Tensor, int]], Int]:
    """For each further step: the walk so far, the entry that continues it, the place where they end."""
    row_start = starts(np.bincount(b.entries[0], minlength=b.n))
    entries, steps = b.entries, []
    for _ in range(p - 1):
        count = (row_start[1:] - row_start[:-1])[entries[1]]
        last = ranges(row_start[:-1][entries[1]], count)
        before = np.repeat(np.arange(entries.shape[1]), count)
        key, target = np.unique(entries[0][before] * b.n + b.entries[1][last], return_inverse=True)
        steps.append((torch.from_numpy(before), torch.from_numpy(last), torch.from_numpy(target), len(key)))
        entries = np.stack([key // b.n, key % b.n])
    return steps, entries


@dataclass(frozen=True)
class EdgeFeatures:
    """The edge features, one matrix per column: ``A_e[i, j] = x_ij[e]``, 0 where there is no edge.

    Example:
        >>> import ccn
        >>> ethene = ccn.Graph.from_smiles("C=C")
        >>> EdgeFeatures(4).dense(ethene, torch.float32)[:, 0, 1].tolist()  # single, double, triple, aromatic
        [0.0, 1.0, 0.0, 0.0]
    """

    width: int

    def matrix_class(self, graphs: MatrixClass) -> MatrixClass:
        return graphs

    def dense(self, graph: Graph, dtype: torch.dtype) -> Tensor:
        values = self._values(graph.edge_features, graph.entry_edge, dtype)
        row, col = torch.from_numpy(graph.entries)
        return values.new_zeros(self.width, graph.n, graph.n).index_put(
            (torch.arange(self.width)[:, None], row, col), values.T
        )

    def sparse(self, b: Batch, dtype: torch.dtype) -> tuple[Int, Tensor]:
        return b.entries, self._values(b.edge_features, b.entry_edge, dtype)

    def _values(self, values: Tensor | None, entry_edge: Int, dtype: torch.dtype) -> Tensor:
        if values is None and not len(entry_edge):
            return torch.zeros(0, self.width, dtype=dtype)
        if values is None or values.shape[1] != self.width:
            has = 0 if values is None else values.shape[1]
            raise GraphError(f"the network reads {self.width} edge features, the graphs have {has}")
        return values.to(dtype)[torch.from_numpy(entry_edge).to(values.device)]


def sources(b: Batch) -> list[Tensor]:
    """The tensors from which the values of the channels are computed.

    Example:
        >>> import ccn
        >>> g = ccn.Graph([(0, 1)], n=2, weights=[2.0])
        >>> [x.tolist() for x in sources(ccn.batch([g]))]
        [[2.0]]
    """
    return [s for s in (b.weights, b.edge_features) if s is not None]


def needs_grad(b: Batch) -> bool:
    """Whether gradients must flow to the values of the channels.

    Example:
        >>> import ccn
        >>> g = ccn.Graph([(0, 1)], n=2, weights=torch.ones(1, requires_grad=True))
        >>> needs_grad(ccn.batch([g]))
        True
    """
    return any(s.requires_grad for s in sources(b))
