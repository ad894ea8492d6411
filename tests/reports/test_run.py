"""The files of a run's folder, read back."""

from __future__ import annotations

import numpy as np
import pytest

from ccn.learning.task import Task
from ccn.reports.run import _predictions


def test_numbers_with_intervals_and_missing_targets() -> None:
    head = ["row", "id", "smiles", "a", "b", "a_pred", "a_low", "a_high", "b_pred", "b_low", "b_high", "reason"]
    lines = [
        ["3", "x", "CC", "1", "", "1.5", "0.5", "2.5", "2", "1", "3", ""],
        ["4", "y", "CO", "1", "2", "", "", "", "", "", "", "why"],
    ]
    rows, names, smiles, known, predicted, low, high = _predictions(Task("regression", ("a", "b")), head, lines)
    assert (rows, names, smiles) == ([3], ["x"], ["CC"])
    np.testing.assert_equal(known, [[1.0, np.nan]])
    np.testing.assert_equal(predicted, [[1.5, 2.0]])
    np.testing.assert_equal((low, high), ([[0.5, 1.0]], [[2.5, 3.0]]))


@pytest.mark.parametrize("before", [[], ["id"], ["id", "smiles"]])
def test_classes(before: list[str]) -> None:
    task = Task("binary", ("smiles",), ("no", "yes"))
    head = ["row", *before, "smiles", "smiles_pred", "smiles_prob_no", "smiles_prob_yes"]
    if "smiles" in before:  # the target has the name of the column before it
        head[len(before)] = "structure"
    line = ["1", *("CC" for _ in before), "yes", "no", "0.7", "0.3"]
    _, _, _, known, predicted, low, _ = _predictions(task, head, [line])
    np.testing.assert_equal(known, [[1.0]])
    np.testing.assert_equal(predicted, [[0.7, 0.3]])
    assert low is None


def test_labels() -> None:
    task = Task("multilabel", ("a", "b"), (0, 1))
    head = ["row", "a", "b", "a_pred", "a_prob", "b_pred", "b_prob"]
    _, _, _, known, predicted, *_ = _predictions(task, head, [["1", "1", "", "0", "0.2", "1", "0.9"]])
    np.testing.assert_equal(known, [[1.0, np.nan]])
    np.testing.assert_equal(predicted, [[0.2, 0.9]])
