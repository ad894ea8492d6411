"""The other steps of the compiled kernels: reductions of the children, and what becomes of a node's targets."""

from __future__ import annotations

from ccn.engine.layout import QUANTITY_ORDER, Address, Layout, Work
from ccn.engine.program import Program
from ccn.engine.strided import strided
from ccn.engine.vectors import compiled, fill, get, inlined, put
from ccn.ragged import Int

__all__ = ["begin", "combine", "invariants", "make_room", "quantities", "reduce"]


@inlined
def make_room(program: Program, level: Layout, graph: int, n: int, c: int, w: Work, one: float) -> tuple[int, int]:
    """Make room for a graph: where its reductions, all zero, and its table begin; returns their lengths."""
    x = table = 0
    for g in range(program.order_in + 1):
        w.x_start[g], w.table_start[g] = x, table
        x += level.graph_rows[g, graph] * program.reduced_width[g] * n
        table += level.graph_rows[g, graph] * program.table_width[g] * c
    fill(w.x, 0, x, one - one)
    return x, table


@inlined
def reduce(back: bool, program: Program, level: Layout, graph: int, f: Address, n: int, w: Work, one: float) -> None:
    """From F to the reductions of the children of a graph, which are zero before; or, added, back."""
    step, jump = w.step, w.jump
    for at in range(level.graph_below[graph], level.graph_below[graph + 1]):
        node = level.below_order[at]
        m, centre = level.below_size[node], level.centre[node]
        for r in range(len(program.reductions)):
            g, column = program.reductions[r, 0], program.reductions[r, 1]
            sums, held = program.reductions[r, 2], program.reductions[r, 3]
            if held and centre < 0:
                continue
            row = program.reduced_width[g] * n
            i = w.x_start[g] + level.local[g, node] * row + column * n
            j = (level.below_rows[node] + centre * level.coefficient[m, held]) * n
            for a in range(g):
                step[a] = level.coefficient[m, 1 << a] * row
                jump[a] = level.coefficient[m, program.kept[r, a]] * n
            for a in range(sums):
                step[g + a] = 0
                jump[g + a] = level.coefficient[m, program.summed[r, a]] * n
            if back:
                strided(f, j, jump, w.x, i, step, g + sums, m, n, one, w.x_at)
            else:
                strided(w.x, i, step, f, j, jump, g + sums, m, n, one, w.x_at)


@compiled
def quantities(program: Program, level: Layout, values: Address, q: Address, one: float) -> None:
    """What the plan needs of every ``A|part``, added to zeros: section after section, node after node."""
    for s in range(len(program.sections)):
        kind, c = program.sections[s, 0], program.sections[s, 1]
        matrix, start, stride = level.matrix_of[c], level.value_start[c], level.value_stride[c]
        for node in range(len(level.size)):
            m = level.size[node]
            at = level.section[s] + level.quantity_rows[QUANTITY_ORDER[kind], node]
            for e in range(level.entry_start[matrix, node], level.entry_start[matrix, node + 1]):
                a, b = level.entry_row[e], level.entry_column[e]
                if kind in (1, 4) and a != b:
                    continue
                place = at
                if kind in (2, 4):
                    place += a
                elif kind == 3:
                    place += b
                elif kind == 5:
                    place += a + m * b
                put(q, place, get(q, place, one) + get(values, start + stride * level.entry[e], one))


@inlined
def begin(program: Program, level: Layout, node: int, values: Address, c: int, w: Work, one: float) -> None:
    """Targets of a node one after another, all zero, where its quantities of A begin, and which A are not zero."""
    m, length = level.size[node], 0
    for t in range(len(program.target_order)):
        w.target_start[t] = length
        length += level.coefficient[m, 1 << program.target_order[t]] * c
    fill(w.targets, 0, length, one - one)
    for s in range(len(program.sections)):
        order = QUANTITY_ORDER[program.sections[s, 0]]
        w.section_start[s] = level.section[s] + level.quantity_rows[order, node]
    for channel in range(len(level.matrix_of)):
        matrix, start, stride = level.matrix_of[channel], level.value_start[channel], level.value_stride[channel]
        w.live[channel] = 0
        for e in range(level.entry_start[matrix, node], level.entry_start[matrix, node + 1]):
            if get(values, start + stride * level.entry[e], one) != one - one:
                w.live[channel] = 1
                break


@inlined
def combine(
    back: bool,
    program: Program,
    level: Layout,
    values: Address,
    node: int,
    q: Address,
    c: int,
    w: Work,
    one: float,
) -> None:
    """The targets other than the output into the output, which is the first, with A; or back."""
    targets, step, jump, index, other = w.targets, w.step, w.jump, w.x_at, w.other
    m = level.size[node]
    for t in range(1, len(program.target_order)):
        factor, channel, contracted = program.factors[t, 0], program.factors[t, 1], program.factors[t, 2]
        section, news = program.factors[t, 3], program.factors[t, 4]
        if factor > 0 and not w.live[channel]:
            continue
        axes = program.target_order[t] - (factor == 4)
        for a in range(axes):
            step[a] = level.coefficient[m, program.target_axes[t, a]] * c
            jump[a] = level.coefficient[m, 1 << a] * c
        base = w.target_start[t]
        if factor < 3:  # spread along new axes
            for a in range(news):
                other[a] = 0
            i = 0
            while True:
                weight = one if factor == 0 else get(q, w.section_start[section] + other[0], one)
                if back:
                    strided(targets, base, jump, targets, i, step, axes, m, c, weight, index)
                else:
                    strided(targets, i, step, targets, base, jump, axes, m, c, weight, index)
                a = 0
                while a < news:
                    move = level.coefficient[m, program.target_new[t, a]] * c
                    other[a] += 1
                    i += move
                    if other[a] < m:
                        break
                    other[a] = 0
                    i -= m * move
                    a += 1
                if a >= news:
                    break
            continue
        matrix, start, stride = level.matrix_of[channel], level.value_start[channel], level.value_stride[channel]
        lead = level.coefficient[m, 1 << max(0, program.order_out - 1)] * c
        for e in range(level.entry_start[matrix, node], level.entry_start[matrix, node + 1]):
            u, v = level.entry_row[e], level.entry_column[e]
            weight = get(values, start + stride * level.entry[e], one)
            if factor == 3:
                i = u * level.coefficient[m, program.target_new[t, 0]] * c
                i += v * level.coefficient[m, program.target_new[t, 1]] * c
                j = base
            elif contracted == 1:
                i, j = u * lead, base + v * lead
            else:
                i, j = v * lead, base + u * lead
            if back:
                strided(targets, j, jump, targets, i, step, axes, m, c, weight, index)
            else:
                strided(targets, i, step, targets, j, jump, axes, m, c, weight, index)


@inlined
def invariants(
    back: bool,
    masks: Int,
    coefficient: Int,
    m: int,
    tensor: Address,
    o: int,
    result: Address,
    r: int,
    c: int,
    step: Int,
    still: Int,
    index: Int,
    one: float,
) -> None:
    """One row per set partition of the axes: the sum of the entries whose equated indices agree; or back."""
    for p in range(len(masks)):
        groups = masks[p, 0]
        for a in range(groups):
            step[a] = coefficient[m, masks[p, a + 1]] * c
            still[a] = 0
        if back:
            strided(tensor, o, step, result, r + p * c, still, groups, m, c, one, index)
        else:
            strided(result, r + p * c, still, tensor, o, step, groups, m, c, one, index)
