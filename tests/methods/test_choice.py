from __future__ import annotations

import numpy as np
import pytest

from ccn.errors import ConfigurationError
from ccn.methods.choice import best, folds_of, grid, rounds


def test_grids_are_small() -> None:
    assert grid({"a": (1, 2), "b": (3,)}) == [{"a": 1, "b": 3}, {"a": 2, "b": 3}]
    with pytest.raises(ConfigurationError, match="17 points"):
        grid({"a": range(17)})


def test_the_first_of_the_best() -> None:
    points, tries = grid({"a": (1, 2, 3)}), [(np.arange(2), np.arange(2, 3))]
    assert best(points, tries, lambda p, rows, held: -abs(p["a"] - 2.5)) == {"a": 2}
    assert best(points[:1], tries, lambda p, rows, held: 1 / 0) == {"a": 1}


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


def test_folds_divide_no_group() -> None:
    groups = np.arange(30) // 3
    for part in folds_of(30, 5, 0, groups=groups):
        assert not set(groups[part.train]) & set(groups[part.test])
    assert len(folds_of(30, 5, 0, groups=np.arange(30) % 3)) == 3  # as many as groups
    assert len(folds_of(30, 5, 0, groups=np.zeros(30, dtype=np.int64))) == 5
    y = np.where(np.arange(30) % 7, np.arange(30.0), np.nan)
    for rows, held in rounds(y, 20, 5, 0, classification=False, groups=groups):
        assert not set(groups[rows]) & set(groups[held])
