"""Counts of kinds of parts as columns, against counting by hand."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from ccn.errors import FileError, GraphError
from ccn.graphs.pack import Pack
from ccn.learning.inputs import read
from ccn.methods.columns import PartColumns
from ccn.methods.kernels.parts import kinds

SMILES = ["CCO", "OCC", "CCN", "CCCO", "CC(C)O", "c1ccccc1", "C=C", "C#C"]


def test_counts_are_those_of_the_kinds_of_each_graph() -> None:
    graphs, _, _ = read(SMILES, "full", False)
    columns = PartColumns.fit(graphs, levels=1, least=0.0)
    x = columns(graphs)
    assert columns.width == x.shape[1]
    np.testing.assert_array_equal(x[0], x[1])  # the same molecule
    at = 0
    for level, names in enumerate(columns.kinds):
        for g in range(len(graphs)):
            count = Counter(kinds(graphs.select([g]), 2, 1, edge_labels=True)[level].tolist())
            assert x[g, at : at + len(names)].tolist() == [count[int(name)] for name in names]
        at += len(names)
    frequent = Counter(key for g in range(len(graphs)) for key in set(kinds(graphs.select([g]), 2, 1)[0].tolist()))
    assert len(columns.kinds[0]) == sum(n >= 3 for n in frequent.values())


def test_features_as_a_whole_stand_behind_the_counts() -> None:
    graphs, _, _ = read(SMILES, "full", False)
    whole = np.arange(16.0).reshape(8, 2)
    both: Pack = graphs.with_graph_features(whole)
    columns = PartColumns.fit(both)
    np.testing.assert_array_equal(columns(both)[:, -2:], whole)
    with pytest.raises(GraphError, match="reads 2"):
        columns(graphs)
    again = PartColumns.from_state(columns.state(), 2)
    np.testing.assert_array_equal(again(both), columns(both))


def test_names_that_are_not_sorted_are_refused() -> None:
    with pytest.raises(FileError):
        PartColumns.from_state({"kinds0": np.array([2, 1], dtype=np.uint64)}, 0)


def test_more_levels_or_kinds_than_are_ever_fitted_are_refused() -> None:
    """A file of a few kilobytes could else ask for a network of a thousand levels."""
    few, many = np.arange(2, dtype=np.uint64), np.arange(2001, dtype=np.uint64)
    for arrays in ({f"kinds{i}": few for i in range(22)}, {}, {"kinds0": few, "kinds1": many}):
        with pytest.raises(FileError):
            PartColumns.from_state(arrays, 0)
    assert len(PartColumns.from_state({f"kinds{i}": few for i in range(21)}, 0).kinds) == 21
