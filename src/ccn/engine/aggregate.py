"""The packed aggregation: one level of a whole batch, forward and backward, without order k+1.

``aggregate`` computes the same as :func:`ccn.reference.aggregate` at every node:

    reduce   F (rows, in) -> X_g (rows_g, reductions * in)        dense, per child size
    mix      X_g @ W_g    -> table rows (.., slots * out)         one matrix product per order g
    gather   table        -> targets                              embedding bags, chunk by chunk
    multiply targets by A, spread, add the bias, nonlinearity     dense, while the chunk is in cache

and, in the same pass, the invariants of the result. The backward pass saves the input and the
output only: the gather is transposed and the reductions are made again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
import torch.nn.functional as nnf
from torch import Tensor

from ccn.algebra.partitions import set_partitions
from ccn.engine.maps import Chunk, Maps, MatrixQuantities
from ccn.engine.plan import MatrixSection, Plan, Reduction, Target
from ccn.schemes.composition import Nodes

__all__ = ["aggregate", "axes_view", "invariants", "mixing_matrices"]

Axes = Sequence[tuple[int, ...]]


def axes_view(x: Tensor, nodes: int, m: int, axes: Axes, order: int, new: Sequence[int] = ()) -> Tensor:
    """A view of packed tensors of one size with chosen indices: (nodes, m, .., m, channels), last group first.

    ``axes[i]`` are the tensor axes that index i runs along together (their diagonal), or none where it
    is ``new`` (the view repeats along it). ``x`` has (nodes * m^order) rows.
    """
    row = x.stride(0)
    strides = [0 if i in new else sum(m**a for a in group) * row for i, group in enumerate(axes)]
    shape = (nodes, *([m] * len(axes)), x.shape[1])
    return x.as_strided(shape, (m**order * row, *reversed(strides), x.stride(1)), x.storage_offset())


def _bag(table: Tensor, index: Tensor, offsets: Tensor, weight: Tensor | None) -> Tensor:
    """Row sums of a sparse matrix times a dense one: ``out[i] = sum_e weight[e] table[index[e]]``."""
    if not len(index):
        return table.new_zeros(len(offsets) - 1, table.shape[1])
    return nnf.embedding_bag(index, table, offsets, mode="sum", per_sample_weights=weight, include_last_offset=True)


# --- reductions at the child -------------------------------------------------------------------


def _groups(r: Reduction) -> tuple[Axes, tuple[int, ...]]:
    """Index groups (kept, summed, centre) and the dimensions of the view that are summed."""
    groups = [*r.kept, *r.summed, *([r.centre] if r.centre else [])]
    last = len(groups) - 1
    summed = tuple(1 + last - i for i in range(len(r.kept), len(r.kept) + len(r.summed)))
    return groups, summed


def _reduce(f: Tensor, below: Nodes, reductions: Sequence[Reduction], order: int, centre: Tensor) -> Tensor:
    """X_g: the given reductions of every child's tensor side by side, (rows_g, reductions * in)."""
    g = reductions[0].order
    width = f.shape[1]
    out = f.new_empty(below.rows(g), len(reductions) * width)
    starts_in, starts_out = below.row_start(order), below.row_start(g)
    for m, first, end in below.runs:
        x = f[int(starts_in[first]) : int(starts_in[end])]
        y = out[int(starts_out[first]) : int(starts_out[end])]
        n = end - first
        for i, r in enumerate(reductions):
            groups, summed = _groups(r)
            view = axes_view(x, n, m, groups, order)
            if r.centre:
                at = centre[first:end]
                view = view[torch.arange(n, device=f.device), at.clamp(min=0)] * (at >= 0).reshape(
                    -1, *[1] * (view.ndim - 2)
                )
                summed = tuple(d - 1 for d in summed)
            into = y[:, i * width : (i + 1) * width].view(n, *[m] * g, width)
            into.copy_(view.sum(summed) if summed else view)
    return out


