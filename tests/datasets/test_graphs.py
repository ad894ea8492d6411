"""Tables of graphs: JSON lines, GraphML and GML, NetworkX and PyG."""

import gzip
import json
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest
import torch

from ccn.datasets import load
from ccn.datasets.graphs import read_lines
from ccn.errors import DataError

TRIANGLE = [[0, 1], [1, 2], [2, 0]]


def lines(path: Path, *rows: Any) -> Path:
    text = "".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows)
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())
    return path


@pytest.mark.parametrize("name", ["t.jsonl", "t.jsonl.gz"])
def test_json_lines_with_labels_are_one_hot_over_the_whole_set(tmp_path: Path, name: str) -> None:
    data = load(
        lines(
            tmp_path / name,
            {"edges": TRIANGLE, "labels": ["C", "O", "C"], "target": 1.5, "id": "a"},
            {"edges": [], "labels": ["N"], "target": None, "id": "b"},
        )
    )
    assert data.vertex_names == ("label=C", "label=N", "label=O")
    assert data.graphs[0].features.tolist() == [[1, 0, 0], [0, 0, 1], [1, 0, 0]]
    assert data.graphs[1].features.tolist() == [[0, 1, 0]]
    np.testing.assert_array_equal(data.targets, [[1.5], [np.nan]])
    assert data.ids is not None
    assert list(data.ids) == ["a", "b"]
    assert data.name == "t"


def test_json_lines_with_features_weights_and_several_targets(tmp_path: Path) -> None:
    row = {
        "edges": TRIANGLE,
        "features": [[1, 2], [3, 4], [5, 6]],
        "weights": [1, 2, 3],
        "edge_features": [[0.5]] * 3,
        "target": {"a": 1.5, "b": 2.5},
    }
    data = load(lines(tmp_path / "t.jsonl", row, {**row, "target": {"b": 3.5}}))
    assert data.target_names == ("a", "b")
    np.testing.assert_array_equal(data.targets, [[1.5, 2.5], [np.nan, 3.5]])
    weights = data.graphs[0].weights
    assert weights is not None
    assert weights.tolist() == [1, 2, 3]


def test_bad_lines_are_dropped_and_said(tmp_path: Path) -> None:
    good = {"edges": TRIANGLE, "features": [[1], [2], [3]], "target": "yes"}
    path = lines(
        tmp_path / "t.jsonl",
        good,
        "{",
        "",
        "[1]",
        {**good, "edges": [[0, 9]]},
        {**good, "features": [[1, 2]] * 3},
        {**good, "features": [["x"], [2], [3]]},
        {**good, "target": [[1]]},
        {**good, "target": "no"},
    )
    data = load(path)
    assert [r.row for r in data.dropped] == [2, 3, 4, 5, 6, 7, 8]
    assert data.rows is not None
    assert data.rows.tolist() == [1, 9]
    assert (data.task, data.classes) == ("classification", ("no", "yes"))
    with pytest.raises(DataError, match=r"row 2: .*JSON"):
        load(path, strict=True)
    with pytest.raises(DataError, match=r"\b1\b"):
        load(lines(path, "{"))


DIGITS = "1" + "0" * 400
BAD = {
    "labels that are lists": '{"edges": [], "labels": [[1], [2]], "target": 1.5}',
    "labels that are missing": '{"edges": [[0, 1]], "labels": [null, 1], "target": 1.5}',
    "labels that are NaN": '{"edges": [[0, 1]], "labels": [NaN, 1], "target": 1.5}',
    "labels that are a number": '{"edges": [], "labels": 5, "target": 1.5}',
    "edge labels": '{"edges": [[0, 1]], "labels": ["a", "b"], "edge_labels": [{}], "target": 1.5}',
    "a huge target": f'{{"edges": [], "labels": ["a"], "target": {DIGITS}}}',
    "a huge list of targets": f'{{"edges": [], "labels": ["a"], "target": {{"target": {DIGITS}}}}}',
    "a huge feature": f'{{"edges": [], "features": [[{DIGITS}]], "target": 1.5}}',
    "an infinite feature": '{"edges": [], "features": [[1e300, 0, 0]], "target": 1.5}',
    "a huge weight": f'{{"edges": [[0, 1]], "labels": ["a", "b"], "weights": [{DIGITS}], "target": 1.5}}',
    "5,000 digits": '{"edges": [], "labels": ["a"], "target": ' + "1" * 5000 + "}",
    "many vertices": '{"edges": [], "n": 1000000000000, "target": 1.5}',
    "a large vertex": '{"edges": [[0, 1000000000000]], "target": 1.5}',
    "a huge vertex": f'{{"edges": [[0, {DIGITS}]], "target": 1.5}}',
    "a huge vertex of a labelled graph": f'{{"edges": [[0, {DIGITS}]], "labels": ["a", "b"], "target": 1.5}}',
    "deep nesting": "[" * 100_000,
    "deep edges": '{"edges": ' + "[" * 500 + "]" * 500 + ', "labels": ["a"], "target": {"x": [[1]]}}',
    "edges that are a word": '{"edges": "ab", "labels": ["a"], "target": 1.5}',
    "another width": '{"edges": [], "features": [[1, 2]], "target": 1.5}',
    "a word among numbers": '{"edges": [], "labels": ["a"], "target": "high"}',
    "no object": '"edges"',
}


