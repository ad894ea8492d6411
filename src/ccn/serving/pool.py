"""Requests on their way to worker processes: which goes next, which go together, and what happens when one fails.

A free worker takes the request that is due first, and with it all that wait for the same answer of the same model, as
one batch: nobody waits for company, but the longer the queue, the larger the batches. A long request is cut into
slices, each due a little later than the one before, so that short requests overtake it. Explanations never occupy all
workers if there are several. If a batch fails, its requests are tried again one by one, so that only the culprit is
refused; so is one whose process died, which something else may have killed.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ccn.errors import CCNError
from ccn.progress import log, say
from ccn.serving.limits import Limits
from ccn.serving.metrics import Metrics
from ccn.serving.worker import LostError, RefusedError, TooLongError, Worker

__all__ = ["Answered", "BusyError", "Pool"]

_BATCH = 256  # rows of one batch
_LATER = 0.25  # seconds by which the next slice of a long request is due later
_SLOW = ("explain",)


class BusyError(CCNError):
    """There are more requests than can be answered in time."""


@dataclass(frozen=True)
class Answered:
    """The answers to a request's molecules, and the version of the model that gave them."""

    version: str
    rows: list[dict[str, Any]]


@dataclass(eq=False)
class _Item:
    kind: str
    model: str
    molecules: Sequence[Mapping[str, Any]]
    options: Mapping[str, Any]
    due: float
    future: asyncio.Future[tuple[str, list[dict[str, Any]]]]
    alone: bool = False

    @property
    def group(self) -> Hashable:
        """What requests of one batch have in common."""
        return (self.kind, self.model, tuple(sorted(self.options.items())))


@dataclass(frozen=True)
class _Version:
    name: str
    key: str
    path: str
    training: bool

    async def load(self, worker: Worker) -> Any:
        """The description of the model, once the worker has read it."""
        return await worker.ask({"do": "load", **vars(self)})


