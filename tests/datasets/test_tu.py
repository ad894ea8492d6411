"""The TU format: MUTAG, which ships with the package, as published, and the same from a folder."""

import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from ccn import datasets
from ccn.datasets import Dataset
from ccn.errors import CCNError, DataError

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
    with pytest.raises(CCNError, match=r"_graph_labels\.txt"):
        datasets.load(tmp_path)


def write(folder: Path, **files: str) -> Path:
    for part, text in files.items():
        (folder / f"DS_{part}.txt").write_text(text)
    return folder


SMALL = {"A": "1, 2\n2, 1\n3, 4\n4, 3\n", "graph_indicator": "1\n1\n2\n2\n", "graph_labels": "0\n1\n"}


def test_attributes_are_features_and_targets(tmp_path: Path) -> None:
    more = {"graph_attributes": "0.5, 1\n1.5, 2\n", "node_attributes": "1.5\n2\n3\n4\n", "edge_labels": "7\n7\n9\n9\n"}
    data = datasets.read_tu(write(tmp_path, **SMALL, **more), target="attributes")
    assert (data.task, data.target_names) == ("regression", ("attribute 0", "attribute 1"))
    assert data.targets.tolist() == [[0.5, 1], [1.5, 2]]
    assert (data.vertex_names, data.edge_names) == (("attribute 0",), ("label=7", "label=9"))
    assert data.graphs[1].features.tolist() == [[3], [4]]


@pytest.mark.parametrize(
    ("part", "text", "fact"),
    [
        ("A", "1, 2\n1, 5\n", "line 2 "),
        ("A", "1, 3\n", "line 1 "),
        ("A", "a, b\n", r"_A\.txt"),
        ("graph_indicator", "2\n2\n1\n1\n", "_graph_indicator"),
        ("node_labels", "1\n", "1 lines, 4 "),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, part: str, text: str, fact: str) -> None:
    with pytest.raises(CCNError, match=fact):
        datasets.load(write(tmp_path, **SMALL | {part: text}))


SMALL = {"A": "1, 2\n2, 1\n3, 4\n4, 3\n", "graph_indicator": "1\n1\n2\n2\n", "graph_labels": "0\n1\n"}
DAMAGED = {
    "three columns": ("A", "1, 2, 1\n2, 1, 1\n3, 4, 1\n4, 3, 1\n"),
    "one column": ("A", "1\n2\n3\n4\n"),
    "fractions": ("A", "1, 2.5\n2, 1\n"),
    "vertices without end": ("A", "1, inf\n2, 1\n"),
    "no vertex": ("A", "1, nan\n"),
    "a large vertex": ("A", "1, 1e300\n"),
    "two graphs of a vertex": ("graph_indicator", "1, 1\n1, 1\n2, 2\n2, 2\n"),
    "no indicator": ("graph_indicator", ""),
    "no labels": ("graph_labels", "\n"),
    "infinite labels": ("graph_labels", "0\ninf\n"),
    "infinite attributes": ("graph_attributes", "0.5\n-inf\n"),
    "infinite vertex labels": ("node_labels", "0\n1\ninf\n0\n"),
    "missing vertex labels": ("node_labels", "0\n1\nnan\n0\n"),
    "infinite edge attributes": ("edge_attributes", "0\n1\ninf\n0\n"),
}


@pytest.mark.parametrize(("part", "text"), DAMAGED.values(), ids=DAMAGED)
def test_damaged_files_are_named(tmp_path: Path, part: str, text: str) -> None:
    write(tmp_path, **{**SMALL, part: text})
    target: dict[str, Any] = {"target": "attributes"} if part == "graph_attributes" else {}
    with pytest.raises(DataError, match=f"_{part}.txt"):
        datasets.load(tmp_path, **target)


def test_a_missing_label_is_a_missing_target(tmp_path: Path) -> None:
    data = datasets.load(write(tmp_path, **{**SMALL, "graph_labels": "nan\n7\n"}))
    assert (data.task, data.classes) == ("classification", (7,))
    np.testing.assert_array_equal(data.targets, [[np.nan], [0]])


def test_a_set_without_edges_is_read(tmp_path: Path) -> None:
    assert datasets.load(write(tmp_path, **{**SMALL, "A": ""})).pack.sizes.tolist() == [2, 2]


def _zipped(path: Path, **files: str) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for part, text in files.items():
            archive.writestr(f"X_{part}.txt", text)
    return path


def test_many_labels_and_many_graphs_take_what_their_numbers_take(tmp_path: Path, peak: Any) -> None:
    n = 20_000
    numbers = "".join(f"{i}\n" for i in range(1, n + 1))
    one = _zipped(
        tmp_path / "X.zip", A="1,2\n2,1\n", graph_indicator="1\n" * n, graph_labels="1\n", node_labels=numbers
    )
    many = _zipped(tmp_path / "Y.zip", A="", graph_indicator=numbers, graph_labels="1\n" * n)
    assert peak(lambda: datasets.load(one)) < 30e6  # one-hot they are 400 MB
    assert peak(lambda: datasets.load(many)) < 15e6
    assert (len(datasets.load(many)), datasets.load(one).pack.width) == (n, n)


def test_a_file_that_does_not_fit_into_memory_is_refused_before_it_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from ccn.engine import memory

    path = _zipped(tmp_path / "X.zip", A="1,2\n" * 10, graph_indicator="1\n1\n", graph_labels="1\n")
    monkeypatch.setattr(memory, "available_bytes", lambda device: 100)
    monkeypatch.setattr(np, "loadtxt", lambda *given, **options: pytest.fail("read"))
    with pytest.raises(DataError, match=r"_A\.txt"):
        datasets.load(path)


def test_an_error_of_one_graph_names_it_among_many(tmp_path: Path) -> None:
    graphs = 9
    edges = "".join(f"{2 * i + 1},{2 * i + 2}\n" for i in range(graphs)) + "12,12\n"
    indicator = "".join(f"{i + 1}\n" * 2 for i in range(graphs))
    path = _zipped(tmp_path / "X.zip", A=edges, graph_indicator=indicator, graph_labels="1\n" * graphs)
    with pytest.raises(CCNError, match=r"X\[5\].*\(1, 1\)"):
        datasets.load(path)


def test_labels_and_attributes_stand_side_by_side(tmp_path: Path) -> None:
    path = _zipped(
        tmp_path / "X.zip",
        A="1,2\n3,4\n",
        graph_indicator="1\n1\n2\n2\n",
        graph_labels="1\n2\n",
        node_labels="5,1\n7,1\n5,2\n9,2\n",
        node_attributes="0.5\n1.5\n2.5\n3.5\n",
        edge_labels="4\n3\n",
    )
    data = datasets.load(path)
    assert data.vertex_names == ("label 0=5", "label 0=7", "label 0=9", "label 1=1", "label 1=2", "attribute 0")
    assert data.graphs[1].features.tolist() == [[1, 0, 0, 0, 1, 2.5], [0, 0, 1, 0, 1, 3.5]]
    edges = [g.edge_features for g in data.graphs]
    assert [e.tolist() for e in edges if e is not None] == [[[0, 1]], [[1, 0]]]
