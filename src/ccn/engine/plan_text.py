"""A plan as text to read beside the paper.

F is the tensor of a child and j the place of its anchor, in its own part and in its parent's; ``R`` are the reductions
of F, ``S`` the slots that they are mixed into by W, ``T`` the targets at the parent and ``Q`` the output, to which bias
and nonlinearity are applied. Repeated letters are equal indices; A is restricted to the parent's part. Every line of
``gather`` is added up over the children.

>>> from ccn.algebra import MatrixClass, preset
>>> from ccn.engine.plan import plan
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

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import count
from string import ascii_lowercase
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ccn.engine.plan import Plan, Reduction, Slot, Target

__all__ = ["plan_text"]

_ANCHOR, _CONTRACTED = "j", "p"
_FREE = [x for x in ascii_lowercase if x not in (_ANCHOR, _CONTRACTED)]
_GATHER = {"stacked": "gather", "free": "gather children without an anchor:", "own": "gather the node itself:"}


def plan_text(plan: Plan) -> str:
    """The steps of a plan, one per line."""
    return "\n".join(_lines(plan))


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
    """How a target enters the output."""
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
