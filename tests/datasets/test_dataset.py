"""A data set: rows, targets and what belongs to them are chosen together."""

from pathlib import Path

import numpy as np
import pytest

from ccn.datasets import Dataset, load
from ccn.errors import DataError


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
