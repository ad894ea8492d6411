"""Batches of a pack: which graphs, in which order, on which process.

The order of an epoch is a function of the seed and the number of the epoch alone, so that a run can go on
in the middle of one. Of every global batch each process takes its share.

What a network needs of a batch's structure (:meth:`ccn.CCN.prepare`) is made in a background thread while the
network works on the batch before. Batches that come again as they are, those of a fixed order, are kept with it up
to a budget of bytes; in another order every epoch no batch comes again, and what is kept is the pack alone.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from ccn.graphs.graph import Batch
from ccn.graphs.pack import Pack
from ccn.graphs.ragged import Int

__all__ = ["BUDGET", "Batches"]

BUDGET = 2 << 30  # bytes
_AHEAD = 2  # batches prepared ahead of the network


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
        prepare: builds what the network needs of a batch, and returns its bytes.
        budget: bytes up to which batches of a fixed order are kept.

    Example:
        >>> from ccn import Graph
        >>> pack = Pack.of([Graph(n=1), Graph(n=2), Graph(n=3)])
        >>> [(b.n, rows.tolist()) for b, rows in Batches(pack, np.arange(3), size=2)]
        [(3, [0, 1]), (3, [2])]

    """

    def __init__(
        self,
        pack: Pack,
        rows: Int,
        size: int,
        seed: int | None = None,
        rank: int = 0,
        world: int = 1,
        prepare: Callable[[Batch], int] | None = None,
        budget: int = BUDGET,
    ) -> None:
        self.pack, self.rows, self.size, self.seed = pack, np.asarray(rows), size, seed
        self.rank, self.world = rank, world
        self._prepare, self._room = prepare, budget
        self._kept: dict[int, Batch] = {}

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

        def share(i: int) -> Int:
            return order[i * self.size : (i + 1) * self.size][self.rank :: self.world]

        with ThreadPoolExecutor(1, thread_name_prefix="batches") as background:
            ahead = deque(background.submit(self._made, i, order) for i in range(start, min(start + _AHEAD, len(self))))
            try:
                for i in range(start, len(self)):
                    made = ahead.popleft().result()
                    if i + _AHEAD < len(self):
                        ahead.append(background.submit(self._made, i + _AHEAD, order))
                    yield made, share(i)
            finally:
                background.shutdown(cancel_futures=True)

    def _made(self, i: int, order: Int) -> Batch:
        """Of batch i the share of this process, prepared."""
        if i in self._kept:
            return self._kept[i]
        together = order[i * self.size : (i + 1) * self.size]
        share = together[self.rank :: self.world]
        b = self.pack.select(share if len(share) else together[:1]).batch()
        size = 0 if self._prepare is None else self._prepare(b)
        if self.seed is None and size <= self._room:
            self._kept[i] = b
            self._room -= size
        return b
