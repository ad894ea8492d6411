from __future__ import annotations

from dataclasses import replace

import pytest

from ccn.errors import ConfigurationError
from ccn.methods import METHODS as KNOWN
from ccn.paper.cells import METHODS, cells, cost, run_cell


def test_every_method_of_the_registry_is_in_the_tables() -> None:
    assert set(METHODS) == set(KNOWN)


def test_order_three_is_for_small_data_sets() -> None:
    made = cells("kernels")
    assert {c.dataset for c in made if c.method == "ccn-3-default"} == {"MUTAG", "PTC_MR", "PTC"}
    assert len(made) == (3 * 19 + 2 * 18) * 10


def test_cheap_cells_come_first() -> None:
    made = cells("kernels")
    assert [cost(c) for c in made] == sorted(cost(c) for c in made)


@pytest.mark.parametrize(
    ("name", "methods", "splits", "said"),
    [
        ("nci", None, None, "'nci' is neither a table nor a data set; choose from kernels, hcep, qm9, expressivity"),
        ("kernels", ["wll"], None, "'wll' is not one of kernels; choose from lasso"),
        ("mutag", ["wl"], [-1], "splits are numbered from 0"),
        ("NCI1", ["ccn-3-default"], None, "choose from"),
    ],
)
def test_what_is_not_there_is_said(name: str, methods: list[str] | None, splits: list[int] | None, said: str) -> None:
    with pytest.raises(ConfigurationError, match=said):
        cells(name, methods, splits)


def test_the_record_of_a_cell_says_what_decided_it() -> None:
    (cell,) = cells("MUTAG", ["wl"], [1], seed=5, options={"wl": {"settings": {"depth": (1, 2)}, "C": (1.0, 10.0)}})
    told: list[bool] = []
    found = run_cell(cell, lambda: told.append(True))
    assert told == [True]
    assert found.key == ("MUTAG", "wl", 1)
    assert (found.status, found.metric, found.seed) == ("done", "accuracy", 6)
    assert found.test is not None
    assert found.test > 0.6
    assert found.config["rows"] == 150
    assert found.config["chosen"][0]["depth"] in (1, 2)
    again = run_cell(cell)
    assert replace(again, seconds=found.seconds) == found


def test_kernels_can_have_more_splits() -> None:
    assert [c.split for c in cells("mutag", ["wl"], range(8, 13))] == list(range(8, 13))
    assert [c.split for c in cells("hcep", ["wl"], range(5))] == [0]