def _reduce_backward(
    gx: Tensor, gf: Tensor, below: Nodes, reductions: Sequence[Reduction], order: int, centre: Tensor
) -> None:
    """The adjoint of :func:`_reduce`, added to ``gf``."""
    g = reductions[0].order
    width = gf.shape[1]
    starts_in, starts_out = below.row_start(order), below.row_start(g)
    for m, first, end in below.runs:
        x = gf[int(starts_in[first]) : int(starts_in[end])]
        y = gx[int(starts_out[first]) : int(starts_out[end])]
        n = end - first
        for i, r in enumerate(reductions):
            groups, summed = _groups(r)
            view = axes_view(x, n, m, groups, order)
            from_ = y[:, i * width : (i + 1) * width].view(n, *[m] * g, width)
            if r.centre:
                at = centre[first:end]
                summed = tuple(d - 1 for d in summed)
                from_ = from_ * (at >= 0).reshape(-1, *[1] * (from_.ndim - 1))
                place = (torch.arange(n, device=gf.device), at.clamp(min=0))
                for d in sorted(summed):
                    from_ = from_.unsqueeze(d)
                view[place] = view[place] + from_
            else:
                for d in sorted(summed):
                    from_ = from_.unsqueeze(d)
                view.add_(from_)


# --- invariants --------------------------------------------------------------------------------


def invariant_partitions(order: int) -> list[tuple[tuple[int, ...], ...]]:
    """The Bell(order) invariants as set partitions of the axes, the plain sum first, the full diagonal last."""
    return list(set_partitions(range(order)))[::-1]


def _invariants(x: Tensor, n: int, m: int, order: int) -> Tensor:
    """(n, Bell(order) * channels): for each partition the sum of the entries with equated axes."""
    views = [axes_view(x, n, m, groups, order) for groups in invariant_partitions(order)]
    return torch.cat([v.sum(tuple(range(1, v.ndim - 1))) if v.ndim > 2 else v for v in views], dim=1)


def _invariants_backward(g: Tensor, x: Tensor, n: int, m: int, order: int) -> None:
    """The adjoint of :func:`_invariants`, added to ``x``."""
    width = x.shape[1]
    for i, groups in enumerate(invariant_partitions(order)):
        part = g[:, i * width : (i + 1) * width]
        axes_view(x, n, m, groups, order).add_(part.reshape(n, *[1] * len(groups), width))


class _Invariants(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, f: Tensor, nodes: Nodes, order: int) -> Tensor:
        ctx.nodes, ctx.order, ctx.shape = nodes, order, f.shape
        start = nodes.row_start(order)
        parts = [_invariants(f[int(start[a]) : int(start[b])], b - a, m, order) for m, a, b in nodes.runs]
        return torch.cat(parts)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, g: Tensor) -> tuple[Tensor, None, None]:  # type: ignore[override]
        gf = g.new_zeros(ctx.shape)
        start = ctx.nodes.row_start(ctx.order)
        for m, a, b in ctx.nodes.runs:
            _invariants_backward(g[a:b], gf[int(start[a]) : int(start[b])], b - a, m, ctx.order)
        return gf, None, None


def invariants(f: Tensor, nodes: Nodes, order: int) -> Tensor:
    """The Bell(order) invariants of every node's tensor: (nodes, Bell(order) * channels), in storage order."""
    return _Invariants.apply(f, nodes, order)  # type: ignore[no-any-return, no-untyped-call]


# --- the level ---------------------------------------------------------------------------------


def mixing_matrices(plan: Plan, weight: Tensor) -> list[Tensor]:
    """W (out, contractions, in) as one matrix per order g, (reductions * in, slots * out); differentiable.

    Contractions that are equal for the class of A add up in one cell, those that are zero in none.
    """
    out, _, width = weight.shape
    start = plan.cell_start
    live = [i for i, cell in enumerate(plan.cells) if cell is not None]
    number = [start[g] + r * len(plan.slots[g]) + s for g, r, s in (plan.cells[i] for i in live)]  # type: ignore[misc]
    device = weight.device
    rows = weight[:, torch.tensor(live, dtype=torch.long, device=device)].permute(1, 2, 0).reshape(len(live), -1)
    cells = weight.new_zeros(start[-1], width * out).index_add(
        0, torch.tensor(number, dtype=torch.long, device=device), rows
    )
    matrices = []
    for g, (r, s) in enumerate(zip(plan.reductions, plan.slots, strict=True)):
        block = cells[start[g] : start[g + 1]].reshape(len(r), len(s), width, out)
        matrices.append(block.permute(0, 2, 1, 3).reshape(len(r) * width, len(s) * out))
    return matrices


