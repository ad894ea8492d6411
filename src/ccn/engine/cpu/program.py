"""A plan as arrays of integers: what the compiled kernels read.

A group of axes of a tensor over a part of m atoms is written as a **mask**, a number with bit a set for axis a: an
index i that runs along the group moves by ``coefficient(m, mask) * i`` rows, the sum of ``m^a`` over its bits.
With that, every step of a plan is a loop over indices in which the rows read and the rows written both move
linearly, or by the places of a child's atoms in its parent.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from ccn.algebra.contractions import set_partitions
from ccn.engine.plan import STACK, Kind, Plan, Slot
from ccn.graphs.ragged import Int

__all__ = [
    "BY_MATRIX",
    "BY_MULTIPLYING",
    "BY_ONE",
    "COLUMN",
    "DIAGONAL",
    "ENTRY",
    "KINDS",
    "PAIR_SETS",
    "ROW",
    "TRACE",
    "Program",
    "invariant_masks",
    "program",
]

KINDS: tuple[Kind, ...] = ("total", "trace", "row", "column", "diagonal", "entry")
_, TRACE, ROW, COLUMN, DIAGONAL, ENTRY = range(len(KINDS))
FACTORS = ("one", "row", "column", "matrix", "multiply")
BY_ONE, BY_MATRIX, BY_MULTIPLYING = (FACTORS.index(x) for x in ("one", "matrix", "multiply"))
PAIR_SETS = ("stacked", "free", "own")


class Program(NamedTuple):
    """The arrays; n is the largest number of axes that anything has.

    Attributes:
        order_in, order_out: k and k'.
        slots: (slots, 6) set of pairs, order, column of the table, target, section of the weight or -1, channel of A
            that it is multiplied by, there or at the target, or -1.
        slot_moves: (slots, 2 (n+1)) for each kept axis, and then for the stack, the mask of the target axes that it
            fills, and after them the same for the axes of the weight.
        sections: (sections, 2) kind and channel.
        target_order: (targets,).
        factors: (targets, 5) factor, channel, which axis of A is contracted, section of the factor or -1, number
            of new groups.
        target_axes, target_new: (targets, n) masks of output axes.
        stages: (stages, 6) order, reductions ``first:end``, columns ``first:end`` of the table, and where its matrix
            begins, counted in blocks of (in, out).
        table_width: (k+1,) slots in a row of the table of each order.
        reductions: (reductions, 4) order, column of X, number of summed groups, mask of the centre.
        kept, summed: (reductions, n) masks of axes of F.
        reduced_width: (k+1,) reductions in a row of X of each order.
        invariants: (Bell(k'), n+1) number of groups, and their masks.
    """

    order_in: int
    order_out: int
    slots: Int
    slot_moves: Int
    sections: Int
    target_order: Int
    factors: Int
    target_axes: Int
    target_new: Int
    stages: Int
    table_width: Int
    reductions: Int
    kept: Int
    summed: Int
    reduced_width: Int
    invariants: Int


def _mask(axes: Iterable[int]) -> int:
    return sum(1 << a for a in axes)


def _masks(groups: Iterable[Iterable[int]], width: int) -> list[int]:
    found = [_mask(g) for g in groups]
    return found + [0] * (width - len(found))


def _filled(places: Sequence[int], width: int) -> list[int]:
    """For each kept axis, and last for the stack, the mask of the places that it fills."""
    return _masks(
        ([t for t, of in enumerate(places) if of == i] for i in [*range(width), STACK]),
        width + 1,
    )


def _table(rows: Sequence[Sequence[int]], width: int) -> Int:
    return np.array(rows, dtype=np.int64).reshape(len(rows), width)


@lru_cache(maxsize=256)
def invariant_masks(order: int, n: int) -> Int:
    """(Bell(order), n+1) for every set partition of the axes, the plain sum first: number of groups, their masks."""
    partitions = reversed(list(set_partitions(range(order))))
    return _table([(len(p), *_masks(p, n)) for p in partitions], n + 1)


@lru_cache(maxsize=256)
def program(plan: Plan) -> Program:
    """The arrays of a plan."""
    n = max(plan.order_in, plan.order_out, 2)
    number = {t: i for i, t in enumerate(plan.targets)}
    section = {s: i for i, s in enumerate(plan.sections)}
    slots: list[tuple[Slot, int]] = []  # with their column in the table of their order
    table_width = [0] * (plan.order_in + 1)
    stages, block = [], 0
    for stage in plan.stages:
        first = table_width[stage.order]
        end = table_width[stage.order] = first + len(stage.slots)
        slots += zip(stage.slots, range(first, end), strict=True)
        stages.append((stage.order, stage.first, stage.end, first, end, block))
        block += (stage.end - stage.first) * len(stage.slots)
    reductions = [(r, column) for of in plan.reductions for column, r in enumerate(of)]
    factors = []
    for t in plan.targets:
        quantity = (t.factor, t.channel)
        at = section[quantity] if t.factor in ("row", "column") else -1  # type: ignore[index]
        factors.append((FACTORS.index(t.factor), t.channel, t.contracted, at, len(t.new)))
    return Program(
        order_in=plan.order_in,
        order_out=plan.order_out,
        slots=_table(
            [
                (
                    PAIR_SETS.index(s.pairs),
                    s.order,
                    column,
                    number[s.target],
                    -1 if s.weight is None else section[s.weight.kind, s.weight.channel],
                    s.weight.channel if s.weight else -1 if s.target.factor == "one" else s.target.channel,
                )
                for s, column in slots
            ],
            6,
        ),
        slot_moves=_table(
            [_filled(s.places, n) + _filled(() if s.weight is None else s.weight.places, n) for s, _ in slots],
            2 * (n + 1),
        ),
        sections=_table([(KINDS.index(kind), channel) for kind, channel in plan.sections], 2),
        target_order=np.array([t.order for t in plan.targets]),
        factors=_table(factors, 5),
        target_axes=_table([_masks(t.axes, n) for t in plan.targets], n),
        target_new=_table([_masks(t.new, n) for t in plan.targets], n),
        stages=_table(stages, 6),
        table_width=np.array(table_width),
        reductions=_table([(r.order, column, len(r.summed), _mask(r.centre)) for r, column in reductions], 4),
        kept=_table([_masks(r.kept, n) for r, _ in reductions], n),
        summed=_table([_masks(r.summed, n) for r, _ in reductions], n),
        reduced_width=np.array([len(of) for of in plan.reductions]),
        invariants=invariant_masks(plan.order_out, n),
    )
