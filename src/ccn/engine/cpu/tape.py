"""A program for parts of every size and for so many channels: all that a kernel would otherwise work out at every node.

A record says how one piece of a program moves at a node of m atoms: how many numbers it goes ahead where an index along
an axis goes ahead by one, and where it begins. Records are consecutive integers, kernels read them by address: what a
small part costs is mostly what is looked up for it. Parts of up to 64 atoms have records whether they occur or not, so
that all batches of molecules share them; larger ones only if they do.

Records, with n the number of axes that a program has at most:

========== ==========================================================================================================
slot       order, channel, column, jump of the table, start of the target, section + 1, steps of the stack in the target
           and in q, steps of each axis in the target and in q (2 n)
target     factor, channel, contracted axis, section + 1, axes, start, number of new groups, lead, steps in the output
           (n), steps in the target (n), steps of the new groups (n)
reduction  order, column, numbers in a row of X, whether it holds the centre, step of the centre, axes, steps in X (n),
           steps in F (n)
invariant  axes, steps in the tensor (n), steps in the result, which are 0 (n)
========== ==========================================================================================================
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from ccn.engine.cpu.compiling import inlined
from ccn.engine.cpu.program import BY_MULTIPLYING, Program, invariant_masks, program
from ccn.engine.cpu.vectors import integer
from ccn.engine.plan import Plan
from ccn.graphs.ragged import Int, starts

__all__ = ["INTEGER_BYTES", "Address", "Records", "Tape", "invariant_records", "of_size", "part_sizes", "tape"]

Address = int
INTEGER_BYTES = 8  # bytes of a number
_SMALL = np.arange(65)


class Records(NamedTuple):
    """Records of ``width`` bytes, ``every`` bytes for each part size; ``number`` says which of them is a size's."""

    first: Address
    every: int
    width: int
    number: Address


class Tape(NamedTuple):
    """The records of a program, and for each size the numbers that the targets of a node have; ``held`` keeps all."""

    slots: Records
    targets: Records
    reductions: Records
    invariants: Records
    length: Records
    held: Int


@inlined
def of_size(records: Records, m: int) -> Address:
    """The first record of parts of m atoms."""
    address: int = records.first + records.every * integer(records.number, m)
    return address


def part_sizes(*present: Int) -> Int:
    """The sizes that have records, in order, where parts of these sizes are present."""
    large = [x[x >= len(_SMALL)] for x in present]
    return np.concatenate([_SMALL, np.unique(np.concatenate(large))]) if any(map(len, large)) else _SMALL


def _coefficients(sizes: Int, axes: int) -> Int:
    """(sizes, 2^axes) ``coefficient(m, mask)``, the sum of m^a over the bits a of the mask."""
    power = sizes[:, None] ** np.arange(axes)
    bits = np.arange(1 << axes)[:, None] >> np.arange(axes) & 1
    return power @ bits.T


def _table(*columns: Int) -> Int:
    """(sizes, records, numbers) from columns (sizes or 1, records or 1), or of several numbers each."""
    wide = [x[..., None] if x.ndim == 2 else x for x in columns]
    shape = np.broadcast_shapes(*(x.shape[:2] for x in wide))
    return np.concatenate([np.broadcast_to(x, (*shape, x.shape[2])) for x in wide], axis=2, dtype=np.int64)


def _invariants(order: int, sizes: Int, c: int) -> Int:
    axes = max(order, 2)
    masks = invariant_masks(order, axes)
    steps = _coefficients(sizes, axes)[:, masks[:, 1:]] * c
    return _table(masks[None, :, 0], steps, np.zeros_like(steps))


def _held(sizes: Int, *tables: Int) -> tuple[list[Records], Int]:
    """Tables (sizes, records, numbers) as records, and the one array that all of them lie in."""
    number = np.zeros(sizes[-1] + 1, np.int64)
    number[sizes] = np.arange(len(sizes))
    held = np.concatenate([number, *(t.reshape(-1) for t in tables)])
    at = held.ctypes.data + starts([t.size for t in (number, *tables)]) * INTEGER_BYTES
    shapes = [t.shape for t in tables]
    records = [
        Records(int(a), count * width * INTEGER_BYTES, width * INTEGER_BYTES, held.ctypes.data)
        for a, (_, count, width) in zip(at[1:], shapes, strict=False)
    ]
    return records, held


@lru_cache(maxsize=64)
def _invariant_records(order: int, sizes: bytes, c: int) -> tuple[list[Records], Int]:
    every = np.frombuffer(sizes, np.int64)
    return _held(every, _invariants(order, every, c))


def invariant_records(order: int, sizes: Int, c: int) -> tuple[Records, Int]:
    """The invariants of tensors of an order and c channels, for such parts; and the array that holds them."""
    (records,), held = _invariant_records(order, sizes.tobytes(), c)
    return records, held


@lru_cache(maxsize=256)
def _tape(plan: Plan, sizes: bytes, n: int, c: int) -> Tape:
    every = np.frombuffer(sizes, np.int64)
    slots, targets, reductions, length = _tables(program(plan), every, n, c)
    records, held = _held(every, slots, targets, reductions, _invariants(plan.order_out, every, c), length)
    return Tape(*records, held)  # type: ignore[call-arg, arg-type]


def tape(plan: Plan, sizes: Int, n: int, c: int) -> Tape:
    """The records of a plan from n to c channels, for such parts."""
    return _tape(plan, sizes.tobytes(), n, c)


def _tables(program: Program, sizes: Int, n: int, c: int) -> tuple[Int, Int, Int, Int]:
    """The records of slots, targets and reductions, and the numbers of the targets."""
    axes = program.kept.shape[1]
    coefficient = _coefficients(sizes, max(program.order_in, program.order_out, 2) + 1)
    power = coefficient[:, 1 << np.arange(axes)]
    length = coefficient[:, 1 << program.target_order] * c
    start = np.cumsum(length, axis=1) - length

    order, column, target, section, channel = program.slots[:, 1:].T
    moves = coefficient[:, program.slot_moves]
    slots = _table(
        order[None],
        channel[None],
        column[None] * c,
        program.table_width[order][None] * c,
        start[:, target],
        section[None] + 1,
        moves[:, :, axes] * c,
        moves[:, :, -1],
        np.stack([moves[:, :, :axes] * c, moves[:, :, axes + 1 : -1]], axis=3).reshape(len(sizes), -1, 2 * axes),
    )

    factor, channel, contracted, section, news = program.factors.T
    multiplies = factor == BY_MULTIPLYING
    lead = coefficient[:, [1 << max(0, program.order_out - 1)]] * c
    targets = _table(
        factor[None],
        channel[None],
        contracted[None],
        section[None] + 1,
        (program.target_order - multiplies)[None],
        start,
        news[None],
        lead,
        coefficient[:, program.target_axes] * c,
        power[:, None].repeat(len(factor), 1) * c,
        coefficient[:, program.target_new] * c,
    )

    order, column, sums, held = program.reductions.T
    row = program.reduced_width[order] * n
    index = np.arange(axes)
    kept = index < order[:, None]
    summed = np.take_along_axis(program.summed, np.maximum(index - order[:, None], 0), axis=1)
    reductions = _table(
        order[None],
        column[None] * n,
        row[None],
        held[None],
        coefficient[:, held] * n,
        (order + sums)[None],
        np.where(kept, power[:, None] * row[:, None], 0),
        coefficient[:, np.where(kept, program.kept, summed)] * n,
    )
    return slots, targets, reductions, length.sum(1)[:, None, None]
