"""The packed aggregation: one level of a whole batch, forward and backward, without order k+1.

``aggregate`` computes the same as :func:`ccn.reference.aggregate` at every node:

    reduce   F (rows, in) -> X_g (rows_g, reductions * in)        dense, per child size
    mix      X_g @ W_s    -> table rows (.., slots * out)         one matrix product per stage
    gather   table        -> targets                              embedding bags, chunk by chunk
    multiply by A, add the bias, nonlinearity                     dense, while the chunk is in cache

and, in the same pass, the invariants of the result. The backward pass saves the input and the
output only: the gather is transposed and the reductions are made again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from ccn.engine.bags import gather
from ccn.engine.invariants import add_invariants_backward, invariants_of
from ccn.engine.maps import Maps, MatrixQuantities
from ccn.engine.plan import Base, Plan
from ccn.engine.scratch import scratch
from ccn.engine.views import axes_view, numbered
from ccn.schemes.packed import Chunk, Nodes

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
    relu: bool

    def fill_table(self, table: Tensor, f: Tensor, mixing: Sequence[Tensor]) -> Tensor:
        """Reduce and mix: all table rows, (rows, out)."""
        columns = f.shape[1]
        for chunk, reductions in zip(self.maps.below, self.maps.reductions, strict=True):
            x = reductions.reduce(f[self.below.rows_of(chunk, self.plan.order_in)])
            for s, stage in enumerate(self.plan.stages):
                cut = self.below.rows_of(chunk, stage.order, len(stage.slots))
                rows = table[self.maps.table_start[s] : self.maps.table_start[s + 1]][cut]
                used = x[stage.order][:, stage.first * columns : stage.end * columns]
                torch.mm(used, mixing[s], out=rows.view(len(used), -1))
        return table

    def gather(self, table: Tensor, target: int, chunk: int = 0) -> Tensor:
        """The rows of one target: of one chunk if it is a whole base, else all."""
        bag = self.maps.bags[target][chunk]
        weight = self.weight[bag.entries] if self.weight is not None and self.maps.weighted[target] else None
        return gather(table, bag, weight)

    def spread_targets(self, table: Tensor) -> dict[int, Tensor]:
        """All rows of the targets that are spread into their base."""
        return {t: self.gather(table, t) for base in self.plan.bases for t in self.plan.spread(base)}

    def base(self, base: Base | None, c: int, table: Tensor, low: dict[int, Tensor]) -> Tensor:
        """A base in one chunk: the whole target and those that are spread into it."""
        plan, chunk = self.plan, self.maps.chunks[c]
        whole = plan.whole(base)
        if whole is not None and len(self.maps.bags[whole][c].index):
            x = self.gather(table, whole, c)
        else:
            x = table.new_zeros(chunk.nodes * chunk.m**plan.order_out, table.shape[1])
        for t in plan.spread(base):
            source, into = self.spread_views(low[t], x, t, c)
            into.add_(source)
        return x

    def spread_views(self, low: Tensor, x: Tensor, target: int, c: int) -> tuple[Tensor, Tensor]:
        """A target's rows in a chunk and its base, viewed with the same indices."""
        t, chunk = self.plan.targets[target], self.maps.chunks[c]
        n, m = chunk.nodes, chunk.m
        groups = [*t.axes, *t.new]
        singles = [*numbered(0, t.order), *[()] * len(t.new)]
        source = axes_view(low[self.nodes.rows_of(chunk, t.order)], n, m, singles, t.order, range(t.order, len(groups)))
        return source, axes_view(x, n, m, groups, self.plan.order_out)

    def matrix(self, base: Base, chunk: Chunk, quantities: Tensor) -> Tensor:
        """A restricted to the parts of a chunk, (nodes, u, p), as it multiplies a base."""
        n, m = chunk.nodes, chunk.m
        at = self.layout.start["entry", base.channel] + int(self.nodes.row_start(2)[chunk.first])
        square = quantities[at : at + n * m * m].view(n, m, m)  # column place, row place
        return square.transpose(1, 2) if base.contracted == 1 else square


