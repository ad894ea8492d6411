"""What the commands say: lines and tables on standard error, results for machines on standard output."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from ccn.files import json_safe

if TYPE_CHECKING:
    from rich.console import Console

    from ccn.runs.predict import Done

__all__ = ["console", "cut", "print_json", "rows_bar", "say", "table", "told"]


def say(quiet: bool) -> Callable[[str], None]:
    """A function that prints a line on standard error, or nothing."""
    if quiet:
        return lambda line: None
    return lambda line: print(line, file=sys.stderr, flush=True)


def print_json(value: Any) -> None:
    """Print for machines; null stands for what is not a number."""
    print(json.dumps(json_safe(value), indent=1, default=str, allow_nan=False))


def console() -> Console:
    """Standard output for tables; names from data are shown as they are, whatever their brackets and colons."""
    from rich.console import Console

    return Console(markup=False, emoji=False)


def table(title: str, head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """A table on standard output."""
    from rich.table import Table

    made = Table(show_header=any(head))
    for i, name in enumerate(head):
        made.add_column(name, justify="right" if i and any(head) else "left", overflow="fold")
    for row in rows:
        made.add_row(*row)
    print(title)  # not as the table's own, which would be folded to its width
    console().print(made)


@contextmanager
def rows_bar(quiet: bool) -> Iterator[Callable[[int], None]]:
    """A line that counts rows on a terminal, with their number per second."""
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    console = Console(stderr=True)
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True, disable=quiet or not console.is_terminal) as bar:
        task = bar.add_task("reading")
        began: list[tuple[float, int]] = []

        def tell(rows: int) -> None:
            began.append((time.monotonic(), rows)) if not began else None
            seconds, before = time.monotonic() - began[0][0], began[0][1]
            rate = f", {(rows - before) / seconds:,.0f} rows/s" if seconds > 1 else ""
            bar.update(task, description=f"{rows:,} rows{rate}")

        yield tell


@contextmanager
def cut(output: str, quiet: bool) -> Iterator[None]:
    """Say how to go on with a long file when the user has interrupted it."""
    try:
        yield
    except KeyboardInterrupt:
        if output != "-":
            say(quiet)(f"interrupted; go on with the same command and --resume ({output}.part has what is done)")
        raise


def told(done: Done, output: str, quiet: bool, machine: bool, what: str, **more: Any) -> None:
    """Say what was done, to machines where standard output has not got the table itself."""
    if machine:
        found = {"rows": done.rows, "without": done.without, "seconds": done.seconds, "rows_per_second": done.rate}
        line = json.dumps(json_safe({"output": output, **found, **more}), allow_nan=False)
        print(line, file=sys.stderr if output == "-" else sys.stdout)
        return
    before = f" ({done.before:,} of them by an earlier run)" if done.before else ""
    lacking = f", {done.without:,} without {what} (see the column reason)" if done.without else ""
    where = "" if output == "-" else f"; written to {output}"
    say(quiet)(f"{done.rows:,} rows{before} in {done.seconds:.1f} s, {done.rate:,.0f} rows/s{lacking}{where}")
