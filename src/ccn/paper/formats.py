"""A table as Markdown, LaTeX, CSV or a picture, and Markdown put between the marks of a page."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from ccn.errors import DataError, DependencyError, FileError
from ccn.paper.tables import MISSING, Figure, Table

__all__ = ["as_csv", "as_latex", "as_markdown", "cells_of", "draw", "embed"]

_MARKS = re.compile(r"(<!-- ccn table (?P<name>\S+) -->\n).*?(<!-- end of table -->)", re.DOTALL)
_MARK = re.compile(r"<!-- ccn table (?P<name>\S+) -->\n|<!-- end of table -->")
_LATEX = {
    **{c: f"\\{c}" for c in "&%$#_{}"},
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "\\": r"\textbackslash{}",
    "±": r"$\pm$",
    MISSING: "--",
    "†": r"$^\dagger$",
}
_COLUMNS = ("table", "item", "method", "mean", "deviation", "splits", "of", "timeouts", "failures", "best", "close")


def as_markdown(table: Table) -> str:
    """The title, the table and its notes."""
    head, *rows = _grid(table, lambda text: text.replace("|", r"\|"), "**{}**".format)
    lines = [head, ["---", *["---:"] * (len(head) - 1)], *rows]
    body = "\n".join("| " + " | ".join(line) + " |" for line in lines)
    notes = "\n".join(f"- {note}" for note in table.notes)
    return "\n\n".join(part for part in (table.title, body, notes) if part) + "\n"


def as_latex(table: Table) -> str:
    """A table environment; it needs the package booktabs."""
    head, *rows = _grid(table, _escaped, r"\textbf{{{}}}".format)
    lines = [
        r"\begin{table}",
        r"\centering",
        rf"\caption{{{_escaped(table.title)}}}",
        rf"\begin{{tabular}}{{l{'r' * (len(head) - 1)}}}",
        r"\toprule",
        *(" & ".join(line) + r" \\" + (r" \midrule" if line is head else "") for line in (head, *rows)),
        r"\bottomrule",
        r"\end{tabular}",
        *(rf"\par\footnotesize {_escaped(note)}" for note in table.notes),
        r"\end{table}",
    ]
    return "\n".join(lines) + "\n"


def as_csv(tables: Iterable[Table]) -> str:
    """One line per figure of all tables, numbers unrounded."""
    out = io.StringIO()
    lines = csv.writer(out, lineterminator="\n")
    lines.writerow((*_COLUMNS, "paper", "paper_deviation", "paper_text"))
    for table in tables:
        for (item, method), f in table.figures.items():
            own = (f.mean, f.deviation, len(f.values), f.splits, f.timeouts, f.failures, int(f.best), int(f.close))
            said = (None,) * 3 if f.quoted is None else (f.quoted.value, f.quoted.deviation, f.quoted.text)
            lines.writerow((table.name, item, method, *own, *said))
    return out.getvalue()


def draw(table: Table, path: Path) -> Path:
    """A PNG: a panel per item, with a dot for each of our figures and a ring for the paper's; bars are deviations."""
    try:
        from matplotlib.figure import Figure as Canvas
    except ImportError:
        raise DependencyError("a picture needs matplotlib: pip install 'ccn[plots]'") from None
    if not table.methods:
        raise DataError(f"{table.name}: there is no record to draw; run ccn reproduce {cells_of(table)} first")
    columns = min(5, len(table.items))
    rows = -(-len(table.items) // columns)
    canvas = Canvas(figsize=(2.2 + 2.3 * columns, 0.9 + rows * (0.7 + 0.2 * len(table.methods))), layout="constrained")
    axes = canvas.subplots(rows, columns, sharey=True, squeeze=False).ravel()
    at = range(len(table.methods))
    for axis, item in zip(axes, table.items, strict=False):
        figures = [table.figures[item, method] for method in table.methods]
        _dots(axis, [(f.mean, f.deviation) for f in figures], "ours", color="tab:blue", marker="o", shift=0.12)
        if any(f.quoted for f in table.figures.values()):
            quoted = [(None, None) if f.quoted is None else (f.quoted.value, f.quoted.deviation) for f in figures]
            _dots(axis, quoted, "paper", color="tab:orange", marker="o", shift=-0.12, markerfacecolor="white")
        axis.set_title(table.label(item), fontsize=9)
        axis.set_yticks(at, [table.label(m) for m in table.methods], fontsize=8)
        axis.tick_params(axis="x", labelsize=8)
        axis.grid(axis="x", alpha=0.3)
        axis.set_ylim(len(table.methods) - 0.5, -0.5)
    for axis in axes[len(table.items) :]:
        axis.remove()
    canvas.suptitle(table.title, fontsize=10)
    handles, labels = axes[0].get_legend_handles_labels()
    canvas.legend(handles, labels, loc="outside lower center", ncols=2, fontsize=8, frameon=False)
    canvas.savefig(path, dpi=150)
    return path


def embed(page: str, tables: Iterable[Table], where: str) -> str:
    """A page of Markdown with the tables between its marks, ``<!-- ccn table NAME -->`` and ``<!-- end of table -->``.

    Tables without marks, and marks without a table, are left out; a table whose end is not marked is an error.
    """
    _check_ends(page, where)
    given = {table.name: table for table in tables}
    if not any(found["name"] in given for found in _MARKS.finditer(page)):
        raise FileError(
            f"{where}: there is no place for {', '.join(given)}; write a line <!-- ccn table NAME --> and below it a "
            "line <!-- end of table -->"
        )

    def filled(found: re.Match[str]) -> str:
        table = given.get(found["name"])
        return found[0] if table is None else f"{found[1]}\n{as_markdown(table)}\n{found[3]}"

    return _MARKS.sub(filled, page)


def _check_ends(page: str, where: str) -> None:
    """Refuse a page in which a table has no end before the next one begins: what is between would be lost."""
    names = [found["name"] for found in _MARK.finditer(page)]  # None is an end
    for name, following in pairwise([*names, "end of page"]):
        if name is not None and following is not None:
            raise FileError(
                f"{where}: <!-- ccn table {name} --> has no end; write a line <!-- end of table --> below its table"
            )


def _grid(table: Table, plain: Callable[[str], str], strong: Callable[[str], str]) -> list[list[str]]:
    """Head and rows of cells; beside ours, the paper's where it has any of that column."""
    columns, rows = (table.methods, table.items) if table.across else (table.items, table.methods)

    def figure(row: str, column: str) -> Figure:
        return table.figures[(row, column) if table.across else (column, row)]

    beside = {column for column in columns if any(figure(row, column).quoted for row in rows)}
    head = ["target" if table.across else "method"]
    for column in columns:
        head += [plain(table.label(column)), *["paper"] * (column in beside)]
    lines = [head]
    for row in rows:
        line = [plain(table.label(row))]
        for column in columns:
            f = figure(row, column)
            text = plain(f.text(table.form))
            line.append(strong(text) if f.best else text + plain("†") if f.close else text)
            if column in beside:
                line.append(plain(MISSING if f.quoted is None else f.quoted.text))
        lines.append(line)
    return lines


def cells_of(table: Table) -> str:
    """What ``ccn reproduce`` must be given so that a table is not empty."""
    return "MUTAG --methods ridge,wl --splits 100" if table.name == "kernels-more" else table.name.partition("-")[0]


def _escaped(text: str) -> str:
    return "".join(_LATEX.get(c, c) for c in text)


def _dots(
    axis: Any, figures: Sequence[tuple[float | None, float | None]], label: str, shift: float, **style: Any
) -> None:
    known = [(mean, i, deviation or 0.0) for i, (mean, deviation) in enumerate(figures) if mean is not None]
    x, y, error = zip(*known, strict=True) if known else ((), (), ())
    at = [i - shift for i in y]
    axis.errorbar(x, at, xerr=error, label=label, linestyle="none", markersize=4, elinewidth=0.8, **style)
