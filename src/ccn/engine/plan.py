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

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property, lru_cache
from itertools import count, permutations
from string import ascii_lowercase
from typing import Any, Literal

from ccn.algebra.contractions import Contraction, EquivariantMap, MatrixClass, reduce

__all__ = [
    "QUANTITY_ORDER",
    "STACK",
    "Kind",
    "Map",
    "PairSet",
    "Plan",
    "Reduction",
    "Section",
    "Slot",
    "Target",
    "index_groups",
    "is_dense",
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
        return cls(_numbered(k), (), ())


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
        """The steps, one per line.

        F is the tensor of a child and j the place of its anchor, in its own part and in its parent's; ``R`` are the
        reductions of F, ``S`` the slots that they are mixed into by W, ``T`` the targets at the parent and ``Q`` the
        output, to which bias and nonlinearity are applied. Repeated letters are equal indices; A is restricted to the
        parent's part. Every line of ``gather`` is added up over the children.

        >>> from ccn.algebra import preset
        >>> print(plan(preset("distinct", 4, 1, "TA"), 1, 1, (MatrixClass(),)))
        order 1 to 1, 9 contractions
        reduce   R1 = sum_z F[z]
        reduce   R2 = F[j]
        reduce   R3[a] = F[a]
        mix      S1 from R1
        mix      S2, S3 from R1, R2
        mix      S4[a], S5[a], S6[a], S7[a] from R3[a]
        gather   Q[j] += S1 total(A)
        gather   T1[j] += S2
        gather   T2 += S3
        gather   Q[a] += S4[a] row(A)[j]
        gather   Q[a] += S5[a] total(A)
        gather   Q[j] += S6[a] row(A)[a]
        gather   T1[a] += S7[a]
        combine  Q[a] += sum_p A[a,p] T1[p]
        combine  Q[a] += row(A)[a] T2
        """
        return "\n".join(_lines(self))

    def __hash__(self) -> int:
        """The hash of all fields, computed once: caches look plans up several times in every step."""
        return self._hash

    def __getstate__(self) -> dict[str, Any]:
        """Without the hash, which differs between processes."""
        return {f.name: getattr(self, f.name) for f in fields(self)}

    @cached_property
    def _hash(self) -> int:
        return hash(tuple(getattr(self, f.name) for f in fields(self)))


def is_dense(c: Map) -> bool:
    """Whether a map is computed from T itself, by no plan: of T (x) T, or of T (x) A and no contraction."""
    return c.source in ("TT", "UU", "TTA", "UUA") or (isinstance(c, EquivariantMap) and c.source in ("TA", "UA"))


def _numbered(count: int) -> tuple[tuple[int, ...], ...]:
    """Single axes: ``((0,), (1,), ..)``."""
    return tuple((a,) for a in range(count))


def index_groups(c: Map) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    """For each index of a map the axes of its input and those of its output that share it."""
    if isinstance(c, Contraction):
        return [((a,), (i,)) for i, a in enumerate(c.survivors)] + [(block, ()) for block in c.blocks]
    n = c.order_in
    return [(tuple(a for a in block if a < n), tuple(a - n for a in block if a >= n)) for block in c.blocks]


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
    return [
        _Variable(
            tuple(a for a in axes if a < k),
            stacked and k in axes,
            tuple(a - first_matrix for a in axes if a >= first_matrix),
            out,
        )
        for axes, out in index_groups(c)
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
    return _Role("row", (row,)) if row.of_t else _Role("column", (column,)) if column.of_t else _Role("total")


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

    Example:
        >>> from ccn.algebra import preset
        >>> print(plan(preset("distinct", 2, 0, "T"), 1, 0, ()))
        order 1 to 0, 2 contractions
        reduce   R1 = sum_z F[z]
        reduce   R2 = F[j]
        mix      S1 from R1, R2
        gather   Q += S1
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
    targets = tuple(dict.fromkeys([Target(_numbered(order_out)), *(slot.target for _, slot in live)]))
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
    kinds: dict[str, Kind] = {"row": "row", "column": "column", "matrix": "entry", "multiply": "entry"}
    weights = {(slot.weight.kind, slot.weight.channel) for slot in slots if slot.weight is not None}
    return tuple(sorted(weights | {(kinds[t.factor], t.channel) for t in targets if t.factor in kinds}))


_ANCHOR, _CONTRACTED = "j", "p"
_FREE = [x for x in ascii_lowercase if x not in (_ANCHOR, _CONTRACTED)]
_GATHER = {"stacked": "gather", "free": "gather children without an anchor:", "own": "gather the node itself:"}


def _lines(plan: Plan) -> Iterator[str]:
    yield f"order {plan.order_in} to {plan.order_out}, {len(plan.cells)} contractions"
    number = count(1)
    reduced = [[f"R{next(number)}{_indexed(_FREE[: r.order])}" for r in of] for of in plan.reductions]
    for names, of in zip(reduced, plan.reductions, strict=True):
        for name, r in zip(names, of, strict=True):
            yield f"reduce   {name} = {_reduction(r, plan.order_in)}"
    number = count(1)
    slots = [[f"S{next(number)}{_indexed(_FREE[: s.order])}" for s in stage.slots] for stage in plan.stages]
    for names, stage in zip(slots, plan.stages, strict=True):
        yield f"mix      {', '.join(names)} from {', '.join(reduced[stage.order][stage.first : stage.end])}"
    targets = {t: f"T{i}" if i else "Q" for i, t in enumerate(plan.targets)}
    for names, stage in zip(slots, plan.stages, strict=True):
        for name, slot in zip(names, stage.slots, strict=True):
            yield f"{_GATHER[slot.pairs]:8} {targets[slot.target]}{_placed(slot.places)} += {name}{_weight(slot)}"
    for target, name in list(targets.items())[1:]:
        yield f"combine  {_combination(target, name, plan.order_out)}"


def _indexed(letters: Sequence[str]) -> str:
    return f"[{','.join(letters)}]" if letters else ""


def _reduction(r: Reduction, k: int) -> str:
    summed = _FREE[-len(r.summed) :] if r.summed else []
    letter = {a: x for x, group in zip(_FREE, r.kept, strict=False) for a in group}
    letter |= {a: x for x, group in zip(summed, r.summed, strict=True) for a in group}
    letter |= dict.fromkeys(r.centre, _ANCHOR)
    total = f"sum_{''.join(summed)} " if summed else ""
    return f"{total}F{_indexed([letter[a] for a in range(k)])}"


def _placed(places: Iterable[int]) -> str:
    return _indexed([_ANCHOR if i < 0 else _FREE[i] for i in places])


def _matrix(channel: int) -> str:
    return f"A{channel}" if channel else "A"


def _weight(slot: Slot) -> str:
    w = slot.weight
    if w is None:
        return ""
    matrix = _matrix(w.channel)
    return f" {matrix}{_placed(w.places)}" if w.kind == "entry" else f" {w.kind}({matrix}){_placed(w.places)}"


def _combination(t: Target, name: str, k: int) -> str:
    letters = _FREE[: t.order]
    letter = {a: x for x, group in zip(letters, t.axes, strict=True) for a in group}
    new = _FREE[t.order : t.order + len(t.new)]
    letter |= {a: x for x, group in zip(new, t.new, strict=True) for a in group}
    output, matrix = f"Q{_indexed([letter[a] for a in range(k)])}", _matrix(t.channel)
    if t.factor == "multiply":
        last = letters[-1]
        pair = [last, _CONTRACTED] if t.contracted == 1 else [_CONTRACTED, last]
        return f"{output} += sum_{_CONTRACTED} {matrix}{_indexed(pair)} {name}{_indexed([*letters[:-1], _CONTRACTED])}"
    factor = {"one": "", "matrix": f"{matrix}{_indexed(new)} "}.get(t.factor, f"{t.factor}({matrix}){_indexed(new)} ")
    return f"{output} += {factor}{name}{_indexed(letters)}"
