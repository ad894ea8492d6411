"""The packed aggregation: one level of a whole batch, forward and backward, without order k+1.

``aggregate`` computes the same as :func:`ccn.reference.aggregate` at every node:

    reduce   F (rows, in) -> X_g (rows_g, reductions * in)        sparse, block by block of the children
    mix      X_g @ W_s    -> table rows (.., slots * out)         one matrix product per stage
    gather   table        -> targets                              sparse, block by block of the nodes
    multiply by A, add the bias, nonlinearity                     dense, while the block is in cache

and, in the same pass, the invariants of the result. The backward pass saves the input and the
output only: the gather is transposed and the reductions are made again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor

from ccn.algebra.partitions import bell
from ccn.engine.bags import gather
from ccn.engine.invariants import InvariantMaps, build_invariants
from ccn.engine.maps import Maps, MatrixQuantities
from ccn.engine.plan import Base, Plan
from ccn.engine.scratch import scratch
from ccn.engine.views import axes_view, numbered
from ccn.schemes.packed import Nodes, Run

__all__ = ["aggregate", "mixing_matrices"]


def mixing_matrices(plan: Plan, weight: Tensor) -> list[Tensor]:
    """W (out, contractions, in) as one matrix per stage, (reductions * in, slots * out); differentiable.

    Contractions that are equal for the class of A add up in one cell, those that are zero in none.
    """
    out, _, width = weight.shape
    start = [0]
    for stage in plan.stages:
        start.append(start[-1] + (stage.end - stage.first) * len(stage.slots))
    live = [(i, cell) for i, cell in enumerate(plan.cells) if cell is not None]
    device = weight.device
    chosen = torch.tensor([i for i, _ in live], dtype=torch.long, device=device)
    number = [start[s] + r * len(plan.stages[s].slots) + slot for _, (s, r, slot) in live]
    rows = weight[:, chosen].permute(1, 2, 0).reshape(len(live), -1)
    cells = weight.new_zeros(start[-1], width * out)
    cells = cells.index_add(0, torch.tensor(number, dtype=torch.long, device=device), rows)
    matrices = []
    for s, stage in enumerate(plan.stages):
        r = stage.end - stage.first
        block = cells[start[s] : start[s + 1]].reshape(r, len(stage.slots), width, out)
        matrices.append(block.permute(0, 2, 1, 3).reshape(r * width, len(stage.slots) * out))
    return matrices


@dataclass(frozen=True)
class _Level:
    """What forward and backward of one call share."""

    plan: Plan
    maps: Maps
    below: Nodes
    nodes: Nodes
    layout: MatrixQuantities
    weight: Tensor | None
    transposed_weight: Tensor | None
    invariants: InvariantMaps
    relu: bool

    def fill_table(self, table: Tensor, f: Tensor, mixing: Sequence[Tensor]) -> Tensor:
        """Reduce and mix: all table rows, (rows, out)."""
        columns = f.shape[1]
        start = [table[a:b] for a, b in pairwise(self.maps.table_start)]
        for block, reductions in zip(self.maps.below, self.maps.reductions, strict=True):
            x = reductions.reduce(f[self.below.rows_of(block, self.plan.order_in)])
            for stage, weight, rows in zip(self.plan.stages, mixing, start, strict=True):
                into = rows.view(-1, weight.shape[1])[self.below.rows_of(block, stage.order)]
                torch.mm(x[stage.order][:, stage.first * columns : stage.end * columns], weight, out=into)
        return table

    def gather(self, table: Tensor, target: int, block: int = 0) -> Tensor:
        """The rows of one target: of one block if it is a whole base, else all."""
        bag = self.maps.bags[target][block]
        weight = self.weight[bag.entries] if self.weight is not None and self.maps.weighted[target] else None
        return gather(table, bag, weight)

    def spread_targets(self, table: Tensor) -> dict[int, Tensor]:
        """All rows of the targets that are spread into their base."""
        return {t: self.gather(table, t) for base in self.plan.bases for t in self.plan.spread(base)}

    def base(self, base: Base | None, b: int, table: Tensor, low: dict[int, Tensor]) -> Tensor:
        """A base in one block: the whole target and those that are spread into it."""
        plan, block = self.plan, self.maps.blocks[b]
        whole, span = plan.whole(base), self.nodes.rows_of(block, plan.order_out)
        x = (
            self.gather(table, whole, b)
            if whole is not None
            else table.new_zeros(span.stop - span.start, table.shape[1])
        )
        for t in plan.spread(base):
            for run in block.runs:
                source, into = self.spread_views(low[t], x[self.nodes.rows_of(run, plan.order_out, span.start)], t, run)
                into.add_(source)
        return x

    def spread_views(self, low: Tensor, x: Tensor, target: int, run: Run) -> tuple[Tensor, Tensor]:
        """A target's rows in a run and those of its base, viewed with the same indices."""
        t = self.plan.targets[target]
        groups = [*t.axes, *t.new]
        singles = [*numbered(0, t.order), *[()] * len(t.new)]
        rows = low[self.nodes.rows_of(run, t.order)]
        source = axes_view(rows, run.nodes, run.m, singles, t.order, range(t.order, len(groups)))
        return source, axes_view(x, run.nodes, run.m, groups, self.plan.order_out)

    def matrix(self, base: Base, run: Run, quantities: Tensor) -> Tensor:
        """A restricted to the parts of a run, (nodes, u, p), as it multiplies a base."""
        n, m = run.nodes, run.m
        at = self.layout.start["entry", base.channel] + int(self.nodes.row_start(2)[run.first])
        square = quantities[at : at + n * m * m].view(n, m, m)  # column place, row place
        return square.transpose(1, 2) if base.contracted == 1 else square

    def square(self, x: Tensor, run: Run, start: int) -> Tensor:
        """The rows of a run in a block that begins at row ``start``, (nodes, m, the rest), last axis leading."""
        return x[self.nodes.rows_of(run, self.plan.order_out, start)].view(run.nodes, run.m, -1)


