"""A plan on the nodes of a batch, as sparse maps between dense stages.

    X      = reduce F              order after order, rows (row of the child, reduction)
    table  = X W                   stage after stage, rows (row of the child, slot)
    output = gather table + combine (others table)

``gather`` and ``others`` lead over parent-child pairs to the rows of the output and to those of the other targets,
target after target; ``combine`` leads from these to the output, within a node. The values of their entries are
quantities of A (:func:`quantity_places`).

Everything is written down by broadcasting over nodes of one size: no loop over graphs, nodes or edges.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray

from ccn.algebra.contractions import set_partitions
from ccn.engine.plan import QUANTITY_ORDER, STACK, PairSet, Plan, Reduction, Section, Slot, Target
from ccn.engine.sparse import SparseMap
from ccn.errors import ConfigurationError
from ccn.graphs.ragged import Int, starts
from ccn.schemes.packed import Cut, Level, Nodes, Pairs, Restriction, Run, equal_runs

__all__ = ["Maps", "build_maps", "build_scalar_maps", "cut_map", "invariant_map", "quantity_places"]

Index = NDArray[np.int32]
Piece = tuple[Index, Index, Index | None]
"""Some entries of a map: row, column, and place of the value among the quantities of A (None: the value is 1)."""

SMALL = 2048  # patterns of up to so many entries are kept, since batches share them


class Maps(NamedTuple):
    """The maps of a plan on a level; see the module's docstring.

    ``reduce`` is None where X is F itself; ``others`` and ``combine`` are None where the output is the only target.
    """

    reduce: SparseMap | None
    gather: SparseMap
    others: SparseMap | None = None
    combine: SparseMap | None = None

    @property
    def nbytes(self) -> int:
        return sum(s.nbytes for s in self if s is not None)


def build_maps(plan: Plan, level: Level, restrictions: dict[int, Restriction], device: torch.device) -> Maps:
    """The maps of a plan on a level; ``restrictions`` are those of the channels of A."""
    nodes, below = level.nodes, level.below
    table = starts([below.rows(stage.order) * len(stage.slots) for stage in plan.stages])
    rows = starts([0, *(nodes.rows(t.order) for t in plan.targets[1:])])[1:]  # of the other targets
    first, quantities = _section_start(plan.sections, nodes)
    _check_int32(max(table[-1], rows[-1], nodes.rows(plan.order_out), quantities), plan.order_out)
    output: list[Piece] = []
    others: list[Piece] = []
    runs = {pairs: _pair_runs(getattr(level, pairs), below, nodes) for pairs in _pair_sets(plan)}
    for stage, at in zip(plan.stages, table, strict=False):
        for i, slot in enumerate(stage.slots):
            number = plan.targets.index(slot.target)
            start = nodes.row_start(slot.target.order)[:-1] + (rows[number - 1] if number else 0)
            pieces = others if number else output
            for run in runs[slot.pairs]:
                column = at + i + below.row_start(stage.order)[run.child] * len(stage.slots)
                pieces.append(_gathered(slot, run, nodes, first, start, column, len(stage.slots)))
    combine = [
        _combined(target, plan.order_out, nodes, run, first, restrictions.get(target.channel), int(start))
        for target, start in zip(plan.targets[1:], rows, strict=False)
        for run in nodes.runs
    ]

    def joined(rows: int, columns: int, pieces: Sequence[Piece]) -> SparseMap:
        return _joined((rows, columns), pieces, quantities, plan.order_out, device)

    reduce, width, height = _reduce(plan, below, device), int(table[-1]), int(rows[-1])
    gather = joined(nodes.rows(plan.order_out), width, output)
    if len(plan.targets) == 1:
        return Maps(reduce, gather)
    return Maps(reduce, gather, joined(height, width, others), joined(nodes.rows(plan.order_out), height, combine))


def build_scalar_maps(plan: Plan, level: Level, device: torch.device) -> Maps:
    """The maps of a plan to order 0, unmixed: ``gather`` leads from X to rows (node, contraction).

    With k' = 0 nothing of A survives, so that the output is the only target.
    """
    nodes, below = level.nodes, level.below
    x = starts([below.rows(g) * len(of) for g, of in enumerate(plan.reductions)])
    first, quantities = _section_start(plan.sections, nodes)
    _check_int32(max(x[-1], len(nodes) * len(plan.cells), quantities), 0)
    pieces: list[Piece] = []
    runs = {pairs: _pair_runs(getattr(level, pairs), below, nodes) for pairs in _pair_sets(plan)}
    for i, cell in enumerate(plan.cells):
        if cell is None:
            continue
        stage, slot = plan.stages[cell[0]], plan.stages[cell[0]].slots[cell[2]]
        stride, start = len(plan.reductions[stage.order]), np.arange(len(nodes)) * len(plan.cells) + i
        for run in runs[slot.pairs]:
            at = x[stage.order] + stage.first + cell[1] + below.row_start(stage.order)[run.child] * stride
            pieces.append(_gathered(slot, run, nodes, first, start, at, stride))
    shape = len(nodes) * len(plan.cells), int(x[-1])
    return Maps(_reduce(plan, below, device), _joined(shape, pieces, quantities, 0, device))


def _pair_sets(plan: Plan) -> set[PairSet]:
    return {slot.pairs for stage in plan.stages for slot in stage.slots}


def _reduce(plan: Plan, below: Nodes, device: torch.device) -> SparseMap | None:
    """The map from F to X, None where X is F itself."""
    if sum(plan.reductions, ()) == (Reduction.identity(plan.order_in),):
        return None
    return _reducing(plan.reductions, plan.order_in, below, device)


def _joined(
    shape: tuple[int, int], pieces: Sequence[Piece], quantities: int, order: int, device: torch.device
) -> SparseMap:
    """One map from pieces whose places are all different, so that nothing needs to be summed."""
    _check_int32(sum(len(row) for row, _, _ in pieces), order)
    empty = np.empty(0, np.int32)
    row = np.concatenate([empty, *(r for r, _, _ in pieces)], dtype=np.int32)
    column = np.concatenate([empty, *(c for _, c, _ in pieces)], dtype=np.int32)
    number = np.concatenate([empty, *(np.zeros_like(r) if w is None else w for r, _, w in pieces)], dtype=np.int32)
    matrix = sp.coo_array((number, (row, column)), shape=shape)
    matrix.has_canonical_format = True
    return SparseMap.of(matrix.tocsr(), device, quantities if number.any() else 0)


def _check_int32(count: int, order: int) -> None:
    """Raise an error if a map has more rows or entries than its indices can count."""
    if count > np.iinfo(np.int32).max:
        raise ConfigurationError(
            f"a level of order {order} on this batch needs a map of {count:,} rows or entries, more than 2^31; "
            "use smaller batches, a lower order or fewer levels"
        )


# --- reductions and invariants: sums within one tensor


def _places(groups: tuple[tuple[int, ...], ...], m: int) -> Index:
    """Row offsets of all values of some indices, each running along a group of axes; the first fastest."""
    return (_kept_places if m ** len(groups) <= SMALL else _kept_places.__wrapped__)(groups, m)


@functools.lru_cache(maxsize=1024)
def _kept_places(groups: tuple[tuple[int, ...], ...], m: int) -> Index:
    out = np.zeros(1, dtype=np.int32)
    for group in reversed(groups):
        step = np.arange(m, dtype=np.int32) * sum(m**a for a in group)
        out = (out[:, None] + step[None, :]).reshape(-1)
    out.flags.writeable = False
    return out


def _reducing(reductions: Sequence[Sequence[Reduction]], k: int, nodes: Nodes, device: torch.device) -> SparseMap:
    """From tensors of order k to rows (row of the reduced tensor, reduction), for the reductions of each order.

    Among nodes of one size the pattern is the same but for the place of the centre, and a node without one has no
    entries where it is needed.
    """
    columns: list[Index] = [np.empty(0, np.int32)]
    counts: list[Index] = [np.zeros(1, np.int32)]
    for of, run in product([of for of in reductions if of], nodes.runs):
        m = run.m
        blocks = [_places(r.kept, m)[:, None] + _places(r.summed, m) for r in of]  # (m^g, entries) each
        length = np.array([b.shape[1] for b in blocks], np.int32)
        stride: Index = np.array([sum(m**a for a in r.centre) for r in of], np.int32)  # of the centre's place
        centre: Index = nodes.centre[run.first : run.end, None].astype(np.int32)
        there = (centre >= 0) | (stride == 0)  # (nodes, reductions)
        base = nodes.row_start(k)[run.first : run.end, None].astype(np.int32) + centre.clip(0) * stride
        column = np.repeat(base, length, axis=1)[:, None] + np.concatenate(blocks, axis=1)
        if not there.all():
            column = column[np.broadcast_to(np.repeat(there, length, axis=1)[:, None], column.shape)]
        columns.append(column.reshape(-1).astype(np.int32, copy=False))
        counts.append(np.repeat((length * there)[:, None], len(blocks[0]), axis=1).reshape(-1))
    column, start = np.concatenate(columns), np.cumsum(np.concatenate(counts), dtype=np.int64)
    matrix = sp.csr_array((np.ones(len(column), np.int8), column, start), (len(start) - 1, nodes.rows(k)))
    return SparseMap.of(matrix, device)


def cut_map(cut: Cut, below: Nodes, order: int, device: torch.device) -> SparseMap:
    """From tensors of some nodes to those of all nodes ``below`` them: themselves, then their restrictions."""
    first, columns = len(cut.whole), [np.arange(cut.whole.rows(order))]
    there = [np.ones(len(columns[0]), dtype=bool)]
    pieces = np.arange(first, len(below))
    for run in equal_runs(below.size[first:]):
        node = pieces[run.first : run.end]
        place = cut.place[below.start[node][:, None] - below.start[first] + np.arange(run.m)]
        size, column = cut.whole.size[cut.node[node - first]], np.zeros((len(node), 1), np.int64)
        for axis in reversed(range(order)):  # the first index is the fastest
            column = (column[..., None] + (place * (size**axis)[:, None])[:, None]).reshape(len(node), -1)
        there.append(np.repeat((place >= 0).all(axis=1) | (order == 0), column.shape[1]))  # pieces without an atom
        columns.append((cut.whole.row_start(order)[cut.node[node - first]][:, None] + column).reshape(-1))
    column, held = np.concatenate(columns), np.concatenate(there)
    _check_int32(len(column), order)
    entries = np.ones(int(held.sum()), np.int8), column[held], starts(held.astype(np.int64))
    return SparseMap.of(sp.csr_array(entries, (len(column), cut.whole.rows(order))), device)


def invariant_map(nodes: Nodes, order: int, device: torch.device) -> SparseMap:
    """From rows of tensors to rows (node, invariant): one sum for each set partition of the axes."""
    partitions = list(set_partitions(range(order)))[::-1]
    return _reducing([[Reduction((), groups, ()) for groups in partitions]], order, nodes, device)


# --- gathering over parent-child pairs


@dataclass(frozen=True)
class _PairRun:
    """Pairs whose children have one size m, as arrays for broadcasting to order g: (pairs, 1, .., 1)."""

    m: int
    parent: Int
    child: Int
    size: Index  # of the parent
    stack: Index
    place: Index  # (pairs, m)

    def shaped(self, x: NDArray[Any], g: int, axis: int | None = None) -> Index:
        """(pairs,) or, along index ``axis`` of g, (pairs, m); the first index comes last."""
        shape = [len(x)] + [1] * g
        if axis is not None:
            shape[g - axis] = self.m
        return x.astype(np.int32, copy=False).reshape(shape)

    def placed(self, i: int, g: int) -> Index:
        """The parent's place of index i of the child's tensor, or of the child's anchor."""
        return self.shaped(self.stack, g) if i == STACK else self.shaped(self.place, g, i)

    def at(self, start: NDArray[Any], indices: tuple[int, ...], g: int) -> Index:
        """``start`` of the parent plus the row of a tensor of the parent with the given indices."""
        row: Index = self.shaped(start[self.parent], g)
        stride: Any = np.int32(1)
        for i in indices:
            row, stride = row + stride * self.placed(i, g), stride * self.shaped(self.size, g)
        return row


