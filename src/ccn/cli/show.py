"""Output of the commands: messages on standard error, tables and JSON on standard output."""

from __future__ import annotations

import csv
import json
import sys
import unicodedata
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from ccn import progress
from ccn.files import json_safe

if TYPE_CHECKING:
    from rich.console import Console

    from ccn.cli.options import Stream
    from ccn.runs.predict import Done

__all__ = ["answer", "console", "coverage", "print_json", "printable", "say", "table"]

_MOST_ACROSS = 8  # columns of answers; more of them are shown as rows
_LONGEST = 5000  # characters of a cell: to lay out millions of them takes minutes


def printable(text: str) -> str:
    r"""The text with its control characters as escapes, since names from files could steer a terminal.

    Example:
        >>> printable("a\x1b[31m\u202e")
        'a\\x1b[31m\\u202e'
    """
    hidden = {"Cc", "Cf", "Cs", "Zl", "Zp"}  # controls, direction marks, surrogates and line separators
    return "".join(ascii(c)[1:-1] if c != "\n" and unicodedata.category(c) in hidden else c for c in text)


def say(quiet: bool) -> Callable[[str], None]:
    """A function that logs a line and, unless quiet, prints it on standard error."""
    tell = progress.log if quiet else progress.say
    return lambda line: tell(printable(line))


def print_json(value: Any) -> None:
    """Print JSON, with null for what is not a number; the items of a list within an object have a line each."""
    # Item by item: the text of a million remarks would take a gigabyte, and indentation takes json ten times as long.
    whole, item = (json.JSONEncoder(indent=indent, default=str, allow_nan=False).encode for indent in (1, None))
    write = sys.stdout.write
    if not isinstance(value, Mapping):
        write(whole(json_safe(value)) + "\n")
        return
    between = "{"
    for key, entry in value.items():
        write(f"{between}\n {item(str(key))}: ")
        between = ","
        if isinstance(entry, list) and entry:
            write("[\n  ")
            for i, one in enumerate(entry):
                write((",\n  " if i else "") + item(json_safe(one)))
            write("\n ]")
        else:
            write(whole(json_safe(entry)).replace("\n", "\n "))
    write("\n}\n" if value else "{}\n")


def console() -> Console:
    """Standard output for tables, without markup: names from data may have brackets and colons."""
    from rich.console import Console

    return Console(markup=False, emoji=False)


def table(title: str, head: Sequence[str], rows: Sequence[Sequence[str]], left: Collection[str] | None = None) -> None:
    """Print a table; an empty head is not shown. By default all columns but the first are aligned to the right."""
    from rich.table import Table

    head, *rows = [[cell if len(cell) <= _LONGEST else f"{cell[:_LONGEST]}.." for cell in row] for row in (head, *rows)]
    shown = any(head)
    made = Table(show_header=shown)
    widths = [max(map(len, [name, *(row[i] for row in rows)])) for i, name in enumerate(head)]
    narrow = sum(widths) + 3 * len(widths) + 1 > console().width
    for i, name in enumerate(head):
        to_left = name in left if left is not None else i == 0 or not shown
        words = name.replace(" ", "\n") if narrow and name not in (left or ()) else name  # not in the middle of a word
        made.add_column(printable(words), justify="left" if to_left else "right", overflow="fold")
    for row in rows:
        made.add_row(*map(printable, row))
    if title:
        print(printable(title))  # a title of rich would be wrapped to the width of the table
    console().print(made)


def coverage(interval: Mapping[str, Any] | None) -> None:
    """Print how many targets the prediction intervals of a model covered, or why there are none."""
    if interval and "reason" in interval:
        print(printable(f"no intervals: {interval['reason']}"))
    elif interval:
        print(f"{100 * interval['level']:.0f} % intervals covered {100 * interval['coverage']:.1f} % of the targets")


def answer(run: Callable[..., Done], words: Sequence[str], stream: Stream, what: str) -> None:
    """Run ``predict_file`` or ``embed_file`` on a file or on SMILES, and print what was done.

    Without an output, the answers to SMILES are shown as a table, or as JSON. With one, JSON is about the run, and goes
    to standard error if the table is on standard output.
    """
    from ccn.runs.output import plain
    from ccn.runs.predict import source_of

    source = source_of(words)
    if stream.output is None and not isinstance(source, str):
        with TemporaryDirectory(prefix="ccn-") as folder, stream.progress() as options:
            run(source, Path(folder) / "answers.csv", options)
            with (Path(folder) / "answers.csv").open(newline="", encoding="utf-8") as file:
                head, *rows = csv.reader(file)
        if stream.json:
            print_json([dict(zip(head, map(plain, row), strict=True)) for row in rows])
            return
        if not any(row[-1] for row in rows):  # no reasons
            head, rows = head[:-1], [row[:-1] for row in rows]
        if len(head) > _MOST_ACROSS:
            head, *rows = map(list, zip(head, *rows, strict=True))
        table("", head, rows, {"smiles", "reason"})
        return
    output = stream.output or "-"
    with stream.progress() as options:
        done = run(source, output, options)
    if stream.json:
        found = {"rows": done.rows, "without": done.without, "seconds": done.seconds, "rows_per_second": done.rate}
        line = json.dumps(json_safe({"output": output, **found, "width": done.width}), allow_nan=False)
        print(line, file=sys.stderr if output == "-" else sys.stdout)
        return
    before = f" ({done.before:,} of them by an earlier run)" if done.before else ""
    lacking = f", {done.without:,} without {what} (see the column reason)" if done.without else ""
    where = "" if output == "-" else f"; written to {output}"
    say(stream.quiet)(f"{done.rows:,} rows{before} in {done.seconds:.1f} s, {done.rate:,.0f} rows/s{lacking}{where}")
