"""The channels of A on a batch: their values, and their restrictions to parts."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import TypeVar

import torch
from torch import Tensor

from ccn.engine.backend import is_transformed
from ccn.engine.plan import Plan
from ccn.graphs.adjacency import AdjacencyChannel, needs_grad, sources
from ccn.graphs.graph import Batch
from ccn.graphs.ragged import Int
from ccn.schemes.packed import Level, Restriction

__all__ = ["Matrices"]

T = TypeVar("T")


class Matrices:
    """Channels of A for one batch in one dtype; everything is computed when a plan first needs it.

    Example:
        >>> import ccn
        >>> b = ccn.batch([ccn.Graph([(0, 1)], n=2)])
        >>> len(Matrices(b, [ccn.adjacency.Weights(), ccn.adjacency.Normalised()], torch.float32).channels)
        2
    """

    def __init__(self, b: Batch, channels: Sequence[AdjacencyChannel], dtype: torch.dtype) -> None:
        self.batch, self.channels, self.dtype = b, tuple(channels), dtype
        self._sparse: list[tuple[Int, Tensor]] | None = None

    @property
    def needs_grad(self) -> bool:
        """Whether gradients of A may be asked for."""
        return needs_grad(self.batch)

    def sparse(self) -> list[tuple[Int, Tensor]]:
        """Places and values of every channel."""
        if self._sparse is None:
            self._sparse = [c.sparse(self.batch, self.dtype) for c in self.channels]
        return self._sparse

    def values(self) -> Tensor:
        """The values of all entries of all channels, one after another."""
        none = torch.zeros(0, dtype=self.dtype, device=self.batch.device)
        return torch.cat([none, *(v.to(none.device).reshape(-1) for _, v in self.sparse())])

    def value_places(self) -> dict[int, tuple[int, int]]:
        """Where the values of each channel begin among all values, and their stride."""
        value, channel, start = {}, 0, 0
        for places, values in self.sparse():
            width = values.shape[1]
            value.update({channel + i: (start + i, width) for i in range(width)})
            channel += width
            start += places.shape[1] * width
        return value

    def restrictions(self, plan: Plan, level: Level) -> dict[int, Restriction]:
        """The restrictions of the channels that a plan uses, by channel; those with the same places share one."""
        return {channel: self.restriction(channel, level) for channel in sorted({c for _, c in plan.sections})}

    def restriction(self, channel: int, level: Level) -> Restriction:
        """The restriction of one channel to every part."""
        places, _ = self.sparse()[self._place(channel)[0]]
        first = next(kind for kind, (p, _) in zip(self.channels, self.sparse(), strict=True) if p is places)
        return level.cached(("restriction", first), lambda: level.restrict(places))

    def channel_values(self, channel: int) -> Tensor:
        """(nnz,) the values of one channel."""
        kind, column = self._place(channel)
        return self.sparse()[kind][1][:, column]

    def _place(self, channel: int) -> tuple[int, int]:
        """The element of ``channels`` that gives a channel of A, and which of its matrices it is."""
        return [(i, j) for i, kind in enumerate(self.channels) for j in range(kind.width)][channel]

    def once(self, level: Level, key: tuple[Hashable, ...], build: Callable[[], T]) -> T:
        """What follows from structure, built once for a level."""
        if self.needs_grad:
            self.sparse()  # here, where gradients are recorded, and not inside what is cached
        return level.cached((*key, self.channels), build)

    def current(self, level: Level, key: tuple[Hashable, ...], build: Callable[[], T]) -> T:
        """What follows from the values of A: kept until they change, and not at all where gradients flow through it."""
        if self.needs_grad or is_transformed():
            return build()
        return level.cached.current((*key, self.channels, self.dtype, self.batch.device), sources(self.batch), build)
