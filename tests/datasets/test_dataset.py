"""A data set: rows, targets and what belongs to them are chosen together."""

import csv
from pathlib import Path

import numpy as np
import pytest

from ccn.datasets import Dataset, Remark, load
from ccn.datasets.dataset import shorten, summary
from ccn.errors import DataError

DROPPED = [Remark(3, "C1CC", "not a SMILES: its spelling is wrong"), Remark(5, "xx", "not a SMILES: it has no atom")]
NOTED = [Remark(4, "C", "single atom")]


@pytest.fixture(scope="module")
def mutag() -> Dataset:
    return load("mutag")


def test_an_item_and_a_subset_keep_graph_and_target_together(mutag: Dataset) -> None:
    few = mutag.subset([5, 3])
    for i, j in enumerate((5, 3)):
        graph, target = few[i]
        assert np.array_equal(graph.entries, mutag.graphs[j].entries)
        assert graph.name == f"MUTAG[{j}]"
        assert target.tolist() == mutag.targets[j].tolist()
    assert str(few).startswith("MUTAG: 2 graphs")


def test_targets_are_chosen_by_name_with_their_units(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("smiles,a,b\nC,1.5,2.5\nCC,3.5,4.5\n")
    data = load(path).with_targets(["b"])
    assert data.targets.tolist() == [[2.5], [4.5]]
    with pytest.raises(DataError, match=r"'c'.* a, b"):
        load(path).with_targets("c")


def test_statistics_count_what_is_there(mutag: Dataset) -> None:
    some = mutag.subset([0, 1]).statistics()
    assert (some.graphs, sum(some.classes.values())) == (2, 2)
    assert some.mean_vertices == some.vertices / 2
    assert mutag.subset([]).statistics().smallest == 0


def test_a_summary_counts_rows_and_kinds() -> None:
    assert summary(DROPPED, NOTED) == "2 rows dropped: 2 not a SMILES; kept but noted: 1 single atom"
    assert summary([]) == "no row dropped"
    assert str(DROPPED[0]).startswith("row 3: not a SMILES")


def test_remarks_are_written_in_the_order_of_the_rows(tmp_path: Path) -> None:
    data = Dataset("none", [], np.zeros((0, 0)), (), "regression", dropped=tuple(DROPPED), noted=tuple(NOTED))
    with data.write_dropped(tmp_path / "r.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [(r["row"], r["action"]) for r in rows] == [("3", "dropped"), ("4", "kept"), ("5", "dropped")]
    assert len(shorten("C" * 1000)) < 300
