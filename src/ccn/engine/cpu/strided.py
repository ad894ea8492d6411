"""One pattern of moving rows, which nearly every step of the kernels is an instance of.

    to[t0 + sum_i tc_i x_i] += w * source[s0 + sum_i sc_i x_i]     for all x in {0..m-1}^r

on arrays whose elements are rows of channels; the gradient of a step is the step with ``to`` and ``source`` exchanged.
"""

from __future__ import annotations

from ccn.engine.cpu.compiling import compiled, inlined
from ccn.engine.cpu.tape import Address
from ccn.engine.cpu.vectors import add, integer, no_inline, put, total

__all__ = ["strided"]


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
    """:func:`strided` for at most two indices."""
    no_inline()
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
    to: Address,
    i: int,
    step: Address,
    source: Address,
    j: int,
    jump: Address,
    axes: int,
    m: int,
    n: int,
    w: float,
    index: Address,
) -> None:
    """:func:`strided` for any number of indices."""
    no_inline()
    for a in range(axes):
        put(index, a, 0)
    while True:
        _plane(to, i, integer(step, 0), integer(step, 1), source, j, integer(jump, 0), integer(jump, 1), 2, m, n, w)
        axis = 2
        while axis < axes:
            put(index, axis, integer(index, axis) + 1)
            i += integer(step, axis)
            j += integer(jump, axis)
            if integer(index, axis) < m:
                break
            put(index, axis, 0)
            i -= m * integer(step, axis)
            j -= m * integer(jump, axis)
            axis += 1
        if axis >= axes:
            return


@inlined
def strided(
    to: Address,
    i: int,
    step: Address,
    source: Address,
    j: int,
    jump: Address,
    axes: int,
    m: int,
    n: int,
    w: float,
    index: Address,
) -> None:
    """``to[i + sum_a step_a x_a ..] += w * source[j + sum_a jump_a x_a ..]``, n numbers each, for all x < m.

    The steps are read by address, and where there are more than two, ``index`` is written to.
    """
    if axes == 0:
        add(to, i, source, j, w, n)
    elif axes > 2:
        _space(to, i, step, source, j, jump, axes, m, n, w, index)
    else:
        _plane(to, i, integer(step, 0), integer(step, 1), source, j, integer(jump, 0), integer(jump, 1), axes, m, n, w)
