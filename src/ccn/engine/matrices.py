"""The channels of A on a batch: their values, their restrictions to parts, and what plans ask of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ccn.engine.bags import runs_compiled
from ccn.engine.maps import Maps, Matrix, MatrixQuantities, Restriction, build_maps, build_quantities, restrict
from ccn.engine.plan import Plan
from ccn.graphs.adjacency import AdjacencyChannel, needs_grad, sources
from ccn.graphs.graph import Batch
from ccn.graphs.ragged import Int
from ccn.schemes.packed import Level

__all__ = ["Matrices", "Quantities"]


Values = list[Tensor | None]


@dataclass(frozen=True)
class Quantities:
    """The vector of quantities of A, and its entries as the values of the maps' matrices, bag by bag (None: all 1)."""

    vector: Tensor
    output: Values
    others: Values
    back: list[Values]
    combine: Values
    combine_back: Values

    @property
    def nbytes(self) -> int:
        """Bytes of the vector and of all values."""
        values = [v for of in (self.output, self.others, *self.back, self.combine, self.combine_back) for v in of]
        return sum(v.numel() * v.element_size() for v in (self.vector, *values) if v is not None)


class Matrices:
    """Channels of A for one batch in one dtype; everything is computed when a plan first needs it."""

    def __init__(self, b: Batch, channels: Sequence[AdjacencyChannel], dtype: torch.dtype) -> None:
        self.batch, self.channels, self.dtype = b, tuple(channels), dtype
        self._sparse: list[tuple[Int, Tensor]] | None = None

    def sparse(self) -> list[tuple[Int, Tensor]]:
        """Places and values of every channel."""
        if self._sparse is None:
            self._sparse = [c.sparse(self.batch, self.dtype) for c in self.channels]
        return self._sparse

    def prepare(self, plan: Plan, level: Level) -> int:
        """Build what a plan needs on a level, which keeps it; returns its bytes."""
        none = torch.empty(0, dtype=self.dtype, device=self.batch.device)
        if self.compiled(none):
            layout, values = self.layout(plan, level), self.values(plan, level)
            held: list[Any] = [x for x in layout if isinstance(x, np.ndarray)]
            return int(sum(x.nbytes for x in held) + sum(v.numel() * v.element_size() for v in values))
        return int(self.maps(plan, level).nbytes + self.quantities(plan, level).nbytes)

    def maps(self, plan: Plan, level: Level) -> Maps:
        """The index maps of a plan on a level, built once."""
        if plan.sections:
            self.sparse()  # here, where gradients are recorded, and not inside what is cached
        maps: Maps = level.cached(
            ("maps", plan, self.channels), lambda: build_maps(plan, level, self._restrictions(plan, level))
        )
        return maps.to(self.batch.device)

    def _restrictions(self, plan: Plan, level: Level) -> dict[int, Restriction]:
        """The restrictions of the channels that a plan uses, by channel; columns of one matrix share one."""
        wanted = {channel for _, channel in plan.sections}
        out, channel = {}, 0
        for c, kind in enumerate(self.channels):
            used = wanted & set(range(channel, channel + kind.width))
            if used:
                found = level.cached(("restriction", kind), lambda c=c: restrict(level, self.sparse()[c][0]))  # type: ignore[misc]
                out.update(dict.fromkeys(used, found))
            channel += kind.width
        return out

    def quantities(self, plan: Plan, level: Level) -> Quantities:
        """What a plan needs of A on a level; kept with the level unless gradients must flow through it."""
        if needs_grad(self.batch):
            return self._build(plan, level)
        key = ("quantities", plan, self.channels, self.dtype, self.batch.device)
        return level.cached.current(key, sources(self.batch), lambda: self._build(plan, level))  # type: ignore[no-any-return]

    def _build(self, plan: Plan, level: Level) -> Quantities:
        device, maps = self.batch.device, self.maps(plan, level)
        if plan.sections:
            layout: MatrixQuantities = level.cached(
                ("quantities", plan, self.channels), lambda: self._quantity_layout(plan, level)
            )
            flat = [v.to(device).reshape(-1) for _, v in self.sparse()]
            vector = layout.vector(torch.cat(flat))
        else:
            vector = torch.ones(1, dtype=self.dtype, device=device)
        fixed = vector.detach()

        def values(m: Matrix | None) -> Values:
            return [] if m is None else [None if n is None else fixed.index_select(0, n) for n in m.numbers]

        back = [values(m) for m in maps.back]
        return Quantities(
            vector, values(maps.output), values(maps.others), back, values(maps.combine), values(maps.combine_back)
        )

    def compiled(self, f: Tensor) -> bool:
        """Whether the compiled kernels can be used for such activations: unless gradients flow to A."""
        return runs_compiled(f) and not needs_grad(self.batch)

    def values(self, plan: Plan, level: Level) -> Any:
        """What the compiled kernels need of A, kept until weights or edge features change."""
        from ccn.engine.cpu.compiled import quantities

        def build() -> Any:
            flat = [v.reshape(-1) for _, v in self.sparse()]
            return quantities(plan, self.layout(plan, level), torch.cat([torch.zeros(0, dtype=self.dtype), *flat]))

        return level.cached.current(("values", plan, self.channels, self.dtype), sources(self.batch), build)

    def layout(self, plan: Plan, level: Level) -> Any:
        """The level for the compiled kernels, built once."""
        from ccn.engine.cpu.layout import build_layout
        from ccn.engine.cpu.program import program

        def build() -> Any:
            return build_layout(level, program(plan), self._restrictions(plan, level), self._places())

        return level.cached(("layout", plan, self.channels), build)

    def _places(self) -> dict[int, tuple[int, int]]:
        """Where the values of each channel begin, and their stride."""
        value, channel, start = {}, 0, 0
        for places, values in self.sparse():
            width = values.shape[1]
            value.update({channel + i: (start + i, width) for i in range(width)})
            channel += width
            start += places.shape[1] * width
        return value

    def _quantity_layout(self, plan: Plan, level: Level) -> MatrixQuantities:
        return build_quantities(plan, level.nodes, self._restrictions(plan, level), self._places())