@pytest.mark.parametrize("line", BAD.values(), ids=BAD)
@pytest.mark.parametrize("first", [True, False])
def test_a_fault_of_a_row_is_that_rows(tmp_path: Path, line: str, first: bool) -> None:
    good = [{"edges": [[0, 1]], "labels": ["a", "bc"[i % 2]], "target": i + 0.5} for i in range(3)]
    data = load(lines(tmp_path / "t.jsonl", *([line, *good] if first else [*good, line])))
    assert data.targets.tolist() == [[0.5], [1.5], [2.5]]
    assert data.task == "regression"
    assert [(r.row, bool(r.reason)) for r in data.dropped] == [(1 if first else 4, True)]
    assert [g.name for g in data.graphs] == ["t[0]", "t[1]", "t[2]"]
    texts = [line, *map(json.dumps, good)]
    read, bad = read_lines(texts)
    assert read is not None
    assert len(read) + len(bad) == 4
    assert [i for i, _ in bad] in ([0], [])  # no target is read, so that a bad one does not matter


@pytest.mark.parametrize("suffix", ["graphml", "gml"])
def test_a_folder_of_files_has_targets_and_attributes(tmp_path: Path, suffix: str) -> None:
    folder = tmp_path / "set"
    folder.mkdir()
    for i, g in enumerate([nx.path_graph(4), nx.cycle_graph(5)]):
        nx.set_node_attributes(g, {v: {"mass": 1.5 * v, "age": v} for v in g})
        g.graph["target"] = i + 0.5
        (nx.write_graphml if suffix == "graphml" else nx.write_gml)(g, folder / f"{i}.{suffix}")
    data = load(folder)
    assert data.pack.sizes.tolist() == [4, 5]
    assert data.targets.tolist() == [[0.5], [1.5]]
    assert data.graphs[0].features[2].tolist() == [2, 3.0]
    (folder / f"2.{suffix}").write_text("<nothing")
    data = load(folder)
    assert [(r.row, r.value) for r in data.dropped] == [(3, f"2.{suffix}")]
    assert len(load(folder / f"0.{suffix}")) == 1


def test_networkx_objects_and_back() -> None:
    given = [nx.cycle_graph(4), nx.star_graph(3)]
    for i, g in enumerate(given):
        g.graph["y"] = i
        nx.set_node_attributes(g, {v: "ab"[v % 2] for v in g}, "label")
    data = load(given)
    assert (data.task, data.classes, data.vertex_names) == ("classification", (0, 1), ("label=a", "label=b"))
    back = data.to_networkx()
    assert all(nx.is_isomorphic(a, b) for a, b in zip(given, back, strict=True))
    assert back[1].graph["target"] == 1
    assert load(given, targets=[0.5, 1.5]).targets.tolist() == [[0.5], [1.5]]
    with pytest.raises(DataError, match="directed"):
        load([nx.DiGraph([(0, 1)])])


def test_pyg_data_sets_and_back() -> None:
    pytest.importorskip("torch_geometric")
    data = load("MUTAG").subset([3, 5, 187])
    pyg = data.to_pyg()
    assert pyg[0].x.dtype == torch.get_default_dtype()
    assert pyg[2].y.shape == (1, 1)
    again = load(pyg, name="again")
    assert again.targets.tolist() == data.targets.tolist() == [[1], [1], [0]]
    for a, b in zip(again.graphs, data.graphs, strict=True):
        assert np.array_equal(a.entries, b.entries)
        assert torch.equal(a.features, b.features.float())


def test_targets_that_do_not_fit_are_an_error() -> None:
    with pytest.raises(DataError, match=r"1 graphs.* 2"):
        load([nx.cycle_graph(3)], targets=[1, 2])


def test_edge_labels_count_without_vertex_features(tmp_path: Path) -> None:
    file = tmp_path / "graphs.jsonl"
    file.write_text(
        '{"edges": [[0, 1], [1, 2]], "edge_labels": ["a", "b"], "target": 1}\n'
        '{"edges": [[0, 1]], "edge_labels": ["b"], "target": 0}\n'
    )
    data = load(file)
    assert data.graphs[0].n == 3
    assert data.graphs[0].edge_features is not None
    assert data.graphs[0].edge_features.tolist() == [[1.0, 0.0], [0.0, 1.0]]


def test_many_labels_take_what_the_labels_take(tmp_path: Path, peak: Any) -> None:
    many = {"edges": [[0, i] for i in range(1, 20_000)], "labels": list(range(20_000)), "target": 1.5}
    many["edge_labels"] = list(range(19_999))
    path = lines(tmp_path / "t.jsonl", many, {"edges": [], "labels": [7], "target": 2.5})
    assert peak(lambda: load(path, store_from=0)) < 100e6  # one-hot they are 400 MB, of vertices and of edges
    data = load(path, store_from=0)
    assert (data.pack.width, data.pack.edge_width, data.dropped) == (20_000, 19_999, ())
    assert data.graphs[1].features.argmax(1).tolist() == [7]


def test_labels_among_rows_with_features_are_that_row_s_fault() -> None:
    good = {"edges": [[0, 1]], "features": [[1.0], [2.0]]}
    data, bad = read_lines([json.dumps(x) for x in (good, good, {"edges": [[0, 1]], "labels": ["a", "a"]})])
    assert data is not None
    assert [place for place, _ in bad] == [2]


def test_a_number_of_vertices_that_nothing_describes_is_not_allocated(peak: Any) -> None:
    texts = [json.dumps({"edges": [[0, 1]], "n": n}) for n in (2, 400_000_000)]
    found: list[Any] = []
    assert peak(lambda: found.append(read_lines(texts))) < 20e6
    assert [place for place, _ in found[0][1]] == [1]
