"""Index maps: a plan on the nodes of a batch, as sparse matrices between dense stages.

The **table** holds, for every child entry and slot, one row of mixed channels. Two matrices lead from it to
the output: ``gather``, from table rows to the rows of all targets, over parent-child pairs; and ``combine``, from
the rows of the targets other than the output to those of the output, within a node. Target rows are numbered
block by block of the nodes, in each block first those of the output, so that a block goes through both while it
is in cache. Each matrix also stands transposed, for the gradient. The values of their entries are entries of a
vector of quantities of A (:class:`MatrixQuantities`).

Built by broadcasting over nodes of one size: no loop over graphs, nodes or edges.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray
from torch import Tensor

from ccn.engine.bags import Bag, int32
from ccn.engine.plan import STACK, Plan, Section, Slot, Target
from ccn.engine.reductions import BlockReductions, Index, build_reductions, places
from ccn.errors import ConfigurationError
from ccn.graphs.ragged import Int, starts
from ccn.schemes.packed import Block, Level, Nodes, Pairs, Run

__all__ = ["Maps", "Matrix", "MatrixQuantities", "Restriction", "build_maps", "build_quantities", "restrict"]


@dataclass(frozen=True)
class Matrix:
    """A sparse matrix cut into bags of rows, and for each bag the places of its entries' values in the vector of
    quantities (None: all are 1).
    """

    bags: list[Bag]
    numbers: list[Tensor | None]

    def to(self, device: torch.device) -> Matrix:
        """The same on another device."""
        return Matrix([b.to(device) for b in self.bags], [None if n is None else n.to(device) for n in self.numbers])

    @property
    def nbytes(self) -> int:
        numbers = sum(n.numel() * n.element_size() for n in self.numbers if n is not None)
        return numbers + sum(bag.nbytes for bag in self.bags)


@dataclass
class Maps:
    """The matrices of a plan on a level; see the module's docstring.

    Attributes:
        blocks, below: blocks of the nodes and of the nodes below.
        output, others: ``gather`` for the rows of the output and of the other targets, one bag per block.
        back: ``gather`` transposed, per stage, one bag per block below.
        combine, combine_back: one bag per block; None where the output is the only target.
        table_start: first table row of each stage.
        target_start: first target row of each block.
        reductions: of the children's tensors, per block below.

    """

    blocks: list[Block]
    below: list[Block]
    output: Matrix
    others: Matrix
    back: list[Matrix]
    combine: Matrix | None
    combine_back: Matrix | None
    table_start: list[int]
    target_start: list[int]
    reductions: list[BlockReductions]
    _moved: dict[torch.device, Maps] = field(default_factory=dict, repr=False)

    def to(self, device: torch.device) -> Maps:
        """The maps on a device, moved once."""
        if device.type == "cpu":
            return self
        if device not in self._moved:
            self._moved[device] = replace(
                self,
                output=self.output.to(device),
                others=self.others.to(device),
                back=[m.to(device) for m in self.back],
                combine=None if self.combine is None else self.combine.to(device),
                combine_back=None if self.combine_back is None else self.combine_back.to(device),
                reductions=[r.to(device) for r in self.reductions],
                _moved={},
            )
        return self._moved[device]

    @property
    def nbytes(self) -> int:
        """Bytes of the maps."""
        matrices = [self.output, self.others, *self.back, self.combine, self.combine_back]
        return sum(m.nbytes for m in matrices if m is not None) + sum(r.nbytes for r in self.reductions)


@dataclass(frozen=True)
class Restriction:
    """The nonzero entries of a matrix over the atoms that fall into each part, in order of the nodes.

    Attributes:
        start: (nodes+1,) first entry of each node.
        row, column: places in the part.
        entry: number of the entry in the matrix.

    """

    start: Int
    row: Index
    column: Index
    entry: Int


def restrict(level: Level, entries: Int) -> Restriction:
    """A matrix given by its places (2, nnz), in row order, restricted to every part of a level."""
    if level.inner is not None and level.inner.entries is entries:
        count, row, column, entry = level.inner.of(level.nodes.number)
        return Restriction(starts(count), row.astype(np.int32), column.astype(np.int32), entry)
    n = int(level.nodes.parts.max(initial=-1)) + 1
    row_start = starts(np.bincount(entries[0], minlength=n))
    node, a, b, entry = level.restricted(row_start, entries[1])
    start = starts(np.bincount(node, minlength=len(level.nodes)))
    return Restriction(start, a.astype(np.int32), b.astype(np.int32), entry)


def _section_start(sections: tuple[Section, ...], nodes: Nodes) -> tuple[dict[Section, int], int]:
    """Where each quantity begins in the vector, whose place 0 is the number 1, and its length."""
    at, out = 1, {}
    for kind, channel in sections:
        out[kind, channel] = at
        at += nodes.rows({"total": 0, "trace": 0, "entry": 2}.get(kind, 1))
    return out, at


class _Rows:
    """The numbering of target rows: block by block, in each block target after target."""

    def __init__(self, plan: Plan, nodes: Nodes, blocks: Sequence[Block]) -> None:
        edge = np.array([b.first for b in blocks] + [len(nodes)])
        size = np.stack([np.diff(nodes.row_start(t.order)[edge]) for t in plan.targets], axis=1)  # (blocks, targets)
        flat = starts(size.reshape(-1))
        first = flat[:-1].reshape(size.shape)
        block_of = np.repeat(np.arange(len(blocks)), np.diff(edge))
        self.start: list[int] = [*first[:, 0].tolist(), int(flat[-1])]  # of each block
        self.output: list[int] = size[:, 0].tolist()  # rows of the output in each block
        self.others: Index = (first[:, 0] + size[:, 0])[block_of].astype(np.int32)  # first other row, for each node
        self.node: list[Index] = [  # per target the first row of each node
            ((first[:, i] - nodes.row_start(t.order)[edge[:-1]])[block_of] + nodes.row_start(t.order)[:-1]).astype(
                np.int32
            )
            for i, t in enumerate(plan.targets)
        ]


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
    order = pairs.by_child_size
    if not len(order):
        return []
    size = below.size[pairs.child[order]]
    edge = [0, *(np.flatnonzero(np.diff(size)) + 1).tolist(), len(order)]
    runs = []
    for a, b in pairwise(edge):
        at, m = order[a:b], int(size[a])
        parent = pairs.parent[at]
        place = pairs.place[pairs.start[at][:, None] + np.arange(m)].astype(np.int32)
        widths = nodes.size[parent].astype(np.int32)
        runs.append(_PairRun(m, parent, pairs.child[at], widths, pairs.stack[at].astype(np.int32), place))
    return runs


def _gather_entries(
    slot: Slot,
    run: _PairRun,
    below: Nodes,
    nodes: Nodes,
    first: dict[Section, int],
    rows: Index,
    table: int,
    slots: int,
) -> tuple[Index, Index, Index | None]:
    """Target row, table row and place of the weight (None: 1) of every entry of a slot in a run of pairs."""
    g = slot.order
    offset = np.arange(run.m**g, dtype=np.int32).reshape([run.m] * g) * np.int32(slots)
    column = run.shaped(table + below.row_start(g)[run.child] * slots, g) + offset
    row = np.broadcast_to(run.at(rows, slot.places, g), column.shape)
    weight = None
    if slot.weight is not None:
        w = slot.weight
        span = nodes.row_start(2 if w.kind == "entry" else len(w.places))[:-1]
        weight = np.broadcast_to(run.at(first[w.kind, w.channel] + span, w.places, g), column.shape)
    if g and run.place.min(initial=0) < 0:  # atoms outside the part promote to 0
        inside = functools.reduce(np.logical_and, (run.placed(i, g) >= 0 for i in range(g)))
        inside = np.broadcast_to(inside, column.shape)
        row, column = row[inside], column[inside]
        weight = None if weight is None else weight[inside]
    return row.reshape(-1), column.reshape(-1), None if weight is None else weight.reshape(-1)


def _combine_entries(
    target: Target, k: int, nodes: Nodes, run: Run, first: dict[Section, int], restriction: Restriction | None
) -> tuple[Int, Index, Index, Index | None]:
    """Node, output row and target row (both within the node) and place of the weight, (n, entries), for a run."""
    m, span = run.m, slice(run.first, run.end)
    if target.factor in ("one", "row", "column"):
        out = places((*target.axes, *target.new), m)[None]  # the first index is the fastest
        low = np.tile(np.arange(m**target.order, dtype=np.int32), m ** len(target.new))[None]
        weight: Index | None = None
        if target.factor != "one":
            start = (first[target.factor, target.channel] + nodes.start[span]).astype(np.int32)
            weight = start[:, None] + np.repeat(np.arange(m, dtype=np.int32), m**target.order)
        return np.arange(run.first, run.end)[:, None], out, low, weight
    assert restriction is not None
    cut = slice(int(restriction.start[run.first]), int(restriction.start[run.end]))
    row, column = restriction.row[cut, None], restriction.column[cut, None]
    node: Int = np.repeat(np.arange(run.first, run.end), np.diff(restriction.start[run.first : run.end + 1]))[:, None]
    start = (first["entry", target.channel] + nodes.row_start(2)[node]).astype(np.int32)
    weight = start + row + column * np.int32(m)
    if target.factor == "matrix":  # s[x] A[u, v]
        step = [np.int32(m ** axes[0]) for axes in target.new]
        out = places(target.axes, m) + row * step[0] + column * step[1]
        return node, out, np.arange(m**target.order, dtype=np.int32)[None], weight
    # sum_p R[x, p] A[u, p], or A[p, u]
    u, p = (row, column) if target.contracted == 1 else (column, row)
    rest, lead = np.arange(m ** (k - 1), dtype=np.int32), np.int32(m ** (k - 1))
    return node, places(target.axes[:-1], m) + u * lead, rest + p * lead, weight


def _combine_matrix(plan: Plan, nodes: Nodes, rows: _Rows, first: dict[Section, int], r: dict[int, Restriction]) -> Any:
    """The matrix from other target rows, counted from the first of the block, to output rows."""
    k = plan.order_out
    start = nodes.row_start(k)[:-1].astype(np.int32)
    pieces: list[tuple[Index, Index, Index | None]] = []
    for i, target in enumerate(plan.targets[1:], start=1):
        shift = rows.node[i] - rows.others
        for run in nodes.runs:
            node, out, low, weight = _combine_entries(target, k, nodes, run, first, r.get(target.channel))
            row, column = start[node] + out, shift[node] + low
            shape = np.broadcast_shapes(row.shape, column.shape)
            spread = (None if x is None else np.broadcast_to(x, shape).reshape(-1) for x in (row, column, weight))
            pieces.append(tuple(spread))  # type: ignore[arg-type]
    widest = max(b - a - n for (a, b), n in zip(pairwise(rows.start), rows.output, strict=True))
    return _compressed((sum(rows.output), widest), pieces)


def build_maps(plan: Plan, level: Level, restrictions: dict[int, Restriction]) -> Maps:
    """The index maps of a plan on a level; ``restrictions`` are those of the channels of A."""
    nodes, below = level.nodes, level.below
    blocks, blocks_below = nodes.blocks(plan.order_out), below.blocks(plan.order_in)
    table_start = starts(np.array([below.rows(s.order) * len(s.slots) for s in plan.stages], dtype=np.int64)).tolist()
    first, length = _section_start(plan.sections, nodes)
    rows = _Rows(plan, nodes, blocks)
    if max(table_start[-1], rows.start[-1], length) > np.iinfo(np.int32).max:
        raise ConfigurationError(
            f"an order-{plan.order_out} level on this batch has {rows.start[-1]:,} rows, too many for one batch; "
            "use smaller batches, a lower order or fewer levels"
        )
    gather = _gather_matrix(plan, level, rows, first, table_start)
    transposed = gather.tocsc()
    cut = [(a, a + n, b) for (a, b), n in zip(pairwise(rows.start), rows.output, strict=True)]
    output = _matrix(gather, [(a, b) for a, b, _ in cut])
    others = _matrix(gather, [(b, c) for _, b, c in cut])
    back = []
    for stage, start in zip(plan.stages, table_start, strict=False):
        spans = [below.rows_of(b, stage.order) for b in blocks_below]
        slots = len(stage.slots)
        back.append(_matrix(transposed, [(start + x.start * slots, start + x.stop * slots) for x in spans]))
    combine = combine_back = None
    if len(plan.targets) > 1:
        whole = _combine_matrix(plan, nodes, rows, first, restrictions)
        out_rows = list(pairwise([0, *np.cumsum(rows.output).tolist()]))
        combine = _matrix(whole, out_rows)
        combine_back = _transposed(whole, out_rows, [c - b for _, b, c in cut])
    reductions = build_reductions(plan, below, blocks_below)
    return Maps(blocks, blocks_below, output, others, back, combine, combine_back, table_start, rows.start, reductions)


def _gather_matrix(plan: Plan, level: Level, rows: _Rows, first: dict[Section, int], table_start: list[int]) -> Any:
    """The matrix from table rows to target rows."""
    number = {t: i for i, t in enumerate(plan.targets)}
    runs: dict[str, list[_PairRun]] = {}
    pieces = []
    for stage, start in zip(plan.stages, table_start, strict=False):
        for i, slot in enumerate(stage.slots):
            if slot.pairs not in runs:
                runs[slot.pairs] = _pair_runs(getattr(level, slot.pairs), level.below, level.nodes)
            at = rows.node[number[slot.target]]
            pieces += [
                _gather_entries(slot, run, level.below, level.nodes, first, at, start + i, len(stage.slots))
                for run in runs[slot.pairs]
            ]
    return _compressed((rows.start[-1], table_start[-1]), pieces)


def _compressed(shape: tuple[int, int], pieces: Sequence[tuple[Index, Index, Index | None]]) -> Any:
    """A sparse matrix from pieces whose places are all different, so that nothing needs to be summed."""
    total = sum(len(p[0]) for p in pieces)
    row, column, data = (np.empty(total, np.int32) for _ in range(3))
    at = 0
    for r, c, w in pieces:
        end = at + len(r)
        row[at:end], column[at:end], data[at:end] = r, c, 0 if w is None else w
        at = end
    matrix = sp.coo_array((data, (row, column)), shape=shape)
    matrix.has_canonical_format = True
    return matrix.tocsr()


def _matrix(x: Any, cut: Sequence[tuple[int, int]]) -> Matrix:
    """Ranges of rows of a compressed matrix as bags, offsets counted from their own first entry."""
    bags, numbers = [], []
    for a, b in cut:
        offset = x.indptr[a : b + 1]
        span = slice(int(offset[0]), int(offset[-1]))
        bags.append(Bag(int32(x.indices[span]), int32(offset - offset[0])))
        numbers.append(int32(x.data[span]) if x.data[span].any() else None)
    return Matrix(bags, numbers)


def _transposed(x: Any, cut: Sequence[tuple[int, int]], widths: Sequence[int]) -> Matrix:
    """The transposes of ranges of rows of a compressed matrix, each on its own columns ``0:width``."""
    bags, numbers = [], []
    for (a, b), width in zip(cut, widths, strict=True):
        offset = x.indptr[a : b + 1]
        span = slice(int(offset[0]), int(offset[-1]))
        part = sp.csr_array((x.data[span], x.indices[span], offset - offset[0]), shape=(b - a, width)).tocsc()
        matrix = _matrix(part, [(0, width)])
        bags += matrix.bags
        numbers += matrix.numbers
    return Matrix(bags, numbers)


@dataclass(frozen=True)
class MatrixQuantities:
    """Where every restricted entry of A is added to make the vector of quantities that a plan needs.

    ``vector = [1, ...]`` holds, section after section, per node the total or trace of ``A|part``, per
    place its row sums, column sums or diagonal, and ``A|part`` itself (row place fastest).
    """

    length: int
    entry: Tensor
    target: Tensor

    def vector(self, values: Tensor) -> Tensor:
        """The quantities from the values of all entries of all channels; differentiable."""
        out = values.new_zeros(self.length)
        out[0] = 1
        return out.index_add(0, self.target.to(values.device), values[self.entry.to(values.device)])


def build_quantities(
    plan: Plan, nodes: Nodes, restrictions: dict[int, Restriction], value: dict[int, tuple[int, int]]
) -> MatrixQuantities:
    """The quantities of a plan; ``value[c] = (start, stride)`` says where the values of channel c's entries are."""
    first, length = _section_start(plan.sections, nodes)
    source, target = [], []
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
    join = [np.concatenate([np.empty(0, dtype=np.int64), *x]) for x in (source, target)]
    return MatrixQuantities(length, torch.from_numpy(join[0]), torch.from_numpy(join[1]))
