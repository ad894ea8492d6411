"""The packed aggregation: one level of a whole batch, forward and backward, without order k+1.

``aggregate`` computes the same as :func:`ccn.reference.aggregate` at every node:

    reduce   F (rows, in) -> X_g (rows_g, reductions * in)        sparse, block by block of the children
    mix      X_g @ W_s    -> table rows (.., slots * out)         one matrix product per stage
    gather   table        -> targets                              sparse, block by block of the nodes
    combine  targets      -> output, with A; bias, nonlinearity   sparse, while the block is in cache

and, in the same pass, the invariants of the result. The backward pass needs the input and the output
only: the matrices stand transposed, and the reductions are made again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ccn.algebra.partitions import bell
from ccn.engine.bags import gather
from ccn.engine.invariants import InvariantMaps, invariant_maps, over_graphs
from ccn.engine.maps import Maps, Matrix
from ccn.engine.matrices import Matrices, Quantities
from ccn.engine.plan import Plan
from ccn.engine.scratch import scratch
from ccn.graphs.ragged import Int, starts
from ccn.schemes.packed import Level, Nodes

__all__ = ["aggregate", "mixing"]


@lru_cache(maxsize=256)
@torch.inference_mode(False)  # what a prediction builds first serves training later
def _cells(plan: Plan, out: int, width: int, device: torch.device) -> tuple[Tensor, Tensor, int]:
    """For each number of W that counts: its place in W, its place among all mixing matrices, and how long these are."""
    o, w = np.arange(out), np.arange(width)[:, None]
    start = starts([(stage.end - stage.first) * len(stage.slots) for stage in plan.stages]) * width * out
    source, place = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    for i, cell in enumerate(plan.cells):
        if cell is not None:
            s, r, slot = cell
            source.append((o * len(plan.cells) + i) * width + w)
            place.append(start[s] + ((r * width + w) * len(plan.stages[s].slots) + slot) * out + o)

    def joined(numbers: list[Int]) -> Tensor:
        return torch.from_numpy(np.concatenate([x.reshape(-1) for x in numbers])).to(device)

    return joined(source), joined(place), int(start[-1])


def mixing(plan: Plan, weight: Tensor) -> Tensor:
    """W (out, contractions, in) as the matrices of all stages, (reductions * in, slots * out) each, one after another.

    Contractions that are equal for the class of A add up in one cell, those that are zero in none. Differentiable.
    """
    source, place, length = _cells(plan, weight.shape[0], weight.shape[2], weight.device)
    return weight.new_zeros(length).index_add(0, place, weight.reshape(-1).index_select(0, source))


def _matrices(plan: Plan, flat: Tensor, width: int) -> list[Tensor]:
    """The matrix of each stage."""
    rows = [(stage.end - stage.first) * width for stage in plan.stages]
    blocks = [(stage.end - stage.first) * len(stage.slots) for stage in plan.stages]
    one = flat.numel() // max(1, sum(blocks))
    return [x.view(r, -1) for r, x in zip(rows, flat.split([one * n for n in blocks]), strict=True)]


@dataclass(frozen=True)
class _Level:
    """What forward and backward of one call share."""

    plan: Plan
    maps: Maps
    below: Nodes
    nodes: Nodes
    values: Quantities
    invariants: InvariantMaps
    relu: bool

    def fill_table(self, table: Tensor, f: Tensor, mixing: Sequence[Tensor]) -> Tensor:
        """Reduce and mix: write all table rows, (rows, out)."""
        k, columns = self.plan.order_in, f.shape[1]
        start = [table[a:b] for a, b in pairwise(self.maps.table_start)]
        for block, reductions in zip(self.maps.below, self.maps.reductions, strict=True):
            own = f[self.below.rows_of(block, k)]
            lower = reductions.split(reductions.reduce_lower(own))
            whole = [reductions.reordered(own, i) for i in range(len(self.plan.reductions[k]))]
            for stage, weight, rows in zip(self.plan.stages, mixing, start, strict=True):
                into = rows.view(-1, weight.shape[1])[self.below.rows_of(block, stage.order)]
                if stage.order < k:
                    torch.mm(lower[stage.order][:, stage.first * columns : stage.end * columns], weight, out=into)
                    continue
                for i, w in zip(range(stage.first, stage.end), weight.split(columns), strict=True):
                    torch.addmm(into, whole[i], w, beta=0 if i == stage.first else 1, out=into)
        return table

    def others(self, table: Tensor, b: int) -> Tensor:
        """The rows of the targets other than the output in block b."""
        return gather(table, self.maps.others.bags[b], self.values.others[b])

    def output(self, table: Tensor, b: int) -> Tensor:
        """The rows of the output in block b: gathered, and combined from the other targets."""
        y = gather(table, self.maps.output.bags[b], self.values.output[b])
        if self.maps.combine is not None:
            y += gather(self.others(table, b), self.maps.combine.bags[b], self.values.combine[b])
        return y


class _Aggregate(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, level: _Level, f: Tensor, quantities: Tensor, bias: Tensor, *mixing: Tensor
    ) -> tuple[Tensor, Tensor]:
        ctx.level = level
        ctx.set_materialize_grads(False)
        k, width, nodes = level.plan.order_out, len(bias), level.nodes
        source, mixed = f.detach(), [w.detach() for w in mixing]  # else embedding bags prepare for gradients
        # The gradient will need more; above atoms the table is small, and the next level will ask for more anyway.
        later = level.maps.target_start[-1] if any(ctx.needs_input_grad) and level.plan.order_in else 0
        table = level.fill_table(scratch(level.maps.table_start[-1], width, f, soon=later), source, mixed)
        out = f.new_empty(nodes.rows(k), width)
        invariants = out.new_empty(len(nodes), bell(k) * width)
        for b, block in enumerate(level.maps.blocks):
            span = nodes.rows_of(block, k)
            rows = torch.add(level.output(table, b), bias.detach(), out=out[span])
            if level.relu:
                rows.relu_()
            read = gather(rows, level.invariants.forward[b])
            invariants[block.first : block.end] = read.view(-1, invariants.shape[1])
        ctx.save_for_backward(f, quantities, bias, out if level.relu else None, *mixing)
        return out, invariants

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, g_out: Tensor | None, g_inv: Tensor | None) -> tuple[Tensor | None, ...]:
        level: _Level = ctx.level
        plan, maps, nodes = level.plan, level.maps, level.nodes
        saved: list[Any] = [None if t is None else t.detach() for t in ctx.saved_tensors]
        f, quantities, bias, out, *mixing = saved
        if g_out is None and g_inv is None:
            return (None,) * (4 + len(mixing))
        _, need_f, need_quantities, *_ = ctx.needs_input_grad
        # Gradients of the rows of all targets, block by block, the output's own first in each.
        g_targets = scratch(maps.target_start[-1], len(bias), f)
        g_bias = torch.zeros_like(bias)
        for b, block in enumerate(maps.blocks):
            span = nodes.rows_of(block, plan.order_out)
            size = span.stop - span.start
            x = g_targets[maps.target_start[b] : maps.target_start[b + 1]]
            g = x[:size]
            if g_inv is not None:
                total = gather(g_inv[block.first : block.end].reshape(-1, len(bias)), level.invariants.backward[b])
                total = total if g_out is None else total.add_(g_out[span])
            else:
                assert g_out is not None
                total = g_out[span]
            if level.relu:
                torch.ops.aten.threshold_backward.grad_input(total, out[span], 0, grad_input=g)
            else:
                g.copy_(total)
            g_bias += g.sum(0)
            if maps.combine_back is not None:
                x[size:] = gather(g, maps.combine_back.bags[b], level.values.combine_back[b])
        g_quantities = _quantity_gradient(level, f, quantities, mixing, g_targets) if need_quantities else None
        g_f, g_mixing = _mix_backward(level, f, mixing, g_targets, need_f)
        return None, g_f, g_quantities, g_bias, *g_mixing


def _mix_backward(
    level: _Level, f: Tensor, mixing: Sequence[Tensor], g_targets: Tensor, need_f: bool
) -> tuple[Tensor | None, list[Tensor]]:
    """Gradients of F and of the mixing matrices, block by block of the children, from those of the targets."""
    plan, maps, columns, k = level.plan, level.maps, f.shape[1], level.plan.order_in
    g_f = torch.zeros_like(f) if need_f else None
    g_mixing = [torch.zeros_like(w) for w in mixing]
    for b, (block, reductions) in enumerate(zip(maps.below, maps.reductions, strict=True)):
        rows_k = level.below.rows_of(block, k)
        own = f[rows_k]
        lower = reductions.reduce_lower(own)
        buffer = torch.zeros_like(lower)
        x, g_x = reductions.split(lower), reductions.split(buffer)
        g_whole: list[Tensor] = []  # of the reductions of order k; that of the identity is that of F itself
        if g_f is not None:
            g_whole = [g_f[rows_k] if order is None else torch.zeros_like(own) for order in reductions.orders]
        for s, stage in enumerate(plan.stages):
            g = gather(g_targets, maps.back[s].bags[b], level.values.back[s][b]).view(-1, mixing[s].shape[1])
            if stage.order < k:
                used = slice(stage.first * columns, stage.end * columns)
                g_mixing[s].addmm_(x[stage.order][:, used].t(), g)
                if need_f:
                    g_x[stage.order][:, used].addmm_(g, mixing[s].t())
                continue
            parts = zip(mixing[s].split(columns), g_mixing[s].split(columns), strict=True)
            for i, (w, g_w) in enumerate(parts, start=stage.first):
                g_w.addmm_(reductions.reordered(own, i).t(), g)
                if need_f:
                    g_whole[i].addmm_(g, w.t())
        if g_f is not None:
            for i, order in enumerate(reductions.orders):
                if order is not None:
                    g_f[rows_k] += g_whole[i].index_select(0, order[1])
            if reductions.lower_back is not None:
                g_f[rows_k] += gather(buffer, reductions.lower_back)
    return g_f, g_mixing


def _quantity_gradient(
    level: _Level, f: Tensor, quantities: Tensor, mixing: Sequence[Tensor], g_targets: Tensor
) -> Tensor:
    """The gradient of the quantities of A: for every entry of a matrix, gradient of its row times what it reads."""
    maps, out = level.maps, torch.zeros_like(quantities)
    table = level.fill_table(f.new_empty(maps.table_start[-1], g_targets.shape[1]), f, mixing)

    def add(matrix: Matrix, b: int, g: Tensor, x: Tensor) -> None:
        bag, number = matrix.bags[b], matrix.numbers[b]
        if number is not None:
            row = torch.repeat_interleave(torch.arange(len(g), device=g.device), torch.diff(bag.offset.long()))
            out.index_add_(0, number.long(), (g[row] * x[bag.index.long()]).sum(1))

    for b, block in enumerate(maps.blocks):
        span = level.nodes.rows_of(block, level.plan.order_out)
        size = span.stop - span.start
        g = g_targets[maps.target_start[b] : maps.target_start[b + 1]]
        add(maps.output, b, g[:size], table)
        add(maps.others, b, g[size:], table)
        if maps.combine is not None:
            add(maps.combine, b, g[:size], level.others(table, b))
    out[0] = 0  # the plain 1 is a constant
    return out


def aggregate(
    f: Tensor,
    weight: Tensor,
    bias: Tensor,
    plan: Plan,
    level: Level,
    matrices: Matrices,
    relu: bool = False,
    keep: bool = True,
    graphs: int | None = None,
) -> tuple[Tensor, Tensor]:
    """One level: packed child activations (rows, in) to packed activations (rows, out) and invariants.

    Without ``keep`` only the invariants are wanted, and the activations may be left out. The invariants are those of
    the nodes, or their sums over so many graphs.
    """
    flat = mixing(plan, weight)
    if matrices.compiled(f):
        from ccn.engine.cpu.compiled import aggregate_compiled

        layout, values = matrices.layout(plan, level), matrices.values(plan, level)
        return aggregate_compiled(f, bias, flat, plan, layout, values, relu, keep, graphs)
    read = invariant_maps(level.nodes, plan.order_out, f.device)
    maps, quantities = matrices.maps(plan, level), matrices.quantities(plan, level)
    shared = _Level(plan, maps, level.below, level.nodes, quantities, read, relu)
    each = _matrices(plan, flat, f.shape[1])
    out, read_off = _Aggregate.apply(shared, f, quantities.vector, bias, *each)  # type: ignore[no-untyped-call]
    return out, read_off if graphs is None else over_graphs(read_off, level.nodes, graphs)
