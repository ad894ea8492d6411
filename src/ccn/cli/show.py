"""Output of the commands: messages on standard error, tables and JSON on standard output."""

from __future__ import annotations

import json
import sys
import unicodedata
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ccn.files import json_safe

if TYPE_CHECKING:
    from rich.console import Console

    from ccn.cli.options import Stream
    from ccn.runs.predict import Done

__all__ = ["console", "coverage", "print_json", "printable", "report", "say", "table"]


def printable(text: str) -> str:
    r"""The text with its control characters as escapes, since names from files could steer a terminal.

    Example:
        >>> printable("a\x1b[31m\u202e")
        'a\\x1b[31m\\u202e'
    """
    hidden = {"Cc", "Cf", "Cs", "Zl", "Zp"}  # controls, direction marks, surrogates and line separators
    return "".join(ascii(c)[1:-1] if c != "\n" and unicodedata.category(c) in hidden else c for c in text)


def say(quiet: bool) -> Callable[[str], None]:
    """A function that prints a line on standard error, or nothing."""
    if quiet:
        return lambda line: None
    return lambda line: print(printable(line), file=sys.stderr, flush=True)


def print_json(value: Any) -> None:
    """Print JSON, with null for what is not a number."""
    # Written piece by piece: the pieces of a million remarks would take a gigabyte.
    json.dump(json_safe(value), sys.stdout, indent=1, default=str, allow_nan=False)
    print()


def console() -> Console:
    """Standard output for tables, without markup: names from data may have brackets and colons."""
    from rich.console import Console

    return Console(markup=False, emoji=False)


def table(title: str, head: Sequence[str], rows: Sequence[Sequence[str]], left: Collection[str] | None = None) -> None:
    """Print a table; an empty head is not shown. By default all columns but the first are aligned to the right."""
    from rich.table import Table

    shown = any(head)
    made = Table(show_header=shown)
    for i, name in enumerate(head):
        to_left = name in left if left is not None else i == 0 or not shown
        made.add_column(printable(name), justify="left" if to_left else "right", overflow="fold")
    for row in rows:
        made.add_row(*map(printable, row))
    print(printable(title))  # a title of rich would be wrapped to the width of the table
    console().print(made)


def coverage(interval: Mapping[str, float] | None) -> None:
    """Print how many targets the prediction intervals of a model covered."""
    if interval:
        print(f"{100 * interval['level']:.0f} % intervals covered {100 * interval['coverage']:.1f} % of the targets")


def report(done: Done, stream: Stream, what: str, **more: Any) -> None:
    """Print what ``predict`` or ``embed`` has done; JSON goes to standard error if the table is on standard output."""
    piped = stream.output == "-"
    if stream.json:
        found = {"rows": done.rows, "without": done.without, "seconds": done.seconds, "rows_per_second": done.rate}
        line = json.dumps(json_safe({"output": stream.output, **found, **more}), allow_nan=False)
        print(line, file=sys.stderr if piped else sys.stdout)
        return
    before = f" ({done.before:,} of them by an earlier run)" if done.before else ""
    lacking = f", {done.without:,} without {what} (see the column reason)" if done.without else ""
    where = "" if piped else f"; written to {stream.output}"
    say(stream.quiet)(f"{done.rows:,} rows{before} in {done.seconds:.1f} s, {done.rate:,.0f} rows/s{lacking}{where}")
