"""Histogram alignment features against shortest paths, one vertex at a time."""

import json
from typing import Any

import networkx as nx
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from ccn import Graph, Pack, batch
from ccn.errors import ConfigurationError, GraphError
from ccn.features import Constant, Degree, Histograms, Labels, histogram_features, vertex_features, vertices
from ccn.graphs.exchange import to_networkx
from ccn.testing import random_graph, random_permutation

seeds = st.integers(0, 10**6)


def reference(g: Graph, labels: NDArray[Any], width: int, depth: int, include_self: bool) -> NDArray[Any]:
    """The formula, literally: relative frequencies of labels among the vertices at each distance."""
    distances = dict(nx.all_pairs_shortest_path_length(to_networkx(g).to_undirected()))
    rows = []
    for i in range(g.n):
        row: list[float] = []
        for j in range(0 if include_self else 1, depth + 1):
            there = [labels[v] for v, d in distances[i].items() if d == j]
            row += [there.count(c) / len(there) if there else 0.0 for c in range(width)]
        rows.append(row)
    return np.array(rows)


def labelled(seed: int, count: int = 5, width: int = 3, **options: Any) -> tuple[list[Graph], list[NDArray[Any]]]:
    rng = np.random.default_rng(seed)
    graphs = [random_graph(int(rng.integers(1, 12)), rng, density=rng.uniform(0, 0.5), **options) for _ in range(count)]
    return graphs, [rng.integers(0, width, g.n) for g in graphs]


@given(seed=seeds, depth=st.integers(1, 12), include_self=st.booleans(), directed=st.booleans(), loops=st.booleans())
@settings(deadline=None, max_examples=40)
def test_the_formula_on_random_graphs(seed: int, depth: int, include_self: bool, directed: bool, loops: bool) -> None:
    graphs, labels = labelled(seed, directed=directed, self_loops=loops)
    expected = [reference(g, of, 3, depth, include_self) for g, of in zip(graphs, labels, strict=True)]
    for kind in (np.float64, np.uint8):  # sparse matrices, and sets as integers
        every = np.eye(3, dtype=kind)[np.concatenate(labels)]
        found = histogram_features(graphs, every, depth=depth, include_self=include_self)
        assert found.dtype == np.float32
        np.testing.assert_allclose(found, np.concatenate(expected), rtol=1e-6)


