from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from ccn.cli import main
from ccn.cli.reproduce import _line, _splits
from ccn.errors import ConfigurationError
from ccn.paper import runner
from ccn.paper.cells import Cell, cells
from ccn.paper.records import Record, read
from ccn.paper.runner import Board


@pytest.mark.slow
def test_it_says_what_is_to_do_and_does_it_once(
    ccn: Callable[..., None], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ("reproduce", "mutag", "--methods", "ridge", "--splits", "1", "--results", tmp_path)
    ccn(*words)
    told = capsys.readouterr().err.splitlines()
    assert "1 cell," in told[0]
    assert "[1/1] MUTAG ridge split 0: done accuracy" in told[1]
    ccn(*words)
    assert "0 to do" in capsys.readouterr().err
    assert len(read(tmp_path)) == 1
    assert len((tmp_path / "kernels" / "MUTAG.jsonl").read_text().splitlines()) == 1


@pytest.mark.parametrize(
    ("text", "meant"), [("3", [0, 1, 2]), ("2-4", [2, 3, 4]), ("0,3,5-6", [0, 3, 5, 6]), ("0-0", [0])]
)
def test_splits_are_a_number_a_range_or_a_list(text: str, meant: list[int]) -> None:
    assert _splits(text) == meant


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("some", "--splits some"),
        ("4-2", "--splits 4-2"),
        ("0", "--splits 0: .* 0-0"),
        ("99999999999", "at most 10,000"),
        ("3,0-99999999999", "at most 10,000"),
    ],
)
def test_other_splits_are_refused(text: str, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        _splits(text)


@pytest.mark.parametrize("limit", ["0", "-1", "nan", "inf"])
def test_a_limit_that_is_none_is_refused(ccn: Callable[..., None], tmp_path: Path, limit: str) -> None:
    with pytest.raises(ConfigurationError, match=f"--time-limit-per-cell {limit}"):
        ccn("reproduce", "mutag", f"--time-limit-per-cell={limit}", "--results", tmp_path)


def test_failed_cells_are_an_error_and_those_out_of_time_are_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def work(cell: Cell, limit: float | None, threads: int) -> Record:
        error = {"error": f"KeyError: {cell.split}"}
        return cell.record("failed", 1.0, details=error) if cell.split else cell.record("timeout", 5.0)

    monkeypatch.setattr(runner, "work", work)
    words = ["reproduce", "mutag", "--methods", "ridge", "--time-limit-per-cell", "5", "--results", str(tmp_path)]
    with pytest.raises(SystemExit) as ended:
        main([*words, "--splits", "1", "--quiet"])
    assert (ended.value.code or 0, capsys.readouterr().err) == (0, "")
    with pytest.raises(SystemExit) as ended:
        main([*words, "--splits", "3", "--quiet"])
    assert ended.value.code == 1
    (said,) = capsys.readouterr().err.splitlines()
    assert said.startswith("ccn: 2 of 2 cells failed, first MUTAG ridge split 1: KeyError: 1")


def test_methods_that_cannot_run_here_are_skipped_with_the_reason(
    ccn: Callable[..., None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    ran: list[str] = []

    def work(cell: Cell, limit: float | None, threads: int) -> Record:
        ran.append(cell.method)
        return cell.record("timeout", 5.0)

    monkeypatch.setattr(runner, "work", work)
    monkeypatch.delenv("CCN_CHEMPROP", raising=False)
    words = ("--splits", "0-0", "--results", tmp_path)
    ccn("reproduce", "dili", "--methods", "forest,chemprop", *words)
    said = capsys.readouterr().err.splitlines()
    assert ran == ["forest"]
    assert "chemprop" in said[0]
    assert "CCN_CHEMPROP" in said[0]
    assert "1 cell," in said[1]
    ccn("reproduce", "dili", "--methods", "chemprop", *words)
    assert "0 cells, " in capsys.readouterr().err


def test_the_line_of_a_cell_counts_those_that_ended() -> None:
    board = Board(cells("MUTAG"), [])
    board.ended(board.cells[0].record("timeout", 5.0))
    board.ended(board.cells[1].record("done", 2.0, test=0.875))
    line = _line(board, limit=10.0)
    assert f"[2/{len(board.cells)}] MUTAG {board.cells[1].method}" in line
    assert "accuracy 0.875 in 2.0 s; time left: 0:" in line
