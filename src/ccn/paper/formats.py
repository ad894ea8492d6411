"""A table of the paper as Markdown, LaTeX or CSV."""

from __future__ import annotations

from collections.abc import Iterable

from ccn.paper.comparison import MISSING, Table
from ccn.reports.markup import Bold, csv_text, latex, latex_escaped, markdown

__all__ = ["as_csv", "as_latex", "as_markdown"]

_OURS = ("mean", "deviation", "splits", "of", "timeouts", "failures", "best", "close")
_COLUMNS = ("table", "item", "method", *_OURS, "paper", "paper_deviation", "paper_text")


def as_markdown(table: Table) -> str:
    """The title, the table and its notes."""
    notes = "\n".join(f"- {note}" for note in table.notes)
    return "\n\n".join(part for part in (table.title, markdown(*_grid(table)), notes) if part) + "\n"


def as_latex(table: Table) -> str:
    """A table environment; it needs the package booktabs."""
    lines = [
        r"\begin{table}",
        r"\centering",
        rf"\caption{{{latex_escaped(table.title)}}}",
        latex(*_grid(table)),
        *(rf"\par\footnotesize {latex_escaped(note)}" for note in table.notes),
        r"\end{table}",
    ]
    return "\n".join(lines) + "\n"


def as_csv(tables: Iterable[Table]) -> str:
    """One line per figure of all tables, numbers unrounded."""
    rows = []
    for table in tables:
        for (item, method), f in table.figures.items():
            ours = (f.mean, f.deviation, len(f.values), f.splits, f.timeouts, f.failures, int(f.best), int(f.close))
            paper = (None,) * 3 if f.quoted is None else (f.quoted.value, f.quoted.deviation, f.quoted.text)
            rows.append((table.name, item, method, *ours, *paper))
    return csv_text(_COLUMNS, rows)


def _grid(table: Table) -> tuple[list[str], list[list[str]]]:
    """Head and rows; the paper's column stands beside ours where the paper has any figure of it."""
    columns, rows = (table.methods, table.items) if table.across else (table.items, table.methods)
    at = {
        (row, column): table.figures[(row, column) if table.across else (column, row)]
        for row in rows
        for column in columns
    }
    beside = {column for column in columns if any(at[row, column].quoted for row in rows)}
    head = ["target" if table.across else "method"]
    for column in columns:
        head += [table.label(column), *["paper"] * (column in beside)]
    lines = []
    for row in rows:
        line = [table.label(row)]
        for column in columns:
            f = at[row, column]
            text = f.text(table.form)
            line.append(Bold(text) if f.best else text + "†" * f.close)
            if column in beside:
                line.append(MISSING if f.quoted is None else f.quoted.text)
        lines.append(line)
    return head, lines
