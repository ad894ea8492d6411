"""Batches: every row once an epoch, an order that follows from seed and epoch, shares that make up the whole."""

from itertools import chain

import numpy as np
from problem import graphs

from ccn.training.batches import Batches

PACK = graphs(20)
ROWS = np.arange(3, 20)


def _rows(batches: Batches, epoch: int = 0, start: int = 0) -> list[list[int]]:
    return [rows.tolist() for _, rows in batches.epoch(epoch, start)]


def test_an_epoch_has_every_row_once_in_an_order_of_its_own() -> None:
    batches = Batches(PACK, ROWS, 5, seed=1)
    first, second = _rows(batches, 0), _rows(batches, 1)
    assert len(batches) == len(first) == 4
    assert sorted(chain(*first)) == sorted(chain(*second)) == ROWS.tolist()
    assert first != second
    assert first == _rows(Batches(PACK, ROWS, 5, seed=1), 0)
    assert first != _rows(Batches(PACK, ROWS, 5, seed=2), 0)
    assert _rows(batches, 1, start=2) == second[2:]
    assert list(chain(*_rows(Batches(PACK, ROWS, 5)))) == ROWS.tolist()


def test_a_batch_holds_the_graphs_of_its_rows() -> None:
    for b, rows in Batches(PACK, ROWS, 5, seed=1):
        assert np.diff(b.start).tolist() == PACK.sizes[rows].tolist()


def test_shares_make_up_the_batch_and_an_empty_one_still_has_a_graph_to_run() -> None:
    whole = _rows(Batches(PACK, ROWS, 8, seed=1))
    shares = [list(Batches(PACK, ROWS, 8, seed=1, rank=r, world=2).epoch(0)) for r in range(2)]
    assert [sorted([*a[1], *b[1]]) for a, b in zip(*shares, strict=True)] == [sorted(rows) for rows in whole]
    batch, rows = shares[1][-1]  # 17 rows in batches of 8: one is left
    assert (len(rows), len(batch)) == (0, 1)
