"""Packs: the same graphs and the same batches as from a list."""

from typing import Any

import numpy as np
import pytest
import torch

from ccn import Batch, Graph, Pack, batch
from ccn.errors import GraphError
from ccn.graphs.pack import joined, one_hot
from ccn.testing import random_graph


def graphs(seed: int, count: int = 9, **options: Any) -> list[Graph]:
    rng = np.random.default_rng(seed)
    return [random_graph(int(rng.integers(1, 9)), rng, **options) for _ in range(count)]


def same(a: Graph | Batch, b: Graph | Batch) -> None:
    assert np.array_equal(a.entries, b.entries)
    assert torch.equal(a.features, b.features)
    for name in ("weights", "edge_features"):
        x, y = getattr(a, name), getattr(b, name)
        assert (x is None) == (y is None)
        if x is not None:
            assert torch.equal(x[torch.from_numpy(a.entry_edge)], y[torch.from_numpy(b.entry_edge)])


@pytest.mark.parametrize("options", [{}, {"weighted": True}, {"directed": True}, {"self_loops": True}])
def test_graphs_come_back_as_they_went_in(options: dict[str, bool]) -> None:
    given = graphs(1, **options)
    pack = Pack.of(given)
    for a, b in zip(given, pack, strict=True):
        same(a, b)
    assert pack.sizes.tolist() == [g.n for g in given]
    assert pack.edge_counts.tolist() == [len(g.edges) for g in given]


def test_a_batch_of_chosen_graphs_is_the_batch_of_their_list() -> None:
    given = graphs(2, weighted=True)
    chosen = [5, 0, 5, 8]
    a, b = batch([given[i] for i in chosen]), Pack.of(given).select(chosen).batch()
    same(a, b)
    assert np.array_equal(a.start, b.start)
    assert np.array_equal(a.graph_of, b.graph_of)
    assert a.matrix_class == b.matrix_class
    same(b.graphs[3], given[8])


def test_selecting_composes_and_compacting_keeps() -> None:
    given = graphs(3)
    pack = Pack.of(given, "set").select([4, 2, 7])[1:]
    assert [g.name for g in pack] == ["set[2]", "set[7]"]
    for a, b in zip(pack, pack.compact(), strict=True):
        same(a, b)
    joined = Pack.join([pack, Pack.of(given)])
    same(joined[1], given[7])
    same(joined[2], given[0])
    assert len(joined) == 2 + len(given)


def test_other_features_take_the_place_of_the_old() -> None:
    pack = Pack.of(graphs(4)).select([3, 1])
    new = np.random.default_rng(0).normal(size=(int(pack.sizes.sum()), 5))
    assert np.array_equal(pack.with_features(new).batch().features.numpy(), new)
    with pytest.raises(GraphError, match="features of 1"):
        pack.with_features(new[:1])


def test_an_empty_choice_has_no_batch() -> None:
    with pytest.raises(GraphError):
        Pack.of(graphs(5)).select([]).batch()


def test_whatever_holds_graphs_can_be_packed() -> None:
    given = graphs(6)
    pack = Pack.of(given, "set")
    assert Pack.of(pack).arrays is pack.arrays
    assert Pack.of(pack, "other").name == "other"
    chosen = pack.select([3, 1])
    for form in (chosen, chosen.batch(), batch([given[3], given[1]]), (given[i] for i in (3, 1))):
        for a, b in zip((given[3], given[1]), Pack.of(form), strict=True):
            same(a, b)


def test_parts_of_one_pack_are_joined_without_copies() -> None:
    pack = Pack.of(graphs(7))
    both = joined(pack.select([5]), pack.select([2, 0]))
    assert both.arrays is pack.arrays
    assert both.chosen.tolist() == [5, 2, 0]
    same(joined(pack.select([5]), Pack.of(graphs(8)))[1], graphs(8)[0])


def _cut(x: Any) -> Any:
    return x[:-1]


BROKEN: dict[str, dict[str, Any]] = {
    "row": {"row": lambda x: np.full_like(x, 200)},
    "column": {"column": lambda x: x.astype(np.int64) - 99},
    "edge": {"edge": lambda x: x.astype(np.int64) + 99},
    "features": {"features": lambda x: x[:, 0]},
    "vertex_start": {"vertex_start": lambda x: np.array([0, 2**62, -(2**63), -(2**62), *x[4:]])},
    "entry_start": {"entry_start": lambda x: x[::-1]},
    "edge_start": {"edge_start": lambda x: x.astype(np.float64)},
    "weights": {"weights": _cut},
    "graph_features": {"graph_features": _cut},
    "part1": {"part1": lambda x: np.zeros(9, dtype=np.uint8)},
    "labels": {"labels": lambda x: x + 1},
    "labels_width": {"labels_width": lambda x: x.astype(np.float64)},
    "edge_labels": {"edge_labels": lambda x: x - 1},
}


