"""``ccn reproduce``: the paper's experiments, cell by cell."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ccn.cli.options import Flag, Quiet

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions
    from rich.table import Table

    from ccn.paper.runner import Board

__all__ = ["reproduce"]

_LONGEST = 1e9  # seconds that a timer can wait for
_MOST_SPLITS = 10_000


def reproduce(
    name: str,
    /,
    *,
    methods: list[str] | None = None,
    splits: str | None = None,
    time_limit_per_cell: float | None = None,
    processes: int = 1,
    threads: int = 1,
    results: Path = Path("results"),
    cluster: str | None = None,
    seed: int = 0,
    again: Flag = False,
    quiet: Quiet = False,
) -> None:
    """Run the experiments of the paper, each cell (data set, method, split) once.

    For example, `ccn reproduce kernels --methods ridge,wl,ccn-2 --processes 4`, then `ccn table kernels`.

    The same command resumes an interrupted run; it repeats cells that failed, and those that timed out if they have
    more time now.

    Args:
        name: A table (kernels, hcep, qm9, expressivity), a data set, or all.
        methods: Comma-separated methods, or one by one; by default those of the table.
        splits: A number of splits (10), a range (0-4; split 0 alone is 0-0) or a list (0,3,5); by default the paper's.
            Small data sets can have more (100), which `ccn table kernels-more` shows.
        time_limit_per_cell: Seconds after which a cell is stopped and recorded as timed out.
        processes: Cells that run at the same time, each in its own process.
        threads: Torch threads per cell; with more than one, the last digits may vary.
        results: Folder of the records.
        cluster: Address of a Dask scheduler, or local.
        seed: Added to the number of the split; use a separate folder of results for each seed.
        again: Repeat cells that have a record; if interrupted, name the remaining ones with --methods and --splits.

    """
    from ccn.cli.show import say
    from ccn.errors import ConfigurationError, TrainingError
    from ccn.paper.cells import cells, parse_methods
    from ccn.paper.records import read
    from ccn.paper.runner import Board, run

    if processes < 1 or threads < 1:
        raise ConfigurationError(f"--processes {processes} --threads {threads}: give at least 1")
    limit = time_limit_per_cell
    if limit is not None and not 0 < limit <= _LONGEST:
        raise ConfigurationError(f"--time-limit-per-cell {limit:g}: give seconds, more than 0, or omit it for no limit")
    chosen = cells(name, None if not methods else parse_methods(",".join(methods)), _splits(splits), seed)
    todo = len(Board(chosen, read(results), again=again, limit=limit).left)
    tell = say(quiet)
    several = "cells" if len(chosen) > 1 else "cell"
    tell(f"{name}: {len(chosen)} {several}, {len(chosen) - todo} with a record in {results}, {todo} to do")
    if not todo:
        return
    with _watcher(quiet, limit) as watch:
        workers = {"jobs": processes, "threads": threads}
        board = run(chosen, results, **workers, limit=limit, again=again, cluster=cluster, watch=watch)
    counts = board.counts()
    tell(", ".join(f"{counts[s]} {s}" for s in ("done", "timeout", "failed") if counts[s]) + f"; records in {results}")
    if board.failures:
        first = board.failures[0]
        raise TrainingError(
            f"{len(board.failures)} of {todo} cells failed, first {first.dataset} {first.method} split {first.split}: "
            f"{first.details.get('error')}; the same command repeats them"
        )


def _splits(text: str | None) -> list[int] | None:
    """Numbers of splits: ``10`` stands for the first ten, ``0-4`` for five, ``0,3,5`` for three."""
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
        raise ConfigurationError(f"--splits {text}: no splits; 0-0 is split 0 alone")
    if not ranges or any(first >= end for first, end in ranges):
        raise ConfigurationError(f"--splits {text}: give a number of splits (10), a range (0-4) or a list (0,3,5)")
    if sum(end - first for first, end in ranges) > _MOST_SPLITS:
        raise ConfigurationError(f"--splits {text}: too many; give at most {_MOST_SPLITS:,}")
    return [i for first, end in ranges for i in range(first, end)]


@contextmanager
def _watcher(quiet: bool, limit: float | None) -> Iterator[Callable[[Board], None]]:
    """Show progress: a live table on a terminal, otherwise a line per cell."""
    from rich.console import Console
    from rich.live import Live

    from ccn.cli.show import say

    console = Console(stderr=True)
    if quiet or not console.is_terminal:
        shown: list[Any] = [None]

        def line(board: Board) -> None:
            if board.last is not shown[0]:
                shown[0] = board.last
                say(quiet)(_line(board, limit))

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
    """The live table: totals, then methods by data sets if the terminal has room for it, otherwise data sets alone."""

    def __init__(self, board: Board, limit: float | None) -> None:
        self.board, self.limit = board, limit

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Any]:
        import time

        board, counts = self.board, self.board.counts()
        states = {"done": "done", "timeout": "timed out", "failed": "failed", "running": "running", "to do": "left"}
        shown = (s for s in states if counts[s] or s not in ("timeout", "failed"))
        totals = ", ".join(f"{counts[s]} {states[s]}" for s in shown)
        yield f"{totals}; {_time(time.monotonic() - board.began)} so far, {_left(board, self.limit)}"
        sets = list(dict.fromkeys(c.dataset for c in board.cells))
        methods = dict.fromkeys(c.method for c in board.cells)
        wide = _grid(["method", *sets], {m: [board.counts(s, m) for s in sets] for m in methods})
        narrow = console.measure(wide).minimum > options.max_width or len(methods) + 6 > console.height
        yield _grid(["data set", "cells"], {s: [board.counts(s)] for s in sets}) if narrow else wide


def _grid(head: list[str], rows: dict[str, list[Counter[str]]]) -> Table:
    from rich.table import Table

    made = Table(head[0])
    for name in head[1:]:
        made.add_column(name, justify="right", no_wrap=True)
    for name, counts in rows.items():
        made.add_row(name, *map(_state, counts))
    return made


def _state(counts: Counter[str]) -> str:
    if not counts:
        return ""
    colours = {"running": "yellow", "timeout": "magenta", "failed": "red"}
    words = (f" [{colour}]{counts[s]} {s}[/]" for s, colour in colours.items() if counts[s])
    return f"{counts['done']}/{counts.total()}" + "".join(words)
