"""The channels of A on a batch: their values, and the quantities of ``A|part`` that plans ask for."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from ccn.adjacency import AdjacencyChannel, cache_key, needs_grad
from ccn.engine.maps import Maps, MatrixQuantities, build_quantities
from ccn.engine.plan import Plan
from ccn.graph import Batch, Int
from ccn.schemes.packed import Level

__all__ = ["Matrices", "Quantities"]

Quantities = tuple[MatrixQuantities, Tensor, tuple[Tensor, Tensor] | None]
"""Layout of the vector, the vector, and its entries for the gather and its transpose (None: all 1)."""


class Matrices:
    """Channels of A for one batch in one dtype; values are computed when a plan first needs them."""

    def __init__(self, b: Batch, channels: Sequence[AdjacencyChannel], dtype: torch.dtype) -> None:
        self.batch, self.channels, self.dtype = b, tuple(channels), dtype
        self._sparse: list[tuple[Int, Tensor]] | None = None

    def sparse(self) -> list[tuple[Int, Tensor]]:
        """Places and values of every channel."""
        if self._sparse is None:
            self._sparse = [c.sparse(self.batch) for c in self.channels]
        return self._sparse

    def quantities(self, plan: Plan, level: Level, maps: Maps) -> Quantities:
        """What a plan needs of A on a level; kept with the level unless gradients must flow through it."""
        device = self.batch.device
        if needs_grad(self.batch):
            return self._build(plan, level, maps)
        key = ("quantities", plan, cache_key(self.batch, self.channels), self.dtype, device)
        return level.cached(key, lambda: self._build(plan, level, maps))  # type: ignore[no-any-return]

    def _build(self, plan: Plan, level: Level, maps: Maps) -> Quantities:
        device = self.batch.device
        if not plan.sections:
            layout = MatrixQuantities(1, torch.empty(0, dtype=torch.long), torch.empty(0, dtype=torch.long), {})
            return layout, torch.ones(1, dtype=self.dtype, device=device), None
        sparse = self.sparse()
        layout = level.cached(
            ("layout", plan, self.channels),
            lambda: build_quantities(plan, level, [places for places, _ in sparse], [v.shape[1] for _, v in sparse]),
        )
        values = torch.cat([v.to(device=device, dtype=self.dtype).reshape(-1) for _, v in sparse])
        vector = layout.vector(values)
        fixed = vector.detach()
        weights = (fixed[maps.weight], fixed[maps.transposed_weight]) if any(maps.weighted) else None
        return layout, vector, weights
