"""The other steps of the compiled kernels: reductions of the children, and what becomes of a node's targets."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ccn.engine.cpu.compiling import compiled, woven
from ccn.engine.cpu.gather import quantity_start, target_starts
from ccn.engine.cpu.layout import QUANTITY_ORDERS, Layout, Work
from ccn.engine.cpu.program import BY_MATRIX, BY_MULTIPLYING, BY_ONE, COLUMN, DIAGONAL, ENTRY, ROW, TRACE, Program
from ccn.engine.cpu.strided import added, move, power, powers, stride, summed
from ccn.engine.cpu.vectors import (
    Address,
    add,
    constant,
    fill,
    get,
    is_live,
    multiply,
    multiply_transposed,
    put,
    total,
)
from ccn.graphs.ragged import Int

__all__ = ["combine", "invariants", "order_starts", "quantities", "reduce"]


@woven
def order_starts(level: Layout, chunk: int, width: Int) -> list[int]:
    """Where each order begins, of the children of a chunk, and where the last ends, with rows of such a width."""
    rows = [level.chunk_rows[g, chunk] * width[g] for g in range(len(width))]
    return [added(rows[:g]) for g in range(len(width) + 1)]


class Source(NamedTuple):
    """What a reduction is made of: F (-1), or another ``reduction`` of an order more, by its number, of which one axis
    ``along`` is summed, or ``held`` at the centre.
    """

    reduction: int = -1
    along: int = 0
    held: bool = False


def sources(program: Program) -> list[tuple[int, Source]]:
    """The reductions, each after that which it is made of: to sum a reduction is less work than to sum F."""
    order = program.reductions[:, 0].tolist()
    kept = [program.kept[r, :k].tolist() for r, k in enumerate(order)]
    sums = [sorted(program.summed[r, :k].tolist()) for r, k in enumerate(program.reductions[:, 2].tolist())]
    centre = program.reductions[:, 3].tolist()
    found = []
    for r in sorted(range(len(order)), key=lambda r: -order[r]):
        source = Source()
        for s in range(len(order)):
            more = [g for g in kept[s] if g not in kept[r]]
            if len(more) == 1 and [g for g in kept[s] if g in kept[r]] == kept[r]:
                along = kept[s].index(more[0])
                if sums[r] == sorted(sums[s] + more) and centre[r] == centre[s]:
                    source = Source(s, along)
                elif sums[r] == sums[s] and centre[r] == more[0] and not centre[s]:
                    source = Source(s, along, held=True)
        found.append((r, source))
    return found


@woven
def _reduction(
    back: bool,
    program: Program,
    r: int,
    by: Source,
    level: Layout,
    node: int,
    f: Address,
    start: int,
    x_start: list[int],
    n: int,
    w: Work,
    one: float,
) -> None:
    """One reduction of one child, which is zero before; or back."""
    g, sums, held = program.reductions[r, 0], program.reductions[r, 2], program.reductions[r, 3]
    m, centre, width = level.below_size[node], level.centre[node], program.reduced_width
    if not held or centre >= 0:
        i = (x_start[g] + level.local[g, node] * width[g] + program.reductions[r, 1]) * n
        step = powers(m, width[g] * n, g)
        if by.reduction < 0:
            axes = powers(m, n, program.order_in + 1)
            jump = [stride(a, axes) for a in program.kept[r, :g]] + [stride(a, axes) for a in program.summed[r, :sums]]
            j = start + max(0, centre) * stride(held, axes)
            if back:
                move(f, j, jump, w.x, i, step + [0 for _ in range(sums)], 0, m, n, one)
            else:
                summed(w.x, i, step, f, j, jump, m, n, one)
        else:
            axes = powers(m, width[g + 1] * n, g + 1)
            j = (x_start[g + 1] + level.local[g + 1, node] * width[g + 1] + program.reductions[by.reduction, 1]) * n
            rest = axes[: by.along] + axes[by.along + 1 :]
            if by.held:
                j += centre * axes[by.along]
                if back:
                    move(w.x, j, rest, w.x, i, step, 0, m, n, one)
                else:
                    move(w.x, i, step, w.x, j, rest, 0, m, n, one)
            elif back:
                move(w.x, j, [axes[by.along], *rest], w.x, i, [0, *step], 0, m, n, one)
            else:
                summed(w.x, i, step, w.x, j, [*rest, axes[by.along]], m, n, one)


@woven
def reduce(
    back: bool,
    program: Program,
    level: Layout,
    chunk: int,
    f: Address,
    d: int,
    basis: Address,
    transposed: Address,
    g_f: Address,
    g_basis: Address,
    x_start: list[int],
    n: int,
    w: Work,
    one: float,
) -> None:
    """From F to the reductions of the children of a chunk, which are zero before; or back, to its gradient.

    The d channels of F are first mixed by the ``basis`` (d, n), unless that is 0; back, its gradient is added to.
    """
    steps = sources(program)
    for at in range(level.chunk_below[chunk], level.chunk_below[chunk + 1]):
        node = level.below_order[at]
        first = level.below_rows[node] * d
        rows, source, start = level.below_rows[node + 1] - level.below_rows[node], g_f if back else f, first
        if basis:
            source, start = w.part, 0
        if back:
            fill(source, start, rows * n, one - one)
        elif basis:
            multiply(False, source, start, n, f, first, d, rows, d, basis, 0, n, one)
        for k in range(len(steps)):
            r, by = steps[-1 - k] if back else steps[k]
            _reduction(back, program, r, by, level, node, source, start, x_start, n, w, one)
        if back and basis:
            multiply_transposed(g_basis, 0, f, first, d, rows, d, source, 0, n, n, one)
            if g_f:
                multiply(False, g_f, first, d, source, 0, n, rows, n, transposed, 0, d, one)


@compiled
def quantities(program: Program, level: Layout, values: Address, q: Address, live: Address, one: float) -> None:
    """What the plan needs of every ``A|part``, added to zeros: section after section, node after node.

    Of each channel of A and each node ``live`` becomes 1 if there is anything that is not zero: a molecule has few
    triple bonds, and what they would bring is left out.
    """
    for channel in range(len(level.matrix_of)):
        matrix, start, stride = level.matrix_of[channel], level.value_start[channel], level.value_stride[channel]
        for node in range(len(level.size)):
            for e in range(level.entry_start[matrix, node], level.entry_start[matrix, node + 1]):
                if get(values, start + stride * level.entry[e], one) != one - one:
                    put(live, channel * len(level.size) + node, np.uint8(1))
                    break
    for s in range(len(program.sections)):
        kind, c = program.sections[s, 0], program.sections[s, 1]
        matrix, start, stride = level.matrix_of[c], level.value_start[c], level.value_stride[c]
        for node in range(len(level.size)):
            m = level.size[node]
            at = level.section[s] + level.quantity_rows[QUANTITY_ORDERS[kind], node]
            for e in range(level.entry_start[matrix, node], level.entry_start[matrix, node + 1]):
                a, b = level.entry_row[e], level.entry_column[e]
                if kind in (TRACE, DIAGONAL) and a != b:
                    continue
                place = at
                if kind in (ROW, DIAGONAL):
                    place += a
                elif kind == COLUMN:
                    place += b
                elif kind == ENTRY:
                    place += a + m * b
                put(q, place, get(q, place, one) + get(values, start + stride * level.entry[e], one))


def _runs(program: Program, t: int, axes: int) -> int:
    """How many axes of a target lie in the output as in the target, from the first on."""
    different = [a for a in range(axes) if program.target_axes[t, a] != 1 << a]
    return min([axes, *different])


@woven
def _spread(
    back: bool, targets: Address, i: int, new: list[int], step: list[int], j: int, jump: list[int], runs: int, m: int,
    c: int, weight: float,
) -> None:  # fmt: skip
    """A target along new axes of the output, or back."""
    if len(new) > 0:
        for x in range(m):
            _spread(back, targets, i + new[-1] * x, new[:-1], step, j, jump, runs, m, c, weight)
    elif back:
        move(targets, j, jump, targets, i, step, runs, m, c, weight)
    else:
        move(targets, i, step, targets, j, jump, runs, m, c, weight)


@woven
def _combined(
    back: bool,
    program: Program,
    t: int,
    level: Layout,
    values: Address,
    node: int,
    q: Address,
    targets: Address,
    begin: int,
    c: int,
    one: float,
) -> None:
    """One target into the output, or back."""
    m, order, factor, channel = level.size[node], program.order_out, program.factors[t, 0], program.factors[t, 1]
    along = powers(m, c, order + 1)
    axes = program.target_order[t] - (factor == BY_MULTIPLYING)
    runs, jump = _runs(program, t, axes), along[:axes]
    step = [stride(a, along) for a in program.target_axes[t, :axes]]
    new = [stride(a, along) for a in program.target_new[t, : program.factors[t, 4]]]
    if factor == BY_ONE:
        _spread(back, targets, 0, new, step, begin, jump, runs, m, c, one)
    elif factor < BY_MATRIX:  # the sums of rows or of columns
        at = quantity_start(program, level, node, program.factors[t, 3])
        for x in range(m):
            _spread(back, targets, new[0] * x, [], step, begin, jump, runs, m, c, constant(q, at + x, one))
    else:
        matrix, start, pace = level.matrix_of[channel], level.value_start[channel], level.value_stride[channel]
        for e in range(level.entry_start[matrix, node], level.entry_start[matrix, node + 1]):
            u, v = level.entry_row[e], level.entry_column[e]
            weight = constant(values, start + pace * level.entry[e], one)
            if factor == BY_MATRIX:
                i, j = u * new[0] + v * new[1], begin
            elif program.factors[t, 2] == 1:
                i, j = u * along[order - 1], begin + v * along[axes]
            else:
                i, j = v * along[order - 1], begin + u * along[axes]
            _spread(back, targets, i, [], step, j, jump, runs, m, c, weight)


@woven
def combine(
    back: bool,
    program: Program,
    level: Layout,
    values: Address,
    node: int,
    q: Address,
    live: Address,
    targets: Address,
    c: int,
    one: float,
) -> None:
    """The targets other than the output into the output, which is the first, with A; or back."""
    begin = target_starts(program, level.size[node], c)
    for t in range(1, len(program.target_order)):
        if program.factors[t, 0] == BY_ONE or is_live(live, program.factors[t, 1] * len(level.size) + node):
            _combined(back, program, t, level, values, node, q, targets, begin[t], c, one)


@woven
def invariants(
    back: bool, masks: Int, m: int, tensor: Address, o: int, result: Address, r: int, c: int, one: float
) -> None:
    """One row per set partition of the axes: the sum of the entries whose equated indices agree; or back."""
    along = powers(m, c, masks.shape[1])
    for i in range(len(masks)):
        at, steps = r + i * c, [stride(a, along) for a in masks[i, 1 : 1 + masks[i, 0]]]
        if i == 0:  # all entries
            count = power(m, masks[0, 0])
            if back:
                for x in range(count):
                    add(tensor, o + x * c, result, at, one, c)
            else:
                total(result, at, tensor, o, c, count, one, c)
        elif back:
            move(tensor, o, steps, result, at, [0 for _ in steps], 0, m, c, one)
        else:
            summed(result, at, [], tensor, o, steps, m, c, one)
