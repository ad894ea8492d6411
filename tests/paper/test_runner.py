"""Processes and the threads that share them; the processes are made up."""

from __future__ import annotations

import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest
from made_up import molecules

from ccn.paper import runner
from ccn.paper.cells import Cell, cells
from ccn.paper.experiment import run_cell
from ccn.paper.records import Record, append, read
from ccn.paper.runner import Board, run

WL = {"settings": {"depth": (1,)}, "C": (1.0,)}
RIDGE = {"settings": {"alpha": (1.0,)}}


def some(*methods: str) -> list[Cell]:
    return cells("MUTAG", methods, range(2), options={"wl": WL, "ridge": RIDGE})


def here(cell: Cell, limit: float | None, threads: int) -> Record:
    """Work without a process of its own."""
    return run_cell(cell)


def figures(results: Path) -> list[Record]:
    return sorted((replace(r, seconds=0.0) for r in read(results)), key=lambda r: r.key)


@pytest.mark.slow
def test_two_jobs_find_what_one_finds_and_nothing_is_done_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(some("ridge", "wl"), tmp_path / "two", jobs=2)
    monkeypatch.setattr(runner, "work", here)
    board = run(some("ridge", "wl"), tmp_path / "one")
    assert board.counts() == {"done": 4}
    assert figures(tmp_path / "one") == figures(tmp_path / "two")
    before = (tmp_path / "one" / "kernels" / "MUTAG.jsonl").read_bytes()
    monkeypatch.setattr(runner, "work", None)
    assert run(some("ridge", "wl"), tmp_path / "one").counts() == {"done": 4}
    assert (tmp_path / "one" / "kernels" / "MUTAG.jsonl").read_bytes() == before


@pytest.mark.parametrize("again", [False, True])
def test_what_another_command_has_done_meanwhile_is_not_done_twice(
    again: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runner, "work", here)
    first, second = some("ridge")
    append(second.file(tmp_path), second.record("failed", 1.0))
    other = second.record("done", 7.0, test=0.5)

    def meanwhile(board: Board) -> None:
        if board.state[second.key] == "to do" and board.last is None:
            append(second.file(tmp_path), other)

    assert run([first, second], tmp_path, watch=meanwhile, again=again).counts() == {"done": 2}
    assert {r.split: r.seconds for r in read(tmp_path)}[second.split] == 7.0


@pytest.mark.slow
def test_a_cell_over_its_limit_is_ended_and_the_run_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    late, more = some("boosting")[0], some("ridge")[0]
    states: list[list[str]] = []
    board = run([late], tmp_path, limit=0.2, watch=lambda b: states.append(list(b.state.values())))
    assert states == [["running"], ["timeout"]]
    assert board.last is not None
    assert board.last.config["time_limit"] == 0.2
    append(late.file(tmp_path), replace(board.last, seconds=100.0))
    monkeypatch.setattr(runner, "work", here)
    assert run([late, more], tmp_path, limit=100.0).counts() == {"timeout": 1, "done": 1}
    assert not runner._processes


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="a script is no command there")
def test_what_a_cell_has_started_ends_with_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CCN_DATA", str(tmp_path))
    molecules(tmp_path, "dili")
    command, started = tmp_path / "chemprop", tmp_path / "pid"
    command.write_text(f"#!/bin/sh\necho $$ > {started}\nexec sleep 600\n")
    command.chmod(0o700)
    monkeypatch.setenv("CCN_CHEMPROP", str(command))
    board = run(cells("dili", ["chemprop"], [0]), tmp_path / "results", limit=2.0)
    assert board.counts() == {"timeout": 1}
    child = int(started.read_text())
    assert not psutil.pid_exists(child) or psutil.Process(child).status() == psutil.STATUS_ZOMBIE


def test_a_cell_that_timed_out_is_tried_again_with_more_time() -> None:
    late, done = some("ridge")
    records = [late.record("timeout", 10.5), done.record("done", 50.0)]
    assert Board([late, done], records, limit=10.0).left == []
    assert Board([late, done], records, limit=11.0).left == [late]
    assert Board([late, done], records).left == [late]


@pytest.mark.slow
def test_a_cell_that_fails_is_told_and_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wrong, right = some("wl")
    wrong = replace(wrong, options={"settings": {"depth": ("deep",)}})
    assert run([wrong, right], tmp_path).counts() == {"failed": 1, "done": 1}
    assert "Error" in {r.split: r for r in read(tmp_path)}[wrong.split].details["error"]
    right_now = [replace(wrong, options=WL), right]
    assert Board(right_now, read(tmp_path)).left == right_now[:1]
    monkeypatch.setattr(runner, "work", here)
    assert run(right_now, tmp_path).counts() == {"done": 2}


@pytest.mark.slow
def test_a_process_that_dies_costs_its_cell_only(tmp_path: Path) -> None:
    first, second = some("boosting")[0], some("ridge")[0]

    def kill(board: Board) -> None:
        if board.state[first.key] == "running":
            while not runner._processes:
                pass
            next(iter(runner._processes)).process.kill()

    board = run([first, second], tmp_path, watch=kill)
    assert board.state[first.key] == "failed"
    assert board.state[second.key] == "done"
    assert "code -9" in {r.method: r for r in read(tmp_path)}["boosting"].details["error"]


def test_an_interrupt_loses_the_running_cell_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "work", here)

    def interrupt(board: Board) -> None:
        if board.counts()["done"] == 1 and board.counts()["running"]:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(some("ridge"), tmp_path, watch=interrupt)
    assert [r.status for r in read(tmp_path)] == ["done"]


def test_the_time_left_is_guessed_from_what_has_ended() -> None:
    made = cells("MUTAG", ["ridge", "lasso"], range(2))
    board = Board(made, [])
    assert board.seconds_left() is None
    board.ended(made[0].record("done", 10.0))
    # One more of ridge, and two of lasso, which should take twice as long.
    assert board.seconds_left() == pytest.approx(10 + 2 * 20)
    board.at_once = 2
    assert board.seconds_left(limit=15.0) == pytest.approx((10 + 2 * 15) / 2)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.slow
def test_a_cluster_finds_the_same(tmp_path: Path) -> None:
    pytest.importorskip("distributed")
    run(some("ridge"), tmp_path, cluster="local")
    assert [(r.key, r.test) for r in figures(tmp_path)] == [(c.key, run_cell(c).test) for c in some("ridge")]


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
    monkeypatch.setattr(runner, "_Process", Slow)
    with ThreadPoolExecutor(2) as pool:
        found = pool.map(lambda cell: runner.work(cell, None, 1), cells("MUTAG", ["ridge"], range(4)))
        assert [r.split for r in found] == [0, 1, 2, 3]
        assert len(runner._processes) == 2
        runner.stop()
        assert not runner._processes


@pytest.mark.slow
def test_a_process_that_was_stopped_or_has_other_threads_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "_Process", Slow)
    (cell,) = cells("MUTAG", ["ridge"], [0])
    used = []
    for threads, stop in ((1, False), (1, True), (1, False), (2, False)):
        runner.work(cell, None, threads)
        used.append(runner._of_thread.process)
        if stop:
            runner.stop()
    assert used[0] is used[1]
    assert len(set(used)) == 3
    runner.stop()
