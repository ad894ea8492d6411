"""Set partitions and their counts: what contractions and invariants are enumerated from.

>>> [bell(n) for n in range(6)]
[1, 1, 2, 5, 15, 52]
>>> list(set_partitions("ab"))
[(('a', 'b'),), (('a',), ('b',))]
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from math import comb
from typing import TypeVar

__all__ = ["bell", "set_partitions"]

T = TypeVar("T")


@cache
def bell(n: int) -> int:
    """Number of set partitions of ``n`` things: ``Bell(n) = sum_i C(n-1, i) Bell(i)``."""
    return 1 if n == 0 else sum(comb(n - 1, i) * bell(i) for i in range(n))


def set_partitions(items: Sequence[T]) -> Iterator[tuple[tuple[T, ...], ...]]:
    """All set partitions of ``items``, blocks ordered by their first item, coarsest first.

    The order is that of restricted growth strings: each item in turn joins the blocks that
    exist, first block first, and last opens a block of its own.
    """
    if not items:
        yield ()
        return
    *head, last = items
    for partition in set_partitions(head):
        for i, block in enumerate(partition):
            yield (*partition[:i], (*block, last), *partition[i + 1 :])
        yield (*partition, (last,))
