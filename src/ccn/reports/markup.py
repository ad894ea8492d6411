"""Tables as text: Markdown, LaTeX and CSV.

A table is a head, rows of cells and, where the default does not fit, the alignment of its columns, one letter
each, ``l`` or ``r``. By default the first column is aligned left and the others right.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence

__all__ = ["Bold", "csv_text", "latex", "latex_escaped", "markdown"]

_LATEX = {
    **{c: f"\\{c}" for c in "&%$#_{}"},
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "\\": r"\textbackslash{}",
    "±": r"$\pm$",
    "\N{EN DASH}": "--",
    "†": r"$^\dagger$",
}


class Bold(str):
    """The text of a cell that is set in bold."""

    __slots__ = ()


def markdown(head: Sequence[str], rows: Iterable[Sequence[str]], align: str | None = None) -> str:
    r"""A Markdown table, without a newline at its end.

    Example:
        >>> print(markdown(["", "MAE"], [["a|b", Bold("0.5")]]))
        |  | MAE |
        | --- | ---: |
        | a\|b | **0.5** |
    """
    rule = [{"l": "---", "r": "---:"}[a] for a in align or _default_align(head)]
    cells = [[_set(cell, cell.replace("|", r"\|"), "**{}**") for cell in line] for line in (head, *rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in (cells[0], rule, *cells[1:]))


def latex(head: Sequence[str], rows: Iterable[Sequence[str]], align: str | None = None) -> str:
    """A tabular environment, which needs the package booktabs, without a newline at its end."""
    cells = [[_set(cell, latex_escaped(cell), r"\textbf{{{}}}") for cell in line] for line in (head, *rows)]
    lines = [" & ".join(line) + r" \\" for line in cells]
    begin = rf"\begin{{tabular}}{{{align or _default_align(head)}}}"
    return "\n".join([begin, r"\toprule", lines[0] + r" \midrule", *lines[1:], r"\bottomrule", r"\end{tabular}"])


def csv_text(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Comma-separated values, a line each; None is an empty cell."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([head, *rows])
    return text.getvalue()


def latex_escaped(text: str) -> str:
    """Text with the characters that LaTeX reads otherwise written so that they print."""
    return "".join(_LATEX.get(c, c) for c in text)


def _default_align(head: Sequence[str]) -> str:
    return "l" + "r" * (len(head) - 1)


def _set(cell: str, escaped: str, bold: str) -> str:
    return bold.format(escaped) if isinstance(cell, Bold) else escaped
