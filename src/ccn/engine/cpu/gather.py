"""From the mixed table of the children to the targets of a node, or back: the step that takes most of the time.

First the places of all its children's atoms are laid out, pair after pair; then each slot runs over all pairs in one
loop, so that what belongs to a slot is looked up once for a node and not for every pair.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ccn.engine.cpu.layout import Layout, Work
from ccn.engine.cpu.program import Program
from ccn.engine.cpu.tape import Address, Tape, of_size
from ccn.engine.cpu.vectors import add, apart, compiled, get, inlined, put, whole

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
            put(at, 0, whole(line, 3 * x) + m * whole(line, 3 * y))
            put(at, 1, whole(line, 3 * x + 1))
            put(at, 2, whole(line, 3 * y + 1))
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
    record: Address,
    seats: Address,
    pairs: int,
    targets: Address,
    table: Address,
    row: int,
    q: Address,
    at: int,
    to: int,
    c: int,
    one: float,
) -> None:
    """One slot of all pairs that have a seat; for all (x, p, r) of a pair with anchor at s, or back,

    ``target[t + step p + step_1 r + step_stack s] += q[at + lean p + lean_1 r + lean_stack s] * table[row + jump x]``.
    """
    apart()
    g, jump = whole(record, 0), whole(record, 3)
    row += whole(record, 2)
    to += whole(record, 4)
    step_stack, lean_stack = whole(record, 6), whole(record, 7)
    axes = min(g, 2)
    if axes == 0:
        for _ in range(pairs):
            stack, first = whole(seats, 3), row + whole(seats, 0) * jump
            weight = get(q, at + lean_stack * stack, one)
            if back:
                add(table, first, targets, to + step_stack * stack, weight, c)
            else:
                add(targets, to + step_stack * stack, table, first, weight, c)
            seats += _SEAT
        return
    step, lean, step_1, lean_1 = whole(record, 8), whole(record, 9), whole(record, 10), whole(record, 11)
    for _ in range(pairs):
        stack, first = whole(seats, 3), row + whole(seats, axes) * jump
        t, by = to + step_stack * stack, at + lean_stack * stack
        weight = get(q, by, one)
        places = whole(seats, 2 + 2 * axes)
        for _ in range(whole(seats, 3 + 2 * axes)):
            x, p, r = whole(places, 0), whole(places, 1), whole(places, 2)
            if lean | lean_1:
                weight = get(q, by + lean * p + lean_1 * r, one)
            if back:
                add(table, first + jump * x, targets, t + step * p + step_1 * r, weight, c)
            else:
                add(targets, t + step * p + step_1 * r, table, first + jump * x, weight, c)
            places += _PLACE
        seats += _SEAT


@inlined
def _deeper(
    back: bool,
    record: Address,
    level: Layout,
    pair: int,
    seat: Address,
    row: int,
    q: Address,
    at: int,
    c: int,
    w: Work,
    one: float,
) -> None:
    """:func:`_placed` of one pair for three axes and more: for each index of those after the second, one plane."""
    g, jump, index, place, child = whole(record, 0), whole(record, 3), w.indices, level.place, level.child[pair]
    m, first = level.below_size[child], level.place_start[pair]
    put(seat, 2, 0)
    row += level.local[g, child] * jump
    for a in range(2, g):
        put(index, a, 0)
    while True:
        to, by, inside = 0, at, True
        for a in range(2, g):
            p = place[first + whole(index, a)]
            inside = inside and p >= 0
            to += whole(record, 8 + 2 * a) * p
            by += whole(record, 9 + 2 * a) * p
        if inside:
            _placed(back, record, seat, 1, w.targets, w.table, row, q, by, to, c, one)
        row += m * m * jump
        a = 2
        while a < g:
            put(index, a, whole(index, a) + 1)
            if whole(index, a) < m:
                break
            put(index, a, 0)
            a += 1
        if a >= g:
            break
    put(seat, 2, level.local[2, child])


@inlined
def gather(
    back: bool, program: Program, tape: Tape, level: Layout, node: int, q: Address, c: int, w: Work, one: float
) -> None:
    """All slots of all pairs of a node: from the table to its targets, or back.

    With p(a) the parent's place of atom a of the child, for every kept index x of the child,

        target[sum_a step_a p(x_a)] += q[sum_a lean_a p(x_a)] * table[x].
    """
    first, width = of_size(tape.slots, level.size[node]), tape.slots.width
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
                record = first + width * s
                g, channel = whole(record, 0), whole(record, 1)
                if channel >= 0 and not whole(w.live, channel):
                    continue
                row, at = whole(w.table_start, g), whole(w.section_start, whole(record, 5))
                if g < 3:
                    _placed(back, record, w.seats, after - pair, w.targets, w.table, row, q, at, 0, c, one)
                    continue
                for i in range(pair, after):
                    _deeper(back, record, level, i, w.seats + _SEAT * (i - pair), row, q, at, c, w, one)
            pair = after
        begin = end
