"""Progress: a bar, a count with its rate, or lines, and nothing where nobody looks."""

import io
import logging
import subprocess
import sys

import pytest
from rich.console import Console

from ccn.progress import log, progress, say


def terminal() -> tuple[io.StringIO, Console]:
    text = io.StringIO()
    return text, Console(file=text, force_terminal=True, color_system=None, width=120)


def test_a_known_total_is_a_bar_with_the_last_note() -> None:
    text, console = terminal()
    with progress("member 1", 4, notes=True, console=console) as update:
        update(2, "loss 0.5")
        update(4)
    last = text.getvalue()[-200:]
    assert all(part in last for part in ("member 1", "4/4", "loss 0.5"))


def test_an_unknown_total_is_a_count_with_its_rate_since_the_first_call(monkeypatch: pytest.MonkeyPatch) -> None:
    seconds = iter(range(0, 1000, 10))
    monkeypatch.setattr("ccn.progress.time.monotonic", lambda: next(seconds))
    text, console = terminal()
    with progress("reading", unit="rows", notes=True, console=console) as update:
        update(1000)
        update(3000)
    assert "3,000 rows, 100 rows/s" in text.getvalue()


def test_off_a_terminal_there_are_lines_for_notes_if_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    for notes in (False, True):
        with progress("member 1", 4, notes=notes) as update:
            update(2)
            update(4, "loss 0.5")
    with progress("hidden", 4, notes=True, shown=False) as update:
        update(4, "loss 0.5")
    assert capsys.readouterr().err == "member 1, loss 0.5\n"


def test_the_logger_says_what_the_lines_say_and_more(
    caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.INFO, "ccn")
    _, console = terminal()
    say("a line of 100 %")
    log("for the log")
    for how in ({}, {"shown": False}, {"console": console}):
        with progress("member 1", 4, notes=True, **how) as update:
            update(4, "loss 0.5")
    said = [record.getMessage() for record in caplog.records if record.name == "ccn"]
    assert said == ["a line of 100 %", "for the log", *["member 1, loss 0.5"] * 3]
    assert capsys.readouterr().err == "a line of 100 %\nmember 1, loss 0.5\n"


def test_without_a_set_up_the_logger_prints_nothing() -> None:
    script = "import logging; from ccn.progress import log; log('an error', logging.ERROR)"
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True, text=True)
    assert found.stderr == ""


def test_without_a_total_a_note_stands_for_the_title() -> None:
    text, console = terminal()
    with progress("reading", notes=True, console=console) as update:
        update(0, "compiling kernels (once)")
        assert text.getvalue().rstrip().splitlines()[-1].count("compiling kernels (once)")
        update(7)
    last = text.getvalue().rpartition("compiling kernels (once)")[2]
    assert "reading" in last
    assert "7 rows" in last
