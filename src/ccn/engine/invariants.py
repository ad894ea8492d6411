"""Invariants of P-tensors: what the root reads of every node.

One scalar per set partition of the k axes and channel: the sum of the entries whose equated indices
agree. Order 1: the sum; order 2: the sum and the trace; order k: Bell(k) of them, the plain sum first and
the full diagonal last.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import torch
from torch import Tensor

from ccn.algebra.partitions import set_partitions
from ccn.engine.views import axes_view
from ccn.schemes.packed import Nodes

__all__ = ["add_invariants_backward", "invariants", "invariants_of"]


@cache
def _partitions(order: int) -> tuple[tuple[tuple[int, ...], ...], ...]:
    return tuple(set_partitions(range(order)))[::-1]


def invariants_of(x: Tensor, n: int, m: int, order: int) -> Tensor:
    """The invariants of n tensors of one size m, packed in ``x``: (n, Bell(order) * channels)."""
    views = [axes_view(x, n, m, groups, order) for groups in _partitions(order)]
    return torch.cat([v.sum(tuple(range(1, v.ndim - 1))) if v.ndim > 2 else v for v in views], dim=1)


def add_invariants_backward(g: Tensor, x: Tensor, n: int, m: int, order: int) -> None:
    """The adjoint of :func:`invariants_of`, added to ``x``."""
    width = x.shape[1]
    for i, groups in enumerate(_partitions(order)):
        part = g[:, i * width : (i + 1) * width]
        axes_view(x, n, m, groups, order).add_(part.reshape(n, *[1] * len(groups), width))


class _Invariants(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, f: Tensor, nodes: Nodes, order: int) -> Tensor:
        ctx.nodes, ctx.order, ctx.shape = nodes, order, f.shape
        start = nodes.row_start(order)
        parts = [invariants_of(f[int(start[a]) : int(start[b])], b - a, m, order) for m, a, b in nodes.runs]
        return torch.cat(parts)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, g: Tensor) -> tuple[Tensor, None, None]:
        gf = g.new_zeros(ctx.shape)
        start = ctx.nodes.row_start(ctx.order)
        for m, a, b in ctx.nodes.runs:
            add_invariants_backward(g[a:b], gf[int(start[a]) : int(start[b])], b - a, m, ctx.order)
        return gf, None, None


def invariants(f: Tensor, nodes: Nodes, order: int) -> Tensor:
    """The invariants of every node's tensor, (nodes, Bell(order) * channels), in storage order."""
    result: Tensor = _Invariants.apply(f.contiguous(), nodes, order)
    return result
