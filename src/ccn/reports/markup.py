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
    lines = [_markdown_cells(head), rule, *map(_markdown_cells, rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def latex(head: Sequence[str], rows: Iterable[Sequence[str]], align: str | None = None) -> str:
    """A tabular environment, which needs the package booktabs, without a newline at its end."""
    lines = [" & ".join(_latex_cells(line)) + r" \\" for line in (head, *rows)]
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


def _markdown_cells(line: Iterable[str]) -> list[str]:
    escaped = ((cell, cell.replace("|", r"\|")) for cell in line)
    return [f"**{text}**" if isinstance(cell, Bold) else text for cell, text in escaped]


def _latex_cells(line: Iterable[str]) -> list[str]:
    escaped = ((cell, latex_escaped(cell)) for cell in line)
    return [rf"\textbf{{{text}}}" if isinstance(cell, Bold) else text for cell, text in escaped]