def test_graphs_of_any_size_together_give_the_same_exactly(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    graphs = [random_graph(n, rng, density=2 / n) for n in (64, 65, 1, 63, 130, 2, 64, 7)]
    x = rng.integers(0, 2, (sum(g.n for g in graphs), 5)).astype(np.uint8)
    for include_self in (True, False):
        expected = histogram_features(graphs, x.astype(np.float32), depth=7, include_self=include_self)
        for block in (1 << 16, 40):
            monkeypatch.setattr(vertices, "_BLOCK", block)
            found = histogram_features(graphs, x, depth=7, include_self=include_self)
            np.testing.assert_array_equal(found, expected)
    assert np.array_equal(histogram_features(graphs, x, depth=0), x)


@given(seed=seeds)
@settings(deadline=None, max_examples=20)
def test_renaming_the_vertices_renames_the_rows(seed: int) -> None:
    graphs, labels = labelled(seed, count=1)
    sigma = np.array(random_permutation(graphs[0].n, np.random.default_rng(seed)))
    rows = histogram_features(graphs, np.eye(3)[labels[0]])
    renamed = histogram_features([graphs[0].permute(sigma)], np.eye(3)[labels[0][np.argsort(sigma)]])
    np.testing.assert_array_equal(renamed[sigma], rows)


def test_one_block_or_many_give_the_same() -> None:
    graphs, labels = labelled(1, count=20)
    x = np.eye(3, dtype=np.float32)[np.concatenate(labels)]
    whole = histogram_features(graphs, x)
    # Blocks that cut through graphs, and blocks of one vertex.
    for pairs in (30, 1):
        np.testing.assert_array_equal(histogram_features(graphs, x, pairs=pairs), whole)


def test_a_path_by_hand() -> None:
    path = Graph([(0, 1), (1, 2), (2, 3)], n=4)
    rows = histogram_features(path, [5, 5, 7, 9], depth=3)
    assert rows[0].tolist() == [1, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1]
    assert rows[1].tolist() == [1, 0, 0, 0.5, 0.5, 0, 0, 0, 1, 0, 0, 0]
    assert histogram_features(path, [5, 5, 7, 9], depth=3, include_self=False).tolist() == rows[:, 3:].tolist()


def test_disconnected_graphs_and_isolated_vertices_have_zeros_beyond_what_they_reach() -> None:
    g = Graph([(0, 1)], n=4)
    rows = histogram_features([g, Graph([], n=1)], [0, 1, 0, 1, 1], depth=2)
    assert rows.tolist() == [
        [1, 0, 0, 1, 0, 0],
        [0, 1, 1, 0, 0, 0],
        [1, 0, 0, 0, 0, 0],
        [0, 1, 0, 0, 0, 0],
        [0, 1] + [0] * 4,
    ]


def test_packs_batches_and_lists_agree_and_one_hot_features_are_the_default() -> None:
    graphs, labels = labelled(3)
    graphs = [Graph(g.edges, torch.eye(3)[torch.from_numpy(x)]) for g, x in zip(graphs, labels, strict=True)]
    expected = histogram_features(graphs, np.eye(3)[np.concatenate(labels)])
    for form in (graphs, batch(graphs), Pack.of(graphs), Pack.of(graphs).batch()):
        np.testing.assert_array_equal(histogram_features(form), expected)
    definition = Histograms().fit(graphs)
    few = definition(Pack.of(graphs).select([3, 1]))
    rows = [definition(g).batch().features for g in (graphs[3], graphs[1])]
    torch.testing.assert_close(few.batch().features, torch.cat(rows))
    assert len(definition.names) == few.width == 33
    assert definition.names[:4] == ("x0 at 0", "x1 at 0", "x2 at 0", "x0 at 1")


def test_weights_do_not_change_distances() -> None:
    g = Graph([(0, 1), (1, 2)], n=3, weights=[0.5, -4.0])
    np.testing.assert_array_equal(
        histogram_features(g, [0, 1, 2]), histogram_features(Graph([(0, 1), (1, 2)], n=3), [0, 1, 2])
    )


def test_the_training_vocabulary_is_kept_and_an_unknown_label_is_no_label() -> None:
    train = [Graph([(0, 1)], [[2.0], [6.0]])]
    new = [Graph([(0, 1), (0, 2)], [[6.0], [2.0], [4.0]])]
    definition = Histograms(depth=1, of=Labels()).fit(train)
    assert definition.names == ("label=2 at 0", "label=6 at 0", "label=2 at 1", "label=6 at 1")
    assert definition(new).batch().features.tolist() == [[0, 1, 0.5, 0], [1, 0, 0, 1], [0, 0, 0, 1]]
    again = vertex_features(json.loads(json.dumps(definition.to_json())))
    assert again == definition


def test_labels_may_be_degrees_or_nothing_at_all() -> None:
    path = [Graph([(0, 1), (1, 2)], n=3)]
    by_degree = Histograms(depth=1, of=Degree(cap=2))(path).batch().features
    assert by_degree[0].tolist() == [0, 1, 0, 0, 0, 0, 1, 0]
    assert Histograms(depth=3, of=Constant())(path).batch().features[0].tolist() == [1, 1, 1, 0]


def test_bad_settings_and_labels_are_errors() -> None:
    path = Graph([(0, 1)], n=2)
    with pytest.raises(ConfigurationError, match="depth=0"):
        histogram_features(path, depth=0, include_self=False)
    with pytest.raises(ConfigurationError, match=r"depth=2\.5"):
        Histograms(depth=2.5)  # type: ignore[arg-type]
    with pytest.raises(ConfigurationError, match="of='degree'"):
        Histograms(of="degree")  # type: ignore[arg-type]
    with pytest.raises(GraphError, match=r"2 .*3"):
        histogram_features(path, [0, 1, 2])
    with pytest.raises(GraphError, match=r"shape \(1, 1, 2\)"):
        histogram_features(path, [[[0, 1]]])
    assert vertices.KINDS["histograms"] is Histograms


def test_auto_makes_histograms_of_labels_and_leaves_other_features() -> None:
    labels = np.eye(3)[[0, 1, 2, 1]]
    path = Graph([(0, 1), (1, 2), (2, 3)], labels)
    assert vertex_features("auto").fit([path]) == Histograms().fit([path])
    measured = Graph([(0, 1), (1, 2), (2, 3)], labels * 0.5)
    constant = Graph([(0, 1)], np.ones((2, 1)))
    for graph in (measured, constant):
        assert vertex_features("auto").fit([graph]) == vertices.Given().fit([graph])
    with pytest.raises(ConfigurationError):
        _ = vertex_features("auto").names


def test_counts_are_frequencies_times_the_vertices_at_a_distance() -> None:
    star = Graph([(0, 1), (0, 2), (0, 3)], np.eye(2)[[0, 1, 1, 0]])
    rows = Histograms(depth=2, counts=True).rows(Pack.of([star]))
    np.testing.assert_array_equal(rows[0], [1, 0, 1, 2, 0, 0])
    np.testing.assert_array_equal(rows[1], [0, 1, 1, 0, 1, 1])
