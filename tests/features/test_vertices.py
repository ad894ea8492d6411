"""Definitions of vertex features: what they give, and that they survive being written down."""

import json
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from ccn import Graph, Pack
from ccn.errors import ConfigurationError, GraphError
from ccn.features import Constant, Degree, Given, Histograms, Labels, VertexFeatures, vertex_features
from ccn.features.vertices import KINDS
from ccn.testing import random_graph

STAR = Graph([(0, 1), (0, 2), (0, 3)], [[3.0, 1.0], [1.0, 1.0], [1.0, 2.0], [8.0, 0.0]])
DOT = Graph([], [[3.0, 5.0]])


def test_degrees_are_one_hot_with_a_column_beyond_the_cap() -> None:
    degree = Degree(cap=1)
    pack = degree([STAR, DOT])
    assert degree.names == ("degree=0", "degree=1", "degree=other")
    assert pack.features.tolist() == [[0, 0, 1], [0, 1, 0], [0, 1, 0], [0, 1, 0], [1, 0, 0]]
    assert pack.width == len(degree.names)
    np.testing.assert_array_equal(pack[0].entries, STAR.entries)


@pytest.mark.parametrize("directed", [False, True])
def test_degree_counts_neighbours_once_and_never_the_vertex_itself(directed: bool) -> None:
    rng = np.random.default_rng(0)
    g = random_graph(9, rng, directed=directed, self_loops=True, weighted=True)
    a = g.adjacency().numpy() != 0
    expected = ((a | a.T) & ~np.eye(9, dtype=bool)).sum(1)
    assert Degree(cap=9)([g]).features.argmax(1).tolist() == expected.tolist()


def test_given_columns_are_kept_chosen_and_checked() -> None:
    both = Given().fit([STAR])
    assert both.names == ("x0", "x1")
    assert both([DOT]).features.tolist() == [[3.0, 5.0]]
    assert Given(columns=(1,))([DOT]).features.tolist() == [[5.0]]
    with pytest.raises(GraphError, match="width 1, those of training had 2"):
        both([Graph([], n=1)])
    with pytest.raises(GraphError, match="2"):
        Given(columns=(2,))([DOT])
    with pytest.raises(ConfigurationError, match="'given'"):
        _ = Given().names


def test_labels_take_the_vocabulary_of_training_and_leave_others_zero() -> None:
    labels = Labels().fit([STAR])
    assert labels.names == ("label=1", "label=3", "label=8")
    assert labels([DOT, Graph([], [[9.0, 0.0]]), Graph([], [[0.0, 0.0]])]).features.tolist() == [
        [0, 1, 0],
        [0, 0, 0],
        [0, 0, 0],
    ]
    assert Labels(column=1).fit([STAR]).values == (0, 1, 2)
    with pytest.raises(ConfigurationError, match="'labels'"):
        Labels()([DOT])
    with pytest.raises(GraphError, match=r"vertex 1 .*0\.5"):
        Labels().fit([Graph([], [1.0, 0.5])])


def test_a_constant_is_a_constant() -> None:
    assert Constant()([STAR, DOT]).features.tolist() == [[1]] * 5


@pytest.mark.parametrize(
    "definition",
    [
        Given(),
        Given(columns=(1,), width=2),
        Labels(),
        Labels().fit([STAR]),
        Degree(cap=3),
        Constant(),
        Histograms(),
        Histograms(depth=2, include_self=False, of=Labels(column=1).fit([STAR])),
        Histograms(of=Histograms(of=Degree())),
        Histograms(counts=True),
    ],
)
def test_what_is_written_is_read_back_equal(definition: VertexFeatures) -> None:
    assert vertex_features(json.loads(json.dumps(definition.to_json()))) == definition
    assert vertex_features(definition) is definition


