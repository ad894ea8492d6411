from __future__ import annotations

import numpy as np

from ccn import Graph, Pack
from ccn.methods.kernels.bags import edge_names, matrices, mix, name, row_names, tally, vertex_names


def test_names_tell_things_apart() -> None:
    n = np.arange(100_000)
    assert len(np.unique(mix(n))) == len(n)
    pairs = name(n // 300, n % 300)
    assert len(np.unique(pairs)) == len(n)
    assert name(1, 2) != name(2, 1)
    assert name(1) != name(1, 0)


def test_rows_by_their_values() -> None:
    rows = np.array([[0.0, 1.0], [1.0, 0.0], [-0.0, 1.0], [0.0, 1.0 + 1e-12]])
    found = row_names(rows)
    assert found[0] == found[2]
    assert len(np.unique(found)) == 3
    assert (row_names(rows[:3].astype(np.uint8)) == found[:3]).all()


def test_counting() -> None:
    key = np.array([7, 5, 7, 7, 5], dtype=np.uint64)
    bag = tally(np.array([1, 1, 0, 1, 1]), key, 3, np.array([1.0, 2.0, 4.0, 8.0, 16.0]))
    a, b = matrices(bag, tally(np.array([0]), np.array([6], dtype=np.uint64), 1))
    assert a.toarray().tolist() == [[0, 0, 4], [18, 0, 9], [0, 0, 0]]
    assert b.toarray().tolist() == [[0, 1, 0]]
    assert tally(np.zeros(0, dtype=int), key[:0], 2).graphs == 2


def test_labels_are_named_as_the_columns_that_they_stand_for() -> None:
    path = Pack.of([Graph([(0, 1), (1, 2)], n=3)])
    beside = np.array([[0.5], [0.0], [2.0]], dtype=np.float32)
    for more in (None, beside):
        pack = path.with_labels(np.array([[2, 3], [-1, 0], [1, -1]]), 4, beside=more)
        pack = pack.with_labels(np.array([1, 0]), 2, "edge_features")
        assert (vertex_names(pack) == vertex_names(pack.dense())).all()
        assert (edge_names(pack) == edge_names(pack.dense())).all()
