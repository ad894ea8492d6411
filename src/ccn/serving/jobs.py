"""Tables that are uploaded, answered in the background and fetched: a folder on disk for each.

A folder has the table, ``job.json`` with what was asked and how far it is, and the answer. Nothing of a client names a
file: a job's name is drawn at random, which also keeps it from other clients. A job is carried out by whoever holds the
lock of its folder, which ends with the process; so several servers may share the folders, and a server that was killed
goes on, when it starts again, with the rows that were not yet written.
"""

from __future__ import annotations

import asyncio
import json
import re
import secrets
import shutil
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, Self

from filelock import FileLock, Timeout

from ccn.errors import CCNError
from ccn.files import write_json
from ccn.progress import say
from ccn.serving.limits import Limits
from ccn.serving.metrics import Metrics
from ccn.serving.pool import BusyError
from ccn.serving.worker import LostError, RefusedError, TooLongError, Worker

__all__ = ["ENDED", "Input", "Job", "Jobs", "OutputKind", "TooLargeError"]

Input = Literal["csv", "tsv", "smi", "sdf"]
"""Kinds of tables that are taken."""
OutputKind = Literal["csv", "tsv", "xlsx", "sdf", "html"]
"""Kinds of tables that are given."""
ENDED = ("done", "failed", "cancelled")
_STATE = Literal["waiting", "running", "done", "failed", "cancelled"]
_NAME = re.compile(r"[A-Za-z0-9_-]{22}")
_EVERY = 2.0  # seconds between looks at what is waiting
_OFTEN = 0.5  # seconds between records of progress
_KEPT = 10  # times as many jobs are kept as may wait
_ATTEMPTS = 3  # of a job whose process dies


class TooLargeError(CCNError):
    """More bytes or rows than the server allows."""


@dataclass(frozen=True)
class Job:
    """An upload; a client sees the fields of :class:`ccn.serving.schemas.JobState`.

    Attributes:
        id: its name.
        model: by which it is answered.
        state: where it is.
        created: seconds since 1970.
        rows: of the table, as far as lines tell before it is read.
        done: rows that are answered.
        without: rows without an answer, when it is done.
        error: why it failed.
        input, output: what kinds of file.
        options: what was asked.
        attempts: how often it was begun.
    """

    id: str
    model: str
    state: _STATE
    created: float
    rows: int = 0
    done: int = 0
    without: int = 0
    error: str = ""
    input: str = "csv"
    output: str = "csv"
    options: Mapping[str, Any] = field(default_factory=dict)
    attempts: int = 0

    @classmethod
    def read(cls, folder: Path) -> Self | None:
        """The job in a folder, or None."""
        try:
            return cls(**json.loads((folder / "job.json").read_text()))
        except (OSError, ValueError, TypeError):
            return None


