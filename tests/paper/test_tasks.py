"""Tasks on molecules: their rows from a data folder, and their metrics."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest
from made_up import molecules

from ccn.errors import CCNError, DataError
from ccn.learning.metrics import CLASSIFICATION, REGRESSION
from ccn.paper.comparison import quoted
from ccn.paper.tasks import ADMET, CLIFF_RMSE, CLIFFS, TASKS, Parts, measure, read_task


@pytest.fixture(autouse=True)
def _data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CCN_DATA", str(tmp_path))


def test_the_column_split_says_which_rows_are_for_what(tmp_path: Path) -> None:
    molecules(tmp_path, "CHEMBL204_Ki", rows=8)
    parts = read_task(TASKS["CHEMBL204_Ki"])
    assert parts.test == ["CCCCO", "CCCCCCCCO"]
    assert parts.known.tolist() == [3.0, 7.0]
    assert parts.cliff.tolist() == [True, False]
    assert (len(parts.train), parts.y.tolist()) == (6, [0.0, 1.0, 2.0, 4.0, 5.0, 6.0])


def test_a_task_that_is_not_there_says_where_its_file_should_be(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="smiles, y, split") as error:
        read_task(TASKS["dili"])
    assert str(tmp_path / "tdc" / "dili.csv.gz") in str(error.value)


@pytest.mark.parametrize(
    ("line", "fact"),
    [("CC,0.5,train", "row 2"), ("CC,1,valid", "row 2"), ("CC,x,test", "row 2"), ("CC,1,train", "test")],
)
def test_what_is_no_task_is_refused(tmp_path: Path, line: str, fact: str) -> None:
    path = tmp_path / "tdc" / "dili.csv.gz"
    path.parent.mkdir()
    path.write_bytes(gzip.compress(f"smiles,y,split\nC,0,train\n{line}\n".encode()))
    with pytest.raises(CCNError, match=fact):
        read_task(TASKS["dili"])


def test_metrics_are_those_of_the_task_and_of_its_cliffs() -> None:
    y = np.array([1.0, 2.0, 3.0, 5.0])
    parts = Parts(["C"], np.array([0.0]), ["C"] * 4, y, np.array([True, False, False, True]))
    found = measure(TASKS["CHEMBL204_Ki"], parts, y + np.array([2.0, 0, 0, 2]))
    assert [found["rmse"], found[CLIFF_RMSE]] == pytest.approx([2**0.5, 2.0])
    assert measure(TASKS["caco2_wang"], parts, y).keys() == {*REGRESSION}
    classes = Parts(["C"] * 2, np.array([0.0, 1.0]), ["C"] * 4, np.array([0.0, 1, 0, 1]), parts.cliff)
    found = measure(TASKS["herg"], classes, np.array([0.1, 0.9, 0.6, 0.4]))
    assert found.keys() == {*CLASSIFICATION}
    assert found["roc_auc"] == 0.75


def test_every_task_has_a_published_figure_and_a_metric() -> None:
    assert (len(ADMET), len(CLIFFS)) == (11, 15)
    assert all(quoted("admet", "public best", name) for name in ADMET)
    for table in ("cliffs", "cliffs-only"):
        for name in CLIFFS:
            best, svm = (quoted(table, method, name) for method in ("best of 24", "SVM-ECFP"))
            assert best is not None
            assert svm is not None
            assert 0 < (best.value or 0) <= (svm.value or 0)
