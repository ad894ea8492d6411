"""Worker processes that try inputs, watched from outside: time, memory and sudden death."""

from __future__ import annotations

import faulthandler
import multiprocessing
import os
import resource
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

from tests.fuzz.trials import SPENT, Fault, occupied

SECONDS = 20  # of processor time, for one command
PATIENCE = 120  # seconds by the clock, for all that is tried with an input
MEMORY = 2 << 30  # bytes that a process may occupy in a command
WATCHED = 3 << 30  # and with what counts its rows, seen from outside
ADDRESSES = 12 << 30  # bytes of address space beyond those at the start, so that no input can take the machine down
FAILURES = ("traceback", "exit 3", "crash", "hang", "memory", "rows")

Job = tuple[str, int]


def _work(link: Connection, seed: int, folder: Path) -> None:
    """A worker: it tries what it is sent, and says how it went."""
    sys.stdout = sys.stderr = (folder / "log").open("w")
    os.dup2(sys.stderr.fileno(), 2)
    import torch

    import ccn.engine.cpu  # noqa: F401
    from tests.fuzz.inputs import KINDS, make

    torch.set_num_threads(1)
    space = occupied(what="VmSize") + ADDRESSES
    resource.setrlimit(resource.RLIMIT_AS, (space, space))
    faulthandler.enable(sys.stderr)
    link.send(None)
    while (job := link.recv()) is not None:
        path = make(seed, job[0], job[1], folder / "input")
        shutil.rmtree(folder / "work", ignore_errors=True)
        (folder / "work").mkdir()
        os.chdir(folder / "work")
        os.truncate(2, 0)
        faulthandler.dump_traceback_later(PATIENCE, file=sys.stderr)
        link.send("ready")
        SPENT.clear()
        said: dict[str, Any] = {"failure": "", "text": "", "read": False, "rows": 0}
        try:
            went = KINDS[job[0]].trial(path)
            said |= {"read": went.read, "rows": went.rows}
        except Fault as fault:
            said |= {"failure": fault.args[0], "text": fault.args[1]}
        said |= {"seconds": max(s for s, _ in SPENT), "memory": max(m for _, m in SPENT)}
        faulthandler.cancel_dump_traceback_later()
        if said["seconds"] > SECONDS:
            said["failure"] = "hang"
        elif said["memory"] > MEMORY:
            said["failure"] = "memory"
        link.send(said)


@dataclass
class _Worker:
    """A process, the link to it, and what it is doing since when; not yet if ``began`` is None."""

    folder: Path
    process: Any
    link: Connection
    job: Job | None = None
    began: float | None = None

    def overdue(self) -> str:
        """Why it must be stopped, or nothing."""
        try:
            if occupied(self.process.pid) > WATCHED:
                return "memory"
        except OSError:  # it is gone
            return ""
        return "hang" if self.began is not None and time.monotonic() - self.began > PATIENCE + 2 else ""

    def stop(self) -> str:
        """End it; what it had written to standard error."""
        self.process.kill()
        self.process.join()
        return (self.folder / "log").read_text("utf-8", "replace")[-4000:]


@dataclass
class _Counts:
    seed: int
    failures: Path
    kinds: dict[str, Counter[str]] = field(default_factory=dict)
    failed: Counter[str] = field(default_factory=Counter)
    seconds: float = 0.0
    memory: int = 0

    def add(self, job: Job, said: dict[str, Any], worker: _Worker) -> None:
        """Count one input; keep it if it failed."""
        of = self.kinds.setdefault(job[0], Counter())
        of.update({"inputs": 1, "read" if said["read"] else "refused": 1, "rows": said["rows"]})
        self.seconds, self.memory = max(self.seconds, said["seconds"]), max(self.memory, said["memory"])
        if not said["failure"]:
            return
        self.failed[said["failure"]] += 1
        kept = self.failures / f"{job[0].replace(' ', '-').replace(',', '')}-{job[1]}"
        shutil.rmtree(kept, ignore_errors=True)
        shutil.copytree(worker.folder / "input", kept)
        again = f"python -m tests.fuzz --seed {self.seed} --kind '{job[0]}' --number {job[1]}"
        (kept / "failure.txt").write_text(
            f"{said['failure']}\n{again}\n{said['text']}\n", encoding="utf-8", errors="replace"
        )
        print(f"{said['failure']}: {kept}; again with: {again}", flush=True)


