"""From the mixed table of the children to the targets of a node, or back: the step that takes most of the time.

A row of the table holds all slots of its order one after another. Which these are is known when a kernel is compiled:
they are moved together, in one loop over the rows of a child.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ccn.engine.cpu.compiling import woven
from ccn.engine.cpu.layout import QUANTITY_ORDERS, Layout, Work
from ccn.engine.cpu.program import PAIR_SETS, Program
from ccn.engine.cpu.strided import added, power, powers, stride
from ccn.engine.cpu.vectors import Address, add, constant, is_live
from ccn.engine.plan import STACK

__all__ = ["gather", "quantity_start", "target_starts"]


def _slots(program: Program, pairs: int, order: int) -> list[int]:
    """The slots of a set of pairs and an order."""
    return [int(s) for s in np.flatnonzero((program.slots[:, 0] == pairs) & (program.slots[:, 1] == order))]


def _mask(program: Program, slot: int, of_weight: bool, axis: int) -> int:
    """The mask of what an axis of the child, or the stack, fills in the target of a slot or in its quantity."""
    half = program.slot_moves.shape[1] // 2
    return int(program.slot_moves[slot, half * of_weight : half * (1 + of_weight)][axis])


def _varies(program: Program, slot: int) -> bool:
    """Whether the weight of a slot differs between the rows of a pair."""
    return bool(program.slot_moves[slot, program.slot_moves.shape[1] // 2 : -1].any())


@woven
def quantity_start(program: Program, level: Layout, node: int, section: int) -> int:
    """Where a quantity of A of a node begins; section -1 stands for none."""
    found = 0  # for none: there is a 1
    if section >= 0:
        found += level.section[section] + level.quantity_rows[QUANTITY_ORDERS[program.sections[section, 0]], node]
    return found


class _Slots(NamedTuple):
    """Slots of one order at one pair: the steps of each along each axis, in the target and in q, the weights of those
    whose weights do not vary, and which have any.
    """

    slots: list[int]
    along: list[list[int]]
    along_q: list[list[int]]
    weight: list[float]
    live: list[bool]


@woven
def _moved(
    back: bool,
    program: Program,
    of: _Slots,
    axis: int,
    level: Layout,
    pair: int,
    m: int,
    table: Address,
    row: int,
    targets: Address,
    to: list[int],
    q: Address,
    at: list[int],
    c: int,
    one: float,
) -> None:
    """The rows of one child that have given indices from ``axis`` on, as far as their atoms lie in the parent.

    ``to`` and ``at`` are the places in the targets and in q that each slot has come to.
    """
    every = range(len(to))
    if axis > 0:
        here, here_q = of.along[axis - 1], of.along_q[axis - 1]
        rows = power(m, axis - 1) * program.table_width[len(of.along)] * c
        first = level.place_start[pair]
        for x in range(m):
            p = level.place[first + x]
            if p >= 0:
                on, on_q = [to[s] + here[s] * p for s in every], [at[s] + here_q[s] * p for s in every]
                _moved(back, program, of, axis - 1, level, pair, m, table, row + rows * x, targets, on, q, on_q, c, one)
    else:
        for i in range(len(to)):
            slot = of.slots[i]
            if of.live[i]:
                weight = constant(q, at[i], one) if _varies(program, slot) else of.weight[i]
                column = row + program.slots[slot, 2] * c
                if back:
                    add(table, column, targets, to[i], weight, c)
                else:
                    add(targets, to[i], table, column, weight, c)


@woven
def gather(
    back: bool,
    program: Program,
    level: Layout,
    node: int,
    chunk: int,
    q: Address,
    live: Address,
    targets: Address,
    table_start: list[int],
    c: int,
    w: Work,
    one: float,
) -> None:
    """All slots of all pairs of a node whose child is in a chunk: from the table to its targets, or back.

    With p(a) the parent's place of atom a of the child, for every kept index x of the child,

        target[sum_a step_a p(x_a)] += q[sum_a q_step_a p(x_a)] * table[x].
    """
    along_q = powers(level.size[node], 1, program.kept.shape[1] + 1)
    along = [a * c for a in along_q]
    begin = target_starts(program, level.size[node], c)
    for pairs in range(len(PAIR_SETS)):
        if (program.slots[:, 0] == pairs).any():
            for pair in range(level.pair_start[pairs, node], level.pair_start[pairs, node + 1]):
                child = level.child[pair]
                if level.chunk_of[child] == chunk:
                    m, stack = level.below_size[child], max(0, level.stack[pair])
                    for g in range(program.order_in + 1):
                        slots = _slots(program, pairs, g)
                        if len(slots) > 0:
                            to = [
                                begin[program.slots[s, 3]] + stride(_mask(program, s, False, STACK), along) * stack
                                for s in slots
                            ]
                            at = [
                                quantity_start(program, level, node, program.slots[s, 4])
                                + stride(_mask(program, s, True, STACK), along_q) * stack
                                for s in slots
                            ]
                            of = _Slots(
                                slots,
                                [[stride(_mask(program, s, False, x), along) for s in slots] for x in range(g)],
                                [[stride(_mask(program, s, True, x), along_q) for s in slots] for x in range(g)],
                                [constant(q, a, one) for a in at],
                                [is_live(live, program.slots[s, 5] * len(level.size) + node) for s in slots],
                            )
                            row = (table_start[g] + level.local[g, child] * program.table_width[g]) * c
                            _moved(back, program, of, g, level, pair, m, w.table, row, targets, to, q, at, c, one)


@woven
def target_starts(program: Program, m: int, c: int) -> list[int]:
    """Where each target of a node of m atoms begins, and where the last ends."""
    rows = [power(m, program.target_order[t]) * c for t in range(len(program.target_order))]
    return [added(rows[:t]) for t in range(len(rows) + 1)]
