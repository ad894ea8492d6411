"""Targets: numbers and classes with missing ones, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from ccn.errors import ConfigurationError
from ccn.learning.targets import read_as, read_classes, read_numbers

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