def _pair_runs(pairs: Pairs, below: Nodes, nodes: Nodes) -> list[_PairRun]:
    order = np.argsort(np.diff(pairs.start), kind="stable")
    runs = []
    for run in equal_runs(below.size[pairs.child[order]]):
        at = order[run.first : run.end]
        parent = pairs.parent[at]
        place = pairs.place[pairs.start[at][:, None] + np.arange(run.m)].astype(np.int32)
        widths = nodes.size[parent].astype(np.int32)
        runs.append(_PairRun(run.m, parent, pairs.child[at], widths, pairs.stack[at].astype(np.int32), place))
    return runs


def _gathered(
    slot: Slot, run: _PairRun, nodes: Nodes, first: dict[Section, int], start: Int, column: Int, stride: int
) -> Piece:
    """The entries of a slot in a run of pairs.

    ``start`` is the target's first row at each parent, ``column`` the slot's first table row of each pair; from one row
    of the child to the next the table goes ahead by ``stride``.
    """
    g = slot.order
    steps = np.arange(run.m**g, dtype=np.int32).reshape([run.m] * g) * np.int32(stride)
    columns = run.shaped(column, g) + steps
    found = [np.broadcast_to(run.at(start, slot.places, g), columns.shape), columns]
    if slot.weight is not None:
        w = slot.weight
        span = nodes.row_start(w.order)[:-1]
        found.append(np.broadcast_to(run.at(first[w.kind, w.channel] + span, w.places, g), columns.shape))
    row, columns, *value = (x.reshape(-1) for x in found)
    return row, columns, value[0] if value else None