def _left(
    target: Target, chunk: Chunk, quantities: Tensor, first: dict[MatrixSection, int], nodes: Nodes
) -> tuple[Tensor, int]:
    """The matrix that multiplies a target from the left, (nodes, m^q, K), and q."""
    n, m = chunk.nodes, chunk.m
    if target.factor in ("row", "column"):
        at = first[target.factor, target.channel] + int(nodes.start[chunk.first])  # type: ignore[index]
        return quantities[at : at + n * m].view(n, m, 1), 1
    at = first["entry", target.channel] + int(nodes.row_start(2)[chunk.first])
    entry = quantities[at : at + n * m * m]
    if target.factor == "matrix":
        return entry.view(n, m * m, 1), 2
    square = entry.view(n, m, m)
    return (square.transpose(1, 2) if target.contracted == 1 else square), 1


class _Work:
    """What forward and backward of one call share: the plan, its maps and the quantities of A."""

    def __init__(
        self, plan: Plan, maps: Maps, below: Nodes, nodes: Nodes, start: dict[MatrixSection, int], width: int
    ) -> None:
        self.plan, self.maps, self.below, self.nodes, self.start, self.width = plan, maps, below, nodes, start, width

    def table(self, f: Tensor, mixing: Sequence[Tensor]) -> Tensor:
        """Reduce and mix: all table rows, (rows, out)."""
        plan, maps = self.plan, self.maps
        table = f.new_empty(maps.table_start[-1], self.width)
        for g, reductions in enumerate(plan.reductions):
            if reductions:
                x = _reduce(f, self.below, reductions, plan.order_in, maps.centre)
                rows = table[maps.table_start[g] : maps.table_start[g + 1]]
                torch.mm(x, mixing[g], out=rows.view(len(x), -1))
        return table

    def gather(self, table: Tensor, weight: Tensor | None, target: int, chunk: int) -> Tensor:
        """The rows of one target in one chunk."""
        a, b, offsets = self.maps.bags[target][chunk]
        w = weight[a:b] if weight is not None and self.maps.weighted[target] else None
        return _bag(table, self.maps.index[a:b], offsets, w)

    def lefts(self, chunk: Chunk, quantities: Tensor) -> list[tuple[int, Target, Tensor | None, int]]:
        """The targets beside the output itself, each with its left factor."""
        out: list[tuple[int, Target, Tensor | None, int]] = []
        for t, target in enumerate(self.plan.targets[1:], start=1):
            if target.factor == "one":
                out.append((t, target, None, 0))
            else:
                out.append((t, target, *_left(target, chunk, quantities, self.start, self.nodes)))
        return out

    def spread(self, x: Tensor, out: Tensor, target: Target, chunk: Chunk) -> tuple[Tensor, Tensor]:
        """Views of a target and of the output with the same indices, for targets that are copied or spread."""
        n, m = chunk.nodes, chunk.m
        groups = [*target.axes, *target.new]
        new = range(target.order, len(groups))
        singles = [(i,) if i < target.order else () for i in range(len(groups))]
        return axes_view(x, n, m, singles, target.order, new), axes_view(out, n, m, groups, self.plan.order_out)


