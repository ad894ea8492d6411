"""From a set of contractions to a plan: reduce, mix, gather, multiply by A.

A layer is linear in the children's tensors F_c, so the six steps can be taken in another order in
which nothing of order k+1 appears. For each contraction the plan says

1. how F_c is **reduced** at the child, once per child and not once per pair: which of its axes are
   set equal, summed, or held at the child's own anchor (its *centre*: axes equated to the stack);
2. into which **slot** the reduced tensor is mixed, already with the weights W (mixing commutes with
   everything that follows); slots that read the same reductions are mixed in one **stage**;
3. to which **target** the slot is gathered over parent-child pairs: a tensor of the parent, of
   order at most k', with a weight made of A where an axis of A meets only T;
4. how the target is **combined** into the output: it is the output itself (the first target), it is spread
   along new axes, or A multiplies it where an axis of A survives: along one axis (``Q[.., u] = sum_p R[.., p]
   A[u, p]``, one R for all contractions of this kind), by its row or column sums, or as a matrix.

Contractions that agree for the declared class of A land in one cell of the mixing matrices, and
those that vanish in none: ``all`` is reduced to ``distinct`` before anything runs.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property, lru_cache
from itertools import permutations
from typing import Any, Literal

from ccn.algebra.contractions import Contraction, MatrixClass, reduce
from ccn.algebra.equivariant import EquivariantMap
from ccn.engine.plan_text import plan_text

__all__ = [
    "QUANTITY_ORDER",
    "STACK",
    "Kind",
    "Map",
    "Plan",
    "Reduction",
    "Section",
    "Slot",
    "Stage",
    "Target",
    "Weight",
    "numbered",
    "plan",
]

Map = Contraction | EquivariantMap
PairSet = Literal["stacked", "free", "own"]
Kind = Literal["total", "trace", "row", "column", "diagonal", "entry"]
STACK = -1  # stands for the stacking axis among the kept axes of a slot
QUANTITY_ORDER: dict[Kind, int] = {"total": 0, "trace": 0, "row": 1, "column": 1, "diagonal": 1, "entry": 2}
"""The order of each kind of quantity of ``A|part``: how many places of the part index it."""

Section = tuple[Kind, int]
"""A quantity of ``A|part`` and the channel of A it is taken from."""


@dataclass(frozen=True)
class Reduction:
    """What is done to F_c at the child: ``kept`` groups of axes (each one index of the result), ``summed``
    groups, and the axes held at the ``centre``.
    """

    kept: tuple[tuple[int, ...], ...]
    summed: tuple[tuple[int, ...], ...]
    centre: tuple[int, ...]

    @property
    def order(self) -> int:
        return len(self.kept)

    @classmethod
    def identity(cls, k: int) -> Reduction:
        """F itself."""
        return cls(numbered(k), (), ())


@dataclass(frozen=True)
class Weight:
    """A factor from A on each gathered entry: the quantity, and which kept axes (or STACK) index it."""

    kind: Kind
    channel: int
    places: tuple[int, ...] = ()

    @property
    def order(self) -> int:
        return QUANTITY_ORDER[self.kind]


@dataclass(frozen=True)
class Target:
    """A tensor of the parent: its axis i fills the output axes ``axes[i]`` together.

    Along ``new`` groups of output axes it is spread and multiplied by the factor: nothing (``one``), the ``row``
    or ``column`` sums of A (one new axis), or A itself (``matrix``, two). With ``multiply`` its last axis is the
    index p that is contracted with axis ``contracted`` of A, and the last output axis is A's other.
    """

    axes: tuple[tuple[int, ...], ...]
    new: tuple[tuple[int, ...], ...] = ()
    factor: Literal["one", "row", "column", "matrix", "multiply"] = "one"
    channel: int = 0
    contracted: int = 1

    @property
    def order(self) -> int:
        return len(self.axes)


@dataclass(frozen=True)
class Slot:
    """A mixed tensor of the child, gathered over ``pairs`` to ``target``; ``places[i]`` is the kept axis
    (or STACK) that target axis i comes from.
    """

    pairs: PairSet
    order: int
    target: Target
    places: tuple[int, ...]
    weight: Weight | None


@dataclass(frozen=True)
class Stage:
    """Slots of one order that are mixed together, from the reductions ``first:end`` of that order."""

    order: int
    first: int
    end: int
    slots: tuple[Slot, ...]


@dataclass(frozen=True)
class Plan:
    """The plan of a layer; see the module's docstring.

    ``reductions[g]`` lists those of order g, ``cells[i]`` the place of contraction i as (stage,
    reduction within the stage, slot), or None where it vanishes. The first target is the output itself.
    """

    order_in: int
    order_out: int
    reductions: tuple[tuple[Reduction, ...], ...]
    stages: tuple[Stage, ...]
    cells: tuple[tuple[int, int, int] | None, ...]
    targets: tuple[Target, ...]
    sections: tuple[Section, ...]

    def __str__(self) -> str:
        """The steps, one per line; see :mod:`ccn.engine.plan_text`."""
        return plan_text(self)

    def __hash__(self) -> int:
        """The hash of all fields, computed once: caches look plans up several times in every step."""
        return self._hash

    def __getstate__(self) -> dict[str, Any]:
        """Without the hash, which differs between processes."""
        return {f.name: getattr(self, f.name) for f in fields(self)}

    @cached_property
    def _hash(self) -> int:
        return hash(tuple(getattr(self, f.name) for f in fields(self)))


def numbered(count: int, first: int = 0) -> tuple[tuple[int, ...], ...]:
    """Single axes: ``((first,), (first + 1,), ..)``."""
    return tuple((a,) for a in range(first, first + count))


@dataclass(frozen=True)
class _Variable:
    """One index of a contraction: the axes of F_c, of the stack, of A and of the output that share it."""

    child: tuple[int, ...]
    stack: bool
    matrix: tuple[int, ...]
    out: tuple[int, ...]

    @property
    def of_t(self) -> bool:
        return bool(self.child) or self.stack


def _variables(c: Map, k: int) -> list[_Variable]:
    """The indices of a contraction of T, T (x) A, U, U (x) A or of the node's own activation."""
    stacked = c.source in ("T", "TA")
    first_matrix = k + stacked
    blocks: list[tuple[tuple[int, ...], tuple[int, ...]]]
    if isinstance(c, Contraction):
        blocks = [((a,), (i,)) for i, a in enumerate(c.survivors)] + [(block, ()) for block in c.blocks]
    else:
        n = c.order_in
        blocks = [(tuple(a for a in block if a < n), tuple(a - n for a in block if a >= n)) for block in c.blocks]
    return [
        _Variable(
            tuple(a for a in axes if a < k),
            stacked and k in axes,
            tuple(a - first_matrix for a in axes if a >= first_matrix),
            out,
        )
        for axes, out in blocks
    ]


