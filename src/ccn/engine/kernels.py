"""The compiled kernels: a plan run graph by graph, with nothing of order k+1 and no index maps.

They read what is linear in the sum of part sizes (:class:`Layout`) and a :class:`~ccn.engine.program.Program`. Of
each graph the children's reductions and their mixed table, and of each node its targets, live in working memory
that stays in cache (:class:`Work`). Every step but the matrix products is one pattern, run in either direction:

    to[t0 + sum_i tc_i x_i] += w * source[s0 + sum_i sc_i x_i]     for all x in {0..m-1}^r

on arrays whose elements are rows of channels; the gradient of a step is the step with ``to`` and ``source``
exchanged. The kernels hold no lock of the interpreter, so that threads share a batch graph by graph.

Arrays of numbers are given by address (:mod:`ccn.engine.vectors`), 0 for one that is not there.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ccn.engine.program import Program
from ccn.engine.vectors import (
    add,
    apart,
    compiled,
    copy,
    fill,
    finish,
    get,
    inlined,
    keep,
    multiply,
    multiply_transposed,
    put,
    total,
)
from ccn.ragged import Int

__all__ = ["QUANTITY_ORDER", "Layout", "Work", "backward", "forward", "quantities", "read", "room", "work"]

Address = int
LINE = 16  # numbers: a row of 16 channels then lies in one line of the cache
PLACES = 1024  # places of the atoms of a node's children that are laid out at a time
QUANTITY_ORDER = (0, 0, 1, 1, 1, 2)
"""The order of each kind of quantity of A, as :data:`ccn.engine.program.KINDS` has them."""


class Layout(NamedTuple):
    """A level for the kernels; all places are counted within parts.

    Attributes:
        graph_nodes, node_order: (graphs+1,) and (nodes,) the nodes of each graph.
        graph_below, below_order: the same for the nodes below.
        size, rows: (nodes,) part sizes, and (nodes+1,) first rows of their tensors of order k'.
        below_size, below_rows: (below,) and (below+1,) the same of the nodes below, of order k.
        local: (k+1, below) first row of each node below among those of its graph, for every order up to k.
        graph_rows: (k+1, graphs) rows of the nodes below of each graph.
        centre: (below,) place of a node's anchor in its own part, or -1.
        pair_start: (3, nodes+1) first pair of each node in each set of pairs.
        child, stack, place_start: (pairs,) child, place of its anchor, first of its places.
        place: the parent's place of each of the child's atoms, or -1.
        entry_start: (matrices, nodes+1) first entry of each ``A|part``.
        entry_row, entry_column, entry: place of the row and of the column, and number in the matrix.
        matrix_of, value_start, value_stride: (channels,) where each channel of A has its entries and their values.
        section: (sections,) where each quantity of A that is needed begins, after a 1.
        quantity_rows: (3, nodes+1) first place of each node in a quantity of order 0, 1, 2.
        coefficient: (largest m + 1, masks).
        moves: (largest m + 1, slots, ..) the coefficients of the masks in ``program.slot_moves``.

    """

    graph_nodes: Int
    node_order: Int
    graph_below: Int
    below_order: Int
    size: Int
    rows: Int
    below_size: Int
    below_rows: Int
    local: Int
    graph_rows: Int
    centre: Int
    pair_start: Int
    child: Int
    stack: Int
    place_start: Int
    place: NDArray[np.int32]
    entry_start: Int
    entry_row: NDArray[np.int32]
    entry_column: NDArray[np.int32]
    entry: Int
    matrix_of: Int
    value_start: Int
    value_stride: Int
    section: Int
    quantity_rows: Int
    coefficient: Int
    moves: Int


class Work(NamedTuple):
    """Working memory of one thread: the kernels allocate nothing.

    Of a graph: the reductions ``x`` of its children and their ``table``, order after order. Of a node: its
    ``targets``, the output first, where its quantities of A begin, and which channels of A have anything in it that
    is not zero: a molecule has few triple bonds, and what they would bring is left out. Then indices of axes and
    what moves with them, and the ``seats`` of pairs and ``places`` of their atoms, of which there is ``room`` for so
    many. ``held`` keeps the arrays behind the addresses.
    """

    x: Address
    x_start: Int
    table: Address
    table_start: Int
    targets: Address
    target_start: Int
    section_start: Int
    live: Int
    step: Int
    jump: Int
    x_at: Int
    other: Int
    seats: Address
    places: Address
    room: int
    held: Int


def _lengths(program: Program, level: Layout, n: int, c: int) -> list[int]:
    """Numbers of the reductions, the table and the targets, each from the beginning of a line of the cache on."""
    m, rows = len(level.coefficient) - 1, level.graph_rows.max(1, initial=0)
    lengths = [
        int(rows @ program.reduced_width) * n,
        int(rows @ program.table_width) * c,
        int((m**program.target_order).sum()) * c,
    ]
    return [-(-x // LINE) * LINE for x in lengths]


def room(program: Program, level: Layout, n: int, c: int) -> int:
    """Numbers of working memory that a thread needs for a level from n to c channels."""
    return sum(_lengths(program, level, n, c))


def work(program: Program, level: Layout, n: int, c: int, held: Address, itemsize: int) -> Work:
    """Working memory for a level from n to c channels; ``held`` has :func:`room` for its numbers."""
    m, axes = len(level.coefficient) - 1, program.kept.shape[1] + 1
    x, table, _ = _lengths(program, level, n, c)
    places = max(PLACES, m + m * m)
    counts = 3 * places, 8 * (places // 2 + 1), *[program.order_in + 1] * 2
    counts += len(program.target_order), len(program.sections), len(level.matrix_of), *[axes] * 4
    numbers = np.split(np.zeros(sum(counts), np.int64), np.cumsum(counts)[:-1])
    return Work(
        x=held,
        x_start=numbers[2],
        table=held + x * itemsize,
        table_start=numbers[3],
        targets=held + (x + table) * itemsize,
        target_start=numbers[4],
        section_start=numbers[5],
        live=numbers[6],
        step=numbers[7],
        jump=numbers[8],
        x_at=numbers[9],
        other=numbers[10],
        seats=numbers[1].ctypes.data,
        places=numbers[0].ctypes.data,
        room=places,
        held=numbers[0],
    )


@compiled
def _plane(
    to: Address,
    i: int,
    step: int,
    step_1: int,
    source: Address,
    j: int,
    jump: int,
    jump_1: int,
    axes: int,
    m: int,
    n: int,
    w: float,
) -> None:
    """:func:`_strided` for at most two indices."""
    apart()
    inner, outer = m if axes > 0 else 1, m if axes > 1 else 1
    if step_1 == 0 and outer > 1:  # sums are made along the first index
        inner, outer, step, step_1, jump, jump_1 = outer, inner, step_1, step, jump_1, jump
    if step == 0 and inner > 1:
        if step_1 == 0 and jump == inner * jump_1:  # over all indices
            inner, outer, jump = inner * outer, 1, jump_1
        for y in range(outer):
            total(to, i + y * step_1, source, j + y * jump_1, jump, inner, w, n)
        return
    if step == n and jump == n:  # contiguous
        n *= inner
        inner = 1
    for y in range(outer):
        for x in range(inner):
            add(to, i + y * step_1 + x * step, source, j + y * jump_1 + x * jump, w, n)


@compiled
def _space(
    to: Address, i: int, step: Int, source: Address, j: int, jump: Int, axes: int, m: int, n: int, w: float, index: Int
) -> None:
    """:func:`_strided` for any number of indices."""
    for a in range(axes):
        index[a] = 0
    while True:
        _plane(to, i, step[0], step[1], source, j, jump[0], jump[1], 2, m, n, w)
        axis = 2
        while axis < axes:
            index[axis] += 1
            i += step[axis]
            j += jump[axis]
            if index[axis] < m:
                break
            index[axis] = 0
            i -= m * step[axis]
            j -= m * jump[axis]
            axis += 1
        if axis >= axes:
            return


@inlined
def _strided(
    to: Address, i: int, step: Int, source: Address, j: int, jump: Int, axes: int, m: int, n: int, w: float, index: Int
) -> None:
    """``to[i + sum_a step_a x_a ..] += w * source[j + sum_a jump_a x_a ..]``, n numbers each, for all x < m."""
    if axes == 0:
        add(to, i, source, j, w, n)
    elif axes > 2:
        _space(to, i, step, source, j, jump, axes, m, n, w, index)
    else:
        _plane(to, i, step[0], step[1], source, j, jump[0], jump[1], axes, m, n, w)


@inlined
def _reduce(back: bool, program: Program, level: Layout, graph: int, f: Address, n: int, w: Work, one: float) -> None:
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
                _strided(f, j, jump, w.x, i, step, g + sums, m, n, one, w.x_at)
            else:
                _strided(w.x, i, step, f, j, jump, g + sums, m, n, one, w.x_at)


@inlined
def _reduced(program: Program, level: Layout, graph: int, n: int, c: int, w: Work, one: float) -> tuple[int, int]:
    """Make room for a graph: where its reductions, all zero, and its table begin; returns their lengths."""
    x = table = 0
    for g in range(program.order_in + 1):
        w.x_start[g], w.table_start[g] = x, table
        x += level.graph_rows[g, graph] * program.reduced_width[g] * n
        table += level.graph_rows[g, graph] * program.table_width[g] * c
    fill(w.x, 0, x, one - one)
    return x, table


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
def _begin(program: Program, level: Layout, node: int, values: Address, c: int, w: Work, one: float) -> None:
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


@compiled
def _places(place: NDArray[np.int32], first: int, m: int, line: Address, plane: Address, planar: bool) -> int:
    """The atoms x of a child that lie in its parent: (x, p(x), 0) one by one, and if ``planar`` (x + m y, p(x), p(y)).

    Returns how many atoms they are. Each slot of a child then is one loop, whatever the child's size: short loops
    within loops are hard to foresee for the processor, and cost more than the work in them.
    """
    apart()
    count = 0
    for x in range(m):
        p = np.int64(place[first + x])
        if p >= 0:
            put(line, 3 * count, x)
            put(line, 3 * count + 1, p)
            put(line, 3 * count + 2, 0)
            count += 1
    at = plane
    for y in range(count if planar else 0):
        for x in range(count):
            put(at, 0, get(line, 3 * x, x) + m * get(line, 3 * y, x))
            put(at, 1, get(line, 3 * x + 1, x))
            put(at, 2, get(line, 3 * y + 1, x))
            at += 24
    return count


@inlined
def _seat(level: Layout, pair: int, end: int, deepest: int, k: int, w: Work) -> int:
    """Lay out the places of the pairs from ``pair`` on, as many as there is room for; returns the first that is not.

    A pair has a seat of eight numbers: its rows among those of order 0, 1, 2 of its graph, the place of its anchor,
    and where its places (of one axis, of two) begin and how many they are.
    """
    begin, at, room = pair, w.places, w.room
    while pair < end:
        child = level.child[pair]
        m = level.below_size[child]
        if pair > begin and m + m * m > room:
            break
        room -= m + m * m
        plane = at + 24 * m
        count = _places(level.place, level.place_start[pair], m, at, plane, deepest > 1) if deepest > 0 else 0
        seat = w.seats + 64 * (pair - begin)
        for g in range(min(k, 2) + 1):
            put(seat, g, level.local[g, child])
        put(seat, 3, max(0, level.stack[pair]))
        put(seat, 4, at)
        put(seat, 5, count)
        put(seat, 6, plane)
        put(seat, 7, count * count)
        at = plane + 24 * m * m
        pair += 1
    return pair


@compiled
def _placed(
    back: bool,
    g: int,
    seats: Address,
    pairs: int,
    targets: Address,
    t: int,
    step: int,
    step_1: int,
    step_stack: int,
    table: Address,
    row: int,
    jump: int,
    q: Address,
    at: int,
    lean: int,
    lean_1: int,
    lean_stack: int,
    c: int,
    one: float,
) -> None:
    """One slot of all pairs that have a seat; for all (x, p, r) of a pair with anchor at s, or back,

    ``target[t + step p + step_1 r + step_stack s] += q[at + lean p + lean_1 r + lean_stack s] * table[row + jump x]``.
    """
    apart()
    for _ in range(pairs):
        stack, first = get(seats, 3, g), row + get(seats, min(g, 2), g) * jump
        to, by = t + step_stack * stack, at + lean_stack * stack
        weight = get(q, by, one)
        if g == 0:
            if back:
                add(table, first, targets, to, weight, c)
            else:
                add(targets, to, table, first, weight, c)
        else:
            axes = 2 if g > 1 else 1
            places, count = get(seats, 2 + 2 * axes, g), get(seats, 3 + 2 * axes, g)
            for _ in range(count):
                x, p, r = get(places, 0, g), get(places, 1, g), get(places, 2, g)
                if lean | lean_1:
                    weight = get(q, by + lean * p + lean_1 * r, one)
                if back:
                    add(table, first + jump * x, targets, to + step * p + step_1 * r, weight, c)
                else:
                    add(targets, to + step * p + step_1 * r, table, first + jump * x, weight, c)
                places += 24
        seats += 64


@inlined
def _gather(back: bool, program: Program, level: Layout, node: int, q: Address, c: int, w: Work, one: float) -> None:
    """All slots of all pairs of a node: from the table to its targets, or back.

    With p(a) the parent's place of atom a of the child, for every kept index x of the child,

        target[sum_a step_a p(x_a)] += q[sum_a lean_a p(x_a)] * table[x].
    """
    size = level.size[node]
    stacked = program.slot_moves.shape[1] // 2 - 1
    begin = 0
    while begin < len(program.slots):
        pairs, deepest = program.slots[begin, 0], 0
        end = begin
        while end < len(program.slots) and program.slots[end, 0] == pairs:
            deepest = max(deepest, program.slots[end, 1])
            end += 1
        pair, last = level.pair_start[pairs, node], level.pair_start[pairs, node + 1]
        while pair < last:
            after = _seat(level, pair, last, deepest, program.order_in, w)
            for s in range(begin, end):
                g, column, target = program.slots[s, 1], program.slots[s, 2], program.slots[s, 3]
                section, channel = program.slots[s, 4], program.slots[s, 5]
                if channel >= 0 and not w.live[channel]:
                    continue
                moves = level.moves[size, s]
                jump = program.table_width[g] * c
                row = w.table_start[g] + column * c
                t = w.target_start[target]
                at = 0 if section < 0 else w.section_start[section]
                step, step_1, step_stack = moves[0] * c, moves[1] * c, moves[stacked] * c
                lean, lean_1, lean_stack = moves[stacked + 1], moves[stacked + 2], moves[2 * stacked + 1]
                if g < 3:
                    what = (w.targets, t, step, step_1, step_stack, w.table, row, jump)
                    _placed(back, g, w.seats, after - pair, *what, q, at, lean, lean_1, lean_stack, c, one)
                    continue
                for i in range(pair, after):
                    _deeper(
                        back, g, level, i, w.seats + 64 * (i - pair), moves, stacked, t, row, jump, q, at, c, w, one
                    )
            pair = after
        begin = end


@inlined
def _deeper(
    back: bool,
    g: int,
    level: Layout,
    pair: int,
    seat: Address,
    moves: Int,
    stacked: int,
    t: int,
    row: int,
    jump: int,
    q: Address,
    at: int,
    c: int,
    w: Work,
    one: float,
) -> None:
    """:func:`_placed` of one pair for three axes and more: for each index of those after the second, one plane."""
    index, place, child = w.x_at, level.place, level.child[pair]
    m, first = level.below_size[child], level.place_start[pair]
    step, step_1, step_stack = moves[0] * c, moves[1] * c, moves[stacked] * c
    lean, lean_1, lean_stack = moves[stacked + 1], moves[stacked + 2], moves[2 * stacked + 1]
    put(seat, 2, 0)
    row += level.local[g, child] * jump
    for a in range(2, g):
        index[a] = 0
    while True:
        to, by, inside = t, at, True
        for a in range(2, g):
            p = place[first + index[a]]
            inside = inside and p >= 0
            to += moves[a] * c * p
            by += moves[stacked + 1 + a] * p
        if inside:
            what = (w.targets, to, step, step_1, step_stack, w.table, row, jump)
            _placed(back, g, seat, 1, *what, q, by, lean, lean_1, lean_stack, c, one)
        row += m * m * jump
        a = 2
        while a < g:
            index[a] += 1
            if index[a] < m:
                break
            index[a] = 0
            a += 1
        if a >= g:
            break
    put(seat, 2, level.local[2, child])


@inlined
def _combine(
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
                    _strided(targets, base, jump, targets, i, step, axes, m, c, weight, index)
                else:
                    _strided(targets, i, step, targets, base, jump, axes, m, c, weight, index)
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
                _strided(targets, j, jump, targets, i, step, axes, m, c, weight, index)
            else:
                _strided(targets, i, step, targets, j, jump, axes, m, c, weight, index)


@inlined
def _invariants(
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
            _strided(tensor, o, step, result, r + p * c, still, groups, m, c, one, index)
        else:
            _strided(result, r + p * c, still, tensor, o, step, groups, m, c, one, index)


@compiled
def forward(
    program: Program,
    level: Layout,
    first: int,
    end: int,
    values: Address,
    q: Address,
    f: Address,
    n: int,
    weights: Address,
    bias: Address,
    c: int,
    positive: bool,
    output: Address,
    mask: Address,
    result: Address,
    summed: bool,
    w: Work,
    one: float,
) -> None:
    """The six steps, with a ReLU if ``positive``, and the invariants, added to ``result``, for graphs ``first:end``.

    The result has a row for each node, or for each graph if they are ``summed``.

    Of a result that nobody wants but for its gradient only the ``mask`` is written: where the ReLU passes.
    """
    bells = len(program.invariants)
    for graph in range(first, end):
        _reduced(program, level, graph, n, c, w, one)
        _reduce(False, program, level, graph, f, n, w, one)
        for s in range(len(program.stages)):
            g, a, b = program.stages[s, 0], program.stages[s, 1], program.stages[s, 2]
            left, right, start = program.stages[s, 3], program.stages[s, 4], program.stages[s, 5]
            along, pace = program.table_width[g] * c, program.reduced_width[g] * n
            i, j = w.table_start[g] + left * c, w.x_start[g] + a * n
            rows = level.graph_rows[g, graph]
            multiply(
                False,
                w.table,
                i,
                along,
                w.x,
                j,
                pace,
                rows,
                (b - a) * n,
                weights,
                start * n * c,
                (right - left) * c,
                one,
            )
        for at in range(level.graph_nodes[graph], level.graph_nodes[graph + 1]):
            node = level.node_order[at]
            _begin(program, level, node, values, c, w, one)
            _gather(False, program, level, node, q, c, w, one)
            _combine(False, program, level, values, node, q, c, w, one)
            o, rows = level.rows[node] * c, level.rows[node + 1] - level.rows[node]
            finish(w.targets, rows, c, bias, mask + o if mask else 0, positive, one)
            if output:
                copy(output, o, w.targets, 0, rows * c, one)
            masks, m, r = program.invariants, level.size[node], (graph if summed else node) * bells * c
            _invariants(False, masks, level.coefficient, m, w.targets, 0, result, r, c, w.step, w.jump, w.x_at, one)


@compiled
def backward(
    program: Program,
    level: Layout,
    first: int,
    end: int,
    values: Address,
    q: Address,
    f: Address,
    n: int,
    transposed: Address,
    c: int,
    output: Address,
    mask: Address,
    g_output: Address,
    g_result: Address,
    g_f: Address,
    g_weights: Address,
    g_bias: Address,
    itemsize: int,
    summed: bool,
    w: Work,
    one: float,
) -> None:
    """The gradients of F, written (unless ``g_f`` is 0), of weights and bias, added to, for graphs ``first:end``.

    ``transposed`` are the transposes of the mixing matrices. The output or the mask is that after a ReLU; without one
    both are 0. ``g_output`` or ``g_result`` may be 0.
    """
    zero = one - one
    bells = len(program.invariants)
    for graph in range(first, end):
        length_x, length_table = _reduced(program, level, graph, n, c, w, one)
        fill(w.table, 0, length_table, zero)
        for at in range(level.graph_nodes[graph], level.graph_nodes[graph + 1]):
            node = level.node_order[at]
            o, length = level.rows[node] * c, (level.rows[node + 1] - level.rows[node]) * c
            _begin(program, level, node, values, c, w, one)
            if g_output:
                add(w.targets, 0, g_output, o, one, length)
            if g_result:
                masks, m, r = program.invariants, level.size[node], (graph if summed else node) * bells * c
                _invariants(
                    True, masks, level.coefficient, m, w.targets, 0, g_result, r, c, w.step, w.jump, w.x_at, one
                )
            if output:
                keep(w.targets, output + o * itemsize, length, one, one)
            if mask:
                keep(w.targets, mask + o, length, one, np.uint8(1))
            total(g_bias, 0, w.targets, 0, c, level.rows[node + 1] - level.rows[node], one, c)
            _combine(True, program, level, values, node, q, c, w, one)
            _gather(True, program, level, node, q, c, w, one)
        _reduce(False, program, level, graph, f, n, w, one)
        for s in range(len(program.stages)):
            g, a, b = program.stages[s, 0], program.stages[s, 1], program.stages[s, 2]
            left, right, start = program.stages[s, 3], program.stages[s, 4], program.stages[s, 5] * n * c
            along, pace = program.table_width[g] * c, program.reduced_width[g] * n
            i, j = w.table_start[g] + left * c, w.x_start[g] + a * n
            rows, wide, deep = level.graph_rows[g, graph], (right - left) * c, (b - a) * n
            multiply_transposed(g_weights, start, w.x, j, pace, rows, deep, w.table, i, along, wide, one)
        if not g_f:
            continue
        fill(w.x, 0, length_x, zero)
        for s in range(len(program.stages)):
            g, a, b = program.stages[s, 0], program.stages[s, 1], program.stages[s, 2]
            left, right, start = program.stages[s, 3], program.stages[s, 4], program.stages[s, 5] * n * c
            along, pace = program.table_width[g] * c, program.reduced_width[g] * n
            i, j = w.table_start[g] + left * c, w.x_start[g] + a * n
            rows, wide, deep = level.graph_rows[g, graph], (right - left) * c, (b - a) * n
            multiply(True, w.x, j, pace, w.table, i, along, rows, wide, transposed, start, deep, one)
        for at in range(level.graph_below[graph], level.graph_below[graph + 1]):
            node = level.below_order[at]
            a, b = level.below_rows[node], level.below_rows[node + 1]
            fill(g_f, a * n, (b - a) * n, zero)
        _reduce(True, program, level, graph, g_f, n, w, one)


@compiled
def read(
    back: bool,
    masks: Int,
    coefficient: Int,
    size: Int,
    rows: Int,
    tensor: Address,
    result: Address,
    c: int,
    index: Int,
    one: float,
) -> None:
    """The invariants of all nodes, or back; what is written is zero before."""
    step, still, x = index[0], index[1], index[2]
    for node in range(len(size)):
        o, r = rows[node] * c, node * len(masks) * c
        _invariants(back, masks, coefficient, size[node], tensor, o, result, r, c, step, still, x, one)
