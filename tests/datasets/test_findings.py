"""What is found in the data: planted duplicates, twins and cliffs."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from ccn.datasets import load
from ccn.datasets.findings import describe
from ccn.datasets.replicates import join
from ccn.datasets.splits import Split

SMILES = ["CCO", "OCC", "CCCCCCCCCCN", "CCCCCCCCCCCN", "c1ccccc1C[C@H](F)Cl", "c1ccccc1C[C@@H](F)Cl", "[Na+].[Cl-]"]
VALUES = [1.0, 3.0, 0.0, 9.0, 5.0, 5.0, 2.0]


def split(train: list[int], validation: list[int], test: list[int]) -> Split:
    return Split(np.array(train), np.array(validation), np.array(test))


def table(tmp_path: Path, words: bool = False) -> Path:
    path = tmp_path / "t.csv"
    lines = [f"{s},{('low', 'high')[v > 4] if words else v}" for s, v in zip(SMILES, VALUES, strict=True)]
    path.write_text("\n".join(["smiles,y", *lines]) + "\n")
    return path


def test_what_is_planted_is_found(tmp_path: Path) -> None:
    data = load(table(tmp_path), target_columns=["y"], task="regression")
    found = describe(data, split([0, 1, 2, 3, 4], [6], [5]))
    assert found == json.loads(json.dumps(found))
    repeated = found["repeated"]
    assert (repeated["molecules"], repeated["rows"], repeated["disagree"]) == (1, 2, 1)
    assert repeated["worst"][0]["values"] == [[1.0], [3.0]]
    test = found["similarity"]["test"]
    assert (test["rows"], test["similarity"], test["twins"], test["same"]) == ([6], [1.0], 1, 0)
    assert test["nearest"][0]["row"] == 5
    (cliff,) = found["cliffs"]["pairs"]
    assert [one["row"] for one in cliff["pair"]] == [3, 4]
    assert found["noted"]["disconnected"] == 1
    assert sum(found["distributions"][0]["counts"]["train"]) == 5
    assert [one["values"][0] for one in found["examples"]] == sorted(v for v in VALUES[:5])


def test_classes_and_joined_rows(tmp_path: Path) -> None:
    found = describe(load(table(tmp_path, words=True), target_columns=["y"]), split([0, 1, 2, 3, 4], [6], [5]))
    assert found["distributions"][0]["counts"]["train"] == [2, 3]
    assert found["cliffs"]["count"] == 1
    joined = join(load(table(tmp_path), target_columns=["y"], task="regression", contradictions=False), "mean")
    repeated = describe(joined, split([0, 1, 2, 3], [4], [5]))["repeated"]
    assert (repeated["joined"], repeated["molecules"], repeated["disagree"]) == ("mean", 1, 1)


def test_graphs_are_laid_out() -> None:
    data = load("MUTAG")
    rows = np.arange(len(data))
    found = describe(data, Split(rows[:100], rows[100:120], rows[120:]))
    assert found["graphs"]
    for graph in found["graphs"]:
        assert len(graph["places"]) == len(graph["kinds"])
        assert np.max(graph["edges"]) < len(graph["places"])
    assert "similarity" not in found


@pytest.mark.parametrize("missing", [True, False])
def test_rows_without_a_value_do_not_matter(tmp_path: Path, missing: bool) -> None:
    path = tmp_path / "t.csv"
    path.write_text("smiles,y\n" + "".join(f"{'C' * (i + 1)}O,{'' if missing and i % 2 else i}\n" for i in range(12)))
    data = load(path, target_columns=["y"], task="regression")
    found = describe(data, split(list(range(8)), [8, 9], [10, 11]))
    assert len(found["similarity"]["test"]["rows"]) == (1 if missing else 2)