@dataclass(eq=False)
class Jobs:
    """All jobs in a folder, and the process that carries one out after another; it is started for the first.

    Attributes:
        folder: of their folders.
        limits: of uploads.
        metrics: where they are counted.
        model_at: the file of a model by its name; None for one that is not served.
    """

    folder: Path
    limits: Limits
    metrics: Metrics
    model_at: Callable[[str], str | None]
    _worker: Worker = field(default_factory=lambda: Worker())
    _cancelled: set[str] = field(default_factory=set)
    _now: tuple[str, asyncio.Task[Any]] | None = None
    _wake: asyncio.Event = field(default_factory=asyncio.Event)

    def _at(self, name: str) -> Path | None:
        """The folder of a job; None for what cannot be the name of one."""
        return self.folder / name if _NAME.fullmatch(name) else None

    def find(self, name: str) -> Job | None:
        """The job of this name."""
        folder = self._at(name)
        return None if folder is None else Job.read(folder)

    def result(self, name: str) -> Path | None:
        """The file with the answer of a job that is done."""
        job = self.find(name)
        path = None if job is None else self.folder / name / f"output.{job.output}"
        return path if path is not None and job is not None and job.state == "done" and path.is_file() else None

    def everything(self) -> list[Job]:
        """All jobs, the oldest first."""
        found = [Job.read(folder) for folder in self.folder.iterdir() if _NAME.fullmatch(folder.name)]
        return sorted((job for job in found if job is not None), key=lambda job: (job.created, job.id))

    async def add(
        self, model: str, kind: str, output: str, content: AsyncIterator[bytes], options: Mapping[str, Any]
    ) -> Job:
        """Store a table as it arrives, and begin soon.

        Raises:
            TooLargeError: it has too many bytes or rows.
            BusyError: too many jobs are waiting or kept.
        """
        known = await asyncio.to_thread(self.everything)
        waiting = sum(job.state not in ENDED for job in known)
        if waiting >= self.limits.jobs or len(known) >= _KEPT * self.limits.jobs:
            raise BusyError(f"{waiting} uploads are waiting and {len(known)} are kept; send this one again later")
        name = secrets.token_urlsafe(16)
        folder = self.folder / name
        folder.mkdir(mode=0o700)
        try:
            rows, size, last = 0, 0, b"\n"
            with (folder / f"input.{kind}").open("wb") as file:
                async for piece in content:
                    size += len(piece)
                    rows += piece.count(b"$$$$" if kind == "sdf" else b"\n")
                    last = piece[-1:] or last
                    if size > self.limits.upload:
                        raise TooLargeError(f"more than {self.limits.upload:,} bytes; send the table in parts")
                    if rows > self.limits.upload_rows:
                        raise TooLargeError(f"more than {self.limits.upload_rows:,} rows; send the table in parts")
                    file.write(piece)
            rows += kind != "sdf" and last != b"\n"
            rows -= kind in ("csv", "tsv") and rows > 0
            job = Job(name, model, "waiting", time.time(), rows, input=kind, output=output, options=options)
            self._keep(job)
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise
        self._wake.set()
        return job

    def _keep(self, job: Job) -> None:
        write_json(self.folder / job.id / "job.json", asdict(job))

    async def cancel(self, name: str) -> bool:
        """End a job and remove all of it; False if there is none."""
        folder, job = self._at(name), self.find(name)
        if folder is None or job is None:
            return False
        self._cancelled.add(name)
        if job.state not in ENDED:
            self._keep(replace(job, state="cancelled"))
        if self._now is not None and self._now[0] == name:
            self._now[1].cancel()
            await asyncio.gather(self._now[1], return_exceptions=True)
        await asyncio.to_thread(shutil.rmtree, folder, True)
        return True

    async def work(self) -> None:
        """Carry out jobs and remove old ones, until cancelled."""
        try:
            await self._work()
        finally:
            await self._worker.stop()

    async def _work(self) -> None:
        while True:
            self._wake.clear()
            busy = False
            await asyncio.to_thread(self._tidy)
            for job in await asyncio.to_thread(self.everything):
                if job.state not in ENDED and self.model_at(job.model) is not None:
                    busy |= await self._begin(job.id)
            if not busy:
                with suppress(TimeoutError):
                    async with asyncio.timeout(_EVERY):
                        await self._wake.wait()

    def _tidy(self) -> None:
        """Remove jobs that ended long ago, and uploads that broke off."""
        for folder in self.folder.iterdir():
            job = Job.read(folder) if _NAME.fullmatch(folder.name) else None
            with suppress(OSError):
                since = folder.stat().st_mtime if job is None else job.created
                old = time.time() - since > 3600 * self.limits.kept
                if old and _NAME.fullmatch(folder.name) and (job is None or job.state in ENDED):
                    shutil.rmtree(folder, ignore_errors=True)

    async def _begin(self, name: str) -> bool:
        """Carry a job out unless another server does; whether this one did."""
        lock = FileLock(self.folder / name / "lock", timeout=0, thread_local=False)
        try:
            lock.acquire()
        except (Timeout, OSError):
            return False
        try:
            job = self.find(name)
            if job is None or job.state in ENDED:
                return False
            task = asyncio.create_task(self._carry_out(job))
            self._now = (name, task)
            try:
                await asyncio.shield(task)
            except asyncio.CancelledError:
                if not task.cancelled():  # the server is shutting down
                    task.cancel()
                    await asyncio.gather(task, return_exceptions=True)
                    raise
            return True
        finally:
            self._now = None
            lock.release()

    async def _carry_out(self, job: Job) -> None:
        folder, worker, written = self.folder / job.id, self._worker, time.monotonic()
        job = replace(job, state="running", attempts=job.attempts + 1)
        self._keep(job)

        def tell(done: int) -> None:
            nonlocal job, written
            job = replace(job, done=done)
            if time.monotonic() - written > _OFTEN and job.id not in self._cancelled:
                written = time.monotonic()
                self._keep(job)

        output = folder / f"output.{job.output}"
        task = {
            "do": "job",
            "model": self.model_at(job.model),
            "source": str(folder / f"input.{job.input}"),
            "output": str(output),
            **job.options,
        }
        begun = output.with_name(f"{output.name}.part").exists()
        try:
            if not worker.alive:
                await worker.start()
            try:
                found = await worker.ask({**task, "resume": begun}, self.limits.upload_seconds, tell)
            except RefusedError:  # the model was replaced, or what was written is damaged
                if not begun:
                    raise
                found = await worker.ask({**task, "resume": False}, self.limits.upload_seconds, tell)
            job = replace(job, state="done", done=found["rows"], rows=found["rows"], without=found["without"])
        except RefusedError as error:
            job = replace(job, state="failed", error=str(error).replace(f"{folder}/", ""))
        except LostError as error:
            say(f"ccn serve: the process of an upload ended: {error}")
            again = job.attempts < _ATTEMPTS and not isinstance(error, TooLongError)
            job = replace(job, state="waiting" if again else "failed", error="" if again else str(error))
        except OSError as error:
            say(f"ccn serve: an upload cannot be answered: {error}")
            job = replace(job, state="failed", error="the server cannot answer it now; send it again later")
        if job.id not in self._cancelled:
            with suppress(OSError, CCNError):  # the disk may be full, or the folder gone
                self._keep(job)
        if job.state in ENDED:
            self.metrics.job(job.state)
