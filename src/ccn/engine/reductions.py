"""Reductions of the children's tensors as a sparse matrix, chunk by chunk.

A reduction keeps, sums or holds at the centre each group of axes of F_c (see
:class:`ccn.engine.plan.Reduction`). In a chunk of nodes of one size m all of them together are one
sparse matrix of zeros and ones from the rows of F to the rows of X; its pattern is the same for every
node but for the place of the centre, so it is written down by broadcasting, and transposed for the
gradient.
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
from ccn.schemes.packed import Chunk, Nodes

__all__ = ["ChunkReductions", "build_reductions"]

Index = NDArray[np.int32]


@dataclass(frozen=True)
class ChunkReductions:
    """All reductions of a plan on one chunk: F (nodes * m^k, in) to X_g (nodes * m^g, reductions * in) for every g.

    ``forward`` and ``backward`` are None where the only reduction is the identity.
    """

    rows: tuple[int, ...]  # entries of order g in the chunk, nodes * m^g
    counts: tuple[int, ...]  # reductions of order g
    forward: Bag | None = None
    backward: Bag | None = None

    def to(self, device: torch.device) -> ChunkReductions:
        if self.forward is None or self.backward is None:
            return self
        return ChunkReductions(self.rows, self.counts, self.forward.to(device), self.backward.to(device))

    def split(self, x: Tensor) -> list[Tensor]:
        """The X_g in one buffer of all their rows, (.., in)."""
        pieces = x.split([r * c for r, c in zip(self.rows, self.counts, strict=True)])
        return [p.view(r, -1) if c else p for p, r, c in zip(pieces, self.rows, self.counts, strict=True)]

    def reduce(self, f: Tensor) -> list[Tensor]:
        """X_g for every order g from the chunk's rows of F."""
        return self.split(f if self.forward is None else gather(f, self.forward))

    def buffer(self, f: Tensor) -> Tensor:
        """Zeros in the shape of all X_g together."""
        return f.new_zeros(sum(r * c for r, c in zip(self.rows, self.counts, strict=True)), f.shape[1])

    def adjoint(self, gx: Tensor) -> Tensor:
        """The gradient of the chunk's rows of F from those of all X_g."""
        return gx if self.backward is None else gather(gx, self.backward)


def _places(groups: Sequence[tuple[int, ...]], m: int) -> Index:
    """Row offsets of all values of some indices, each running along a group of axes; the first fastest."""
    out = np.zeros(1, dtype=np.int32)
    for group in reversed(groups):
        step = np.arange(m, dtype=np.int32) * sum(m**a for a in group)
        out = (out[:, None] + step[None, :]).reshape(-1)
    return out


def _pattern(reductions: Sequence[Reduction], m: int) -> tuple[Index, Index, Index]:
    """For one order: row offsets (m^g, entries), the factor of the centre's place in each, entries per reduction."""
    offsets, centres, lengths = [], [], []
    for r in reductions:
        block = _places(r.kept, m)[:, None] + _places(r.summed, m)[None, :]
        offsets.append(block)
        centres.append(np.full(block.shape[1], sum(m**a for a in r.centre), dtype=np.int32))
        lengths.append(block.shape[1])
    return np.concatenate(offsets, axis=1), np.concatenate(centres), np.array(lengths, dtype=np.int32)


def build_reductions(plan: Plan, below: Nodes, chunks: Sequence[Chunk]) -> list[ChunkReductions]:
    """The reductions of a plan on every chunk of the nodes below."""
    k = plan.order_in
    counts = tuple(len(of) for of in plan.reductions)
    trivial = sum(counts) == 1 and plan.reductions[k] == (Reduction(numbered(0, k), (), ()),)
    return [_build(plan, below, chunk, counts, trivial) for chunk in chunks]


def _build(plan: Plan, below: Nodes, chunk: Chunk, counts: tuple[int, ...], trivial: bool) -> ChunkReductions:
    n, m, k = chunk.nodes, chunk.m, plan.order_in
    rows = tuple(n * m**g for g in range(k + 1))
    if trivial:
        return ChunkReductions(rows, counts)
    base = np.arange(n, dtype=np.int32) * m**k
    centre = below.centre[chunk.first : chunk.end].astype(np.int32)
    missing = bool((centre < 0).any())
    index, exists, lengths = [], [], []
    for of in plan.reductions:
        if of:
            offset, factor, length = _pattern(of, m)
            at = np.maximum(centre, 0)[:, None, None] * factor
            index.append((base[:, None, None] + offset + at).reshape(-1))
            lengths.append(np.tile(length, n * len(offset)))
            if missing:  # a node without a centre reads nothing there
                held = (centre >= 0)[:, None, None] | (factor == 0)
                exists.append(np.broadcast_to(held, (n, *offset.shape)).reshape(-1))
    entries, offsets = np.concatenate(index), np.concatenate([[0], np.cumsum(np.concatenate(lengths))])
    data = np.concatenate(exists).astype(np.float32) if missing else np.ones(len(entries), dtype=np.float32)
    matrix = sp.csr_array((data, entries, offsets), shape=(len(offsets) - 1, n * m**k))
    transposed = matrix.tocsc()

    def bag(x: sp.csr_array) -> Bag:
        weight = torch.from_numpy(x.data) if missing else None
        return Bag(int32(x.indices), int32(x.indptr), slice(0, len(x.indices)), weight)

    return ChunkReductions(rows, counts, bag(matrix), bag(transposed))
