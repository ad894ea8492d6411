"""Index maps: a plan on the nodes of a batch, as one sparse matrix between two dense stages.

The **table** holds, for every child entry and slot, one row of mixed channels; the **targets** hold
one row per entry of each target tensor of the parents. :class:`Maps` is the sparse matrix from table
rows to target rows: forward by target rows, cut into chunks of nodes of one size (so that a chunk
stays in cache and its dense views have no padding), and transposed for the gradient. Its values are
numbers of entries in a vector of quantities of A (:class:`MatrixQuantities`), 0 for a plain 1.

Built with array operations only: no loop over graphs, nodes or edges.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray
from torch import Tensor

from ccn.engine.plan import STACK, MatrixSection, Plan, Slot
from ccn.errors import ConfigurationError
from ccn.schemes.composition import Int, Level, Nodes, Pairs, ranges, starts

__all__ = ["Chunk", "Maps", "MatrixQuantities", "build_maps", "build_quantities", "chunks_of"]

CHUNK_ROWS = 8192  # rows of a chunk of the output: 512 kB at 16 channels in float32


@dataclass(frozen=True)
class Chunk:
    """Nodes ``first:end`` of one size m."""

    m: int
    first: int
    end: int

    @property
    def nodes(self) -> int:
        return self.end - self.first


def chunks_of(nodes: Nodes, order: int) -> list[Chunk]:
    """The nodes cut into runs of one size of at most CHUNK_ROWS rows (and at least one node)."""
    out = []
    for m, first, end in nodes.runs:
        step = max(1, CHUNK_ROWS // m**order)
        out += [Chunk(m, a, min(a + step, end)) for a in range(first, end, step)]
    return out


@dataclass
class Maps:
    """The sparse matrix of a plan on a level; see the module's docstring.

    Attributes:
        chunks: of the parents' nodes.
        rows: ``rows[t][c]`` is the (first, end) of the rows of target t in chunk c.
        bags: ``bags[t][c]`` is (first, end, offsets): the entries of those rows.
        table_start: first table row of each order.
        target_start: first row of each target when all are numbered through.

    """

    chunks: list[Chunk]
    rows: list[list[tuple[int, int]]]
    bags: list[list[tuple[int, int, Tensor]]]
    weighted: list[bool]
    table_start: list[int]
    target_start: list[int]
    index: Tensor
    weight: Tensor
    transposed_index: Tensor
    transposed_offset: Tensor
    transposed_weight: Tensor
    centre: Tensor
    _moved: dict[torch.device, Maps] = field(default_factory=dict, repr=False)

    def to(self, device: torch.device) -> Maps:
        """The maps on a device, moved once."""
        if device == self.index.device:
            return self
        if device not in self._moved:
            bags = [[(a, b, offsets.to(device)) for a, b, offsets in of] for of in self.bags]
            names = ("index", "weight", "transposed_index", "transposed_offset", "transposed_weight", "centre")
            tensors = {name: getattr(self, name).to(device) for name in names}
            plain = (self.chunks, self.rows, bags, self.weighted, self.table_start, self.target_start)
            self._moved[device] = Maps(*plain, **tensors)
        return self._moved[device]

    @property
    def nbytes(self) -> int:
        """Bytes of the maps."""
        tensors = [self.index, self.weight, self.transposed_index, self.transposed_offset, self.transposed_weight]
        tensors += [offsets for of in self.bags for _, _, offsets in of]
        return sum(t.numel() * t.element_size() for t in tensors)


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


def _section_start(sections: tuple[MatrixSection, ...], nodes: Nodes) -> dict[MatrixSection, int]:
    """Where each quantity begins in the vector; place 0 is the number 1."""
    at, out = 1, {}
    for kind, channel in sections:
        out[kind, channel] = at
        at += nodes.rows({"total": 0, "trace": 0, "entry": 2}.get(kind, 1))
    out["end", 0] = at  # type: ignore[index]
    return out


def _slot_entries(
    slot: Slot, e: _Entries, pairs: Pairs, nodes: Nodes, first: dict[MatrixSection, int]
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
    chunks = chunks_of(nodes, plan.order_out)
    target_start = starts(np.array([nodes.rows(t.order) for t in plan.targets]))
    table_start = starts(np.array([below.rows(g) * len(slots) for g, slots in enumerate(plan.slots)]))
    first = _section_start(plan.sections, nodes)
    expanded: dict[tuple[str, int], _Entries] = {}
    target_row, table_row, weight = [], [], []
    for g, slots in enumerate(plan.slots):
        for number, slot in enumerate(slots):
            pairs: Pairs = getattr(level, slot.pairs)
            if (slot.pairs, g) not in expanded:
                expanded[slot.pairs, g] = _expand(pairs, below, g)
            e = expanded[slot.pairs, g]
            row, at = _slot_entries(slot, e, pairs, nodes, first)
            target_row.append(row + target_start[slot.target])
            table_row.append(table_start[g] + e.row * len(slots) + number)
            weight.append(np.zeros(len(row), dtype=np.int64) if at is None else at)
    shape = (int(target_start[-1]), int(table_start[-1]))
    if max(*shape, first["end", 0], sum(map(len, weight))) > np.iinfo(np.int32).max:  # type: ignore[index]
        raise ConfigurationError(
            f"an order-{plan.order_out} level on this batch has {shape[0]:,} rows, too many for one batch; "
            "use smaller batches, a lower order or fewer levels"
        )
    forward = _csr(shape, target_row, table_row, weight)
    backward = forward.tocsc()
    rows, bags = _cut(plan, nodes, chunks, target_start, forward.indptr)
    weighted = [
        any(s.weight is not None and s.target == t for of in plan.slots for s in of) for t in range(len(plan.targets))
    ]
    return Maps(
        chunks,
        rows,
        bags,
        weighted,
        table_start.tolist(),
        target_start.tolist(),
        *(torch.from_numpy(x.astype(np.int32, copy=False)) for x in (forward.indices, forward.data)),
        *(torch.from_numpy(x.astype(np.int32, copy=False)) for x in (backward.indices, backward.indptr, backward.data)),
        centre=torch.from_numpy(below.centre),
    )


def _csr(shape: tuple[int, int], row: list[Int], column: list[Int], data: list[Int]) -> Any:
    """A sparse matrix from pieces whose places are all different, so that nothing needs to be summed."""
    join = [
        np.concatenate([x.astype(np.int32) for x in of]) if of else np.empty(0, np.int32) for of in (row, column, data)
    ]
    matrix = sp.coo_array((join[2], (join[0], join[1])), shape=shape)
    matrix.has_canonical_format = True
    return matrix.tocsr()


def _cut(
    plan: Plan, nodes: Nodes, chunks: list[Chunk], target_start: Int, indptr: NDArray[Any]
) -> tuple[list[list[tuple[int, int]]], list[list[tuple[int, int, Tensor]]]]:
    """Rows and entries of every target in every chunk, offsets counted from the chunk's first entry."""
    rows, bags = [], []
    for number, target in enumerate(plan.targets):
        row_start = nodes.row_start(target.order)
        spans = [(int(row_start[c.first]), int(row_start[c.end])) for c in chunks]
        offsets = indptr[target_start[number] : target_start[number + 1] + 1]
        of = []
        for a, b in spans:
            cut = offsets[a : b + 1]
            of.append((int(cut[0]), int(cut[-1]), torch.from_numpy((cut - cut[0]).astype(np.int32))))
        rows.append(spans)
        bags.append(of)
    return rows, bags


@dataclass(frozen=True)
class MatrixQuantities:
    """Where every restricted entry of A is added to make the vector of quantities that a plan needs.

    ``vector = [1, ...]`` holds, section after section, per node the total or trace of ``A|part``, per
    place its row sums, column sums or diagonal, and ``A|part`` itself (row place fastest).
    """

    length: int
    entry: Tensor
    target: Tensor
    start: dict[MatrixSection, int]

    def vector(self, values: Tensor) -> Tensor:
        """The quantities from the entries' values (nnz, channels); differentiable."""
        out = values.new_zeros(self.length)
        out[0] = 1
        flat = values.reshape(-1)
        return out.index_add(0, self.target.to(values.device), flat[self.entry.to(values.device)])


def build_quantities(plan: Plan, level: Level, entries: list[Int], widths: list[int]) -> MatrixQuantities:
    """Quantities for channels of A given as places (2, nnz) in row order; channel c of all is numbered through.

    The values of all channels are expected one after another, each (nnz, width) flattened.
    """
    nodes = level.nodes
    first = _section_start(plan.sections, nodes)
    length = first.pop(("end", 0))  # type: ignore[call-overload]
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