class _Aggregate(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, level: _Level, f: Tensor, quantities: Tensor, bias: Tensor, *mixing: Tensor
    ) -> tuple[Tensor, Tensor]:
        plan, width = level.plan, len(bias)
        table = level.fill_table(scratch(level.maps.table_start[-1], width, f), f, mixing)
        low = level.spread_targets(table)
        out = f.new_empty(level.nodes.rows(plan.order_out), width)
        invariants = out.new_empty(len(level.nodes), bell(plan.order_out) * width)
        for b, block in enumerate(level.maps.blocks):
            span = level.nodes.rows_of(block, plan.order_out)
            y = level.base(None, b, table, low)
            for base in plan.bases:
                if base is not None:
                    x = level.base(base, b, table, low)
                    for run in block.runs:
                        a = level.matrix(base, run, quantities)
                        level.square(y, run, span.start).baddbmm_(a, level.square(x, run, span.start))
            rows = torch.add(y, bias, out=out[span])
            if level.relu:
                rows.relu_()
            invariants[block.first : block.end] = gather(rows, level.invariants.forward[b]).view(
                -1, invariants.shape[1]
            )
        ctx.level = level
        ctx.save_for_backward(f, quantities, bias, out if level.relu else None, *mixing)
        ctx.set_materialize_grads(False)
        return out, invariants

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, g_out: Tensor | None, g_inv: Tensor | None) -> tuple[Tensor | None, ...]:
        level: _Level = ctx.level
        plan, maps = level.plan, level.maps
        f, quantities, bias, out, *mixing = ctx.saved_tensors
        if g_out is None and g_inv is None:
            return (None,) * (4 + len(mixing))
        _, need_f, need_quantities, *_ = ctx.needs_input_grad
        table, low, g_quantities = None, {}, None
        if need_quantities:
            table = level.fill_table(f.new_empty(maps.table_start[-1], len(bias)), f, mixing)
            low, g_quantities = level.spread_targets(table), torch.zeros_like(quantities)
        # Gradients of the rows of all targets, the output's own first.
        g_targets = scratch(maps.target_start[-1], len(bias), f)
        of = [g_targets[a:b] for a, b in pairwise(maps.target_start)]
        for b, block in enumerate(maps.blocks):
            span = level.nodes.rows_of(block, plan.order_out)
            g = of[0][span]
            if g_inv is not None:
                mine = g_inv[block.first : block.end].reshape(-1, len(bias))
                total = gather(mine, level.invariants.backward[b])
                total = total if g_out is None else total.add_(g_out[span])
            else:
                assert g_out is not None
                total = g_out[span]
            if level.relu:
                torch.ops.aten.threshold_backward.grad_input(total, out[span], 0, grad_input=g)
            else:
                g.copy_(total)
            for base in plan.bases:
                g_base = g
                if base is not None:
                    whole = plan.whole(base)
                    g_base = of[whole][span] if whole is not None else torch.empty_like(g)
                    x = level.base(base, b, table, low) if table is not None else None
                    for run in block.runs:
                        a, wide = level.matrix(base, run, quantities), level.square(g, run, span.start)
                        torch.bmm(a.transpose(1, 2), wide, out=level.square(g_base, run, span.start))
                        if x is not None and g_quantities is not None:
                            g_a = level.matrix(base, run, g_quantities)
                            g_a += wide @ level.square(x, run, span.start).transpose(1, 2)
                for t in plan.spread(base):
                    new = len(plan.targets[t].new)
                    for run in block.runs:
                        rows = g_base[level.nodes.rows_of(run, plan.order_out, span.start)]
                        into, source = level.spread_views(of[t], rows, t, run)
                        into[(slice(None), *[0] * new)] = source.sum(tuple(range(1, 1 + new))) if new else source
        g_bias = torch.mv(of[0].t(), of[0].new_ones(len(of[0])))
        if g_quantities is not None and table is not None and level.weight is not None:
            _add_weight_gradient(g_quantities, g_targets, table, maps)
        g_f, g_mixing = _mix_backward(level, f, mixing, g_targets, need_f)
        return None, g_f, g_quantities, g_bias, *g_mixing


