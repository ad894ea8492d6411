"""Set partitions and Bell numbers, against sympy."""

import pytest
from sympy import bell as sympy_bell  # type: ignore[import-untyped]
from sympy.utilities.iterables import multiset_partitions  # type: ignore[import-untyped]

from ccn.algebra import bell, set_partitions


def _growth(partition: tuple[tuple[int, ...], ...]) -> list[int]:
    """The block number of every item, items in increasing order."""
    return [number for _, number in sorted((item, i) for i, block in enumerate(partition) for item in block)]


def test_bell_numbers_are_those_of_sympy() -> None:
    assert [bell(n) for n in range(12)] == [int(sympy_bell(n)) for n in range(12)]


@pytest.mark.parametrize("n", range(1, 8))
def test_partitions_are_those_of_sympy_each_once(n: int) -> None:
    ours = list(set_partitions(range(n)))
    theirs = {tuple(sorted(map(tuple, partition))) for partition in multiset_partitions(list(range(n)))}
    assert len(ours) == len(set(ours)) == bell(n)
    assert set(ours) == theirs


@pytest.mark.parametrize("n", range(1, 7))
def test_partitions_come_in_the_order_of_restricted_growth_strings(n: int) -> None:
    words = [_growth(partition) for partition in set_partitions(range(n))]
    assert words == sorted(words)
    assert words[0] == [0] * n
    assert words[-1] == list(range(n))
    assert list(set_partitions(())) == [()]