@dataclass(eq=False)
class Pool:
    """Worker processes with the same models, and the requests that wait for them.

    Attributes:
        count: processes.
        limits: of requests.
        metrics: where work is counted.
    """

    count: int
    limits: Limits
    metrics: Metrics
    workers: list[Worker] = field(default_factory=list)
    waiting: list[_Item] = field(default_factory=list)
    _current: dict[str, _Version] = field(default_factory=dict)
    _free: list[Worker] = field(default_factory=list)
    _reserved: dict[Worker, asyncio.Future[None]] = field(default_factory=dict)
    _running: set[asyncio.Task[None]] = field(default_factory=set)
    _slow: int = 0

    async def start(self) -> None:
        """Start the processes, which have no models yet."""
        self.workers = [Worker() for _ in range(self.count)]
        await asyncio.gather(*(worker.start() for worker in self.workers))
        self._free = list(self.workers)

    async def close(self) -> None:
        """End the processes; what is waiting is refused."""
        for item in self.waiting:
            if not item.future.done():
                item.future.set_exception(BusyError("the server is shutting down"))
        self.waiting.clear()
        for task in list(self._running):
            task.cancel()
        await asyncio.gather(*self._running, return_exceptions=True)
        await asyncio.gather(*(worker.stop() for worker in self.workers))

    @property
    def alive(self) -> int:
        """Processes that are running."""
        return sum(worker.alive for worker in self.workers)

    def path(self, model: str) -> str | None:
        """The file of the version of a model that answers now; None if there is no such model."""
        version = self._current.get(model)
        return None if version is None else version.path

    async def load(self, model: str, key: str, path: str, training: bool) -> dict[str, Any]:
        """Give all processes a version of a model, one process after another, then let it answer; its description.

        Meanwhile requests are answered by the version before. If the first process refuses it, nothing changes.
        """
        described: dict[str, Any] = {}
        version = _Version(model, key, path, training)
        for worker in list(self.workers):
            await self._reserve(worker)
            try:
                described = await version.load(worker)
            except LostError:
                await self._restart(worker)
                raise
            finally:
                self._release(worker)
        self._current[model] = version
        return described

    async def ask(self, kind: str, model: str, molecules: Sequence[Mapping[str, Any]], **options: Any) -> Answered:
        """The answer of a model to some molecules.

        Raises:
            BusyError: there are too many requests, or this one has waited for too long.
            RefusedError: it cannot be answered.
            LostError: it took too long or killed its process.
        """
        if len(self.waiting) >= self.limits.waiting:
            raise BusyError(f"{len(self.waiting)} requests are waiting; send this one again later")
        loop, now = asyncio.get_running_loop(), time.monotonic()
        size = 1 if kind in _SLOW else _BATCH
        items = []
        for k, start in enumerate(range(0, len(molecules), size)):
            part = molecules[start : start + size]
            items.append(_Item(kind, model, part, options, now + _LATER * k, loop.create_future()))
        self.waiting += items
        timers = [loop.call_later(self.limits.seconds * (1 + k / 4), self._expire, i) for k, i in enumerate(items)]
        self._pump()
        try:
            found = [await item.future for item in items]
        finally:
            for item, timer in zip(items, timers, strict=True):
                timer.cancel()
                if item.future.done() and not item.future.cancelled():
                    item.future.exception()  # seen, though another part failed first
                item.future.cancel()
            self.waiting = [item for item in self.waiting if not item.future.done()]
        return Answered(found[-1][0], [row for _, rows in found for row in rows])

    def _expire(self, item: _Item) -> None:
        if item in self.waiting and not item.future.done():
            item.future.set_exception(BusyError("no worker was free in time; send the request again later"))

    # Which worker does what.

    def _pump(self) -> None:
        """Give waiting requests to free workers."""
        while self._free and (items := self._next()):
            worker = self._free.pop()
            task = asyncio.create_task(self._run(worker, items))
            self._running.add(task)
            task.add_done_callback(self._running.discard)

    def _next(self) -> list[_Item]:
        """The request that is due first and those that go with it, taken from the queue."""
        self.waiting = [item for item in self.waiting if not item.future.done()]
        full = self._slow >= max(1, self.count - 1)
        ready = [item for item in self.waiting if not (full and item.kind in _SLOW)]
        if not ready:
            return []
        ready.sort(key=lambda item: item.due)
        chosen: list[_Item] = []
        first, rows = ready[0], 0
        for item in ready:
            together = item is first or not (first.alone or item.alone or first.kind in _SLOW)
            if together and item.group == first.group and (not chosen or rows + len(item.molecules) <= _BATCH):
                chosen.append(item)
                rows += len(item.molecules)
        self.waiting = [item for item in self.waiting if item not in chosen]
        self._slow += first.kind in _SLOW
        return chosen

    async def _run(self, worker: Worker, items: list[_Item]) -> None:
        first, began = items[0], time.monotonic()
        molecules = [row for item in items for row in item.molecules]
        version = self._current[first.model]
        task = {"do": first.kind, "name": version.name, "key": version.key, "molecules": molecules, **first.options}
        try:
            rows = await worker.ask({**task, "atoms": self.limits.atoms}, self.limits.seconds)
        except (RefusedError, LostError) as error:
            self._failed(items, error)
        except Exception as error:  # an answer that is none; whoever asked must not wait for ever
            say(f"ccn serve: a worker process gave no answer: {type(error).__name__}: {error}")
            await worker.stop()
            self._failed(items, LostError("internal error; the log of the server has more"))
        else:
            at = 0
            for item in items:
                mine = rows[at : at + len(item.molecules)]
                at += len(item.molecules)
                if not item.future.done():
                    item.future.set_result((version.key, mine))
        finally:
            self._slow -= first.kind in _SLOW
        self.metrics.batch(first.kind, len(items), len(molecules), time.monotonic() - began)
        if not worker.alive:
            await self._restart(worker)
        self._release(worker)

    def _failed(self, items: list[_Item], error: CCNError) -> None:
        died = isinstance(error, LostError) and not isinstance(error, TooLongError)
        for item in items:
            if len(items) > 1 or (died and not item.alone):
                item.alone = True
                self.waiting.append(item)
            elif not item.future.done():
                item.future.set_exception(error)

    def _release(self, worker: Worker) -> None:
        if (waiting := self._reserved.pop(worker, None)) is not None:
            waiting.set_result(None)
            return
        self._free.append(worker)
        self._pump()

    async def _reserve(self, worker: Worker) -> None:
        """Wait until a worker is free and keep it from requests."""
        if worker in self._free:
            self._free.remove(worker)
            return
        self._reserved[worker] = asyncio.get_running_loop().create_future()
        await self._reserved[worker]

    async def _restart(self, worker: Worker) -> None:
        """A new process with the current models in place of one that has ended."""
        pause = 1.0
        while True:
            self.metrics.restarted()
            log("a worker process ended and is started again")
            try:
                await worker.start()
                for version in self._current.values():
                    await version.load(worker)
                return
            except (CCNError, OSError) as error:
                say(f"ccn serve: a worker process cannot be started ({error}); the next attempt is in {pause:g} s")
                await worker.stop()
                await asyncio.sleep(pause)
                pause = min(60.0, 2 * pause)
