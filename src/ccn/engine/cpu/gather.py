"""From the mixed table of the children to the targets of a node, or back: the step that takes most of the time.

First the places of all its children's atoms are laid out, pair after pair; then each slot runs over all pairs in one
loop, so that what belongs to a slot is looked up once for a node and not for every pair.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ccn.engine.cpu.compiling import compiled, woven
from ccn.engine.cpu.layout import Layout, Work
from ccn.engine.cpu.program import Program
from ccn.engine.cpu.tape import Address, Tape, of_size
from ccn.engine.cpu.vectors import add, get, integer, no_inline, put

__all__ = ["gather"]

_PLACE_BYTES, _PAIR_BYTES = 24, 64  # three integers, and eight


@compiled
def _places(place: NDArray[np.int32], first: int, m: int, line: Address, plane: Address, planar: bool) -> int:
    """The atoms x of a child that lie in its parent: (x, p(x), 0) one by one, and if ``planar`` (x + m y, p(x), p(y)).

    Returns how many atoms they are. Each slot of a child then is one loop, whatever the child's size: short loops
    within loops are hard to foresee for the processor, and cost more than the work in them.
    """
    no_inline()
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
            put(at, 0, integer(line, 3 * x) + m * integer(line, 3 * y))
            put(at, 1, integer(line, 3 * x + 1))
            put(at, 2, integer(line, 3 * y + 1))
            at += _PLACE_BYTES
    return count


@woven
def _lay_out(level: Layout, pair: int, end: int, deepest: int, k: int, w: Work) -> int:
    """Lay out the places of the pairs from ``pair`` on, as many as fit; returns the first that does not.

    Each pair has eight numbers: its rows among those of order 0, 1, 2 of its graph, the place of its anchor,
    and where its places (of one axis, of two) begin and how many they are.
    """
    begin, at, free = pair, w.places, w.capacity
    while pair < end:
        child = level.child[pair]
        m = level.below_size[child]
        if pair > begin and m + m * m > free:
            break
        free -= m + m * m
        plane = at + _PLACE_BYTES * m
        count = _places(level.place, level.place_start[pair], m, at, plane, deepest > 1) if deepest > 0 else 0
        pair_at = w.pairs_at + _PAIR_BYTES * (pair - begin)
        for g in range(min(k, 2) + 1):
            put(pair_at, g, level.local[g, child])
        put(pair_at, 3, max(0, level.stack[pair]))
        put(pair_at, 4, at)
        put(pair_at, 5, count)
        put(pair_at, 6, plane)
        put(pair_at, 7, count * count)
        at = plane + _PLACE_BYTES * m * m
        pair += 1
    return pair


@compiled
def _placed(
    back: bool,
    record: Address,
    pairs_at: Address,
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
    """One slot of all pairs that are laid out; for all (x, p, r) of a pair with anchor at s, or back,

    target[t + step p + step_1 r + step_stack s] += q[at + q_step p + q_step_1 r + q_step_stack s] table[row + jump x]
    """
    no_inline()
    g, jump = integer(record, 0), integer(record, 3)
    row += integer(record, 2)
    to += integer(record, 4)
    step_stack, q_step_stack = integer(record, 6), integer(record, 7)
    axes = min(g, 2)
    if axes == 0:
        for _ in range(pairs):
            stack, first = integer(pairs_at, 3), row + integer(pairs_at, 0) * jump
            weight = get(q, at + q_step_stack * stack, one)
            if back:
                add(table, first, targets, to + step_stack * stack, weight, c)
            else:
                add(targets, to + step_stack * stack, table, first, weight, c)
            pairs_at += _PAIR_BYTES
        return
    step, q_step, step_1, q_step_1 = integer(record, 8), integer(record, 9), integer(record, 10), integer(record, 11)
    for _ in range(pairs):
        stack, first = integer(pairs_at, 3), row + integer(pairs_at, axes) * jump
        t, by = to + step_stack * stack, at + q_step_stack * stack
        weight = get(q, by, one)
        places = integer(pairs_at, 2 + 2 * axes)
        for _ in range(integer(pairs_at, 3 + 2 * axes)):
            x, p, r = integer(places, 0), integer(places, 1), integer(places, 2)
            if q_step | q_step_1:
                weight = get(q, by + q_step * p + q_step_1 * r, one)
            if back:
                add(table, first + jump * x, targets, t + step * p + step_1 * r, weight, c)
            else:
                add(targets, t + step * p + step_1 * r, table, first + jump * x, weight, c)
            places += _PLACE_BYTES
        pairs_at += _PAIR_BYTES


@woven
def _deeper(
    back: bool,
    record: Address,
    level: Layout,
    pair: int,
    pair_at: Address,
    targets: Address,
    row: int,
    q: Address,
    at: int,
    c: int,
    w: Work,
    one: float,
) -> None:
    """:func:`_placed` of one pair for three axes and more: for each index of those after the second, one plane."""
    g, jump, index, place, child = integer(record, 0), integer(record, 3), w.indices, level.place, level.child[pair]
    m, first = level.below_size[child], level.place_start[pair]
    put(pair_at, 2, 0)
    row += level.local[g, child] * jump
    for a in range(2, g):
        put(index, a, 0)
    while True:
        to, by, inside = 0, at, True
        for a in range(2, g):
            p = place[first + integer(index, a)]
            inside = inside and p >= 0
            to += integer(record, 8 + 2 * a) * p
            by += integer(record, 9 + 2 * a) * p
        if inside:
            _placed(back, record, pair_at, 1, targets, w.table, row, q, by, to, c, one)
        row += m * m * jump
        a = 2
        while a < g:
            put(index, a, integer(index, a) + 1)
            if integer(index, a) < m:
                break
            put(index, a, 0)
            a += 1
        if a >= g:
            break
    put(pair_at, 2, level.local[2, child])


@woven
def gather(
    back: bool,
    program: Program,
    tape: Tape,
    level: Layout,
    node: int,
    chunk: int,
    q: Address,
    targets: Address,
    c: int,
    w: Work,
    one: float,
) -> None:
    """All slots of all pairs of a node whose child is in a chunk: from the table to its targets, or back.

    With p(a) the parent's place of atom a of the child, for every kept index x of the child,

        target[sum_a step_a p(x_a)] += q[sum_a q_step_a p(x_a)] * table[x].
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
        while pair < last and level.chunk_of[level.child[pair]] < chunk:
            pair += 1
        while pair < last and level.chunk_of[level.child[last - 1]] > chunk:
            last -= 1
        while pair < last:
            after = _lay_out(level, pair, last, deepest, program.order_in, w)
            for s in range(begin, end):
                record = first + width * s
                g, channel = integer(record, 0), integer(record, 1)
                if channel >= 0 and not integer(w.live, channel):
                    continue
                row, at = integer(w.table_start, g), integer(w.section_start, integer(record, 5))
                if g < 3:
                    _placed(back, record, w.pairs_at, after - pair, targets, w.table, row, q, at, 0, c, one)
                    continue
                for i in range(pair, after):
                    pair_at = w.pairs_at + _PAIR_BYTES * (i - pair)
                    _deeper(back, record, level, i, pair_at, targets, row, q, at, c, w, one)
            pair = after
        begin = end
