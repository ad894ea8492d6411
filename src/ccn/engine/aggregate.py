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
import torch.nn.functional as nnf
from torch import Tensor

from ccn.engine.invariants import add_invariants_backward, invariants_of
from ccn.engine.maps import Bag, Chunk, Maps, MatrixQuantities
from ccn.engine.plan import Base, Plan, Reduction
from ccn.engine.views import axes_view
from ccn.schemes.composition import Nodes

__all__ = ["aggregate", "mixing_matrices"]


def _gather(table: Tensor, bag: Bag, weight: Tensor | None) -> Tensor:
    """Rows of a sparse matrix times a dense one: ``out[i] = sum_e weight[e] table[index[e]]``."""
    if not len(bag.index):
        return table.new_zeros(len(bag.offset) - 1, table.shape[1])
    return nnf.embedding_bag(
        bag.index, table, bag.offset, mode="sum", per_sample_weights=weight, include_last_offset=True
    )


def _reduce(f: Tensor, below: Nodes, reductions: Sequence[Reduction], order: int, maps: Maps) -> Tensor:
    """X_g: the given reductions of every child's tensor side by side, (rows_g, reductions * in)."""
    first = reductions[0]
    if len(reductions) == 1 and first.kept == tuple((a,) for a in range(order)):
        return f
    width = f.shape[1]
    out = f.new_empty(below.rows(first.order), len(reductions) * width)
    for i, r in enumerate(reductions):
        column = out[:, i * width : (i + 1) * width]
        if r.centre:
            rows, exists = maps.centre[r]
            held = f.index_select(0, rows)
            if exists is not None:
                held *= exists[:, None]
            if not r.summed:
                column.copy_(held)
                continue
            # The centre is taken out: what is left is indexed by the kept and then the summed groups.
            left = Reduction(_numbered(0, r.order), _numbered(r.order, len(r.summed)), ())
            _reduce_runs(held, column, below, left, r.order + len(r.summed))
        else:
            _reduce_runs(f, column, below, r, order)
    return out


def _numbered(first: int, count: int) -> tuple[tuple[int, ...], ...]:
    return tuple((a,) for a in range(first, first + count))


def _reduce_runs(f: Tensor, column: Tensor, below: Nodes, r: Reduction, order: int) -> None:
    """Sums and diagonals, run by run of equal part size."""
    start, start_out = below.row_start(order), below.row_start(r.order)
    summed = tuple(range(1, 1 + len(r.summed)))
    for m, a, b in below.runs:
        view = axes_view(f[int(start[a]) : int(start[b])], b - a, m, [*r.kept, *r.summed], order)
        into = axes_view(column[int(start_out[a]) : int(start_out[b])], b - a, m, _numbered(0, r.order), r.order)
        if summed:
            torch.sum(view, summed, out=into)
        else:
            into.copy_(view)


def _reduce_backward(
    gx: Tensor, gf: Tensor, below: Nodes, reductions: Sequence[Reduction], order: int, maps: Maps
) -> None:
    """The adjoint of :func:`_reduce`, added to ``gf``."""
    width = gf.shape[1]
    for i, r in enumerate(reductions):
        column = gx[:, i * width : (i + 1) * width]
        if r.centre:
            rows, exists = maps.centre[r]
            held = column
            if r.summed:
                held = gx.new_zeros(len(rows), width)
                left = Reduction(_numbered(0, r.order), _numbered(r.order, len(r.summed)), ())
                _reduce_runs_backward(column, held, below, left, r.order + len(r.summed))
            gf.index_add_(0, rows, held if exists is None else held * exists[:, None])
        else:
            _reduce_runs_backward(column, gf, below, r, order)


