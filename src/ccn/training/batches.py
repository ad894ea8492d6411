"""Batches of a pack: which graphs, in which order, on which process.

The order of an epoch is a function of the seed and the number of the epoch alone, so that a run can go on
in the middle of one. Of every global batch each process takes its share.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ccn.graph import Batch
from ccn.pack import Pack
from ccn.ragged import Int

__all__ = ["Batches"]


class Batches:
    """Chosen rows of a pack in batches; with a seed in another order every epoch, else as given.

    Iterating gives pairs of a :class:`ccn.Batch` and the numbers of its rows. A process whose share of the last
    batch is empty gets one graph to run and no rows, since all processes must take part in every step.

    Args:
        pack: all graphs.
        rows: the numbers of those to go through.
        size: graphs of a batch, over all processes.
        seed: of the order; None keeps the rows in theirs.
        rank, world: this process and the number of processes.

    Example:
        >>> from ccn import Graph
        >>> pack = Pack.of([Graph(n=1), Graph(n=2), Graph(n=3)])
        >>> [(b.n, rows.tolist()) for b, rows in Batches(pack, np.arange(3), size=2)]
        [(3, [0, 1]), (3, [2])]

    """

    def __init__(
        self, pack: Pack, rows: Int, size: int, seed: int | None = None, rank: int = 0, world: int = 1
    ) -> None:
        self.pack, self.rows, self.size, self.seed = pack, np.asarray(rows), size, seed
        self.rank, self.world = rank, world

    def __len__(self) -> int:
        """Batches of an epoch."""
        return -(-len(self.rows) // self.size)

    def __iter__(self) -> Iterator[tuple[Batch, Int]]:
        return self.epoch(0)

    def order(self, epoch: int) -> Int:
        """The rows in the order of this epoch."""
        if self.seed is None:
            return self.rows
        return np.random.default_rng([self.seed, epoch]).permutation(self.rows)

    def epoch(self, number: int, start: int = 0) -> Iterator[tuple[Batch, Int]]:
        """The batches of epoch ``number`` from the batch ``start`` on."""
        order = self.order(number)
        for i in range(start, len(self)):
            together = order[i * self.size : (i + 1) * self.size]
            share = together[self.rank :: self.world]
            yield self._prepare(share if len(share) else together[:1]), share

    def _prepare(self, rows: Int) -> Batch:
        return self.pack.select(rows).batch()
