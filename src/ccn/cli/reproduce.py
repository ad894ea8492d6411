"""``ccn reproduce``: the paper's experiments, cell by cell."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ccn.cli.options import Flag

if TYPE_CHECKING:
    from ccn.experiments.runner import Board

__all__ = ["reproduce"]


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

    A run that was cut goes on with the same command; a cell that failed is tried again.

    Parameters
    ----------
    name: str
        A table (kernels, hcep, qm9, expressivity), one data set, or all.
    methods: list[str]
        Methods between commas, or one by one; by default those of the table.
    splits: str
        How many (10), a range (0-4) or a list (0,3,5); by default the paper's. Small data sets can have more (100),
        which `ccn table kernels-more` shows.
    time_limit_per_cell: float
        Seconds after which a cell is ended and recorded as timed out.
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
        Run cells that have a record once more.
    quiet: bool
        Say nothing but errors.

    """
    from ccn.cli.show import say
    from ccn.errors import ConfigurationError
    from ccn.experiments.cells import cells, parse_methods
    from ccn.experiments.records import read
    from ccn.experiments.runner import Board, run

    if jobs < 1 or threads < 1:
        raise ConfigurationError(f"--jobs {jobs} --threads {threads}: give at least 1")
    chosen = cells(name, None if not methods else parse_methods(",".join(methods)), _splits(splits), seed)
    todo = len(Board(chosen, read(results), again=again).left)
    tell = say(quiet)
    tell(f"{name}: {len(chosen)} cells, {len(chosen) - todo} with a record in {results}, {todo} to do")
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


def _splits(text: str | None) -> list[int] | None:
    """``10`` as the first ten, ``0-4`` and ``0,3,5`` as they stand."""
    from ccn.errors import ConfigurationError

    if text is None:
        return None
    try:
        if text.isdigit():
            return list(range(int(text)))
        parts = [part.partition("-") for part in text.split(",")]
        return [i for first, _, last in parts for i in range(int(first), int(last or first) + 1)]
    except ValueError:
        raise ConfigurationError(
            f"--splits {text}: give a number of splits (10), a range (0-4) or a list (0,3,5)"
        ) from None


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
    """The live table: data sets by methods."""

    def __init__(self, board: Board, limit: float | None) -> None:
        self.board, self.limit = board, limit

    def __rich__(self) -> Any:
        import time

        from rich.table import Table

        board = self.board
        sets = list(dict.fromkeys(c.dataset for c in board.cells))
        elapsed = _time(time.monotonic() - board.began)
        made = Table(caption=f"{elapsed} so far, {_left(board, self.limit)}", caption_justify="left")
        made.add_column("method")
        for name in sets:
            made.add_column(name, justify="right")
        for method in dict.fromkeys(c.method for c in board.cells):
            made.add_row(method, *(_state(board, name, method) for name in sets))
        return made


def _state(board: Board, dataset: str, method: str) -> str:
    counts = board.counts(dataset, method)
    if not counts:
        return ""
    text = f"{counts['done']}/{counts.total()}"
    text += f" [yellow]{counts['running']} running[/]" if counts["running"] else ""
    text += f" [magenta]{counts['timeout']} timed out[/]" if counts["timeout"] else ""
    return text + (f" [red]{counts['failed']} failed[/]" if counts["failed"] else "")