def _mix_backward(
    level: _Level, f: Tensor, mixing: Sequence[Tensor], g_targets: Tensor, need_f: bool
) -> tuple[Tensor | None, list[Tensor]]:
    """Gradients of F and of the mixing matrices, block by block of the children, from those of the targets."""
    plan, maps, columns = level.plan, level.maps, f.shape[1]
    g_f = torch.empty_like(f) if need_f else None
    g_mixing = [torch.zeros_like(w) for w in mixing]
    for b, (block, reductions) in enumerate(zip(maps.below, maps.reductions, strict=True)):
        own = level.below.rows_of(block, plan.order_in)
        x = reductions.reduce(f[own])
        buffer = reductions.buffer(f) if need_f else None
        g_x = reductions.split(buffer) if buffer is not None else []
        for s, stage in enumerate(plan.stages):
            bag, weight = maps.transposed[s][b], level.transposed_weight
            rows = gather(g_targets, bag, None if weight is None else weight[bag.entries])
            rows = rows.view(-1, mixing[s].shape[1])
            used = slice(stage.first * columns, stage.end * columns)
            g_mixing[s].addmm_(x[stage.order][:, used].t(), rows)
            if g_x:
                g_x[stage.order][:, used].addmm_(rows, mixing[s].t())
        if g_f is not None and buffer is not None:
            g_f[own] = reductions.adjoint(buffer)
    return g_f, g_mixing


def _add_weight_gradient(g_quantities: Tensor, g_targets: Tensor, table: Tensor, maps: Maps) -> None:
    """Gradients of the weights of the gather: ``<g_targets[row], table[index]>`` for every entry, added up."""
    for s, of in enumerate(maps.transposed):
        row = maps.table_start[s]
        for bag in of:
            count = torch.diff(bag.offset.long())
            table_row = row + torch.repeat_interleave(torch.arange(len(count), device=table.device), count)
            product = (g_targets[bag.index.long()] * table[table_row]).sum(1)
            g_quantities.index_add_(0, maps.transposed_weight[bag.entries].long(), product)
            row += len(count)
    g_quantities[0] = 0  # the plain 1 is a constant


def aggregate(
    f: Tensor,
    weight: Tensor,
    bias: Tensor,
    plan: Plan,
    maps: Maps,
    below: Nodes,
    nodes: Nodes,
    quantities: tuple[MatrixQuantities, Tensor, tuple[Tensor, Tensor] | None],
    relu: bool,
) -> tuple[Tensor, Tensor]:
    """One level: packed child activations (rows, in) to packed activations (rows, out) and node invariants.

    ``quantities`` are those of A: their layout, their vector, and its entries for the gather and for its
    transpose (None where every weight is 1).
    """
    layout, vector, weights = quantities
    read = nodes.cached(("invariants", plan.order_out), lambda: build_invariants(nodes, plan.order_out)).to(f.device)
    level = _Level(plan, maps, below, nodes, layout, *(weights or (None, None)), read, relu)
    result: tuple[Tensor, Tensor] = _Aggregate.apply(level, f, vector, bias, *mixing_matrices(plan, weight))
    return result