# --- combining the targets of a node, and the quantities of A


def _combined(
    target: Target,
    k: int,
    nodes: Nodes,
    run: Run,
    first: dict[Section, int],
    restriction: Restriction | None,
    start: int,
) -> Piece:
    """The entries from a target, whose rows begin at ``start``, to the output, for a run of nodes."""
    m, value = run.m, None
    if target.factor in ("one", "row", "column"):
        node: Int = np.arange(run.first, run.end)[:, None]
        out = _places((*target.axes, *target.new), m)[None]  # the first index is the fastest
        low = np.tile(np.arange(m**target.order, dtype=np.int32), m ** len(target.new))[None]
        if target.factor != "one":
            along = np.repeat(np.arange(m, dtype=np.int32), m**target.order)
            value = first[target.factor, target.channel] + nodes.start[node] + along
    else:
        assert restriction is not None
        cut = slice(int(restriction.start[run.first]), int(restriction.start[run.end]))
        row, column = restriction.row[cut, None], restriction.column[cut, None]
        node = np.repeat(np.arange(run.first, run.end), np.diff(restriction.start[run.first : run.end + 1]))[:, None]
        value = first["entry", target.channel] + nodes.row_start(2)[node] + row + column * m
        if target.factor == "matrix":  # s[x] A[u, v]
            step = [np.int32(m ** axes[0]) for axes in target.new]
            out = _places(target.axes, m) + row * step[0] + column * step[1]
            low = np.arange(m**target.order, dtype=np.int32)[None]
        else:  # sum_p R[x, p] A[u, p], or A[p, u]
            u, p = (row, column) if target.contracted == 1 else (column, row)
            lead = np.int32(m ** (k - 1))
            out, low = _places(target.axes[:-1], m) + u * lead, np.arange(lead, dtype=np.int32) + p * lead
    rows, columns = nodes.row_start(k)[node] + out, start + nodes.row_start(target.order)[node] + low
    shape = np.broadcast_shapes(rows.shape, columns.shape)
    spread = (None if x is None else np.broadcast_to(x, shape).reshape(-1) for x in (rows, columns, value))
    return tuple(spread)  # type: ignore[return-value]


