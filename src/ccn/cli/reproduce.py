"""``ccn reproduce``: the paper's experiments, cell by cell."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ccn.cli.options import Flag

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions
    from rich.table import Table

    from ccn.paper.runner import Board

__all__ = ["reproduce"]

_LONGEST = 1e9  # seconds; a timer cannot wait for ever
_MOST_SPLITS = 10_000


def reproduce(
    name: str,
    /,
    *,
    methods: list[str] | None = None,
    splits: str | None = None,
    time_limit_per_cell: float | None = None,
    jobs: int = 1,
    threads: int = 1,
    results: Path = Path("results"),
    cluster: str | None = None,
    seed: int = 0,
    again: Flag = False,
    quiet: Flag = False,
) -> None:
    """Run the experiments of the paper, each cell (data set, method, split) once.

    For example, `ccn reproduce kernels --methods ridge,wl,ccn-2 --jobs 4`, then `ccn table kernels`.

    A run that was cut goes on with the same command; a cell that failed is tried again, and so is one that timed out
    if it has more time now.

    Parameters
    ----------
    name: str
        A table (kernels, hcep, qm9, expressivity), one data set, or all.
    methods: list[str]
        Methods between commas, or one by one; by default those of the table.
    splits: str
        How many (10), a range (0-4; split 0 alone is 0-0) or a list (0,3,5); by default the paper's. Small data sets
        can have more (100), which `ccn table kernels-more` shows.
    time_limit_per_cell: float
        Seconds after which a cell is ended and recorded as timed out; such a cell is tried again with a longer limit,
        or with none.
    jobs: int
        Cells at a time, each in a process of its own.
    threads: int
        Threads of each cell; with more than one, the last digits may differ from run to run.
    results: Path
        Folder of the records.
    cluster: str
        Address of a Dask scheduler, or local.
    seed: int
        Added to the number of the split; use another folder of results for another seed.
    again: bool
        Run cells that have a record once more; if that is cut, name those that are left by --methods and --splits.
    quiet: bool
        Say nothing but errors.

    """
    from ccn.cli.show import say
    from ccn.errors import ConfigurationError, TrainingError
    from ccn.paper.cells import cells, parse_methods
    from ccn.paper.records import read
    from ccn.paper.runner import Board, run

    if jobs < 1 or threads < 1:
        raise ConfigurationError(f"--jobs {jobs} --threads {threads}: give at least 1")
    if time_limit_per_cell is not None and not 0 < time_limit_per_cell <= _LONGEST:
        raise ConfigurationError(
            f"--time-limit-per-cell {time_limit_per_cell:g}: give seconds, more than 0, or leave it out for no limit"
        )
    chosen = cells(name, None if not methods else parse_methods(",".join(methods)), _splits(splits), seed)
    todo = len(Board(chosen, read(results), again=again, limit=time_limit_per_cell).left)
    tell = say(quiet)
    several = "cells" if len(chosen) > 1 else "cell"
    tell(f"{name}: {len(chosen)} {several}, {len(chosen) - todo} with a record in {results}, {todo} to do")
    if not todo:
        return
    with _watcher(quiet, time_limit_per_cell) as watch:
        board = run(
            chosen,
            results,
            jobs=jobs,
            threads=threads,
            limit=time_limit_per_cell,
            again=again,
            cluster=cluster,
            watch=watch,
        )
    counts = board.counts()
    tell(", ".join(f"{counts[s]} {s}" for s in ("done", "timeout", "failed") if counts[s]) + f"; records in {results}")
    if board.failures:
        first = board.failures[0]
        raise TrainingError(
            f"{len(board.failures)} of {todo} cells failed, first {first.dataset} {first.method} split {first.split}: "
            f"{first.details.get('error')}; the same command tries them again"
        )


def _splits(text: str | None) -> list[int] | None:
    """``10`` as the first ten, ``0-4`` and ``0,3,5`` as they stand."""
    from ccn.errors import ConfigurationError

    if text is None:
        return None
    try:
        if text.isdigit():
            ranges = [(0, int(text))]
        else:
            parts = [part.partition("-") for part in text.split(",")]
            ranges = [(int(first), int(last or first) + 1) for first, _, last in parts]
    except ValueError:
        ranges = []
    if ranges == [(0, 0)]:
        raise ConfigurationError(f"--splits {text}: one number counts splits, and this is none; 0-0 is split 0 alone")
    if not ranges or any(first >= end for first, end in ranges):
        raise ConfigurationError(f"--splits {text}: give a number of splits (10), a range (0-4) or a list (0,3,5)")
    if sum(end - first for first, end in ranges) > _MOST_SPLITS:
        raise ConfigurationError(f"--splits {text}: these are too many; give at most {_MOST_SPLITS:,}")
    return [i for first, end in ranges for i in range(first, end)]


@contextmanager
def _watcher(quiet: bool, limit: float | None) -> Iterator[Callable[[Board], None]]:
    """A live table on a terminal, else a line per cell."""
    from rich.console import Console
    from rich.live import Live

    console = Console(stderr=True)
    if quiet:
        yield lambda board: None
    elif not console.is_terminal:
        from ccn.cli.show import say

        told: list[Any] = [None]

        def line(board: Board) -> None:
            if board.last is not told[0]:
                told[0] = board.last
                say(False)(_line(board, limit))

        yield line
    else:
        with Live(console=console, refresh_per_second=1) as live:
            yield lambda board: live.update(_Table(board, limit))


def _line(board: Board, limit: float | None) -> str:
    r, counts = board.last, board.counts()
    assert r is not None
    found = f"{r.metric} {r.test:.4g}" if r.test is not None else r.details.get("error", "")
    ended = sum(counts[s] for s in ("done", "timeout", "failed"))
    return (
        f"[{ended}/{len(board.cells)}] {r.dataset} {r.method} split {r.split}: {r.status} {found} "
        f"in {r.seconds:.1f} s; {_left(board, limit)}"
    )


def _left(board: Board, limit: float | None) -> str:
    seconds = board.seconds_left(limit)
    return "time left not known yet" if seconds is None else f"about {_time(seconds)} left"


def _time(seconds: float) -> str:
    minutes, s = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{s:02}"


class _Table:
    """The live table: how many cells are done, running and left, then data sets by methods as far as there is room."""

    def __init__(self, board: Board, limit: float | None) -> None:
        self.board, self.limit = board, limit

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Any]:
        import time

        board = self.board
        elapsed = _time(time.monotonic() - board.began)
        yield f"{_counted(board.counts())}; {elapsed} so far, {_left(board, self.limit)}"
        by_method = self._by_method()
        narrow = console.measure(by_method).minimum > options.max_width
        yield self._by_dataset() if narrow or by_method.row_count + 6 > console.height else by_method

    def _by_method(self) -> Table:
        from rich.table import Table

        board = self.board
        sets = list(dict.fromkeys(c.dataset for c in board.cells))
        made = Table("method")
        for name in sets:
            made.add_column(name, justify="right", no_wrap=True)
        for method in dict.fromkeys(c.method for c in board.cells):
            made.add_row(method, *(_state(board.counts(name, method)) for name in sets))
        return made

    def _by_dataset(self) -> Table:
        from rich.table import Table

        made = Table("data set", "cells")
        for name in dict.fromkeys(c.dataset for c in self.board.cells):
            made.add_row(name, _state(self.board.counts(name)))
        return made


def _counted(counts: Counter[str]) -> str:
    words = [
        ("done", "done"),
        ("timeout", "timed out"),
        ("failed", "failed"),
        ("running", "running"),
        ("to do", "left"),
    ]
    always = ("done", "running", "to do")
    return ", ".join(f"{counts[state]} {word}" for state, word in words if counts[state] or state in always)


def _state(counts: Counter[str]) -> str:
    if not counts:
        return ""
    text = f"{counts['done']}/{counts.total()}"
    text += f" [yellow]{counts['running']} running[/]" if counts["running"] else ""
    text += f" [magenta]{counts['timeout']} timed out[/]" if counts["timeout"] else ""
    return text + (f" [red]{counts['failed']} failed[/]" if counts["failed"] else "")
