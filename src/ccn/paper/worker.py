"""Cells in processes of their own, which can be ended when their time is up.

A process is given cells as lines of JSON and answers with records; it keeps the data sets that it has read. It ends
when its input does, so that none outlives a parent that was killed.
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
from dataclasses import asdict
from typing import Any

from ccn.files import json_safe
from ccn.paper.cells import Cell, run_cell
from ccn.paper.records import Record

__all__ = ["stop", "work"]

_idle: list[_Process] = []
_all: set[_Process] = set()
_lock = threading.Lock()  # of both: several threads take processes and give them back


class _Process:
    """One process, as its parent sees it."""

    def __init__(self, threads: int) -> None:
        self.threads = threads
        self.errors = tempfile.TemporaryFile()  # noqa: SIM115 (as long as the process)
        names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
        self.process = subprocess.Popen(
            [sys.executable, "-W", "ignore", "-m", "ccn.paper.worker", str(threads)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.errors,
            text=True,
            env=os.environ | dict.fromkeys(names, str(threads)),
        )

    def run(self, cell: Cell, limit: float | None) -> Record:
        """The record of a cell; the process may be dead afterwards."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        over = threading.Event()

        def end() -> None:
            over.set()
            self.process.kill()

        timer = threading.Timer(limit or 0.0, end)
        began = time.monotonic()
        try:
            self.process.stdin.write(json.dumps(asdict(cell)) + "\n")
            self.process.stdin.flush()
            if self.process.stdout.readline():  # the data are read
                began = time.monotonic()
                if limit is not None:
                    timer.start()
                if line := self.process.stdout.readline():
                    return Record(**json.loads(line))
        except OSError:
            pass  # it died while we wrote
        finally:
            timer.cancel()
        seconds = time.monotonic() - began
        if over.is_set():
            return cell.record("timeout", seconds, config={"options": dict(cell.options), "time_limit": limit})
        return cell.record("failed", seconds, details={"error": self.last_words()})

    def last_words(self) -> str:
        """Why the process died, as far as it is known."""
        code = self.process.wait()
        self.errors.seek(0)
        said = self.errors.read().decode(errors="replace").strip().splitlines()
        return f"the process ended with code {code}, perhaps for want of memory" + "".join(f": {x}" for x in said[-1:])

    def end(self) -> None:
        self.process.kill()
        self.process.wait()
        for file in (self.process.stdin, self.process.stdout, self.errors):
            if file is not None:
                with contextlib.suppress(OSError):
                    file.close()


def work(cell: Cell, limit: float | None, threads: int) -> Record:
    """Do a cell in a process that is free, or in a new one."""
    own = _take(threads)
    record = own.run(cell, limit)
    with _lock:
        usable = own in _all and own.process.poll() is None and record.status != "timeout"
        if usable:
            _idle.append(own)
        else:
            _all.discard(own)
    if not usable:
        own.end()
    return record


def _take(threads: int) -> _Process:
    """A process for the caller alone."""
    with _lock:
        own = next((p for p in _idle if p.threads == threads), None)
        if own is None:
            own = _Process(threads)
            _all.add(own)
        else:
            _idle.remove(own)
        return own


def stop() -> None:
    """End all processes."""
    with _lock:
        ended = list(_all)
        _idle.clear()
        _all.clear()
    for process in ended:
        process.end()


def _serve(threads: int) -> None:
    """The life of a process."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # whatever a library prints is no answer
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides
    given: queue.Queue[str] = queue.Queue()

    def listen() -> None:
        for line in sys.stdin:
            given.put(line)
        os._exit(0)

    threading.Thread(target=listen, daemon=True).start()

    def answer(value: Any) -> None:
        answers.write(json.dumps(json_safe(value)) + "\n")
        answers.flush()

    import torch

    from ccn.training.machine import keep_memory

    keep_memory()
    torch.set_num_threads(threads)
    while True:
        cell, told = Cell(**json.loads(given.get())), threading.Event()
        began = time.monotonic()

        def begin(told: threading.Event = told) -> None:
            told.set()
            answer("began")

        try:
            record = run_cell(cell, begin)
        except Exception as error:  # whatever a method raises
            place = traceback.extract_tb(error.__traceback__)[-1]
            text = f"{type(error).__name__}: {error} ({os.path.basename(place.filename)}, line {place.lineno})"
            record = cell.record("failed", time.monotonic() - began, details={"error": text})
        if not told.is_set():
            answer("began")
        answer(asdict(record))


if __name__ == "__main__":
    _serve(int(sys.argv[1]))