class _Aggregate(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        work: _Work,
        relu: bool,
        weights: tuple[Tensor, Tensor] | None,
        f: Tensor,
        quantities: Tensor,
        bias: Tensor,
        *mixing: Tensor,
    ) -> tuple[Tensor, Tensor]:
        plan, maps, width = work.plan, work.maps, work.width
        table = work.table(f, mixing)
        weight = weights[0] if weights is not None else None
        out = f.new_empty(work.nodes.rows(plan.order_out), width)
        inv = []
        for c, chunk in enumerate(maps.chunks):
            a, b = maps.rows[0][c]
            n, m = chunk.nodes, chunk.m
            block = work.gather(table, weight, 0, c)
            for t, target, left, q in work.lefts(chunk, quantities):
                x = work.gather(table, weight, t, c)
                if left is None:
                    source, into = work.spread(x, block, target, chunk)
                    into.add_(source)
                else:
                    block.view(n, m**q, -1).baddbmm_(left, x.view(n, left.shape[2], -1))
            block.add_(bias)
            if relu:
                block.relu_()
            inv.append(_invariants(block, n, m, plan.order_out))
            out[a:b] = block
        ctx.work, ctx.relu, ctx.weights = work, relu, weights
        ctx.save_for_backward(f, quantities, bias, out if relu else None, *mixing)
        ctx.set_materialize_grads(False)
        return out, torch.cat(inv) if inv else out.new_zeros(0, width)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, g_out: Tensor | None, g_inv: Tensor | None) -> tuple[Tensor | None, ...]:  # type: ignore[override]
        work: _Work = ctx.work
        plan, maps = work.plan, work.maps
        f, quantities, bias, out, *mixing = ctx.saved_tensors
        if g_out is None and g_inv is None:
            return (None,) * (6 + len(mixing))
        need_quantities = ctx.needs_input_grad[4]
        table = work.table(f, mixing) if need_quantities else None
        weight = ctx.weights[0] if ctx.weights is not None else None
        g_quantities = torch.zeros_like(quantities) if need_quantities else None
        g_bias = torch.zeros_like(bias)
        # Gradients of all target rows, the output's own first.
        g_targets = f.new_empty(maps.target_start[-1], work.width)
        for c, chunk in enumerate(maps.chunks):
            a, b = maps.rows[0][c]
            n, m = chunk.nodes, chunk.m
            g = g_targets[a:b]
            if g_out is not None:
                g.copy_(g_out[a:b])
            else:
                g.zero_()
            if g_inv is not None:
                _invariants_backward(g_inv[chunk.first : chunk.end], g, n, m, plan.order_out)
            if ctx.relu:
                g.mul_(out[a:b] > 0)
            g_bias += g.sum(0)
            for t, target, left, q in work.lefts(chunk, quantities):
                at = maps.target_start[t]
                ra, rb = maps.rows[t][c]
                gx = g_targets[at + ra : at + rb]
                if left is None:
                    into, source = work.spread(gx, g, target, chunk)
                    dims = tuple(range(1, 1 + len(target.new)))
                    into = into[(slice(None), *[0] * len(target.new))]
                    into.copy_(source.sum(dims) if dims else source)
                else:
                    wide = g.view(n, m**q, -1)
                    torch.bmm(left.transpose(1, 2), wide, out=gx.view(n, left.shape[2], -1))
                    if g_quantities is not None:
                        assert table is not None
                        x = work.gather(table, weight, t, c).view(n, left.shape[2], -1)
                        g_left, _ = _left(target, chunk, g_quantities, work.start, work.nodes)
                        g_left += wide @ x.transpose(1, 2)
        if g_quantities is not None and weight is not None:
            assert table is not None
            _weight_gradient(g_quantities, g_targets, table, maps)
        g_table = _bag(
            g_targets,
            maps.transposed_index,
            maps.transposed_offset,
            ctx.weights[1] if ctx.weights is not None else None,
        )
        g_f = torch.zeros_like(f) if ctx.needs_input_grad[3] else None
        g_mixing: list[Tensor | None] = []
        for order, reductions in enumerate(plan.reductions):
            if not reductions:
                g_mixing.append(torch.zeros_like(mixing[order]))
                continue
            rows = g_table[maps.table_start[order] : maps.table_start[order + 1]]
            gm = rows.view(work.below.rows(order), -1)
            x = _reduce(f, work.below, reductions, plan.order_in, maps.centre)
            g_mixing.append(x.t() @ gm)
            if g_f is not None:
                _reduce_backward(gm @ mixing[order].t(), g_f, work.below, reductions, plan.order_in, maps.centre)
        return None, None, None, g_f, g_quantities, g_bias, *g_mixing


def _weight_gradient(g_quantities: Tensor, g_targets: Tensor, table: Tensor, maps: Maps, step: int = 1 << 16) -> None:
    """Gradients of the weights of the gather: ``<g_targets[row], table[index]>`` for every entry, added up."""
    counts = torch.diff(maps.transposed_offset.long())
    table_row = torch.repeat_interleave(torch.arange(len(counts), device=table.device), counts)
    target_row, number = maps.transposed_index.long(), maps.transposed_weight.long()
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
    quantities: tuple[MatrixQuantities, Tensor],
    weights: tuple[Tensor, Tensor] | None,
    relu: bool,
) -> tuple[Tensor, Tensor]:
    """One level: packed child activations (rows, in) to packed activations (rows, out) and node invariants.

    ``quantities`` are those of A with their vector; ``weights`` the vector's entries for the gather and for
    its transpose, or None where every weight is 1.
    """
    work = _Work(plan, maps, below, nodes, quantities[0].start, weight.shape[0])
    mixing = mixing_matrices(plan, weight)
    return _Aggregate.apply(work, relu, weights, f, quantities[1], bias, *mixing)  # type: ignore[no-any-return, no-untyped-call]
