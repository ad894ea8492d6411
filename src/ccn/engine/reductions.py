"""Reductions of the children's tensors as a sparse matrix, block by block.

A reduction keeps, sums or holds at the centre each group of axes of F_c (see
:class:`ccn.engine.plan.Reduction`). All of them together are one sparse matrix of zeros and ones from
the rows of F to the rows of X. Among nodes of one size its pattern is the same for every node but for the
place of the centre, so it is written down by broadcasting, and transposed for the gradient.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray
from torch import Tensor

from ccn.engine.bags import Bag, gather, int32
from ccn.engine.plan import Plan, Reduction
from ccn.engine.views import numbered
from ccn.schemes.packed import Block, Nodes, Run

__all__ = ["BlockReductions", "build_reductions", "places"]

Index = NDArray[np.int32]


@dataclass(frozen=True)
class BlockReductions:
    """All reductions of a plan on one block: F (rows_k, in) to X_g (rows_g, reductions * in) for every order g.

    ``forward`` and ``backward`` are None where the only reduction is the identity.
    """

    rows: tuple[int, ...]  # of order g in the block
    counts: tuple[int, ...]  # reductions of order g
    forward: Bag | None = None
    backward: Bag | None = None

    def to(self, device: torch.device) -> BlockReductions:
        """The same on another device."""
        if self.forward is None or self.backward is None:
            return self
        return BlockReductions(self.rows, self.counts, self.forward.to(device), self.backward.to(device))

    def split(self, x: Tensor) -> list[Tensor]:
        """The X_g in one buffer of all their rows, (.., in)."""
        pieces = x.split([r * c for r, c in zip(self.rows, self.counts, strict=True)])
        return [p.view(r, -1) if c else p for p, r, c in zip(pieces, self.rows, self.counts, strict=True)]

    def reduce(self, f: Tensor) -> list[Tensor]:
        """X_g for every order g from the block's rows of F."""
        return self.split(f if self.forward is None else gather(f, self.forward))

    def buffer(self, f: Tensor) -> Tensor:
        """Zeros in the shape of all X_g together."""
        return f.new_zeros(sum(r * c for r, c in zip(self.rows, self.counts, strict=True)), f.shape[1])

    def adjoint(self, gx: Tensor) -> Tensor:
        """The gradient of the block's rows of F from those of all X_g."""
        return gx if self.backward is None else gather(gx, self.backward)


def places(groups: Sequence[tuple[int, ...]], m: int) -> Index:
    """Row offsets of all values of some indices, each running along a group of axes; the first fastest."""
    out = np.zeros(1, dtype=np.int32)
    for group in reversed(groups):
        step = np.arange(m, dtype=np.int32) * sum(m**a for a in group)
        out = (out[:, None] + step[None, :]).reshape(-1)
    return out


def _pattern(reductions: Sequence[Reduction], m: int) -> tuple[Index, Index, Index]:
    """For one order: row offsets (m^g, entries), the factor of the centre's place in each, entries per reduction."""
    blocks = [places(r.kept, m)[:, None] + places(r.summed, m)[None, :] for r in reductions]
    lengths = np.array([b.shape[1] for b in blocks], dtype=np.int32)
    factors = np.repeat(np.array([sum(m**a for a in r.centre) for r in reductions], dtype=np.int32), lengths)
    return np.concatenate(blocks, axis=1), factors, lengths


def _run(
    reductions: Sequence[Reduction], run: Run, base: Index, centre: Index
) -> tuple[Index, Index, NDArray[np.bool_]]:
    """One order in one run: the row of F behind every entry, entries per row of X, and which entries exist."""
    offset, factor, length = _pattern(reductions, run.m)
    index = base[:, None, None] + offset + np.maximum(centre, 0)[:, None, None] * factor
    exists = np.broadcast_to((centre >= 0)[:, None, None] | (factor == 0), index.shape)
    return index.reshape(-1), np.tile(length, run.nodes * len(offset)), exists.reshape(-1)


def build_reductions(plan: Plan, below: Nodes, blocks: Sequence[Block]) -> list[BlockReductions]:
    """The reductions of a plan on every block of the nodes below."""
    k = plan.order_in
    counts = tuple(len(of) for of in plan.reductions)
    trivial = sum(counts) == 1 and plan.reductions[k] == (Reduction(numbered(0, k), (), ()),)
    return [_build(plan, below, block, counts, trivial) for block in blocks]


def _build(plan: Plan, below: Nodes, block: Block, counts: tuple[int, ...], trivial: bool) -> BlockReductions:
    rows = tuple((s := below.rows_of(block, g)).stop - s.start for g in range(plan.order_in + 1))
    if trivial:
        return BlockReductions(rows, counts)
    start = below.row_start(plan.order_in)
    own = [slice(run.first, run.end) for run in block.runs]
    base = [(start[of] - start[block.first]).astype(np.int32) for of in own]
    centre = [below.centre[of].astype(np.int32) for of in own]
    pieces = [_run(of, *run) for of in plan.reductions if of for run in zip(block.runs, base, centre, strict=True)]
    index, lengths, exists = (np.concatenate([p[i] for p in pieces]) for i in range(3))
    offset = np.concatenate([[0], np.cumsum(lengths, dtype=np.int32)])
    matrix = sp.csr_array((exists.astype(np.float32), index, offset), shape=(len(offset) - 1, rows[plan.order_in]))
    complete = bool(exists.all())

    def bag(x: sp.csr_array) -> Bag:
        weight = None if complete else torch.from_numpy(x.data)
        return Bag(int32(x.indices), int32(x.indptr), slice(0, len(x.indices)), weight)

    return BlockReductions(rows, counts, bag(matrix), bag(matrix.tocsc()))
