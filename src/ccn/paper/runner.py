"""Many cells, several at a time, in processes of this machine or on a Dask cluster.

Every record is written as soon as its cell has ended, so that an interrupted run loses only running cells. Cells run in
separate processes, which can be killed when their time is up: ``python -m ccn.paper.runner`` reads cells as lines of
JSON, and answers each with a line once its data are read and another with its record. It keeps the data sets that it
has read, and ends when its input does, so that none outlives a parent that was killed.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import signal
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ccn.files import json_safe
from ccn.paper.cells import Cell
from ccn.paper.records import Key, Record, append, newest, read

__all__ = ["Board", "run", "stop", "work"]

_BEGAN = "began\n"  # the answer of a process once the data are read
_processes: set[_Process] = set()
_of_thread = threading.local()  # its ``process``, which runs one cell after another


class Board:
    """The progress of a run.

    Attributes:
        cells: all cells of the run.
        state: of each cell: ``to do``, ``running``, or the status of its record.
        last: the newest record.
        failures: the records of cells that failed in this run.
        at_once: how many cells run at the same time.
    """

    def __init__(
        self, cells: Sequence[Cell], records: Sequence[Record], *, again: bool = False, limit: float | None = None
    ) -> None:
        self.cells = cells
        known = {r.key: r for r in records}
        ended = {k: r.status for k, r in known.items() if not again and _settled(r, limit)}
        self.state: dict[Key, str] = {c.key: ended.get(c.key, "to do") for c in cells}
        self.last: Record | None = None
        self.failures: list[Record] = []
        self.at_once = 1
        self.began = time.monotonic()
        self._seconds: dict[tuple[str, str], list[float]] = defaultdict(list)
        for r in known.values():
            self._seconds[r.dataset, r.method].append(r.seconds)

    @property
    def left(self) -> list[Cell]:
        """The cells that are to do."""
        return [c for c in self.cells if self.state[c.key] == "to do"]

    def counts(self) -> Counter[str]:
        """How many cells are in each state."""
        return Counter(self.state[c.key] for c in self.cells)

    def ended(self, record: Record) -> None:
        """Take in the record of a cell that has ended."""
        self.state[record.key], self.last = record.status, record
        if record.status == "failed":
            self.failures.append(record)
        self._seconds[record.dataset, record.method].append(record.seconds)

    def seconds_left(self, limit: float | None = None) -> float | None:
        """Estimated from the mean of other splits, or from the cost of a cell; None while nothing has ended."""
        mean = {key: sum(s) / len(s) for key, s in self._seconds.items()}
        costs = {(c.dataset, c.method): c.cost for c in self.cells}
        measured = [(mean[key], costs[key]) for key in costs if key in mean]
        if not measured:
            return None
        rate = sum(m for m, _ in measured) / sum(c for _, c in measured)
        remaining = [c for c in self.cells if self.state[c.key] in ("to do", "running")]
        each = [mean.get((c.dataset, c.method), rate * c.cost) for c in remaining]
        return sum(e if limit is None else min(e, limit) for e in each) / self.at_once


def run(
    cells: Sequence[Cell],
    results: Path,
    *,
    jobs: int = 1,
    threads: int = 1,
    limit: float | None = None,
    again: bool = False,
    cluster: str | None = None,
    watch: Callable[[Board], None] = lambda board: None,
) -> Board:
    """Run the cells that have no record, those that failed, and those that timed out with a shorter limit.

    Args:
        cells: run in this order.
        results: folder of the records; a cell that is done there is not run again.
        jobs: cells at a time.
        threads: of each cell.
        limit: seconds after which a cell is stopped and recorded as timed out.
        again: run all cells, whatever the records say.
        cluster: address of a Dask scheduler, or ``local``.
        watch: called whenever a cell begins or ends.
    """
    before = read(results)
    board = Board(cells, before, again=again, limit=limit)
    known = {r.key: r for r in before}
    waiting = deque(board.left)
    running: dict[Future[Record], Cell] = {}
    with _places(cluster, min(jobs, max(1, len(waiting)))) as (submit, board.at_once):
        while waiting or running:
            while waiting and len(running) < board.at_once:
                cell = waiting.popleft()
                found = newest(cell.file(results), cell.key)
                if found is not None and found != known.get(cell.key) and _settled(found, limit):
                    board.ended(found)  # another command has run it in the meantime
                    continue
                board.state[cell.key] = "running"
                running[submit(work, cell, limit, threads)] = cell
            watch(board)
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                cell = running.pop(future)
                record = _result(future, cell)
                append(cell.file(results), record)
                board.ended(record)
                watch(board)
    return board


def _settled(record: Record, limit: float | None) -> bool:
    """Whether a cell with this record need not run: it is done, or timed out and the limit is no longer now."""
    if record.status == "timeout":
        return limit is not None and limit <= record.seconds
    return record.status == "done"


def _result(future: Future[Record], cell: Cell) -> Record:
    try:
        return future.result()
    except Exception as error:  # of the cluster; errors of the cell are in its record
        return cell.record("failed", 0.0, details={"error": f"{type(error).__name__}: {error}"})


@contextlib.contextmanager
def _places(cluster: str | None, jobs: int) -> Iterator[tuple[Callable[..., Future[Record]], int]]:
    """A function that submits work, and how many cells run at once."""
    if cluster is None:
        pool = ThreadPoolExecutor(jobs)
        try:
            yield pool.submit, jobs
        finally:
            stop()
            pool.shutdown(cancel_futures=True)
        return
    from ccn.runs.workers import connected

    with connected(cluster, jobs) as client:
        submit: Any = client.get_executor(pure=False).submit
        try:
            yield submit, max(1, sum(client.nthreads().values()))
        finally:
            client.run(stop)


class _Process:
    """A process as seen from its parent."""

    def __init__(self, threads: int) -> None:
        self.threads = threads
        self.errors = tempfile.TemporaryFile()  # noqa: SIM115 (closed with the process)
        names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
        self.process = subprocess.Popen(
            [sys.executable, "-W", "ignore", "-m", "ccn.paper.runner", str(threads)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.errors,
            text=True,
            start_new_session=True,  # a group of its own, so that what a cell has started ends with it
            env=os.environ | dict.fromkeys(names, str(threads)),
        )

    def run(self, cell: Cell, limit: float | None) -> Record:
        """The record of a cell; the process may be dead afterwards."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        timed_out = threading.Event()

        def end() -> None:
            timed_out.set()
            self._kill()

        timer = threading.Timer(limit or 0.0, end)
        began = time.monotonic()
        try:
            self.process.stdin.write(json.dumps(asdict(cell)) + "\n")
            self.process.stdin.flush()
            answer = self.process.stdout.readline()
            if answer == _BEGAN:
                began = time.monotonic()
                if limit is not None:
                    timer.start()
                answer = self.process.stdout.readline()
            if answer:
                return Record(**json.loads(answer))
        except OSError:
            pass  # it died while we wrote
        finally:
            timer.cancel()
        seconds = time.monotonic() - began
        if timed_out.is_set():
            return cell.record("timeout", seconds, config={"options": dict(cell.options), "time_limit": limit})
        return cell.record("failed", seconds, details={"error": self._cause_of_death()})

    def _cause_of_death(self) -> str:
        code = self.process.wait()
        self.errors.seek(0)
        last = self.errors.read().decode(errors="replace").strip().splitlines()[-1:]
        return ": ".join([f"the process ended with code {code}, perhaps for lack of memory", *last])

    def _kill(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            if hasattr(os, "killpg"):
                os.killpg(self.process.pid, signal.SIGKILL)
            else:
                self.process.kill()

    def end(self) -> None:
        self._kill()
        self.process.wait()
        for file in (self.process.stdin, self.process.stdout, self.errors):
            if file is not None:
                with contextlib.suppress(OSError):
                    file.close()


def work(cell: Cell, limit: float | None, threads: int) -> Record:
    """Run a cell in the process of this thread."""
    process: _Process | None = getattr(_of_thread, "process", None)
    if process is None or process not in _processes or process.threads != threads:
        if process is not None:
            _end(process)
        process = _of_thread.process = _Process(threads)
        _processes.add(process)
    record = process.run(cell, limit)
    if record.status == "timeout" or process.process.poll() is not None:
        _end(process)
    return record


def stop() -> None:
    """End all processes."""
    for process in list(_processes):
        _end(process)


def _end(process: _Process) -> None:
    _processes.discard(process)
    process.end()


def _serve(threads: int) -> None:
    """What the process does: run cells until its input ends."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # whatever a library prints is not an answer
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides
    lines: queue.Queue[str] = queue.Queue()

    def listen() -> None:
        for line in sys.stdin:
            lines.put(line)
        if hasattr(os, "killpg") and os.getpgrp() == os.getpid():
            os.killpg(0, signal.SIGKILL)  # this process, and what its cell has started
        os._exit(0)

    def answer(line: str) -> None:
        answers.write(line)
        answers.flush()

    threading.Thread(target=listen, daemon=True).start()
    import torch

    from ccn.engine.memory import keep_freed_memory
    from ccn.paper.experiment import run_cell

    keep_freed_memory()
    torch.set_num_threads(threads)
    while True:
        cell, start = Cell(**json.loads(lines.get())), time.monotonic()
        try:
            record = run_cell(cell, lambda: answer(_BEGAN))
        except Exception as error:  # whatever a method raises
            place = traceback.extract_tb(error.__traceback__)[-1]
            text = f"{type(error).__name__}: {error} ({os.path.basename(place.filename)}, line {place.lineno})"
            record = cell.record("failed", time.monotonic() - start, details={"error": text})
        answer(json.dumps(json_safe(asdict(record))) + "\n")


if __name__ == "__main__":
    _serve(int(sys.argv[1]))
