"""Records of cells, and the floor against the median of molecules that look alike."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from made_up import molecules

from ccn.datasets import load
from ccn.errors import DataError
from ccn.graphs.graph import Graph
from ccn.paper.cells import cells
from ccn.paper.experiment import floor, run_cell
from ccn.paper.records import append, read


def test_the_record_of_a_cell_says_what_determined_it() -> None:
    (cell,) = cells("MUTAG", ["wl"], [1], seed=5, options={"wl": {"settings": {"depth": (1, 2)}, "C": (1.0, 10.0)}})
    began: list[bool] = []
    found = run_cell(cell, lambda: began.append(True))
    assert began == [True]
    assert found.key == ("MUTAG", "wl", 1)
    assert (found.status, found.metric, found.seed) == ("done", "accuracy", 6)
    assert found.test is not None
    assert found.test > 0.6
    assert found.config["rows"] == 150
    assert found.config["chosen"][0]["depth"] in (1, 2)
    again = run_cell(cell)
    assert replace(again, seconds=found.seconds) == found


@pytest.mark.parametrize(("task", "method"), [("herg", "ccn-2-kernel"), ("CHEMBL204_Ki", "forest")])
def test_a_task_on_molecules_is_learned_and_looked_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, task: str, method: str
) -> None:
    monkeypatch.setattr("ccn.paper.competitors._TREES", 10)
    monkeypatch.setenv("CCN_DATA", str(tmp_path / "data"))
    molecules(tmp_path / "data", task)
    (cell,) = cells(task, [method], [0])
    found = run_cell(cell)
    measured = found.details["metrics"]
    assert (found.status, found.test) == ("done", measured[cell.metric])
    if task == "herg":
        assert measured["roc_auc"] > 0.9
        assert found.config["chosen"][0]["order"] == 2
    else:
        assert measured["rmse"] < 2
        assert measured["cliff_rmse"] != measured["rmse"]
        assert "scikit-learn" in found.config["versions"]
    assert found.details["processor_seconds"] > 0
    append(cell.file(tmp_path / "results"), found)
    assert [r.key for r in read(tmp_path / "results")] == [cell.key]
    shutil.rmtree(tmp_path / "data")
    with pytest.raises(DataError, match=rf"{task}\.csv\.gz .*split"):
        run_cell(cell)


@pytest.mark.parametrize(("method", "apart"), [("1-WL", 0), ("3-WL", 45)])
def test_pairs_of_graphs_are_counted(method: str, apart: int) -> None:
    (cell,) = cells("circular skip links", [method])
    found = run_cell(cell)
    assert (found.test, found.config) == (apart, {})
    assert found.details == {"apart": apart, "pairs": 45, "levels": {}, "skipped": 0}


def test_the_floor_is_the_error_of_the_median_of_molecules_with_one_skeleton() -> None:
    # Propane, propene and propyne are one skeleton here; so are the two charges of the ring; ethanol is alone.
    smiles = ["CCC", "C=CC", "C#CC", "CCO", "C1CCN1", "[NH2+]1CCC1"]
    y = [1.0, 2.0, 6.0, 5.0, 3.0, 4.0]
    data = load([Graph.from_smiles(s, features="element") for s in smiles], targets=y, task="regression")
    found = floor(data)
    assert found["graphs"] == 3
    assert found["mae"][0] == pytest.approx((1 + 0 + 4 + 0 + 0.5 + 0.5) / 6)
    assert found["rmse"][0] == pytest.approx(((4 + 1 + 9 + 0 + 0.25 + 0.25) / 6) ** 0.5)
    assert found["scale"][0] == pytest.approx(np.std(y))
