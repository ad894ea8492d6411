"""What commands and reports say of a run."""

from __future__ import annotations

import math

import pytest

from ccn.reports.summary import figure, metrics_rows, overlap_text

METRICS = {"validation": {"mae": 0.5, "r2": math.nan}, "calibration": {"mae": 1.0}, "test": {"mae": 0.25}}


@pytest.mark.parametrize(("value", "shown"), [(None, "-"), (math.inf, "-"), (0.123456, "0.1235")])
def test_figures(value: float | None, shown: str) -> None:
    assert figure(value) == shown


def test_metrics_have_a_column_for_each_part_but_that_of_calibration() -> None:
    head, rows = metrics_rows(METRICS)
    assert head == ["", "validation", "test"]
    assert rows == [["MAE", "0.5", "0.25"], ["R2", "-", "-"]]


OVERLAP = {
    "train": 3,
    "validation": 0,
    "exact": True,
    "without": {"rows": 17, "metrics": {"mae": 0.75}, "interval": {"coverage": 0.625}},
}


def test_rows_that_were_trained_on_are_counted_and_left_out_in_a_column_of_their_own() -> None:
    head, rows = metrics_rows({"test": {"mae": 0.25}}, {"test": OVERLAP})
    assert (len(head), rows) == (3, [["MAE", "0.25", "0.75"]])
    assert "" not in metrics_rows({"": {"mae": 0.25}}, {"": OVERLAP})[0][1:]
    text = overlap_text(OVERLAP, 20, "test ")
    for fact in ("3 of the 20 test rows", "train 3", "17", "62.5 %"):
        assert fact in text
    assert "validation" not in text


def test_an_overlap_that_is_not_known_is_not_zero() -> None:
    none = {"train": 0, "validation": 0, "exact": True}
    assert "unknown" in overlap_text(None, 5)
    assert "unknown" not in overlap_text(none, 5)
    assert "RDKit" not in overlap_text(none, 5)
    assert "RDKit" in overlap_text(none | {"exact": False}, 5)
