from __future__ import annotations

import pytest

from ccn.errors import ConfigurationError
from ccn.methods.registry import METHODS
from ccn.paper.cells import TABLES, cells, parse_methods


def test_every_method_of_the_registry_has_cells() -> None:
    assert {c.method for c in cells("MUTAG")} == {*METHODS} - {"ccn", "auto", "gp", "trees"}


def test_every_pair_of_a_set_of_graph_pairs_and_a_method_is_a_cell() -> None:
    found = [(c.dataset, c.method) for c in cells("expressivity")]
    assert len(found) == len(set(found)) == 9 * 19 - 3  # order 3 alone is not for the largest
    wanted = {("BREC basic", "1-WL"), ("strongly regular", "3-WL"), ("circular skip links", "ccn-3, any levels")}
    assert {*wanted, ("BREC CFI", "ccn-2 and ccn-3, any levels")} < {*found}
    assert ("BREC CFI", "ccn-3, any levels") not in found
    assert {c.dataset for c in cells("all")} == {dataset for datasets in TABLES.values() for dataset in datasets}


def test_order_three_is_for_small_data_sets() -> None:
    made = cells("kernels")
    assert {c.dataset for c in made if c.method == "ccn-3-default"} == {"MUTAG", "PTC_MR", "PTC"}
    assert len(made) == (3 * 21 + 2 * 20) * 10


def test_cheap_cells_come_first() -> None:
    made = cells("kernels")
    assert [c.cost for c in made] == sorted(c.cost for c in made)


@pytest.mark.parametrize(
    ("name", "methods", "splits", "named"),
    [
        ("nci", None, None, "'nci'.* kernels, hcep, qm9, folds, zinc, expressivity, admet, cliffs, all, MUTAG"),
        ("kernels", ["wll"], None, "'wll'.* lasso, "),
        ("mutag", ["wl"], [-1], "mutag"),
        ("hcep", ["wl"], [1], "hcep.* MUTAG"),
        ("MUTAG 5 folds", ["gin"], [5], "up to their number"),
        ("NCI1", ["ccn-3-default"], None, "'ccn-3-default'.* ccn-2-default"),
    ],
)
def test_unknown_names_and_splits_are_errors(
    name: str, methods: list[str] | None, splits: list[int] | None, named: str
) -> None:
    with pytest.raises(ConfigurationError, match=named):
        cells(name, methods, splits)


def test_qm9_has_the_methods_of_the_paper_unless_others_are_named() -> None:
    networks = {"ngf", "pscn", "ccn-1", "ccn-2", "ccn-2-authors", "ccn-1-default", "ccn-2-default"}
    assert {c.method for c in cells("qm9")} == {"floor", "wl", *networks}
    assert [c.method for c in cells("qm9", ["gin"])] == ["gin"]


def test_a_record_of_a_cell_has_its_options() -> None:
    (cell,) = cells("MUTAG", ["wl"], [1], seed=5, options={"wl": {"C": 1.0}})
    made = cell.record("failed", 1.5)
    assert (made.key, made.metric, made.seed) == (("MUTAG", "wl", 1), "accuracy", 6)
    assert made.config == {"options": {"C": 1.0}}


def test_a_comma_before_a_space_is_part_of_a_name() -> None:
    assert parse_methods("wl,ccn-2, 1 levels, ridge ,gin") == ["wl", "ccn-2, 1 levels, ridge", "gin"]


def test_tasks_on_molecules_have_five_seeds_or_those_asked_for() -> None:
    made = cells("admet", ["maplight"], seed=10)
    assert len(made) == 11 * 5
    assert {(c.split, c.seed) for c in made} == {(i, 10 + i) for i in range(5)}
    (cell,) = cells("chembl204_ki", ["auto"], [7])
    assert (cell.table, cell.metric, cell.split) == ("cliffs", "rmse", 7)
    assert {c.metric for c in made if c.dataset in ("herg", "ppbr_az")} == {"roc_auc", "mae"}
    assert made[-1].dataset == "cyp3a4_veith"  # the largest


def test_kernels_can_have_more_splits() -> None:
    assert [c.split for c in cells("mutag", ["wl"], range(8, 13))] == list(range(8, 13))
    assert [c.split for c in cells("hcep", ["wl"], range(5))] == [0]


def test_folds_are_as_many_as_were_published_and_seeds_of_zinc_as_many_as_wanted() -> None:
    made = cells("folds", ["ccn-2-authors"])
    assert len(made) == 5 * 5 + 10
    assert {c.metric for c in made} == {"accuracy"}
    assert [c.split for c in cells("nci1 10 folds", ["gin"], range(8, 20))] == [8, 9]
    assert [(c.split, c.seed, c.metric) for c in cells("zinc", ["gin"])] == [(i, i, "mae") for i in range(4)]
    assert len(cells("ZINC", ["gin"], range(7))) == 7