def _reduce_runs_backward(column: Tensor, gf: Tensor, below: Nodes, r: Reduction, order: int) -> None:
    start, start_out = below.row_start(order), below.row_start(r.order)
    spread = [*_numbered(0, r.order), *[()] * len(r.summed)]
    new = range(r.order, len(spread))
    for m, a, b in below.runs:
        view = axes_view(gf[int(start[a]) : int(start[b])], b - a, m, [*r.kept, *r.summed], order)
        view.add_(axes_view(column[int(start_out[a]) : int(start_out[b])], b - a, m, spread, r.order, new))


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

    def reduced(self, f: Tensor, order: int) -> Tensor:
        """X_g for all reductions of an order."""
        return _reduce(f, self.below, self.plan.reductions[order], self.plan.order_in, self.maps)

    def table(self, f: Tensor, mixing: Sequence[Tensor], width: int) -> Tensor:
        """Reduce and mix: all table rows, (rows, out)."""
        table = f.new_empty(self.maps.table_start[-1], width)
        columns = f.shape[1]
        reduced: dict[int, Tensor] = {}
        for s, stage in enumerate(self.plan.stages):
            if stage.order not in reduced:
                reduced = {stage.order: self.reduced(f, stage.order)}  # stages come in order: one X at a time
            x = reduced[stage.order][:, stage.first * columns : stage.end * columns]
            torch.mm(x, mixing[s], out=table[self.maps.table_start[s] : self.maps.table_start[s + 1]].view(len(x), -1))
        return table

    def gather(self, table: Tensor, target: int, chunk: int = 0) -> Tensor:
        """The rows of one target: of one chunk if it is a whole base, else all."""
        bag = self.maps.bags[target][chunk]
        weight = self.weight[bag.entries] if self.weight is not None and self.maps.weighted[target] else None
        return _gather(table, bag, weight)

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
        singles = [*_numbered(0, t.order), *[()] * len(t.new)]
        source = axes_view(low[self.maps.rows[t.order][c]], n, m, singles, t.order, range(t.order, len(groups)))
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
        table = level.table(f, mixing, width)
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
            rows = out[level.maps.rows[plan.order_out][c]]
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
        table = level.table(f, mixing, len(bias)) if need_quantities else None
        low = level.spread_targets(table) if table is not None else {}
        g_quantities = torch.zeros_like(quantities) if need_quantities else None
        # Gradients of the rows of all targets, the output's own first.
        g_targets = f.new_empty(maps.target_start[-1], len(bias))
        of = [g_targets[a:b] for a, b in zip(maps.target_start, maps.target_start[1:], strict=False)]
        for c, chunk in enumerate(maps.chunks):
            n, m = chunk.nodes, chunk.m
            rows = maps.rows[plan.order_out][c]
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
        g_table = _gather(g_targets, maps.transposed, level.transposed_weight)
        del g_targets, of, table
        g_f, g_mixing = _mix_backward(level, f, mixing, g_table, need_f)
        return None, g_f, g_quantities, g_bias, *g_mixing


def _mix_backward(
    level: _Level, f: Tensor, mixing: Sequence[Tensor], g_table: Tensor, need_f: bool
) -> tuple[Tensor | None, list[Tensor]]:
    """Gradients of F and of the mixing matrices from that of the table."""
    plan, maps, columns = level.plan, level.maps, f.shape[1]
    g_f = torch.zeros_like(f) if need_f else None
    g_mixing: list[Tensor] = []
    for order, reductions in enumerate(plan.reductions):
        if not reductions:
            continue
        x = level.reduced(f, order)
        g_x = torch.zeros_like(x) if g_f is not None else None
        for s, stage in enumerate(plan.stages):
            if stage.order == order:
                used = slice(stage.first * columns, stage.end * columns)
                rows = g_table[maps.table_start[s] : maps.table_start[s + 1]].view(len(x), -1)
                g_mixing.append(x[:, used].t() @ rows)
                if g_x is not None:
                    g_x[:, used].addmm_(rows, mixing[s].t())
        if g_f is not None and g_x is not None:
            _reduce_backward(g_x, g_f, level.below, reductions, plan.order_in, maps)
    return g_f, g_mixing


def _add_weight_gradient(
    g_quantities: Tensor, g_targets: Tensor, table: Tensor, maps: Maps, step: int = 1 << 16
) -> None:
    """Gradients of the weights of the gather: ``<g_targets[row], table[index]>`` for every entry, added up."""
    counts = torch.diff(maps.transposed.offset.long())
    table_row = torch.repeat_interleave(torch.arange(len(counts), device=table.device), counts)
    target_row, number = maps.transposed.index.long(), maps.transposed_weight.long()
    for a in range(0, len(number), step):
        cut = slice(a, a + step)
        product = (g_targets[target_row[cut]] * table[table_row[cut]]).sum(1)
        g_quantities.index_add_(0, number[cut], product)
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
