"""Sparse matrices that are the same at every node of one size: spreading along new axes, invariants.

Such a matrix is written down for one node and tiled by broadcasting. Rows and columns belong to tensors that
are stored one after another, each for all nodes of a block.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ccn.engine.bags import Bag, int32
from ccn.schemes.packed import Block, Nodes

__all__ = ["Layout", "Pattern", "pattern_bags", "places"]

Index = NDArray[np.int32]


def places(groups: Sequence[tuple[int, ...]], m: int) -> Index:
    """Row offsets of all values of some indices, each running along a group of axes; the first fastest."""
    out = np.zeros(1, dtype=np.int32)
    for group in reversed(groups):
        step = np.arange(m, dtype=np.int32) * sum(m**a for a in group)
        out = (out[:, None] + step[None, :]).reshape(-1)
    return out


@dataclass(frozen=True)
class Layout:
    """Tensors of the given orders, one after another, each for all nodes; interleaved ones count as one node's rows.

    ``rows(m)`` gives for each tensor its rows at a node of size m.
    """

    rows: Callable[[int], list[int]]

    def starts(self, block: Block) -> tuple[list[Index], int]:
        """For every run the first row of each tensor of each node, (nodes, tensors), and the number of rows."""
        sizes = [np.array(self.rows(run.m), dtype=np.int64) for run in block.runs]
        totals = np.stack([s * run.nodes for s, run in zip(sizes, block.runs, strict=True)])  # (runs, tensors)
        tensor = np.concatenate([[0], np.cumsum(totals.sum(0))])
        before = np.cumsum(totals, axis=0) - totals
        starts = [
            (tensor[:-1] + before[r] + np.arange(run.nodes)[:, None] * sizes[r]).astype(np.int32)
            for r, run in enumerate(block.runs)
        ]
        return starts, int(tensor[-1])


Pattern = Callable[[int], list[tuple[int, Index, int, Index]]]
"""For a size m: entries as (row tensor, rows, column tensor, columns), rows and columns within a node."""


def _node_matrix(pattern: Pattern, m: int, rows: list[int], columns: list[int]) -> sp.csr_array:
    """The pattern at one node, tensors one after another."""
    row_start, column_start = (np.concatenate([[0], np.cumsum(x)]) for x in (rows, columns))
    entries = pattern(m)
    row = np.concatenate([row_start[t] + r for t, r, _, _ in entries])
    column = np.concatenate([column_start[t] + c for _, _, t, c in entries])
    shape = (int(row_start[-1]), int(column_start[-1]))
    return sp.csr_array((np.ones(len(row), dtype=bool), (row, column)), shape=shape)


def pattern_bags(
    pattern: Pattern, rows: Layout, columns: Layout, nodes: Nodes, order: int
) -> tuple[list[Bag], list[Bag]]:
    """The matrix of a pattern on every block of the nodes, and its transpose."""
    one = {run.m: _node_matrix(pattern, run.m, rows.rows(run.m), columns.rows(run.m)) for run in nodes.runs}
    back = {m: sp.csr_array(x.T) for m, x in one.items()}
    forward, backward = [], []
    for block in nodes.blocks(order):
        forward.append(_tiled(one, rows, columns, block))
        backward.append(_tiled(back, columns, rows, block))
    return forward, backward


def _tiled(one: dict[int, sp.csr_array], rows: Layout, columns: Layout, block: Block) -> Bag:
    """The matrix on a block, tensor after tensor of its rows."""
    column_starts, _ = columns.starts(block)
    tensors = len(rows.rows(block.runs[0].m))
    index: list[list[Index]] = [[] for _ in range(tensors)]
    length: list[list[Index]] = [[] for _ in range(tensors)]
    for run, start in zip(block.runs, column_starts, strict=True):
        x, sizes = one[run.m], columns.rows(run.m)
        edge = np.concatenate([[0], np.cumsum(rows.rows(run.m))])
        tensor = np.repeat(np.arange(len(sizes)), sizes)[x.indices]
        local = x.indices - np.concatenate([[0], np.cumsum(sizes)])[tensor]
        column = start[:, tensor] + local.astype(np.int32)  # (nodes, entries of a node)
        for t in range(tensors):
            span = slice(int(x.indptr[edge[t]]), int(x.indptr[edge[t + 1]]))
            index[t].append(column[:, span].reshape(-1))
            length[t].append(np.tile(np.diff(x.indptr[edge[t] : edge[t + 1] + 1]), run.nodes))
    entries = np.concatenate([i for of in index for i in of])
    offset = np.concatenate([[0], np.cumsum(np.concatenate([n for of in length for n in of]))])
    return Bag(int32(entries), int32(offset))