def _section_start(sections: tuple[Section, ...], nodes: Nodes) -> tuple[dict[Section, int], int]:
    """Where each quantity begins in the vector, whose place 0 is the number 1, and its length."""
    start = 1 + starts([nodes.rows(QUANTITY_ORDER[kind]) for kind, _ in sections])
    return dict(zip(sections, start.tolist(), strict=False)), int(start[-1])


def quantity_places(
    plan: Plan, nodes: Nodes, restrictions: dict[int, Restriction], value: dict[int, tuple[int, int]]
) -> tuple[Int, Int, int]:
    """Which entry of A is added to which quantity that a plan needs, and how many quantities there are.

    The vector of quantities is 1 and then, section after section, per node the total or trace of ``A|part``, per place
    its row sums, column sums or diagonal, and ``A|part`` itself (row place fastest). ``value[c] = (start, stride)``
    says where the values of the entries of channel c are among those of all channels.
    """
    first, length = _section_start(plan.sections, nodes)
    source, target = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    for kind, c in plan.sections:
        r = restrictions[c]
        node = np.repeat(np.arange(len(nodes)), np.diff(r.start))
        chosen = np.flatnonzero(r.row == r.column) if kind in ("trace", "diagonal") else slice(None)
        if kind in ("total", "trace"):
            at = node
        elif kind == "entry":
            at = nodes.row_start(2)[node] + r.row + nodes.size[node] * r.column
        else:
            at = nodes.start[node] + (r.column if kind == "column" else r.row)
        start, stride = value[c]
        source.append(start + stride * r.entry[chosen])
        target.append(first[kind, c] + at[chosen])
    return np.concatenate(source), np.concatenate(target), length
