from __future__ import annotations

import numpy as np
import pytest

from ccn.errors import ConfigurationError
from ccn.methods.choice import best, grid, rounds


def test_grids_are_small() -> None:
    assert grid({"a": (1, 2), "b": (3,)}) == [{"a": 1, "b": 3}, {"a": 2, "b": 3}]
    with pytest.raises(ConfigurationError, match="17 points"):
        grid({"a": range(17)})


def test_the_first_of_the_best() -> None:
    points = grid({"a": (1, 2, 3)})
    assert best(points, lambda p: -abs(p["a"] - 2.5)) == {"a": 2}
    assert best(points[:1], lambda p: 1 / 0) == {"a": 1}


def test_few_rows_are_dealt_into_folds() -> None:
    y = np.repeat([0.0, 1.0, np.nan], 10)
    made = rounds(y, 25, 5, 0, classification=True)
    assert len(made) == 5
    for rows, held in made:
        assert sorted([*rows, *held]) == list(range(20))
        assert y[held].sum() == 2


def test_many_rows_are_judged_by_the_validation_part() -> None:
    y = np.arange(20.0)
    y[3] = np.nan
    ((rows, held),) = rounds(y, 14, 5, 0, classification=False, many=15)
    assert rows.tolist() == [0, 1, 2, *range(4, 14)]
    assert held.tolist() == list(range(14, 20))
    ((rows, held),) = rounds(y, 20, 5, 0, classification=False, many=15)
    assert len(held) == 2
    assert len(rows) == 17
