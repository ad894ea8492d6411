"""Strings in two arrays."""

import numpy as np

from ccn.datasets.strings import Strings

WORDS = ["CCO", "", "é", "C#N", "日本"]


def test_strings_come_back_as_they_went_in() -> None:
    strings = Strings.of(WORDS)
    assert list(strings) == WORDS
    assert list(Strings.of([])) == []
    assert strings[-1] == WORDS[-1]


def test_choosing_shares_the_arrays_and_composes() -> None:
    strings = Strings.of(WORDS)
    chosen = strings.select([4, 0, 0])
    assert chosen.arrays is strings.arrays
    assert list(chosen[1:]) == ["CCO", "CCO"]
    assert list(strings.select(np.array([True, False, True, False, False]))) == ["CCO", "é"]
    assert len(chosen.compact().arrays["start"]) == 4