@dataclass(frozen=True)
class _Role:
    """How A enters a term: as a weight on gathered entries, or as a factor of the target (its axes still open)."""

    kind: Kind | None = None
    weighting: tuple[_Variable, ...] = ()
    target: Target = Target(())
    multiplied: tuple[_Variable, ...] = ()  # the index of T that A is contracted with


def _role(variables: list[_Variable], channel: int) -> _Role:
    """The role of A, from which of its two axes survive, meet T, or are only summed."""
    rows = [v for v in variables if 0 in v.matrix]
    columns = [v for v in variables if 1 in v.matrix]
    if not rows:
        return _Role(target=Target((), tuple(v.out for v in variables if v.out and not v.of_t)))
    row, column = rows[0], columns[0]
    if row is column:
        return _Role("diagonal", (row,)) if row.of_t else _Role("trace")
    if row.of_t and column.of_t:
        return _Role("entry", (row, column))
    if row.out and column.out:
        return _Role(target=Target((), (row.out, column.out), "matrix", channel))
    if row.out or column.out:
        survivor, other, contracted = (row, column, 1) if row.out else (column, row, 0)
        if other.of_t:
            return _Role(target=Target((), (), "multiply", channel, contracted), multiplied=(other,))
        return _Role(target=Target((), (survivor.out,), "row" if row.out else "column", channel))
    if row.of_t:
        return _Role("row", (row,))
    if column.of_t:
        return _Role("column", (column,))
    return _Role("total")


