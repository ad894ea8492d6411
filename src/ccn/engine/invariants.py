"""Invariants of P-tensors: what the root reads of every node.

One scalar per set partition of the k axes and channel: the sum of the entries whose equated indices
agree. Order 1: the sum; order 2: the sum and the trace; order k: Bell(k) of them, the plain sum first and
the full diagonal last.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from ccn.algebra.partitions import bell, set_partitions
from ccn.engine.bags import Bag, gather, int32, runs_compiled
from ccn.engine.reductions import SMALL, places
from ccn.schemes.packed import Block, Nodes

__all__ = ["InvariantMaps", "invariant_maps", "invariants", "over_graphs"]


@dataclass(frozen=True)
class InvariantMaps:
    """Per block the matrix from rows of tensors to rows (node, invariant), and its transpose."""

    blocks: list[Block]
    forward: list[Bag]
    backward: list[Bag]

    def to(self, device: torch.device) -> InvariantMaps:
        """The same on another device."""
        return InvariantMaps(self.blocks, *([b.to(device) for b in of] for of in (self.forward, self.backward)))


def _at_node(order: int, m: int) -> tuple[sp.csr_array, sp.csr_array]:
    """The matrix at one node; small ones are kept, since batches share them."""
    return (_small_matrix if m**order <= SMALL else _matrix)(order, m)


def _matrix(order: int, m: int) -> tuple[sp.csr_array, sp.csr_array]:
    """The matrix at one node of size m, (Bell(order), m^order), and its transpose."""
    read = [places(groups, m) for groups in reversed(list(set_partitions(range(order))))]
    row = np.repeat(np.arange(len(read)), [len(r) for r in read])
    one = sp.csr_array((np.ones(len(row), bool), (row, np.concatenate(read))), shape=(len(read), m**order))
    return one, sp.csr_array(one.T)


_small_matrix = lru_cache(maxsize=256)(_matrix)


def _build(nodes: Nodes, order: int) -> InvariantMaps:
    """Among nodes of one size the matrix is the same at every node: written down once and tiled."""
    blocks = nodes.blocks(order)
    forward, backward = ([_tiled(order, back, b) for b in blocks] for back in (0, 1))
    return InvariantMaps(blocks, forward, backward)


def _tiled(order: int, back: int, block: Block) -> Bag:
    """The block-diagonal matrix with one copy per node."""
    index, length, start = [], [], 0
    for run in block.runs:
        x = _at_node(order, run.m)[back]
        shift = start + np.arange(run.nodes, dtype=np.int32) * np.int32(x.shape[1])
        index.append((shift[:, None] + x.indices.astype(np.int32)).reshape(-1))
        length.append(np.tile(np.diff(x.indptr).astype(np.int32), run.nodes))
        start += run.nodes * x.shape[1]
    offset = np.concatenate([np.zeros(1, np.int32), np.cumsum(np.concatenate(length), dtype=np.int32)])
    return Bag(int32(np.concatenate(index)), int32(offset))


def invariant_maps(nodes: Nodes, order: int, device: torch.device) -> InvariantMaps:
    """The maps of some nodes on a device, built once."""
    maps: InvariantMaps = nodes.cached(("invariants", order), lambda: _build(nodes, order))
    if device.type != "cpu":
        maps = nodes.cached(("invariants", order, device), lambda: maps.to(device))
    return maps


def _compiled(back: bool, f: Tensor, result: Tensor, nodes: Nodes, order: int) -> None:
    """The invariants by the compiled kernel, or back; what is written is zero before."""
    from ccn.engine.cpu import kernels
    from ccn.engine.cpu.tape import invariant_records, part_sizes

    channels = f.shape[1]
    records, _held = invariant_records(order, part_sizes(nodes.size), channels)
    index, one = np.zeros(max(order, 2), np.int64), np.ones(1, f.numpy().dtype)[0]
    start = nodes.row_start(order)
    kernels.read(back, records, nodes.size, start, f.data_ptr(), result.data_ptr(), channels, index.ctypes.data, one)


class _Invariants(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, f: Tensor, nodes: Nodes, order: int) -> Tensor:
        ctx.nodes, ctx.order, ctx.shape = nodes, order, f.shape
        if runs_compiled(f):
            result = f.new_zeros(len(nodes), bell(order) * f.shape[1])
            _compiled(False, f.detach(), result, nodes, order)
            return result
        maps, x = invariant_maps(nodes, order, f.device), f.detach()
        rows = zip(maps.blocks, maps.forward, strict=True)
        return torch.cat([gather(x[nodes.rows_of(block, order)], bag) for block, bag in rows]).view(len(nodes), -1)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, g: Tensor) -> tuple[Tensor, None, None]:
        nodes, order, width = ctx.nodes, ctx.order, ctx.shape[1]
        if runs_compiled(g):
            back = g.new_zeros(ctx.shape)
            _compiled(True, back, g.contiguous(), nodes, order)
            return back, None, None
        maps, out = invariant_maps(nodes, order, g.device), g.new_empty(ctx.shape)
        for block, bag in zip(maps.blocks, maps.backward, strict=True):
            out[nodes.rows_of(block, order)] = gather(g[block.first : block.end].reshape(-1, width), bag)
        return out, None, None


def invariants(f: Tensor, nodes: Nodes, order: int) -> Tensor:
    """The invariants of every node's tensor, (nodes, Bell(order) * channels), in storage order."""
    if len(f) == len(nodes):  # scalars, or parts of one atom: all invariants are the entry itself
        return f if order == 0 else f.repeat(1, bell(order))
    result: Tensor = _Invariants.apply(f.contiguous(), nodes, order)  # type: ignore[no-untyped-call]
    return result


def over_graphs(rows: Tensor, nodes: Nodes, graphs: int) -> Tensor:
    """(graphs, width) the rows of the nodes of each graph, added up."""
    index = torch.from_numpy(nodes.graph).to(rows.device)
    return rows.new_zeros(graphs, rows.shape[1]).index_add(0, index, rows)
