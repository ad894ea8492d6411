"""Runs beside each other: the same rows, paired."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from ccn.errors import ConfigurationError
from ccn.reports.comparison import common_rows, compare, permutation_test
from ccn.reports.run import Run

Make = Callable[..., Run]


def test_rows_are_matched_by_number_molecule_and_target(run_of: Make) -> None:
    a = run_of("regression")
    order = np.arange(len(a.rows))[::-1]
    b = replace(
        a,
        rows=[a.rows[i] for i in order],
        smiles=[a.smiles[i] for i in order],
        known=a.known[order],
        predicted=a.predicted[order],
        low=None,
        high=None,
    )
    other = b.known.copy()
    other[0] += 1  # the target of a row differs
    one, two = common_rows([a, replace(b, known=other)])
    assert len(one.rows) == len(a.rows) - 1
    assert one.rows == two.rows
    np.testing.assert_array_equal(one.predicted, two.predicted)
    with pytest.raises(ConfigurationError, match="no row"):
        common_rows([a, replace(b, known=b.known + 1)])
    with pytest.raises(ConfigurationError, match="binary"):
        common_rows([a, run_of("binary")])


@pytest.mark.parametrize("kind", ["regression", "binary", "multilabel"])
def test_a_page_of_two_runs(run_of: Make, kind: str) -> None:
    a = run_of(kind, 2 if kind == "multilabel" else 1, folder=Path("first"))
    title, facts, sections = compare([a, replace(a, folder=Path("second"))])
    assert "first, second" in title
    assert facts[0].value == "30"
    text = "".join(str(b) for s in sections for b in s.blocks)
    assert "chance" in text


def test_a_permutation_test_finds_a_difference_and_none_in_noise() -> None:
    rng = np.random.default_rng(0)
    a = rng.random(100)
    assert permutation_test(a, a + 0.1 * rng.random(100), 500) < 0.01
    found = [permutation_test(a, a + rng.normal(size=100), 200, seed) for seed in range(40)]
    assert np.mean(np.array(found) < 0.1) < 0.3
