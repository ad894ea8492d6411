"""Progress: a bar, a count with its rate, or lines, and nothing where nobody looks."""

import io

import pytest
from rich.console import Console

from ccn.progress import progress


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
