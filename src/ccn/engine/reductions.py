"""Reductions of the children's tensors, block by block, and their adjoint.

A reduction keeps, sums or holds at the centre each group of axes of F_c (see
:class:`ccn.engine.plan.Reduction`). Those that keep the order only reorder rows: the first of them, the
identity, is F itself, the others are chosen rows of it. Those of lower orders are together one sparse matrix of
zeros and ones; among nodes of one size its pattern is the same for every node but for the place of the centre,
so it is written down by broadcasting, and transposed for the gradient.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray
from torch import Tensor

from ccn.engine.bags import Bag, gather, int32
from ccn.engine.plan import Plan, Reduction, numbered
from ccn.schemes.packed import Block, Nodes, Run

__all__ = ["BlockReductions", "Index", "build_reductions", "places"]

Index = NDArray[np.int32]
SMALL = 2048  # patterns of up to so many entries are kept, since batches share them


@dataclass(frozen=True)
class BlockReductions:
    """The reductions of a plan on one block of nodes.

    Attributes:
        rows: rows of order g in the block, for g = 0..k.
        counts: number of reductions of order g < k, all of which are in ``lower``.
        orders: for each reduction of order k the rows of F it consists of, and where each row of F goes; None for
            the identity.
        lower, lower_back: the matrix to the reductions of lower orders, and its transpose.

    """

    rows: tuple[int, ...]
    counts: tuple[int, ...]
    orders: tuple[tuple[Tensor, Tensor] | None, ...]
    lower: Bag | None
    lower_back: Bag | None

    def to(self, device: torch.device) -> BlockReductions:
        """The same on another device."""
        orders = tuple(None if o is None else (o[0].to(device), o[1].to(device)) for o in self.orders)
        bags = (None if bag is None else bag.to(device) for bag in (self.lower, self.lower_back))
        return BlockReductions(self.rows, self.counts, orders, *bags)

    @property
    def nbytes(self) -> int:
        bags = sum(bag.nbytes for bag in (self.lower, self.lower_back) if bag is not None)
        return bags + sum(t.numel() * t.element_size() for o in self.orders if o is not None for t in o)

    def split(self, x: Tensor) -> list[Tensor]:
        """The X_g of lower orders in one buffer of all their rows: (rows_g, reductions * in) each."""
        pieces = x.split([r * c for r, c in zip(self.rows, self.counts, strict=False)])
        return [p.view(r, -1) if c else p for p, r, c in zip(pieces, self.rows, self.counts, strict=False)]

    def reduce_lower(self, f: Tensor) -> Tensor:
        """All reductions of lower orders of the block's rows of F, one after another: (.., in)."""
        return f[:0] if self.lower is None else gather(f, self.lower)

    def reordered(self, f: Tensor, i: int) -> Tensor:
        """Reduction i of order k of the block's rows of F."""
        order = self.orders[i]
        return f if order is None else f.index_select(0, order[0])


def places(groups: tuple[tuple[int, ...], ...], m: int) -> Index:
    """Row offsets of all values of some indices, each running along a group of axes; the first fastest."""
    return (_small_places if m ** len(groups) <= SMALL else _places)(groups, m)


def _places(groups: tuple[tuple[int, ...], ...], m: int) -> Index:
    out = np.zeros(1, dtype=np.int32)
    for group in reversed(groups):
        step = np.arange(m, dtype=np.int32) * sum(m**a for a in group)
        out = (out[:, None] + step[None, :]).reshape(-1)
    out.flags.writeable = False
    return out


_small_places = lru_cache(maxsize=1024)(_places)


def _pattern(reductions: tuple[Reduction, ...], m: int) -> tuple[Index, Index, Index]:
    """At a node of size m: row offsets (m^g, entries), factors of the centre's place, entries per reduction."""
    blocks = [places(r.kept, m)[:, None] + places(r.summed, m)[None, :] for r in reductions]
    lengths = np.array([b.shape[1] for b in blocks], dtype=np.int32)
    factor = np.repeat(np.array([sum(m**a for a in r.centre) for r in reductions], dtype=np.int32), lengths)
    return np.concatenate(blocks, axis=1), factor, lengths


def _lower_run(
    reductions: tuple[Reduction, ...], run: Run, base: Index, centre: Index
) -> tuple[Index, Index, NDArray[np.bool_] | None]:
    """One order in one run: the row of F behind every entry, entries per row of X, and which exist (None: all)."""
    offset, factor, lengths = _pattern(reductions, run.m)
    missing = bool((centre < 0).any()) and bool(factor.any())
    at = np.maximum(centre, 0) if missing else centre
    index = (base[:, None] + at[:, None] * factor)[:, None, :] + offset
    exists = None
    if missing:
        exists = np.broadcast_to((centre >= 0)[:, None, None] | (factor == 0), index.shape).reshape(-1)
    return index.reshape(-1), np.tile(lengths, run.nodes * len(offset)), exists


def _reordering(r: Reduction, block: Block, base: Sequence[Index]) -> tuple[Tensor, Tensor] | None:
    """The rows of F that a reordering of the axes consists of, and the inverse; None for the identity."""
    k = r.order
    if r.kept == numbered(k):
        return None
    inverse = tuple((r.kept.index((a,)),) for a in range(k))
    both = [
        np.concatenate(
            [(b[:, None] + places(axes, run.m)).reshape(-1) for run, b in zip(block.runs, base, strict=True)]
        )
        for axes in (r.kept, inverse)
    ]
    return int32(both[0]), int32(both[1])


def build_reductions(plan: Plan, below: Nodes, blocks: Sequence[Block]) -> list[BlockReductions]:
    """The reductions of a plan on every block of the nodes below."""
    return [_build(plan, below, block) for block in blocks]


def _build(plan: Plan, below: Nodes, block: Block) -> BlockReductions:
    k = plan.order_in
    spans = [below.rows_of(block, g) for g in range(k + 1)]
    rows = tuple(s.stop - s.start for s in spans)
    base = [(below.row_start(k)[r.first : r.end] - spans[k].start).astype(np.int32) for r in block.runs]
    orders = tuple(_reordering(r, block, base) for r in plan.reductions[k])
    counts = tuple(len(of) for of in plan.reductions[:k])
    if not any(counts):
        return BlockReductions(rows, counts, orders, None, None)
    centre = [below.centre[r.first : r.end].astype(np.int32) for r in block.runs]
    lower = [of for of in plan.reductions[:k] if of]
    pieces = [_lower_run(of, *run) for of in lower for run in zip(block.runs, base, centre, strict=True)]
    index, lengths = (np.concatenate([p[i] for p in pieces]) for i in range(2))
    offset = np.concatenate([[0], np.cumsum(lengths, dtype=np.int32)])
    complete = all(p[2] is None for p in pieces)
    data = np.ones(len(index), dtype=np.int8 if complete else np.float32)
    if not complete:
        data = np.concatenate([np.ones(len(p[0]), np.float32) if p[2] is None else p[2] for p in pieces])
    matrix = sp.csr_array((data, index, offset), shape=(len(offset) - 1, rows[k]))

    def bag(x: sp.csr_array) -> Bag:
        weight = None if complete else torch.from_numpy(x.data.astype(np.float32))
        return Bag(int32(x.indices), int32(x.indptr), weight)

    return BlockReductions(rows, counts, orders, bag(matrix), bag(matrix.tocsc()))
