"""Invariants of P-tensors: what the root reads of every node.

One scalar per set partition of the k axes and channel: the sum of the entries whose equated indices
agree. Order 1: the sum; order 2: the sum and the trace; order k: Bell(k) of them, the plain sum first and
the full diagonal last.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import torch
from torch import Tensor

from ccn.algebra.partitions import set_partitions
from ccn.engine.views import axes_view
from ccn.schemes.packed import Nodes, Run

__all__ = ["add_invariants_backward", "invariants", "invariants_into"]


@cache
def _partitions(order: int) -> tuple[tuple[tuple[int, ...], ...], ...]:
    return tuple(set_partitions(range(order)))[::-1]


def invariants_into(out: Tensor, x: Tensor, nodes: Nodes, runs: Sequence[Run], order: int) -> None:
    """Write the invariants of some runs, whose rows are ``x``, to ``out`` (nodes, Bell(order) * channels)."""
    width, first = x.shape[1], runs[0].first
    start = int(nodes.row_start(order)[first])
    for run in runs:
        rows = x[nodes.rows_of(run, order, start)]
        into = out[run.first - first : run.end - first]
        for i, groups in enumerate(_partitions(order)):
            view = axes_view(rows, run.nodes, run.m, groups, order)
            column = into[:, i * width : (i + 1) * width]
            if groups and run.m > 1:
                torch.sum(view, tuple(range(1, 1 + len(groups))), out=column)
            else:
                column.copy_(view.reshape(run.nodes, width))


def add_invariants_backward(g: Tensor, x: Tensor, nodes: Nodes, runs: Sequence[Run], order: int) -> None:
    """The adjoint: add the gradients ``g`` of the invariants of some runs to those of their rows, ``x``."""
    width, first = x.shape[1], runs[0].first
    start = int(nodes.row_start(order)[first])
    for run in runs:
        rows = x[nodes.rows_of(run, order, start)]
        mine = g[run.first - first : run.end - first]
        for i, groups in enumerate(_partitions(order)):
            column = mine[:, i * width : (i + 1) * width].reshape(run.nodes, *[1] * len(groups), width)
            axes_view(rows, run.nodes, run.m, groups, order).add_(column)


class _Invariants(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, f: Tensor, nodes: Nodes, order: int) -> Tensor:
        ctx.nodes, ctx.order, ctx.shape = nodes, order, f.shape
        out = f.new_empty(len(nodes), len(_partitions(order)) * f.shape[1])
        invariants_into(out, f, nodes, nodes.runs, order)
        return out

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, g: Tensor) -> tuple[Tensor, None, None]:
        out = g.new_zeros(ctx.shape)
        add_invariants_backward(g, out, ctx.nodes, ctx.nodes.runs, ctx.order)
        return out, None, None


def invariants(f: Tensor, nodes: Nodes, order: int) -> Tensor:
    """The invariants of every node's tensor, (nodes, Bell(order) * channels), in storage order."""
    result: Tensor = _Invariants.apply(f.contiguous(), nodes, order)
    return result
