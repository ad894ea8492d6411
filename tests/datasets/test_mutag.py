"""MUTAG, which ships with the package: its published statistics, and reading it from elsewhere."""

import zipfile
from pathlib import Path

import numpy as np
import pytest
import torch

from ccn import datasets
from ccn.datasets import Dataset
from ccn.errors import CCNError

SHIPPED = Path(datasets.__file__).parent / "mutag" / "MUTAG.zip"


@pytest.fixture(scope="module")
def mutag() -> Dataset:
    return datasets.load("mutag")


def test_graphs_vertices_bonds_and_classes_are_as_published(mutag: Dataset) -> None:
    assert len(mutag) == 188
    assert mutag.classes == (-1, 1)
    assert np.bincount(mutag.targets[:, 0].astype(int)).tolist() == [63, 125]
    assert sum(g.n for g in mutag.graphs) == 3371
    assert sum(g.entries.shape[1] for g in mutag.graphs) == 2 * 3721
    assert all(not g.directed and not g.self_loops for g in mutag.graphs)


def test_labels_are_one_hot_over_seven_elements_and_four_bonds(mutag: Dataset) -> None:
    vertices = torch.cat([g.features for g in mutag.graphs])
    bonds = torch.cat([g.edge_features for g in mutag.graphs if g.edge_features is not None])
    assert (vertices.shape[1], bonds.shape[1]) == (7, 4)
    for rows in (vertices, bonds):
        assert rows.sum(1).tolist() == [1.0] * len(rows)
        assert (rows.sum(0) > 0).all()
    # Carbon, nitrogen, oxygen first: known counts of the compounds.
    assert vertices.sum(0)[:3].tolist() == [2395, 345, 593]


def test_an_item_and_a_subset_keep_graph_and_target_together(mutag: Dataset) -> None:
    few = mutag.subset([5, 3])
    for i, j in enumerate((5, 3)):
        graph, target = few[i]
        assert np.array_equal(graph.entries, mutag.graphs[j].entries)
        assert graph.name == f"MUTAG[{j}]"
        assert target.tolist() == mutag.targets[j].tolist()
    assert str(few).startswith("MUTAG: 2 graphs")


def test_a_folder_of_the_same_files_reads_the_same(mutag: Dataset, tmp_path: Path) -> None:
    with zipfile.ZipFile(SHIPPED) as archive:
        for name in archive.namelist():
            if name.endswith(".txt"):
                (tmp_path / Path(name).name).write_bytes(archive.read(name))
    again = datasets.load(tmp_path)
    np.testing.assert_array_equal(again.targets, mutag.targets)
    for ours, theirs in zip(again.graphs, mutag.graphs, strict=True):
        np.testing.assert_array_equal(ours.entries, theirs.entries)
        torch.testing.assert_close(ours.features, theirs.features)
    (tmp_path / "MUTAG_graph_labels.txt").unlink()
    with pytest.raises(CCNError, match=r"_graph_labels\.txt is missing"):
        datasets.load(tmp_path)


def test_what_is_no_data_set_is_an_error_that_names_it(tmp_path: Path) -> None:
    with pytest.raises(CCNError, match="nowhere.*MUTAG"):
        datasets.load("nowhere")
    with pytest.raises(CCNError, match=tmp_path.name):
        datasets.load(tmp_path)
    (tmp_path / "broken.zip").write_text("not a zip")
    with pytest.raises(CCNError, match=r"broken\.zip"):
        datasets.load(tmp_path / "broken.zip")
