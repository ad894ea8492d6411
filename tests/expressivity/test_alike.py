"""What looks alike in a data set, and the floors, against plain computation."""

import networkx as nx
import numpy as np
import pytest
from hard import HEXAGON, ROOK, SHRIKHANDE, TRIANGLES, cfi

from ccn import Graph, Pack
from ccn.errors import ConfigurationError
from ccn.expressivity.alike import SAME, Pair, accuracy_ceiling, alike, error_floors

GRAPHS = [TRIANGLES, ROOK, HEXAGON, SHRIKHANDE, HEXAGON.permute([3, 1, 5, 0, 2, 4]), Graph([], n=3)]


def test_each_view_is_as_fine_as_it_should_be() -> None:
    found = alike(Pack.of(GRAPHS))
    assert list(found.views) == ["1-WL", "order 1", "order 2", "order 3", SAME]
    assert found.views["1-WL"].tolist() == [0, 1, 0, 1, 0, 2]
    assert found.views["order 1"].tolist() == [0, 1, 2, 1, 2, 3]
    assert found.views["order 2"].tolist() == found.same.tolist() == [0, 1, 2, 3, 2, 4]
    assert (found.skipped, found.undecided) == ({}, 0)


def test_pairs_are_of_different_graphs() -> None:
    found = alike(Pack.of(GRAPHS))
    assert list(found.pairs()) == [Pair(0, 2, "order 1"), Pair(1, 3, "order 2")]
    assert list(found.pairs("order 1")) == [Pair(1, 3, "order 2")]
    assert list(found.same_pairs()) == [Pair(2, 4, None)]
    assert [found.pairs_alike(v) for v in found.views] == [2, 1, 0, 0, 0]
    assert [found.graphs_alike(v) for v in found.views] == [5, 2, 0, 0, 0]


def test_what_no_order_sees_is_left_to_isomorphism() -> None:
    pair = [cfi(nx.complete_graph(4), twisted) for twisted in (False, True)]
    found = alike(Pack.of([*pair, pair[0].permute(np.random.default_rng(0).permutation(28))]), orders=[1])
    assert found.views["order 1"].tolist() == [0, 0, 0]
    assert found.same.tolist() == [0, 1, 0]
    assert list(found.pairs()) == [Pair(0, 1, None)]


def test_levels_limit_what_is_seen() -> None:
    chosen = [Graph.from_networkx(nx.circulant_graph(17, [1, s])) for s in (2, 3, 4)]
    few, every = (alike(Pack.of(chosen), [2], levels).views["order 2"].tolist() for levels in (1, None))
    assert len(set(few)) < len(set(every))


def test_pairs_too_large_for_an_order_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ccn.expressivity.exact.LARGEST", 2 * 16**2)
    found = alike(Pack.of([ROOK, SHRIKHANDE]), [1, 2])
    assert found.skipped == {"order 2": 1}
    assert found.views["order 2"].tolist() == [0, 0]


def test_orders_must_increase() -> None:
    with pytest.raises(ConfigurationError, match="orders"):
        alike(Pack.of(GRAPHS), [2, 1])


def test_floors_are_the_least_errors() -> None:
    rng = np.random.default_rng(0)
    of, y = rng.integers(0, 6, 40), rng.normal(size=40)
    y[:4] = np.nan
    absolute = squared = 0.0
    for c in range(6):
        values = y[(of == c) & ~np.isnan(y)]
        absolute += min(np.abs(values - x).sum() for x in values)
        squared += values.var() * len(values)
    np.testing.assert_allclose(error_floors(of, y), (absolute / 36, (squared / 36) ** 0.5))
    assert error_floors(np.arange(40), y) == (0.0, 0.0)
    labels = (y > 0).astype(float)
    right = sum(max((labels[of == c] == x).sum() for x in (0, 1)) for c in range(6))
    assert accuracy_ceiling(of, labels) == right / 40
    assert np.isnan(accuracy_ceiling(of, np.full(40, np.nan)))