def run(
    inputs: int,
    seed: int = 0,
    processes: int = 1,
    failures: Path = Path("fuzz-failures"),
    kinds: Sequence[str] | None = None,
    number: int | None = None,
) -> dict[str, Any]:
    """Try so many inputs, or those of some kinds among them, or one of a kind; the counts."""
    from tests.fuzz.inputs import numbered

    jobs = [job for job in numbered(inputs) if kinds is None or job[0] in kinds]
    if number is not None:
        jobs = [(kind, number) for kind in kinds or ()]
    total, counts = len(jobs), _Counts(seed, failures)
    with tempfile.TemporaryDirectory(prefix="ccn-fuzz-") as folder:
        workers = [_start(Path(folder) / str(i), seed) for i in range(min(processes, total))]
        while workers:
            for link in wait([w.link for w in workers], timeout=0.1):
                at = next(i for i, w in enumerate(workers) if w.link is link)
                worker = workers[at]
                try:
                    said = worker.link.recv()
                except (EOFError, ConnectionError):
                    workers[at] = _again(worker, "crash", counts, seed)
                    continue
                if said == "ready":
                    worker.began = time.monotonic()
                    continue
                if worker.job is not None:
                    counts.add(worker.job, said, worker)
                    done = total - len(jobs)
                    if sys.stderr.isatty() or done % 500 == 0:
                        print(
                            f"\r{done} of {total}", end="" if sys.stderr.isatty() else "\n", file=sys.stderr, flush=True
                        )
                worker.job, worker.began = jobs.pop() if jobs else None, None
                worker.link.send(worker.job)
                if worker.job is None:
                    worker.process.join()
                    workers.remove(worker)
            for i, worker in enumerate(workers):
                if worker.job is not None and (why := worker.overdue()):
                    workers[i] = _again(worker, why, counts, seed)
    return {
        "seed": seed,
        "inputs": sum(of["inputs"] for of in counts.kinds.values()),
        "kinds": {name: {k: of[k] for k in ("inputs", "read", "refused", "rows")} for name, of in counts.kinds.items()},
        "failures": {name: counts.failed[name] for name in FAILURES},
        "slowest_seconds": round(counts.seconds, 1),
        "largest_megabytes": counts.memory >> 20,
    }


def _start(folder: Path, seed: int) -> _Worker:
    folder.mkdir(parents=True, exist_ok=True)
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_work, args=(theirs, seed, folder), daemon=True)
    process.start()
    theirs.close()
    return _Worker(folder, process, ours)


def _again(worker: _Worker, why: str, counts: _Counts, seed: int) -> _Worker:
    """Count the input that a worker died of, and start another worker."""
    text = worker.stop()
    if worker.job is None:
        raise RuntimeError(f"a worker did not start: {text}")
    seconds = 0.0 if worker.began is None else time.monotonic() - worker.began
    counts.add(
        worker.job, {"failure": why, "text": text, "read": False, "rows": 0, "seconds": seconds, "memory": 0}, worker
    )
    return _start(worker.folder, seed)


def summary(report: dict[str, Any]) -> str:
    """The counts in a line."""
    failed = ", ".join(f"{count} {name}" for name, count in report["failures"].items())
    rows = sum(of["rows"] for of in report["kinds"].values())
    return (
        f"{report['inputs']:,} inputs: {failed}; {rows:,} rows counted twice; slowest {report['slowest_seconds']} s, "
        f"largest {report['largest_megabytes']} MB"
    )
