"""One pattern of moving rows, which nearly every step of the kernels is an instance of.

    to[i + sum_a step_a x_a] += w * source[j + sum_a jump_a x_a]     for all x in {0..m-1}^r

on arrays whose elements are rows of n numbers; the gradient of a step is the step with ``to`` and ``source`` exchanged.
How many indices there are is known when a kernel is compiled, in which each becomes a loop: steps are lists.
"""

from __future__ import annotations

from ccn.engine.cpu.compiling import shared, woven
from ccn.engine.cpu.vectors import Address, add, add_rows, total

__all__ = ["added", "move", "power", "powers", "stride", "summed"]


@woven
def added(numbers: list[int]) -> int:
    """The sum of integers."""
    found = 0
    for i in range(len(numbers)):
        found += numbers[i]
    return found


@woven
def power(m: int, exponent: int) -> int:
    """``m^exponent``."""
    found = 1
    for _ in range(exponent):
        found *= m
    return found


@woven
def powers(m: int, n: int, count: int) -> list[int]:
    """``m^a n`` for a = 0, 1, .. ``count`` - 1: how far apart rows are along each axis of a tensor."""
    return [n * power(m, a) for a in range(count)]


def _bits(mask: int) -> list[int]:
    return [a for a in range(int(mask).bit_length()) if mask >> a & 1]


@woven
def stride(mask: int, along: list[int]) -> int:
    """How far apart rows are along a group of axes, which is written as a mask."""
    found: int = added([along[a] for a in _bits(mask)])
    return found


@shared
def _plane(
    to: Address,
    i: int,
    step: int,
    step_1: int,
    source: Address,
    j: int,
    jump: int,
    jump_1: int,
    m: int,
    n: int,
    w: float,
) -> None:
    """The pattern for two indices."""
    for y in range(m):
        for x in range(m):
            add(to, i + step * x + step_1 * y, source, j + jump * x + jump_1 * y, w, n)


@woven
def move(
    to: Address,
    i: int,
    step: list[int],
    source: Address,
    j: int,
    jump: list[int],
    runs: int,
    m: int,
    n: int,
    w: float,
) -> None:
    """The pattern. Along the first ``runs`` axes rows follow each other, here as there.

    Of three axes and more the loops over the first two are a function, since there are many such patterns.
    """
    if len(step) > 2:
        for x in range(m):
            a, b = i + step[-1] * x, j + jump[-1] * x
            if len(step) > 3:
                move(to, a, step[:-1], source, b, jump[:-1], runs, m, n, w)
            else:
                _plane(to, a, step[0], step[1], source, b, jump[0], jump[1], m, n, w)
    elif len(step) > runs:
        for x in range(m):
            move(to, i + step[-1] * x, step[:-1], source, j + jump[-1] * x, jump[:-1], runs, m, n, w)
    elif runs > 0:
        add_rows(to, i, source, j, w, power(m, runs), n)
    else:
        add(to, i, source, j, w, n)


@woven
def summed(
    to: Address, i: int, step: list[int], source: Address, j: int, jump: list[int], m: int, n: int, w: float
) -> None:
    """The pattern where only the first axes have a step in ``to``: the source is summed over the others."""
    kept = len(step)
    if len(jump) > 2:
        move(to, i, step + [0 for _ in jump[kept:]], source, j, jump, 0, m, n, w)
    elif kept > 0:
        for x in range(m):
            rest = jump[: kept - 1] + jump[kept:]
            summed(to, i + step[-1] * x, step[:-1], source, j + jump[kept - 1] * x, rest, m, n, w)
    elif len(jump) > 1:
        for x in range(m):
            total(to, i, source, j + jump[1] * x, jump[0], m, w, n)
    elif len(jump) > 0:
        total(to, i, source, j, jump[0], m, w, n)
    else:
        add(to, i, source, j, w, n)
