from __future__ import annotations

from dataclasses import replace

import pytest

from ccn.paper.cells import cells
from ccn.paper.experiment import run_cell


def test_the_record_of_a_cell_says_what_determined_it() -> None:
    (cell,) = cells("MUTAG", ["wl"], [1], seed=5, options={"wl": {"settings": {"depth": (1, 2)}, "C": (1.0, 10.0)}})
    began: list[bool] = []
    found = run_cell(cell, lambda: began.append(True))
    assert began == [True]
    assert found.key == ("MUTAG", "wl", 1)
    assert (found.status, found.metric, found.seed) == ("done", "accuracy", 6)
    assert found.test is not None
    assert found.test > 0.6
    assert found.config["rows"] == 150
    assert found.config["chosen"][0]["depth"] in (1, 2)
    again = run_cell(cell)
    assert replace(again, seconds=found.seconds) == found


@pytest.mark.parametrize(("method", "apart"), [("1-WL", 0), ("3-WL", 45)])
def test_pairs_of_graphs_are_counted(method: str, apart: int) -> None:
    (cell,) = cells("circular skip links", [method])
    found = run_cell(cell)
    assert (found.test, found.config) == (apart, {})
    assert found.details == {"apart": apart, "pairs": 45}
