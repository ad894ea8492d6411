"""Invariants of P-tensors: what the root reads of every node.

One scalar per set partition of the k axes and channel: the sum of the entries whose equated indices
agree. Order 1: the sum; order 2: the sum and the trace; order k: Bell(k) of them, the plain sum first and
the full diagonal last.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ccn.algebra.partitions import bell, set_partitions
from ccn.engine.bags import Bag, gather
from ccn.engine.patterns import Index, Layout, pattern_bags, places
from ccn.schemes.packed import Block, Nodes

__all__ = ["InvariantMaps", "invariant_maps", "invariants"]


@dataclass(frozen=True)
class InvariantMaps:
    """Per block the matrix from rows of tensors to rows (node, invariant), and its transpose."""

    blocks: list[Block]
    forward: list[Bag]
    backward: list[Bag]

    def to(self, device: torch.device) -> InvariantMaps:
        """The same on another device."""
        return InvariantMaps(self.blocks, *([b.to(device) for b in of] for of in (self.forward, self.backward)))

    @property
    def nbytes(self) -> int:
        return sum(bag.nbytes for bag in (*self.forward, *self.backward))


def _build(nodes: Nodes, order: int) -> InvariantMaps:
    partitions = list(set_partitions(range(order)))[::-1]

    def pattern(m: int) -> list[tuple[int, Index, int, Index]]:
        read = [places(groups, m) for groups in partitions]
        return [(0, np.full(len(r), i, dtype=np.int32), 0, r) for i, r in enumerate(read)]

    one, all_of_it = Layout(lambda _: [bell(order)]), Layout(lambda m: [m**order])
    return InvariantMaps(nodes.blocks(order), *pattern_bags(pattern, one, all_of_it, nodes, order))


def invariant_maps(nodes: Nodes, order: int, device: torch.device) -> InvariantMaps:
    """The maps of some nodes on a device, built once."""
    maps: InvariantMaps = nodes.cached(("invariants", order), lambda: _build(nodes, order))
    if device.type != "cpu":
        maps = nodes.cached(("invariants", order, device), lambda: maps.to(device))
    return maps


class _Invariants(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, f: Tensor, nodes: Nodes, order: int) -> Tensor:
        ctx.nodes, ctx.order, ctx.shape = nodes, order, f.shape
        maps, x = invariant_maps(nodes, order, f.device), f.detach()
        rows = zip(maps.blocks, maps.forward, strict=True)
        return torch.cat([gather(x[nodes.rows_of(block, order)], bag) for block, bag in rows]).view(len(nodes), -1)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, g: Tensor) -> tuple[Tensor, None, None]:
        nodes, order, width = ctx.nodes, ctx.order, ctx.shape[1]
        maps, out = invariant_maps(nodes, order, g.device), g.new_empty(ctx.shape)
        for block, bag in zip(maps.blocks, maps.backward, strict=True):
            out[nodes.rows_of(block, order)] = gather(g[block.first : block.end].reshape(-1, width), bag)
        return out, None, None


def invariants(f: Tensor, nodes: Nodes, order: int) -> Tensor:
    """The invariants of every node's tensor, (nodes, Bell(order) * channels), in storage order."""
    result: Tensor = _Invariants.apply(f.contiguous(), nodes, order)
    return result
