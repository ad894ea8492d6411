"""Plans: what is computed, before any graph is seen."""

import re
from collections import defaultdict
from typing import Any

import pytest
import torch
from torch import Tensor

from ccn import reference
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


M = 3  # atoms; every child has the part of its parent, so that promotion changes nothing
A = torch.tensor([[0.3, 1.1, 0.0], [-0.7, 0.0, 0.4], [0.9, 0.2, -0.5]], dtype=torch.float64)


class Page:
    """Named tensors, and assignments of the form ``Q[a,j] += sum_p A[a,p] T1[p]`` to them."""

    def __init__(self, **known: Tensor) -> None:
        self.held: dict[str, Tensor] = defaultdict(lambda: torch.zeros((), dtype=torch.float64), known)

    def read(self, words: str, j: int) -> None:
        left, right = re.split(r" \+?= ", words)
        name, letters = self._split(left)
        free = [*dict.fromkeys(x for x in letters if x != "j")]
        factors = [self._factor(word, j) for word in right.split() if not word.startswith("sum_")]
        missing = [x for x in free if not any(x in word for _, word in factors)]  # spread along a new index
        factors += [(torch.ones(M, dtype=torch.float64), x) for x in missing]
        value = torch.einsum(f"{','.join(w for _, w in factors)}->{''.join(free)}", *(f for f, _ in factors))
        grid = torch.zeros([M] * len(letters), dtype=torch.float64)
        index = (
            torch.cartesian_prod(*[torch.arange(M)] * len(free)).reshape(-1, len(free)) if free else torch.zeros(1, 0)
        )
        for at in index.long().tolist():
            place = tuple(j if x == "j" else at[free.index(x)] for x in letters)
            grid[place] += value[tuple(at)]
        self.held[name] = self.held[name] + grid if "+=" in words else grid

    def _split(self, word: str) -> tuple[str, str]:
        name, _, rest = word.partition("[")
        return name, rest.rstrip("]").replace(",", "")

    def _factor(self, word: str, j: int) -> tuple[Tensor, str]:
        name, letters = self._split(word)
        kinds = {"row": A.sum(1), "column": A.sum(0), "total": A.sum(), "trace": A.trace(), "diagonal": A.diagonal()}
        tensor = kinds[name.removesuffix("(A)")] if "(" in name else self.held[name]
        for axis in reversed([i for i, x in enumerate(letters) if x == "j"]):
            tensor = tensor.select(axis, j)
        return tensor, letters.replace("j", "")


def carried_out(p: Any, children: list[Tensor], weight: Tensor) -> Tensor:
    """Q by the text; child j is anchored at atom j, and child 0 is the node's own former self."""
    lines = [re.match(r"(reduce|mix|gather|combine)\s+(.*?:)?\s*(.*)", x).groups() for x in str(p).splitlines()[1:]]  # type: ignore[union-attr]
    whole = Page(A=A)
    for j, f in enumerate(children):
        page = Page(F=f, A=A)
        for number, (_, _, words) in enumerate([line for line in lines if line[0] != "combine"]):
            step, which, _ = lines[number]
            if step == "mix":
                stage = sum(line[0] == "mix" for line in lines[:number])
                slots, read = (re.findall(r"[RS]\d+", side) for side in words.split(" from "))
                for i, cell in enumerate(p.cells):
                    if cell is not None and cell[0] == stage:
                        page.held[slots[cell[2]]] = page.held[slots[cell[2]]] + weight[i] * page.held[read[cell[1]]]
            elif which is None or j == 0:
                page.read(words, j)
        for name, value in page.held.items():
            if name[0] in "TQ":
                whole.held[name] = whole.held[name] + value
    for step, _, words in lines:
        if step == "combine":
            whole.read(words, 0)
    return whole.held["Q"]


@pytest.mark.parametrize(("k", "k_out"), [(0, 0), (0, 2), (1, 1), (2, 2), (2, 1), (1, 3), (3, 2)])
@pytest.mark.parametrize("options", [{"adjacency": "both"}, {"choice": "complete", "adjacency": False}], ids=str)
def test_the_lines_give_what_the_oracle_gives(k: int, k_out: int, options: dict[str, Any]) -> None:
    classes = (MatrixClass(directed=True, self_loops=True),)
    maps = list_maps(
        **{"choice": "all", **options},
        k=k,
        k_out=min(k_out, k + 1) if "choice" in options else k_out,
        classes=classes,
        own=True,
    )
    k_out = maps[0].order_out
    generator = torch.Generator().manual_seed(k + 4 * k_out)
    children = [torch.randn([M] * k, dtype=torch.float64, generator=generator) for _ in range(M)]
    weight = torch.randn(len(maps), dtype=torch.float64, generator=generator)
    found = carried_out(plan(maps, k, k_out, classes), children, weight)
    nodes = [reference.Child(range(M), f[..., None], j) for j, f in enumerate(children)]
    expected = reference.aggregate(
        range(M), nodes, weight[None, :, None], torch.zeros(1), maps, A[None], own=nodes[:1], nonlinearity=lambda x: x
    )[..., 0]
    torch.testing.assert_close(found, expected)
