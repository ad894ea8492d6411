"""Batches of a pack: which graphs, in which order, on which process; and the outputs of a network on them.

The order of an epoch is a function of the seed and the number of the epoch alone, so that a run can be resumed in the
middle of one. Each process takes its share of every global batch.

What a network needs of a batch's structure (:meth:`ccn.CCN.prepare`) is made in a background thread while the network
computes the batch before. Batches of a fixed order are cached with it up to a budget of bytes; shuffled batches never
recur and are not.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from ccn.graphs.graph import Batch
from ccn.graphs.pack import Pack
from ccn.graphs.ragged import Int, ranges, starts
from ccn.learning.task import Per

__all__ = ["Batches", "outputs"]

_BUDGET = 2 << 30  # bytes
_AHEAD = 2  # batches prepared ahead of the network


@dataclass(eq=False)
class Batches:
    """Rows of a pack in batches: shuffled every epoch by a seed, or in the given order.

    Iteration yields pairs of a :class:`ccn.Batch` and the numbers of its rows. A process whose share of the last
    batch is empty gets one graph to run and no rows, since all processes must take part in every step.

    Attributes:
        pack: all graphs.
        rows: numbers of the graphs to iterate over.
        size: graphs per batch, over all processes.
        seed: of the order; None keeps that of ``rows``.
        rank, world: this process and the number of processes.
        prepare: builds what the network needs of a batch, and returns its bytes.
        per: what has a row of the outputs: graphs, their vertices, or their edges.
        budget: bytes that are left to cache batches of a fixed order.

    Example:
        >>> from ccn import Graph
        >>> pack = Pack.of([Graph(n=1), Graph(n=2), Graph(n=3)])
        >>> [(b.n, rows.tolist()) for b, rows in Batches(pack, np.arange(3), size=2)]
        [(3, [0, 1]), (3, [2])]
    """

    pack: Pack
    rows: Int
    size: int
    seed: int | None = None
    rank: int = 0
    world: int = 1
    prepare: Callable[[Batch], int] | None = None
    budget: int = _BUDGET
    per: Per = "graph"
    _cached: dict[int, Batch] = field(default_factory=dict, init=False)

    @cached_property
    def counts(self) -> Int:
        """(graphs,) rows of the outputs of each graph."""
        if self.per == "graph":
            return np.ones(len(self.pack), dtype=np.int64)
        return self.pack.sizes if self.per == "vertex" else self.pack.given_edges

    def __len__(self) -> int:
        """Batches of an epoch."""
        return -(-len(self.rows) // self.size)

    def __iter__(self) -> Iterator[tuple[Batch, Int]]:
        return self.epoch(0)

    def epoch(self, number: int, start: int = 0) -> Iterator[tuple[Batch, Int]]:
        """The batches of epoch ``number`` from the batch ``start`` on."""
        order = self.rows
        if self.seed is not None:
            order = np.random.default_rng([self.seed, number]).permutation(order)
        batches = [order[i : i + self.size] for i in range(0, len(order), self.size)]
        with ThreadPoolExecutor(1, thread_name_prefix="batches") as background:
            futures = (background.submit(self._make, i, batches[i]) for i in range(start, len(batches)))
            ahead = deque(islice(futures, _AHEAD))
            try:
                for rows in batches[start:]:
                    made = ahead.popleft().result()
                    ahead.extend(islice(futures, 1))
                    yield made, rows[self.rank :: self.world]
            finally:
                background.shutdown(cancel_futures=True)

    def _make(self, i: int, rows: Int) -> Batch:
        """Prepare the share of this process in batch i."""
        if i in self._cached:
            return self._cached[i]
        share = rows[self.rank :: self.world]
        b = self.pack.select(share if len(share) else rows[:1]).batch()
        size = 0 if self.prepare is None else self.prepare(b)
        if self.seed is None and size <= self.budget:
            self._cached[i] = b
            self.budget -= size
        return b


def outputs(net: nn.Module, batches: Batches, read: Callable[[Any], Tensor] | None = None) -> Tensor:
    """(rows, outputs) for the rows of ``batches``, in their order; zero for the rows of other processes.

    Where vertices or edges have rows, those of a graph follow each other.

    ``read`` is called with each batch: by default the network, or for example its ``embed``.
    """
    device = next(net.parameters()).device
    start = np.zeros(len(batches.counts), dtype=np.int64)
    start[batches.rows] = starts(batches.counts[batches.rows])[:-1]
    was = net.training
    net.eval()
    found: Tensor | None = None
    try:
        with torch.no_grad():
            for b, rows in batches:
                at = torch.from_numpy(ranges(start[rows], batches.counts[rows])).to(device)
                part = (read or net)(b.to(device))[: len(at)]
                if found is None:
                    found = part.new_zeros(int(batches.counts[batches.rows].sum()), part.shape[1])
                found[at] = part
    finally:
        net.train(was)
    return torch.zeros(0, 0) if found is None else found
