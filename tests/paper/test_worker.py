"""Processes and the threads that share them; the processes are made up."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import pytest

from ccn.paper import worker
from ccn.paper.cells import Cell, cells
from ccn.paper.records import Record


class Slow:
    """Looks like a process."""

    def __init__(self, threads: int) -> None:
        self.process = SimpleNamespace(poll=lambda: None)
        self.threads = threads
        self.busy = False
        time.sleep(0.1)

    def run(self, cell: Cell, limit: float | None) -> Record:
        assert not self.busy
        self.busy = True
        time.sleep(0.5)
        self.busy = False
        return cell.record("done", 0.5)

    def end(self) -> None:
        pass


@pytest.mark.slow
def test_threads_do_not_take_the_same_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker, "_Process", Slow)
    with ThreadPoolExecutor(2) as pool:
        found = pool.map(lambda cell: worker.work(cell, None, 1), cells("MUTAG", ["ridge"], range(4)))
        assert [r.split for r in found] == [0, 1, 2, 3]
        assert len(worker._all) == 2
        worker.stop()
        assert not worker._all


@pytest.mark.slow
def test_a_process_that_was_stopped_or_has_other_threads_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker, "_Process", Slow)
    (cell,) = cells("MUTAG", ["ridge"], [0])
    used = []
    for threads, stop in ((1, False), (1, True), (1, False), (2, False)):
        worker.work(cell, None, threads)
        used.append(worker._of_thread.process)
        if stop:
            worker.stop()
    assert used[0] is used[1]
    assert len(set(used)) == 3
    worker.stop()
