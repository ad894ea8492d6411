"""Cells in separate processes, which can be killed when their time is up.

A process reads cells as lines of JSON, and answers each with a line once its data are read and another with its record.
It keeps the data sets that it has read, and ends when its input does, so that none outlives a parent that was killed.
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

from ccn.files import json_safe
from ccn.paper.cells import Cell
from ccn.paper.records import Record

__all__ = ["stop", "work"]

_BEGAN = "began\n"  # the answer once the data are read
_all: set[_Process] = set()
_of_thread = threading.local()  # its ``process``, which runs one cell after another


class _Process:
    """A process as seen from its parent."""

    def __init__(self, threads: int) -> None:
        self.threads = threads
        self.errors = tempfile.TemporaryFile()  # noqa: SIM115 (closed with the process)
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
        timed_out = threading.Event()

        def end() -> None:
            timed_out.set()
            self.process.kill()

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
        return cell.record("failed", seconds, details={"error": self.cause_of_death()})

    def cause_of_death(self) -> str:
        """Why the process died, as far as that is known."""
        code = self.process.wait()
        self.errors.seek(0)
        last = self.errors.read().decode(errors="replace").strip().splitlines()[-1:]
        return ": ".join([f"the process ended with code {code}, perhaps for lack of memory", *last])

    def end(self) -> None:
        self.process.kill()
        self.process.wait()
        for file in (self.process.stdin, self.process.stdout, self.errors):
            if file is not None:
                with contextlib.suppress(OSError):
                    file.close()


def work(cell: Cell, limit: float | None, threads: int) -> Record:
    """Run a cell in the process of this thread."""
    process: _Process | None = getattr(_of_thread, "process", None)
    if process is None or process not in _all or process.threads != threads:
        if process is not None:
            _end(process)
        process = _of_thread.process = _Process(threads)
        _all.add(process)
    record = process.run(cell, limit)
    if record.status == "timeout" or process.process.poll() is not None:
        _end(process)
    return record


def stop() -> None:
    """End all processes."""
    for process in list(_all):
        _end(process)


def _end(process: _Process) -> None:
    _all.discard(process)
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
        os._exit(0)

    def answer(line: str) -> None:
        answers.write(line)
        answers.flush()

    threading.Thread(target=listen, daemon=True).start()
    import torch

    from ccn.paper.experiment import run_cell
    from ccn.training.machine import keep_memory

    keep_memory()
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