class _Aggregate(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, level: _Level, f: Tensor, quantities: Tensor, bias: Tensor, *mixing: Tensor
    ) -> tuple[Tensor, Tensor]:
        plan, width = level.plan, len(bias)
        table = level.fill_table(scratch(level.maps.table_start[-1], width, f), f, mixing)
        low = level.spread_targets(table)
        out = f.new_empty(level.nodes.rows(plan.order_out), width)
        invariants = []
        for c, chunk in enumerate(level.maps.chunks):
            n, m = chunk.nodes, chunk.m
            block = level.base(None, c, table, low)
            for base in plan.bases:
                if base is not None:
                    x = level.base(base, c, table, low)
                    block.view(n, m, -1).baddbmm_(level.matrix(base, chunk, quantities), x.view(n, m, -1))
            rows = out[level.nodes.rows_of(chunk, plan.order_out)]
            torch.add(block, bias, out=rows)
            if level.relu:
                rows.relu_()
            invariants.append(invariants_of(rows, n, m, plan.order_out))
        ctx.level = level
        ctx.save_for_backward(f, quantities, bias, out if level.relu else None, *mixing)
        ctx.set_materialize_grads(False)
        return out, torch.cat(invariants)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, g_out: Tensor | None, g_inv: Tensor | None) -> tuple[Tensor | None, ...]:
        level: _Level = ctx.level
        plan, maps = level.plan, level.maps
        f, quantities, bias, out, *mixing = ctx.saved_tensors
        if g_out is None and g_inv is None:
            return (None,) * (4 + len(mixing))
        _, need_f, need_quantities, *_ = ctx.needs_input_grad
        table = None
        if need_quantities:
            table = level.fill_table(f.new_empty(maps.table_start[-1], len(bias)), f, mixing)
        low = level.spread_targets(table) if table is not None else {}
        g_quantities = torch.zeros_like(quantities) if need_quantities else None
        # Gradients of the rows of all targets, the output's own first.
        g_targets = scratch(maps.target_start[-1], len(bias), f)
        of = [g_targets[a:b] for a, b in zip(maps.target_start, maps.target_start[1:], strict=False)]
        for c, chunk in enumerate(maps.chunks):
            n, m = chunk.nodes, chunk.m
            rows = level.nodes.rows_of(chunk, plan.order_out)
            g = of[0][rows]
            if g_out is not None:
                g.copy_(g_out[rows])
            else:
                g.zero_()
            if g_inv is not None:
                add_invariants_backward(g_inv[chunk.first : chunk.end], g, n, m, plan.order_out)
            if level.relu:
                torch.ops.aten.threshold_backward.grad_input(g, out[rows], 0, grad_input=g)
            for base in plan.bases:
                g_base = g
                if base is not None:
                    whole = plan.whole(base)
                    g_base = of[whole][rows] if whole is not None else torch.empty_like(g)
                    a = level.matrix(base, chunk, quantities)
                    torch.bmm(a.transpose(1, 2), g.view(n, m, -1), out=g_base.view(n, m, -1))
                    if g_quantities is not None and table is not None:
                        x = level.base(base, c, table, low).view(n, m, -1)
                        into = level.matrix(base, chunk, g_quantities)
                        into += g.view(n, m, -1) @ x.transpose(1, 2)
                for t in plan.spread(base):
                    into, source = level.spread_views(of[t], g_base, t, c)
                    new = len(plan.targets[t].new)
                    into[(slice(None), *[0] * new)] = source.sum(tuple(range(1, 1 + new))) if new else source
        g_bias = torch.mv(of[0].t(), of[0].new_ones(len(of[0])))
        if g_quantities is not None and table is not None and level.weight is not None:
            _add_weight_gradient(g_quantities, g_targets, table, maps)
        g_f, g_mixing = _mix_backward(level, f, mixing, g_targets, need_f)
        return None, g_f, g_quantities, g_bias, *g_mixing


def _mix_backward(
    level: _Level, f: Tensor, mixing: Sequence[Tensor], g_targets: Tensor, need_f: bool
) -> tuple[Tensor | None, list[Tensor]]:
    """Gradients of F and of the mixing matrices, chunk by chunk of the children, from those of the targets."""
    plan, maps, columns = level.plan, level.maps, f.shape[1]
    g_f = torch.empty_like(f) if need_f else None
    g_mixing = [torch.zeros_like(w) for w in mixing]
    for c, (chunk, reductions) in enumerate(zip(maps.below, maps.reductions, strict=True)):
        own = level.below.rows_of(chunk, plan.order_in)
        x = reductions.reduce(f[own])
        buffer = reductions.buffer(f) if need_f else None
        g_x = reductions.split(buffer) if buffer is not None else []
        for s, stage in enumerate(plan.stages):
            bag, weight = maps.transposed[s][c], level.transposed_weight
            rows = gather(g_targets, bag, None if weight is None else weight[bag.entries])
            rows = rows.view(len(x[stage.order]), -1)
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
    level = _Level(plan, maps, below, nodes, layout, *(weights or (None, None)), relu)
    result: tuple[Tensor, Tensor] = _Aggregate.apply(level, f, vector, bias, *mixing_matrices(plan, weight))
    return result
