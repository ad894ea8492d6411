"""Index maps: a plan on the nodes of a batch, as one sparse matrix between two dense stages.

The **table** holds, for every child entry and slot, one row of mixed channels; the **targets** hold
one row per entry of each target tensor of the parents. :class:`Maps` is the sparse matrix from table
rows to target rows: forward by target rows, cut into blocks of nodes (so that a block goes through all
of its steps while it is in cache), and transposed for the gradient. Its values are numbers of entries in a vector of quantities of A (:class:`MatrixQuantities`), 0 for a plain 1.

Built with array operations only: no loop over graphs, nodes or edges.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from ccn.engine.bags import Bag, int32
from ccn.engine.plan import STACK, Plan, Section, Slot
from ccn.engine.reductions import BlockReductions, build_reductions
from ccn.errors import ConfigurationError
from ccn.schemes.packed import Block, Int, Level, Nodes, Pairs, ranges, starts

__all__ = ["Maps", "MatrixQuantities", "build_maps", "build_quantities"]


@dataclass
class Maps:
    """The sparse matrix of a plan on a level; see the module's docstring.

    Attributes:
        blocks, below: blocks of the nodes and of the nodes below.
        bags: per target; one for each block where the target is a whole base, one for all where it is not.
        transposed: per stage and block below.
        weighted: per target, whether any of its entries has a weight other than 1.
        table_start: first table row of each stage.
        target_start: first row of each target when all are numbered through.
        weight, transposed_weight: place of each entry's weight in the vector of quantities.
        reductions: of the children's tensors, per block below.

    """

    blocks: list[Block]
    below: list[Block]
    bags: list[list[Bag]]
    weighted: list[bool]
    table_start: list[int]
    target_start: list[int]
    weight: Tensor
    transposed: list[list[Bag]]
    transposed_weight: Tensor
    reductions: list[BlockReductions]
    _moved: dict[torch.device, Maps] = field(default_factory=dict, repr=False)

    def to(self, device: torch.device) -> Maps:
        """The maps on a device, moved once."""
        if device == self.weight.device:
            return self
        if device not in self._moved:
            self._moved[device] = Maps(
                self.blocks,
                self.below,
                [[bag.to(device) for bag in of] for of in self.bags],
                self.weighted,
                self.table_start,
                self.target_start,
                self.weight.to(device),
                [[bag.to(device) for bag in of] for of in self.transposed],
                self.transposed_weight.to(device),
                [r.to(device) for r in self.reductions],
            )
        return self._moved[device]

    @property
    def nbytes(self) -> int:
        """Bytes of the maps."""
        bags = [bag for of in (*self.bags, *self.transposed) for bag in of]
        bags += [bag for r in self.reductions for bag in (r.forward, r.backward) if bag is not None]
        weights = (self.weight, self.transposed_weight)
        return sum(bag.nbytes for bag in bags) + sum(t.numel() * t.element_size() for t in weights)


@dataclass(frozen=True)
class _Entries:
    """Pairs expanded to order g: for each pair and each entry of the child's order-g tensor its pair, its row,
    and the parent's places of its g indices.
    """

    pair: Int
    row: Int
    place: tuple[Int, ...]


def _expand(pairs: Pairs, below: Nodes, g: int) -> _Entries:
    pair = np.arange(len(pairs))
    row = below.row_start(g)[pairs.child]
    place: list[Int] = []
    size = below.size[pairs.child]
    stride = np.ones(len(pairs), dtype=np.int64)
    for _ in range(g):
        count = size[pair]
        index = ranges(np.zeros(len(pair), dtype=np.int64), count)
        row = np.repeat(row, count) + index * np.repeat(stride, count)
        place = [np.repeat(p, count) for p in place]
        stride = np.repeat(stride * size[pair], count)
        pair = np.repeat(pair, count)
        place.append(pairs.place[pairs.start[pair] + index])
    if place and any(int(p.min(initial=0)) < 0 for p in place):  # atoms outside the parent's part promote to 0
        keep = np.all([p >= 0 for p in place], axis=0)
        pair, row, place = pair[keep], row[keep], [p[keep] for p in place]
    return _Entries(pair, row, tuple(place))


def _section_start(sections: tuple[Section, ...], nodes: Nodes) -> tuple[dict[Section, int], int]:
    """Where each quantity begins in the vector, whose place 0 is the number 1, and its length."""
    at, out = 1, {}
    for kind, channel in sections:
        out[kind, channel] = at
        at += nodes.rows({"total": 0, "trace": 0, "entry": 2}.get(kind, 1))
    return out, at


def _slot_entries(
    slot: Slot, e: _Entries, pairs: Pairs, nodes: Nodes, first: dict[Section, int]
) -> tuple[Int, Int | None]:
    """The target row (within its target) and the weight number of every entry of a slot."""
    parent = pairs.parent[e.pair]
    m = nodes.size[parent]

    def place(i: int) -> Int:
        return pairs.stack[e.pair] if i == STACK else e.place[i]

    row = nodes.row_start(len(slot.places))[parent]
    stride: Int | int = 1
    for axis in slot.places:
        row = row + stride * place(axis)
        stride = stride * m
    if slot.weight is None:
        return row, None
    w = slot.weight
    at = first[w.kind, w.channel] + nodes.row_start(2 if w.kind == "entry" else len(w.places))[parent]
    if w.places:
        at = at + place(w.places[0])
    if len(w.places) > 1:
        at = at + m * place(w.places[1])
    return row, at


def build_maps(plan: Plan, level: Level) -> Maps:
    """The index maps of a plan on a level."""
    nodes, below = level.nodes, level.below
    target_start = starts(np.array([nodes.rows(t.order) for t in plan.targets]))
    table_start = starts(np.array([below.rows(s.order) * len(s.slots) for s in plan.stages], dtype=np.int64))
    number = {t: i for i, t in enumerate(plan.targets)}
    first, length = _section_start(plan.sections, nodes)
    expanded: dict[tuple[str, int], _Entries] = {}
    target_row, table_row, weight = [], [], []
    for stage, base in zip(plan.stages, table_start[:-1], strict=True):
        for i, slot in enumerate(stage.slots):
            pairs: Pairs = getattr(level, slot.pairs)
            if (slot.pairs, slot.order) not in expanded:
                expanded[slot.pairs, slot.order] = _expand(pairs, below, slot.order)
            e = expanded[slot.pairs, slot.order]
            row, at = _slot_entries(slot, e, pairs, nodes, first)
            target_row.append(row + target_start[number[slot.target]])
            table_row.append(base + e.row * len(stage.slots) + i)
            weight.append(np.zeros(len(row), dtype=np.int64) if at is None else at)
    shape = (int(target_start[-1]), int(table_start[-1]))
    if max(*shape, length, sum(map(len, weight))) > np.iinfo(np.int32).max:
        raise ConfigurationError(
            f"an order-{plan.order_out} level on this batch has {shape[0]:,} rows, too many for one batch; "
            "use smaller batches, a lower order or fewer levels"
        )
    forward = _csr(shape, target_row, table_row, weight)
    backward = forward.tocsc()
    blocks, blocks_below = nodes.blocks(plan.order_out), below.blocks(plan.order_in)
    whole = {plan.whole(base) for base in plan.bases}
    bags = []
    for i, target in enumerate(plan.targets):
        spans = [nodes.rows_of(b, target.order) for b in blocks] if i in whole else [slice(0, nodes.rows(target.order))]
        bags.append([_bag(forward, int(target_start[i]), span) for span in spans])
    transposed = []
    for s, stage in enumerate(plan.stages):
        spans = [below.rows_of(b, stage.order) for b in blocks_below]
        slots = len(stage.slots)
        transposed.append([_bag(backward, int(table_start[s]), slice(x.start * slots, x.stop * slots)) for x in spans])
    every = [slot for stage in plan.stages for slot in stage.slots]
    return Maps(
        blocks,
        blocks_below,
        bags,
        [any(slot.weight is not None and slot.target == t for slot in every) for t in plan.targets],
        table_start.tolist(),
        target_start.tolist(),
        int32(forward.data),
        transposed,
        int32(backward.data),
        build_reductions(plan, below, blocks_below),
    )


def _csr(shape: tuple[int, int], row: list[Int], column: list[Int], data: list[Int]) -> Any:
    """A sparse matrix from pieces whose places are all different, so that nothing needs to be summed."""
    join = [np.concatenate([np.empty(0, np.int32), *(x.astype(np.int32) for x in of)]) for of in (row, column, data)]
    matrix = sp.coo_array((join[2], (join[0], join[1])), shape=shape)
    matrix.has_canonical_format = True
    return matrix.tocsr()


def _bag(matrix: Any, start: int, rows: slice) -> Bag:
    """Rows of a compressed matrix, offsets counted from their own first entry."""
    offset = matrix.indptr[start + rows.start : start + rows.stop + 1]
    entries = slice(int(offset[0]), int(offset[-1]))
    return Bag(int32(matrix.indices[entries]), int32(offset - offset[0]), entries)


@dataclass(frozen=True)
class MatrixQuantities:
    """Where every restricted entry of A is added to make the vector of quantities that a plan needs.

    ``vector = [1, ...]`` holds, section after section, per node the total or trace of ``A|part``, per
    place its row sums, column sums or diagonal, and ``A|part`` itself (row place fastest).
    """

    length: int
    entry: Tensor
    target: Tensor
    start: dict[Section, int]

    def vector(self, values: Tensor) -> Tensor:
        """The quantities from the values of all entries of all channels; differentiable."""
        out = values.new_zeros(self.length)
        out[0] = 1
        return out.index_add(0, self.target.to(values.device), values[self.entry.to(values.device)])


def build_quantities(plan: Plan, level: Level, entries: list[Int], widths: list[int]) -> MatrixQuantities:
    """Quantities for channels of A given as places (2, nnz) in row order, channels numbered through.

    The values of all are expected one after another, each (nnz, width) flattened.
    """
    nodes = level.nodes
    first, length = _section_start(plan.sections, nodes)
    source, target, channel, value_start = [], [], 0, 0
    n = int(nodes.parts.max(initial=-1)) + 1
    for places, width in zip(entries, widths, strict=True):
        wanted = [(kind, c) for kind, c in plan.sections if channel <= c < channel + width]
        if wanted:
            row_start = starts(np.bincount(places[0], minlength=n))
            node, a, b, entry = level.restricted(row_start, places[1])
            diagonal = a == b
            for kind, c in wanted:
                at = {
                    "total": node,
                    "trace": node,
                    "row": nodes.start[node] + a,
                    "column": nodes.start[node] + b,
                    "diagonal": nodes.start[node] + a,
                    "entry": nodes.row_start(2)[node] + a + nodes.size[node] * b,
                }[kind]
                chosen = diagonal if kind in ("trace", "diagonal") else slice(None)
                source.append(value_start + entry[chosen] * width + (c - channel))
                target.append(first[kind, c] + at[chosen])
        channel += width
        value_start += places.shape[1] * width
    join = [np.concatenate(x) if x else np.empty(0, dtype=np.int64) for x in (source, target)]
    return MatrixQuantities(length, torch.from_numpy(join[0]), torch.from_numpy(join[1]), first)
