"""Replicates: one row per molecule, its spread, and every row accounted for."""

import csv
from pathlib import Path

import numpy as np
import pytest

from ccn.datasets import Dataset, load
from ccn.datasets.replicates import join
from ccn.errors import ConfigurationError

LINES = [
    *("CCO,1.0,a,train", "OCC,3.0,a,train", "CCN,5.0,a,train", "NCC,5.1,a,train", "NCC,5.5,a,test", "CC,2.5,a,train"),
    *(
        "CCC,>7,a,train",
        "C(C)C,>9,a,train",
        "CF,1.5,b,train",
        "FC,<1,b,train",
        "CCCC,1.0,b,train",
        "C(CC)C,1.2,b,train",
    ),
    *("CCCC,9.0,a,train", "CCl,,a,train", "ClC,,a,train", "CBr,>5,a,train", "BrC,<2,a,train"),
]


@pytest.fixture
def data(tmp_path: Path) -> Dataset:
    path = tmp_path / "t.csv"
    path.write_text("\n".join(["smiles,y,plate,split", *LINES]) + "\n")
    how = {"group_column": "plate", "split_column": "split", "target_columns": "y"}
    return load(path, contradictions=False, **how)  # type: ignore[arg-type]


def test_rows_of_a_molecule_are_joined_within_a_group_and_a_part(data: Dataset) -> None:
    assert not data.noted or "duplicate" not in str(data)
    made = join(data, "mean")
    assert made.rows is not None
    assert made.rows.tolist() == [1, 3, 5, 6, 7, 9, 11, 13, 14, 16]
    nan = np.nan
    np.testing.assert_allclose(made.targets[:, 0], [2.0, 5.05, 5.5, 2.5, nan, 1.5, 1.1, 9.0, nan, nan])
    assert made.bounds is not None
    assert made.bounds[4].tolist() == [[9.0, np.inf]]  # the tightest
    assert np.isnan(made.bounds[[5, 9]]).all()  # beside an exact value, and a contradiction
    found = made.replicates
    assert found is not None
    assert sorted(row for rows in found.rows for row in rows) == [1, 2, 3, 4, 7, 8, 9, 10, 11, 12, 14, 15, 16, 17]
    assert np.nanmax(found.spread) == pytest.approx(np.sqrt(2))
    summary = found.summary()
    assert (summary["rows"], summary["molecules"], summary["disagreeing"]) == (14, 7, 1)
    assert summary["median_spread"]["y"] == pytest.approx(0.2 / np.sqrt(2))


def test_every_joined_row_is_written(data: Dataset, tmp_path: Path) -> None:
    found = join(data, "median").replicates
    assert found is not None
    found.write(tmp_path / "replicates.csv")
    with (tmp_path / "replicates.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 14
    assert [(r["row"], r["joined_into"], r["disagrees"]) for r in rows[:3]] == [
        ("1", "1", "yes"),
        ("2", "1", "yes"),
        ("3", "3", "no"),
    ]
    assert rows[1]["y"] == "3"


def test_weights_count_in_the_mean(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("smiles,y,w\nCCO,1.5,1\nOCC,4.5,3\nCO,9.5,2\nOCC,100.5,1\n")
    data = load(path, weight_column="w", target_columns="y")
    assert join(data, "mean").targets[0, 0] == pytest.approx((1.5 + 3 * 4.5 + 100.5) / 5)
    made = join(data, "median")
    assert made.targets[0, 0] == 4.5
    assert made.weights is not None
    assert made.weights.tolist() == pytest.approx([5 / 3, 2.0])


def test_classes_and_graphs_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("smiles,y\nCCO,a\nCCN,b\nCC,a\nCO,b\n")
    with pytest.raises(ConfigurationError, match="classes"):
        join(load(path, target_columns="y"), "mean")
    with pytest.raises(ConfigurationError, match="MUTAG"):
        join(load("MUTAG"), "mean")


def test_rows_with_other_extra_columns_are_other_measurements(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("smiles,pH,y\nCCO,7,1.5\nOCC,7,2.5\nCCO,5,9.5\nCC,5,3.5\n")
    data = load(path, extra_columns=["pH"], target_columns="y")
    assert [remark.row for remark in data.noted] == [2]  # row 3 contradicts none
    made = join(data, "mean")
    np.testing.assert_array_equal(made.targets[:, 0], [2.0, 9.5, 3.5])
    np.testing.assert_array_equal(made.pack.graph_features[:, 0], [7, 5, 5])
