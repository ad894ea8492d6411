"""Targets: numbers and classes with missing ones, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from ccn.errors import ConfigurationError
from ccn.learning.targets import read_as, read_classes, read_numbers, read_targets

NAN = float("nan")


def test_numbers_have_one_column_per_target() -> None:
    one = read_numbers([], [1.0, NAN])
    assert (one.values.shape, one.names, one.single) == ((2, 1), ("y",), True)
    two = read_numbers([], pd.DataFrame({"a": [1.0], "b": [2.0]}))
    assert (two.values.tolist(), two.names, two.single) == ([[1.0, 2.0]], ("a", "b"), False)
    assert read_numbers([], pd.Series([1.0], name="pce")).names == ("pce",)


def test_classes_become_numbers() -> None:
    found = read_classes([], ["b", None, "a"])
    np.testing.assert_array_equal(found.values, [[1.0], [NAN], [0.0]])
    assert found.classes == ("a", "b")
    assert read_classes([], [2.0, NAN, 3.0]).classes == (2, 3)
    labels = read_classes([], [[0, 1], [1, NAN]])
    assert (labels.names, labels.classes, labels.single) == (("y0", "y1"), (0, 1), False)
    np.testing.assert_array_equal(read_as(["b", "a"], [], ["a", "c", None], unknown=-1), [[1.0], [-1.0], [NAN]])


@pytest.mark.parametrize(
    ("read", "y", "fact"),
    [
        (read_numbers, ["a"], "numbers"),
        (read_numbers, [[[1.0]]], r"\(1, 1, 1\)"),
        (read_numbers, [0.0, np.inf], "row 1"),
        (read_numbers, None, "missing"),
        (read_classes, [1.5, 2.0], "CCNRegressor"),
        (read_classes, ["a", "a"], "'a'"),
        (read_classes, [[0, 2], [1, 1]], "zeros and ones"),
    ],
)
def test_other_targets_are_refused(read: Any, y: Any, fact: str) -> None:
    with pytest.raises(ConfigurationError, match=fact):
        read([], y)


def test_targets_of_vertices_are_a_list_per_graph() -> None:
    found = read_targets([], [[1.0, NAN], [2.0]], classification=False, per="vertex")
    assert (found.per, found.single, found.values.counts.tolist(), found.values[[1]].tolist()) == (
        "vertex",
        True,
        [2, 1],
        [[2.0]],
    )
    two = read_targets([], [np.ones((2, 3)), np.ones((1, 3))], classification=False, per="edge")
    assert (two.single, two.values.shape) == (False, (3, 3))
    words = read_targets([], [["a", "b"], [None]], classification=True, per="vertex")
    assert (words.classes, words.values[[0]].tolist()) == (("a", "b"), [[0.0], [1.0]])
    again = read_as(("a", "b"), [], [["b"], ["z"]], -1, "vertex")
    assert np.asarray(again).tolist() == [[1.0], [-1.0]]
    for bad in ([1.0, 2.0], [[1.0], [[1.0, 2.0]]]):
        with pytest.raises(ConfigurationError, match="y of each vertex"):
            read_targets([], bad, classification=False, per="vertex")
