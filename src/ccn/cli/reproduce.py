"""``ccn reproduce``: the paper's experiments, cell by cell."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from ccn.cli.options import Flag, Quiet
from ccn.progress import progress

if TYPE_CHECKING:
    from ccn.paper.records import Record
    from ccn.paper.runner import Board

__all__ = ["reproduce"]

_LONGEST = 1e9  # seconds that a timer can wait for
_MOST_SPLITS = 10_000
_STATUSES = ("done", "timeout", "failed")


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
        name: A table (kernels, hcep, qm9, folds, zinc, expressivity, admet, cliffs), a data set, or all.
        methods: Comma-separated methods, or one by one; by default those of the table.
        splits: A number of splits (10), a range (0-4; split 0 alone is 0-0) or a list (0,3,5); by default the paper's.
            Small data sets can have more (100), which `ccn table kernels-more` shows. Of zinc, admet and
            cliffs a split is a seed, by default four or five; folds are those that others have published.
        time_limit_per_cell: Seconds after which a cell is stopped and recorded as timed out.
        processes: Cells that run at the same time, one per process.
        threads: Torch threads per cell; with more than one, the last digits may vary.
        results: Folder of the records.
        cluster: Address of a Dask scheduler, or local.
        seed: Added to the number of the split; use a separate folder of results for each seed.
        again: Repeat cells that have a record; if interrupted, name the remaining ones with --methods and --splits.
    """
    from ccn.cli.show import say
    from ccn.errors import ConfigurationError, TrainingError
    from ccn.paper.cells import cells, parse_methods
    from ccn.paper.competitors import missing
    from ccn.paper.records import read
    from ccn.paper.runner import Board, run
    from ccn.paper.tasks import TASKS

    if processes < 1 or threads < 1:
        raise ConfigurationError(f"--processes {processes} --threads {threads}: give at least 1")
    limit = time_limit_per_cell
    if limit is not None and not 0 < limit <= _LONGEST:
        raise ConfigurationError(f"--time-limit-per-cell {limit:g}: give seconds, more than 0, or omit it for no limit")
    named = cells(name, None if not methods else parse_methods(",".join(methods)), _splits(splits), seed)
    unable = {method: why for method in dict.fromkeys(c.method for c in named) if (why := missing(method))}
    chosen = [c for c in named if c.dataset not in TASKS or c.method not in unable]
    todo = len(Board(chosen, read(results), again=again, limit=limit).left)
    tell = say(quiet)
    for method, why in unable.items():
        tell(f"{name}: {method} is skipped: {why}")
    several = "cells" if len(chosen) != 1 else "cell"
    tell(f"{name}: {len(chosen)} {several}, {len(chosen) - todo} with a record in {results}, {todo} to do")
    if not todo:
        return
    shown: Record | None = None
    with progress(name, len(chosen), notes=True, shown=not quiet) as update:

        def watch(board: Board) -> None:
            nonlocal shown
            if board.last is not shown:
                shown = board.last
                update(_ended(board), _line(board, limit))

        workers = {"jobs": processes, "threads": threads}
        board = run(chosen, results, **workers, limit=limit, again=again, cluster=cluster, watch=watch)
    counts = board.counts()
    tell(", ".join(f"{counts[s]} {s}" for s in _STATUSES if counts[s]) + f"; records in {results}")
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


def _line(board: Board, limit: float | None) -> str:
    """The last cell that ended, and an estimate of the time left from the cost of the others."""
    record, seconds = board.last, board.seconds_left(limit)
    assert record is not None
    result = f"{record.metric} {record.test:.4g}" if record.test is not None else record.details.get("error", "")
    left = "unknown" if seconds is None else str(timedelta(seconds=round(seconds)))
    return (
        f"[{_ended(board)}/{len(board.cells)}] {record.dataset} {record.method} split {record.split}: {record.status} "
        f"{result} in {record.seconds:.1f} s; time left: {left}"
    )


def _ended(board: Board) -> int:
    counts = board.counts()
    return sum(counts[status] for status in _STATUSES)