def test_every_kind_has_a_name_and_is_applied_to_the_chosen_graphs_in_order() -> None:
    pack = Pack.of([STAR, DOT, STAR])
    for kind in KINDS:
        definition = vertex_features(kind).fit(pack)
        rows = definition(pack).features
        few = definition(pack.select([1, 0])).features
        assert rows.shape == (9, len(definition.names))
        np.testing.assert_array_equal(few, rows[[4, 0, 1, 2, 3]])


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ("degrees", "'degrees'.* given, labels, degree, constant, histograms"),
        ({}, "given, labels"),
        ({"kind": ["degree"]}, "given, labels"),
        ({"kind": "degree", "limit": 3}, r"'degree' .*'limit'.*'cap'"),
        ({"kind": "degree", "cap": -1}, "cap=-1"),
        ({"kind": "degree", "cap": True}, "cap=True"),
        ({"kind": "given", "columns": 3}, "given"),
        ({"kind": "given", "columns": []}, r"columns=\(\)"),
        ({"kind": "labels", "values": [3, 1]}, "labels"),
        ({"kind": "histograms", "of": "degree"}, "of='degree'"),
    ],
)
def test_what_cannot_be_read_is_an_error(written: Any, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        vertex_features(written)


def test_a_kind_of_ones_own_enters_itself() -> None:
    @dataclass(frozen=True)
    class Place(VertexFeatures, kind="place"):
        @property
        def names(self) -> tuple[str, ...]:
            return ("place",)

        def rows(self, pack: Pack) -> NDArray[Any]:
            return np.concatenate([np.arange(n) for n in pack.sizes])[:, None].astype(np.float32)

    try:
        assert vertex_features({"kind": "place"}) == Place()
        assert Place()([STAR, DOT]).features[:, 0].tolist() == [0, 1, 2, 3, 0]
    finally:
        del KINDS["place"]


@pytest.mark.parametrize(
    "what",
    [
        {"kind": "degree", "cap": 10**9},
        {"kind": "given", "width": 10**9},
        {"kind": "histograms", "depth": 10**6},
        {"kind": "histograms", "depth": 99, "of": {"kind": "histograms", "depth": 99}},
    ],
)
def test_every_setting_has_a_bound(what: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError, match=what["kind"][:9]):
        vertex_features(what)


DEFINITIONS = [
    Degree(cap=3),
    Labels((0, 1, 2)),
    Histograms(depth=3, of=Labels((0, 1, 2))),
    Histograms(depth=2, include_self=False, of=Labels((0, 1))),
    Histograms(depth=2, of=Labels((0, 1, 2)), counts=True),
    Histograms(depth=1, of=Histograms(depth=2, of=Labels((0, 1, 2)))),
]


@pytest.mark.parametrize("definition", DEFINITIONS)
def test_shares_of_vertices_add_up(definition: VertexFeatures) -> None:
    rng = np.random.default_rng(0)
    pack = Pack.of([random_graph(n, rng, features=1) for n in (1, 4, 7)])
    pack = pack.with_features(rng.integers(3, size=(12, 1)))
    rows = np.asarray(definition.rows(pack), dtype=np.float64)
    slope = rng.normal(size=rows.shape)
    shares = definition.shares(pack, slope)
    assert shares.shape == (12,)
    owner = np.repeat(np.arange(3), pack.sizes)
    sums = np.bincount(owner, shares), np.bincount(owner, (rows * slope).sum(axis=1))
    np.testing.assert_allclose(sums[0], sums[1], rtol=1e-5, atol=1e-6)


def test_what_a_vertex_sees_is_the_share_of_those_that_it_sees() -> None:
    path = Pack.of([Graph([(0, 1), (1, 2)], [[0.0], [1.0], [1.0]])])
    seen = Histograms(depth=2, of=Labels((0, 1)))
    slope = np.zeros((3, 6))
    slope[0, 5] = 4.0  # label 1 at distance 2 from vertex 0
    slope[1, 2] = 1.0  # label 0 at distance 1 from vertex 1, which one of its two neighbours has
    np.testing.assert_allclose(seen.shares(path, slope), [0.5, 0.0, 4.0])
