"""Lines and progress on standard error, all of which the logger ``ccn`` gets too, whether they are shown or not.

``say`` is for single lines; one display serves reading, training and prediction.

``progress`` gives a function to call with the number of steps done, and at times with a note::

    with progress("member 1", total=batches, notes=True, shown=verbose) as update:
        update(done)  # a bar with the time remaining, or a count with its rate where there is no total
        update(done, "epoch 3 of 10: loss 0.12")  # off a terminal, the line "member 1, epoch 3 of 10: loss 0.12"

Without a total, a note takes the place of the title until the next call.

Where standard error is not a terminal nothing is shown but, with ``notes=True``, one line per note. Rich is imported
only if something may be shown. Imports nothing else of the package.
"""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["Update", "log", "progress", "say"]

_LOGGER = logging.getLogger("ccn")
_LOGGER.addHandler(logging.NullHandler())  # else Python would print errors once more where no handler is set up


def log(line: str, level: int = logging.INFO) -> None:
    """Give a line to the logger alone."""
    _LOGGER.log(level, "%s", line)


def say(line: str, level: int = logging.INFO) -> None:
    """Log a line and print it on standard error."""
    log(line, level)
    print(line, file=sys.stderr, flush=True)


class Update(Protocol):
    """Called with the number of steps done so far and, at times, with a note to show."""

    def __call__(self, done: int, note: str | None = None) -> None: ...


@contextmanager
def progress(
    title: str,
    total: int | None = None,
    *,
    unit: str = "rows",
    notes: bool = False,
    shown: bool = True,
    console: Console | None = None,
) -> Iterator[Update]:
    """Show progress while the block runs.

    Args:
        title: what is being done.
        total: number of steps; None where it is unknown, then the count and its rate are shown.
        unit: what an unknown total counts.
        notes: keep the display at the end, and print each note as a line where there is no terminal.
        shown: False shows nothing.
        console: where to show it; by default standard error.
    """

    def lines(done: int, note: str | None = None, write: Callable[[str], None] = log) -> None:
        if note is not None:
            write(f"{title}, {note}")

    if not shown:
        yield lines
        return
    from rich.console import Console

    console = console or Console(stderr=True)
    if not console.is_terminal:
        yield partial(lines, write=say) if notes else lines
        return
    from rich import progress as rich

    text = rich.TextColumn("{task.description}")
    bar = (text, rich.BarColumn(), rich.MofNCompleteColumn(), rich.TimeRemainingColumn())
    count = (rich.SpinnerColumn(), text, rich.TimeElapsedColumn())
    columns = (*(count if total is None else bar), rich.TextColumn("{task.fields[note]}"))
    with rich.Progress(*columns, console=console, transient=not notes) as display:
        task = display.add_task(title, total=total, note="")
        began: tuple[float, int] | None = None

        def update(done: int, note: str | None = None) -> None:
            nonlocal began
            lines(done, note)
            if total is None and note is not None:
                display.update(task, description=note, refresh=True)
                return
            began = began or (time.monotonic(), done)  # what a resumed run had done before does not count
            if total is None:
                seconds = time.monotonic() - began[0]
                rate = f", {(done - began[1]) / seconds:,.0f} {unit}/s" if seconds > 1 else ""
                note = f"{done:,} {unit}{rate}"
            display.update(task, completed=done, description=title)
            if note is not None:
                display.update(task, note=note)

        yield update
