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
    """Looks like a process; whoever asks for its threads waits, so that others can ask meanwhile."""

    def __init__(self, threads: int) -> None:
        self.process = SimpleNamespace(poll=lambda: None)
        self.busy = False

    @property
    def threads(self) -> int:
        time.sleep(0.1)
        return 1

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
    one, *more = cells("MUTAG", ["ridge"], range(3))
    worker.work(one, None, 1)
    assert len(worker._idle) == 1
    with ThreadPoolExecutor(2) as pool:
        assert [r.split for r in pool.map(lambda cell: worker.work(cell, None, 1), more)] == [1, 2]
    assert len(worker._idle) == len(worker._all) == 2
    worker.stop()
    assert not worker._idle
