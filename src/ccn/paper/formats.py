"""A table of the paper as Markdown, LaTeX, CSV or a picture, and in a page of Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from ccn.errors import DataError, FileError
from ccn.files import write_figure
from ccn.paper.comparison import MISSING, Table
from ccn.reports.figures import new_figure
from ccn.reports.markup import Bold, csv_text, latex, latex_escaped, markdown

__all__ = ["as_csv", "as_latex", "as_markdown", "draw", "embed"]

_OURS = ("mean", "deviation", "splits", "of", "timeouts", "failures", "best", "close")
_COLUMNS = ("table", "item", "method", *_OURS, "paper", "paper_deviation", "paper_text")
_TABLE = re.compile(r"(<!-- ccn table (?P<name>\S+) -->\n).*?(<!-- end of table -->)", re.DOTALL)
_MARK = re.compile(r"<!-- ccn table (?P<name>\S+) -->\n|<!-- end of table -->")


def as_markdown(table: Table) -> str:
    """The title, the table and its notes."""
    notes = "\n".join(f"- {note}" for note in table.notes)
    return "\n\n".join(part for part in (table.title, markdown(*_grid(table)), notes) if part) + "\n"


def as_latex(table: Table) -> str:
    """A table environment; it needs the package booktabs."""
    head = [r"\begin{table}", r"\centering", rf"\caption{{{latex_escaped(table.title)}}}"]
    notes = [rf"\par\footnotesize {latex_escaped(note)}" for note in table.notes]
    return "\n".join([*head, latex(*_grid(table)), *notes, r"\end{table}"]) + "\n"


def as_csv(tables: Iterable[Table]) -> str:
    """One line per figure of all tables, numbers unrounded."""
    rows = []
    for table in tables:
        for (item, method), f in table.figures.items():
            ours = (f.mean, f.deviation, len(f.values), f.splits, f.timeouts, f.failures, int(f.best), int(f.close))
            paper = (None,) * 3 if f.quoted is None else (f.quoted.value, f.quoted.deviation, f.quoted.text)
            rows.append((table.name, item, method, *ours, *paper))
    return csv_text(_COLUMNS, rows)


def embed(page: str, tables: Iterable[Table], where: str) -> str:
    """The page with the tables between its marks, ``<!-- ccn table NAME -->`` and ``<!-- end of table -->``.

    Tables without marks and marks without a table are skipped; a table whose end is not marked is an error.
    """
    names = [mark["name"] for mark in _MARK.finditer(page)]  # None at an end
    for name, following in pairwise([*names, "end of page"]):
        if name is not None and following is not None:
            raise FileError(
                f"{where}: <!-- ccn table {name} --> has no end; write a line <!-- end of table --> below its table"
            )
    given = {table.name: table for table in tables}
    if not given.keys() & set(names):
        raise FileError(
            f"{where}: there is no place for {', '.join(given)}; write a line <!-- ccn table NAME --> and below it a "
            "line <!-- end of table -->"
        )

    def filled(found: re.Match[str]) -> str:
        table = given.get(found["name"])
        return found[0] if table is None else f"{found[1]}\n{as_markdown(table)}\n{found[3]}"

    return _TABLE.sub(filled, page)


def draw(table: Table, path: Path) -> Path:
    """Write a PNG: a panel per item, a dot for each of our figures, a ring for the paper's, and deviations as bars."""
    if not table.methods:
        raise DataError(f"{table.name}: there is no record to draw; run {table.command} first")
    columns = min(5, len(table.items))
    rows = -(-len(table.items) // columns)
    canvas = new_figure((2.2 + 2.3 * columns, 0.9 + rows * (0.7 + 0.2 * len(table.methods))))
    axes = canvas.subplots(rows, columns, sharey=True, squeeze=False).ravel()
    for axis, item in zip(axes, table.items, strict=False):
        figures = [table.figures[item, method] for method in table.methods]
        _dots(axis, [(f.mean, f.deviation) for f in figures], "ours", color="tab:blue", shift=0.12)
        if any(f.quoted for f in table.figures.values()):
            quoted = [(None, None) if f.quoted is None else (f.quoted.value, f.quoted.deviation) for f in figures]
            _dots(axis, quoted, table.source, color="tab:orange", shift=-0.12, markerfacecolor="white")
        axis.set_title(table.label(item), fontsize=9)
        axis.set_yticks(range(len(table.methods)), [table.label(m) for m in table.methods], fontsize=8)
        axis.tick_params(axis="x", labelsize=8)
        axis.grid(axis="x", alpha=0.3)
        axis.set_ylim(len(table.methods) - 0.5, -0.5)
    for axis in axes[len(table.items) :]:
        axis.remove()
    canvas.suptitle(table.title, fontsize=10)
    handles, labels = axes[0].get_legend_handles_labels()
    canvas.legend(handles, labels, loc="outside lower center", ncols=2, fontsize=8, frameon=False)
    write_figure(path, canvas)
    return path


def _dots(
    axis: Any, figures: Sequence[tuple[float | None, float | None]], label: str, shift: float, **style: Any
) -> None:
    known = [(mean, i - shift, deviation or 0.0) for i, (mean, deviation) in enumerate(figures) if mean is not None]
    x, y, error = zip(*known, strict=True) if known else ((), (), ())
    axis.errorbar(x, y, xerr=error, label=label, marker="o", linestyle="none", markersize=4, elinewidth=0.8, **style)


def _grid(table: Table) -> tuple[list[str], list[list[str]]]:
    """Head and rows; the paper's column stands beside ours where the paper has any figure of it."""
    columns, rows = (table.methods, table.items) if table.across else (table.items, table.methods)
    at = {(key if table.across else key[::-1]): figure for key, figure in table.figures.items()}
    beside = {c for c in columns if c not in table.references and any(at[row, c].quoted for row in rows)}
    head = ["method" if not table.across else "target" if table.name.startswith("qm9") else "task"]
    for column in columns:
        head += [table.label(column), *[table.source] * (column in beside)]
    lines = []
    for row in rows:
        line = [table.label(row)]
        for column in columns:
            f = at[row, column]
            if column not in table.references:
                text = f.text(table.form)
                line.append(Bold(text) if f.best else text + "†" * f.close)
            if column in beside or column in table.references:
                line.append(MISSING if f.quoted is None else f.quoted.text)
        lines.append(line)
    return head, lines
