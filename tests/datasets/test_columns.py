"""Columns: strings in two arrays; targets that are classes or numbers, and which of the two."""

import numpy as np
import pytest

from ccn.datasets.columns import Strings, encode_classes, encode_targets, ordered
from ccn.errors import DataError

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


def test_values_are_ordered_by_size_or_by_text() -> None:
    assert ordered({10, 9.5, 2}) == (2, 9.5, 10)
    assert ordered({"b", "a", 1}) == (1, "a", "b")


def test_classes_are_numbered_over_all_columns() -> None:
    values, classes = encode_classes([["x", None], ["y", "x"]])
    assert classes == ("x", "y")
    np.testing.assert_array_equal(values, [[0, 1], [np.nan, 0]])


def test_few_integers_are_classes_unless_a_task_is_given() -> None:
    column = [0.0, 1.0, 1.0, None]
    values, task, classes = encode_targets([column], ["y"], 4, None, "t.csv")
    assert (task, classes, values[:3, 0].tolist()) == ("classification", (0, 1), [0, 1, 1])
    values, task, classes = encode_targets([column], ["y"], 4, "regression", "t.csv")
    assert (task, classes, values[:3, 0].tolist()) == ("regression", (), [0, 1, 1])
    assert encode_targets([[float(i) for i in range(30)]], ["y"], 30, None, "t.csv")[1] == "regression"
    assert encode_targets([], [], 3, None, "t.csv")[0].shape == (3, 0)


def test_words_cannot_be_learned_as_numbers() -> None:
    with pytest.raises(DataError, match=r"t\.csv.*'y'"):
        encode_targets([["a", 1.0]], ["y"], 2, "regression", "t.csv")
    with pytest.raises(DataError, match=r"'a'.*'b'"):
        encode_targets([["x", "y"], [i / 7 for i in range(30)]], ["a", "b"], 30, None, "t.csv")
