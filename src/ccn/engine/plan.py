"""From a set of contractions to a plan: reduce, mix, gather, multiply by A.

A layer is linear in the children's tensors F_c, so the six steps can be taken in another order in
which nothing of order k+1 appears. For each contraction the plan says

1. how F_c is **reduced** at the child, once per child and not once per pair: which of its axes are
   set equal, summed, or held at the child's own anchor (its *centre*: axes equated to the stack);
2. into which **slot** the reduced tensor is mixed, already with the weights W (mixing commutes with
   everything that follows);
3. to which **target** the slot is gathered over parent-child pairs: a tensor of the parent, of
   order at most k', with a weight made of A where an axis of A meets only T;
4. how the target enters the output: as it is, spread along new axes, or multiplied from the left
   by A, by its row or column sums, or by A as a vector (all are one batched matrix product).

Contractions that agree for the declared class of A land in one cell of the mixing matrix, and
those that vanish in none: ``all`` is reduced to ``distinct`` before anything runs.

Axes of a tensor are stored last axis first, so that the axis that A multiplies, always the last of
the output, leads.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

from ccn.algebra.contractions import Contraction, MatrixClass, reduce
from ccn.algebra.equivariant import EquivariantMap

__all__ = ["STACK", "Map", "MatrixSection", "Plan", "Reduction", "Slot", "Target", "Weight", "plan"]

Map = Contraction | EquivariantMap
PairSet = Literal["stacked", "free", "own"]
Kind = Literal["total", "trace", "row", "column", "diagonal", "entry"]
STACK = -1  # stands for the stacking axis among the kept axes of a slot

MatrixSection = tuple[Kind, int]
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


@dataclass(frozen=True)
class Weight:
    """A factor from A on each gathered entry: the quantity, and which kept axes (or STACK) index it."""

    kind: Kind
    channel: int
    places: tuple[int, ...] = ()


@dataclass(frozen=True)
class Target:
    """A tensor of the parent and the way it enters the output.

    ``axes[i]`` are the output axes that target axis i fills; ``new`` are output axes along which the
    result is spread (factor ``one``) or that come from A. With ``multiply`` the last target axis is
    contracted with axis ``contracted`` of A.
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
    target: int
    places: tuple[int, ...]
    weight: Weight | None


@dataclass(frozen=True)
class Plan:
    """The plan of a layer; see the module's docstring.

    ``reductions[g]`` and ``slots[g]`` list those of order g; ``cells[i]`` is the place of contraction i
    as (g, reduction, slot), or None where it vanishes.
    """

    order_in: int
    order_out: int
    targets: tuple[Target, ...]
    reductions: tuple[tuple[Reduction, ...], ...]
    slots: tuple[tuple[Slot, ...], ...]
    cells: tuple[tuple[int, int, int] | None, ...]
    sections: tuple[MatrixSection, ...]

    @property
    def cell_start(self) -> list[int]:
        """First cell of each order when all (reduction, slot) cells are numbered through."""
        out = [0]
        for r, s in zip(self.reductions, self.slots, strict=True):
            out.append(out[-1] + len(r) * len(s))
        return out


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


def _factor(variables: list[_Variable], channel: int) -> tuple[Kind | None, list[_Variable], Target, list[_Variable]]:
    """How A enters: (kind of weight, the variables that index it, target without its axes, extra target axis)."""
    rows = [v for v in variables if 0 in v.matrix]
    columns = [v for v in variables if 1 in v.matrix]
    if not rows:
        return None, [], Target((), tuple(v.out for v in variables if v.out and not v.of_t)), []
    row, column = rows[0], columns[0]
    if row is column:
        return ("diagonal", [row], Target(()), []) if row.of_t else ("trace", [], Target(()), [])
    if row.of_t and column.of_t:
        return "entry", [row, column], Target(()), []
    if row.out and column.out:
        return None, [], Target((), (row.out, column.out), "matrix", channel), []
    if row.out or column.out:
        (survivor, other), contracted = ((row, column), 1) if row.out else ((column, row), 0)
        if other.of_t:
            return None, [], Target((), (survivor.out,), "multiply", channel, contracted), [other]
        return None, [], Target((), (survivor.out,), "row" if contracted else "column", channel), []
    if row.of_t:
        return "row", [row], Target(()), []
    if column.of_t:
        return "column", [column], Target(()), []
    return "total", [], Target(()), []


def _term(c: Map, k: int) -> tuple[Reduction, Target, PairSet, tuple[int, ...], Weight | None]:
    variables = _variables(c, k)
    kind, weighting, target, extra = _factor(variables, c.channel)
    linked = sorted((v for v in variables if v.of_t and v.out), key=lambda v: v.out) + extra
    # Kept axes of the reduced tensor: those of the target in order, then those that only weigh.
    kept = [v for v in dict.fromkeys([*linked, *weighting]) if not v.stack]
    place = {v: i for i, v in enumerate(kept)} | {v: STACK for v in variables if v.stack}
    reduction = Reduction(
        kept=tuple(v.child for v in kept),
        summed=tuple(v.child for v in variables if v.child and not v.stack and v not in kept),
        centre=next((v.child for v in variables if v.stack), ()),
    )
    axes = tuple(v.out or (len(linked) - 1,) for v in linked)
    target = Target(axes, target.new, target.factor, target.channel, target.contracted)
    weight = None if kind is None else Weight(kind, c.channel, tuple(place[v] for v in weighting))
    pairs: PairSet = "own" if c.source == "own" else "stacked" if c.source in ("T", "TA") else "free"
    return reduction, target, pairs, tuple(place[v] for v in linked), weight


@lru_cache(maxsize=256)
def plan(maps: tuple[Map, ...], order_in: int, order_out: int, classes: tuple[MatrixClass, ...]) -> Plan:
    """The plan for a list of contractions; ``classes`` are those of the channels of A."""
    targets: dict[Target, int] = {Target(tuple((a,) for a in range(order_out))): 0}
    reductions: list[dict[Reduction, int]] = [{} for _ in range(order_in + 1)]
    slots: list[dict[Slot, int]] = [{} for _ in range(order_in + 1)]
    cells: list[tuple[int, int, int] | None] = []
    for c in maps:
        r = reduce(c, classes[c.channel]) if isinstance(c, Contraction) and c.source in ("TA", "UA") else c
        if r is None:
            cells.append(None)
            continue
        reduction, target, pairs, places, weight = _term(r, order_in)
        g = reduction.order
        number = targets.setdefault(target, len(targets))
        slot = Slot(pairs, g, number, places, weight)
        cells.append((g, _enter(reductions[g], reduction), _enter(slots[g], slot)))
    return Plan(
        order_in,
        order_out,
        tuple(targets),
        tuple(tuple(r) for r in reductions),
        tuple(tuple(s) for s in slots),
        tuple(cells),
        _sections(targets, [s for of in slots for s in of]),
    )


def _enter(table: dict[Any, int], key: Any) -> int:
    return table.setdefault(key, len(table))


def _sections(targets: Sequence[Target] | dict[Target, int], slots: Sequence[Slot]) -> tuple[MatrixSection, ...]:
    """The quantities of A that weights and factors need, each once."""
    needed: dict[MatrixSection, None] = {}
    for slot in slots:
        if slot.weight is not None:
            needed[slot.weight.kind, slot.weight.channel] = None
    for t in targets:
        if t.factor in ("row", "column"):
            needed[t.factor, t.channel] = None  # type: ignore[index]
        elif t.factor in ("matrix", "multiply"):
            needed["entry", t.channel] = None
    return tuple(sorted(needed))
