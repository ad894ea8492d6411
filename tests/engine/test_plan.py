"""Plans: what is computed, before any graph is seen."""

import pytest

from ccn.algebra import MatrixClass
from ccn.engine.plan import plan
from ccn.layers import list_maps

SIMPLE = (MatrixClass(),)


@pytest.mark.parametrize("k", [0, 1, 2, 3, 4])
@pytest.mark.parametrize("matrix", [MatrixClass(d, s) for d in (False, True) for s in (False, True)], ids=str)
def test_all_is_reduced_to_distinct_before_anything_runs(k: int, matrix: MatrixClass) -> None:
    every = plan(list_maps("all", k, k, classes=[matrix]), k, k, (matrix,))
    distinct = plan(list_maps("distinct", k, k, classes=[matrix]), k, k, (matrix,))
    assert {c for c in every.cells if c is not None} == set(distinct.cells)
    assert every.stages == distinct.stages
    assert len(set(distinct.cells)) == len(distinct.cells)  # no two distinct ones share a cell


@pytest.mark.parametrize("k", [1, 2, 3, 4])
@pytest.mark.parametrize("k_out", [0, 1, 2, 3])
def test_nothing_of_a_higher_order_than_children_and_output_appears(k: int, k_out: int) -> None:
    p = plan(list_maps("all", k, k_out, adjacency="both", own=True), k, k_out, SIMPLE)
    assert all(target.order <= k_out for target in p.targets)
    assert all(slot.order <= k for stage in p.stages for slot in stage.slots)


def test_children_that_are_atoms_make_any_order_cost_order_zero() -> None:
    p = plan(list_maps("distinct", 3, 3), 3, 3, SIMPLE, atoms=True)
    assert p.order_in == 0
    assert [len(of) for of in p.reductions] == [1]
    assert sum(len(stage.slots) for stage in p.stages) < 10


def test_the_plan_of_order_two_is_the_handful_of_gathers_that_the_design_promises() -> None:
    p = plan(list_maps("distinct", 2, 2), 2, 2, SIMPLE)
    assert len(p.cells) == 26
    assert sum(len(stage.slots) for stage in p.stages) == 10
    assert sorted(t.order for t in p.targets) == [0, 1, 2, 2]
