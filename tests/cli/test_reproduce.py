from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path

import pytest
from rich.console import Console

from ccn.cli import main
from ccn.cli.reproduce import _splits, _Table
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


@pytest.mark.parametrize(
    ("name", "width", "rows"), [("MUTAG", 80, ["ccn-2-kernel"]), ("all", 80, ["MUTAG", "strongly regular"])]
)
def test_the_live_table_counts_cells_and_fits_its_terminal(name: str, width: int, rows: list[str]) -> None:
    board = Board(cells(name), [])
    board.state[board.cells[0].key] = "running"
    out = io.StringIO()
    Console(file=out, width=width, height=30, force_terminal=True, color_system=None).print(_Table(board, None))
    first, *lines = out.getvalue().splitlines()
    assert first.startswith(f"0 done, 1 running, {len(board.cells) - 1} left; 0:00:0")
    assert "time left not known yet" in first
    assert all(any(row in line for line in lines) for row in rows)
    assert max(map(len, lines)) <= width
    assert "…" not in out.getvalue()
    assert len(lines) < 30