def _term(c: Map, k: int, k_out: int) -> tuple[Reduction, Slot]:
    """One contraction as a reduction at the child and a slot."""
    variables = _variables(c, k)
    role = _role(variables, c.channel)
    linked = sorted((v for v in variables if v.of_t and v.out), key=lambda v: v.out)
    axes = tuple(v.out for v in linked) + (((k_out - 1,),) if role.multiplied else ())
    linked += role.multiplied
    # Kept axes of the reduced tensor: those of the target in order, then those that only weigh.
    kept = [v for v in dict.fromkeys([*linked, *role.weighting]) if not v.stack]
    place = {v: i for i, v in enumerate(kept)} | {v: STACK for v in variables if v.stack}
    reduction = Reduction(
        kept=tuple(v.child for v in kept),
        summed=tuple(v.child for v in variables if v.child and not v.stack and v not in kept),
        centre=next((v.child for v in variables if v.stack), ()),
    )
    weight = None if role.kind is None else Weight(role.kind, c.channel, tuple(place[v] for v in role.weighting))
    pairs: PairSet = "own" if c.source == "own" else "stacked" if c.source in ("T", "TA") else "free"
    target = replace(role.target, axes=axes)
    return reduction, Slot(pairs, reduction.order, target, tuple(place[v] for v in linked), weight)


def _of_atom(slot: Slot) -> tuple[Reduction, Slot]:
    """A term whose children are single atoms: every index is the anchor's, every reduction the identity."""
    weight = slot.weight and replace(slot.weight, places=tuple(STACK for _ in slot.weight.places))
    return Reduction((), (), ()), Slot(slot.pairs, 0, slot.target, tuple(STACK for _ in slot.places), weight)


@lru_cache(maxsize=256)
def plan(
    maps: tuple[Map, ...], order_in: int, order_out: int, classes: tuple[MatrixClass, ...], atoms: bool = False
) -> Plan:
    """The plan for a list of contractions.

    Args:
        maps: the contractions.
        order_in, order_out: k and k'.
        classes: of the channels of A.
        atoms: all children are single atoms, stacked at themselves: then tensors of any order hold one number
            per channel, all reductions agree, and the plan is that of order 0.

    """
    terms: list[tuple[Reduction, Slot] | None] = []
    for c in maps:
        with_a = c.source in ("TA", "UA")
        r = reduce(c, classes[c.channel]) if isinstance(c, Contraction) and with_a else c
        term = None if r is None else _term(r, order_in, order_out)
        terms.append(_of_atom(term[1]) if term is not None and atoms else term)
    order_in = 0 if atoms else order_in
    live = [term for term in terms if term is not None]
    readers: dict[Slot, set[Reduction]] = {}
    for reduction, slot in live:
        readers.setdefault(slot, set()).add(reduction)
    reductions = tuple(_arranged(g, readers) for g in range(order_in + 1))
    stages = _stages(reductions, readers)
    at = {slot: (s, i) for s, stage in enumerate(stages) for i, slot in enumerate(stage.slots)}
    cells = [
        None
        if term is None
        else (s := at[term[1]][0], reductions[stages[s].order].index(term[0]) - stages[s].first, at[term[1]][1])
        for term in terms
    ]
    targets = tuple(dict.fromkeys([Target(numbered(order_out)), *(slot.target for _, slot in live)]))
    return Plan(order_in, order_out, reductions, stages, tuple(cells), targets, _sections(targets, readers))


def _arranged(g: int, readers: dict[Slot, set[Reduction]]) -> tuple[Reduction, ...]:
    """The reductions of order g, so arranged that every slot reads few besides its own in one run of them."""
    wanted = [of for slot, of in readers.items() if slot.order == g]
    found = tuple(dict.fromkeys(r for slot, of in readers.items() if slot.order == g for r in sorted(of, key=repr)))
    if len(found) > 6:
        return found

    def run(order: Sequence[Reduction]) -> int:
        places = [[order.index(r) for r in of] for of in wanted]
        return sum(max(p) - min(p) for p in places)

    return min(permutations(found), key=run)


def _stages(reductions: Sequence[Sequence[Reduction]], readers: dict[Slot, set[Reduction]]) -> tuple[Stage, ...]:
    """Slots of one order that read the same run of reductions, together."""
    runs: dict[tuple[int, int, int], list[Slot]] = {}
    for slot, of in readers.items():
        places = [reductions[slot.order].index(r) for r in of]
        runs.setdefault((slot.order, min(places), max(places) + 1), []).append(slot)
    return tuple(Stage(*run, tuple(slots)) for run, slots in sorted(runs.items()))


def _sections(targets: Iterable[Target], slots: Iterable[Slot]) -> tuple[Section, ...]:
    """The quantities of A that weights and factors need, each once."""
    needed: set[Section] = {(slot.weight.kind, slot.weight.channel) for slot in slots if slot.weight is not None}
    for t in targets:
        if t.factor == "row" or t.factor == "column":
            needed.add((t.factor, t.channel))
        elif t.factor != "one":
            needed.add(("entry", t.channel))
    return tuple(sorted(needed))
