"""From the mixed table of the children to the targets of a node, or back: the step that takes most of the time.

First the places of all its children's atoms are laid out, pair after pair; then each slot runs over all pairs in one
loop, so that what belongs to a slot is looked up once for a node and not for every pair.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ccn.engine.layout import Address, Layout, Work
from ccn.engine.program import Program
from ccn.engine.vectors import add, apart, compiled, get, inlined, put
from ccn.ragged import Int

__all__ = ["gather"]

_PLACE, _SEAT = 24, 64  # bytes of a place, three numbers, and of a seat, eight


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
            at += _PLACE
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
        plane = at + _PLACE * m
        count = _places(level.place, level.place_start[pair], m, at, plane, deepest > 1) if deepest > 0 else 0
        seat = w.seats + _SEAT * (pair - begin)
        for g in range(min(k, 2) + 1):
            put(seat, g, level.local[g, child])
        put(seat, 3, max(0, level.stack[pair]))
        put(seat, 4, at)
        put(seat, 5, count)
        put(seat, 6, plane)
        put(seat, 7, count * count)
        at = plane + _PLACE * m * m
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
                places += _PLACE
        seats += _SEAT


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
def gather(back: bool, program: Program, level: Layout, node: int, q: Address, c: int, w: Work, one: float) -> None:
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
                        back, g, level, i, w.seats + _SEAT * (i - pair), moves, stacked, t, row, jump, q, at, c, w, one
                    )
            pair = after
        begin = end
