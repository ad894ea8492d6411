"""Invariants of P-tensors: what the root reads of every node.

One scalar per set partition of the k axes and channel: the sum of the entries whose equated indices
agree. Order 1: the sum; order 2: the sum and the trace; order k: Bell(k) of them, the plain sum first and
the full diagonal last. As a map they are a sparse matrix of ones, applied block by block.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from ccn.algebra.partitions import set_partitions
from ccn.engine.bags import Bag, gather, int32
from ccn.engine.reductions import places
from ccn.schemes.packed import Block, Nodes

__all__ = ["InvariantMaps", "build_invariants", "invariants"]


class InvariantMaps:
    """For each block the map from its rows to (nodes, Bell(order)) rows, and its transpose."""

    def __init__(self, blocks: Sequence[Block], forward: Sequence[Bag], backward: Sequence[Bag]) -> None:
        self.blocks, self.forward, self.backward = blocks, forward, backward

    def to(self, device: torch.device) -> InvariantMaps:
        """The same on another device."""
        return InvariantMaps(self.blocks, [b.to(device) for b in self.forward], [b.to(device) for b in self.backward])

    @property
    def nbytes(self) -> int:
        return sum(bag.nbytes for bag in (*self.forward, *self.backward))


def build_invariants(nodes: Nodes, order: int) -> InvariantMaps:
    """The maps of a level's nodes, by block of :meth:`Nodes.blocks`."""
    blocks = nodes.blocks(order)
    partitions = list(set_partitions(range(order)))[::-1]
    forward, backward = [], []
    for block in blocks:
        index, lengths = [], []
        for run in block.runs:
            pattern = [places(groups, run.m) for groups in partitions]
            base = nodes.row_start(order)[run.first : run.end] - nodes.row_start(order)[block.first]
            index.append((base[:, None] + np.concatenate(pattern)).reshape(-1))
            lengths.append(np.tile([len(p) for p in pattern], run.nodes))
        offset = np.concatenate([[0], np.cumsum(np.concatenate(lengths))])
        entries = np.concatenate(index)
        span = nodes.rows_of(block, order)
        shape = (len(offset) - 1, span.stop - span.start)
        matrix = sp.csr_array((np.ones(len(entries), dtype=bool), entries, offset), shape=shape)
        for out, x in ((forward, matrix), (backward, matrix.tocsc())):
            out.append(Bag(int32(x.indices), int32(x.indptr), slice(0, len(entries))))
    return InvariantMaps(blocks, forward, backward)


class _Invariants(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, f: Tensor, maps: InvariantMaps, nodes: Nodes, order: int) -> Tensor:
        ctx.maps, ctx.nodes, ctx.order, ctx.shape = maps, nodes, order, f.shape
        blocks = zip(maps.blocks, maps.forward, strict=True)
        return torch.cat([gather(f[nodes.rows_of(block, order)], bag) for block, bag in blocks]).view(len(nodes), -1)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, g: Tensor) -> tuple[Tensor, None, None, None]:
        out = g.new_empty(ctx.shape)
        for block, bag in zip(ctx.maps.blocks, ctx.maps.backward, strict=True):
            out[ctx.nodes.rows_of(block, ctx.order)] = gather(g[block.first : block.end].reshape(-1, ctx.shape[1]), bag)
        return out, None, None, None


def invariants(f: Tensor, nodes: Nodes, order: int) -> Tensor:
    """The invariants of every node's tensor, (nodes, Bell(order) * channels), in storage order."""
    maps = nodes.cached(("invariants", order), lambda: build_invariants(nodes, order)).to(f.device)
    result: Tensor = _Invariants.apply(f.contiguous(), maps, nodes, order)
    return result