@pytest.mark.parametrize("name", BROKEN)
def test_arrays_that_are_not_those_of_graphs_are_refused(name: str) -> None:
    pack = Pack.of(graphs(5, weighted=True)).with_graph_features(np.zeros((9, 2)))
    vertices, edges = pack.arrays["features"], np.zeros(len(pack.arrays["weights"]), dtype=np.int64)
    pack = pack.with_labels(np.arange(len(vertices)) % 3 - 1, 2, beside=vertices)
    pack = pack.with_labels(edges - 1, 1, "edge_features")
    assert pack.checked() is pack
    changed = {key: change(pack.arrays.get(key)) for key, change in BROKEN[name].items()}
    with pytest.raises(GraphError, match=name.removesuffix("_start") if name != "weights" else "edge_start"):
        Pack({**pack.arrays, **changed}).checked()


@pytest.mark.parametrize("name", ["vertex_start", "features", "row", "edge"])
def test_arrays_that_are_missing_are_named(name: str) -> None:
    with pytest.raises(GraphError, match=name):
        Pack({k: v for k, v in Pack.of(graphs(5)).arrays.items() if k != name}, np.arange(9)).checked()


def test_labels_are_the_columns_that_they_stand_for() -> None:
    given = Pack.of(graphs(5, edge_features=2))
    vertices, edges = int(given.sizes.sum()), len(given.arrays["edge_features"])
    rng = np.random.default_rng(0)
    vertex, edge = rng.integers(-1, 4, (vertices, 2)), rng.integers(0, 3, edges)
    beside = rng.normal(size=(vertices, 1)).astype(np.float32)
    pack = given.with_labels(vertex, 4, beside=beside).with_labels(edge, 3, "edge_features")
    dense = given.with_features(np.concatenate([one_hot(vertex, 4), beside], axis=1))
    dense = Pack({**dense.arrays, "edge_features": one_hot(edge, 3)})
    assert (pack.width, pack.edge_width) == (dense.width, dense.edge_width) == (5, 3)
    for chosen in (pack, pack.select([7, 0, 3]), pack.select([2]).compact(), Pack.join([pack, pack])):
        numbers = np.arange(9) if len(chosen) > 3 else chosen.chosen if len(chosen) == 3 else np.array([2])
        expected = dense.select(numbers if len(chosen) <= 9 else np.tile(numbers, 2))
        same(chosen.batch(), expected.batch())
        same(chosen[0], expected[0])
        assert np.array_equal(chosen.features, expected.features)
    same(pack.dense().batch(), dense.batch())
    same(Pack.join([pack, dense]).batch(), Pack.join([dense, dense]).batch())
    assert {tuple(row) for row in pack.edge_kinds().tolist()} == {tuple(row) for row in dense.edge_kinds().tolist()}


def test_columns_are_matched_by_name_with_labels_and_without() -> None:
    pack = Pack.of([Graph([], n=4)]).with_labels(np.array([0, 1, 2, -1]), 3)
    for one in (pack, pack.dense()):
        found = one.matched("features", ("a", "b", "c"), ("c", "x", "a"))
        assert found.features.tolist() == [[0, 0, 1], [0, 0, 0], [1, 0, 0], [0, 0, 0]]
    assert "features" not in pack.matched("features", ("a", "b", "c"), ("c",)).arrays


def test_labels_that_would_fill_the_memory_as_columns_are_refused(peak: Any) -> None:
    pack = Pack.of([Graph([], n=100_000)]).with_labels(np.arange(100_000), 100_000)

    def expand() -> None:
        with pytest.raises(GraphError, match=r"100,000 labels .* 10.0 GB"):
            pack.batch()

    assert peak(expand) < 50e6


def test_a_batch_has_the_features_of_its_graphs_as_a_whole_once_they_are_read() -> None:
    whole = np.arange(27, dtype=np.uint8).reshape(9, 3)
    pack = Pack.of(graphs(1)).with_graph_features(whole)
    b = pack.select([4, 2]).batch()
    moved = b.to("cpu")
    assert "graph_features" not in vars(b) | vars(moved)
    assert moved.graph_features is not None
    assert moved.graph_features.dtype == torch.float32
    assert moved.graph_features.tolist() == whole[[4, 2]].tolist() == moved.to("cpu").graph_features.tolist()  # type: ignore[union-attr]
    assert moved.to("meta").graph_features.device.type == "meta"  # type: ignore[union-attr]
    some = pack.select([4, 2]).with_graph_columns([slice(2, 3), slice(0, 1)])
    assert some.graph_width == 2
    assert some.graph_features.tolist() == whole[[4, 2]][:, [2, 0]].tolist()
    assert Pack.of(graphs(1)).batch().graph_features is None
    with pytest.raises(GraphError, match="morgan"):
        Pack.of(graphs(1)).with_graph_columns([slice(1)])
