"""Pages: sections of text, tables, figures and drawings, as one HTML file that needs nothing else.

A section is a title and blocks. A block is HTML (:class:`markupsafe.Markup`; whatever comes from data is escaped by its
``format``), a :class:`Picture`, or several pictures side by side.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from markupsafe import Markup

from ccn.reports.figures import Picture, inline_svg
from ccn.version import __version__

__all__ = ["Block", "Fact", "Section", "bullets", "details", "paragraph", "render", "table", "tiles"]

Block = Markup | Picture | Sequence[Picture]


@dataclass(frozen=True)
class Section:
    """A section of a page.

    Attributes:
        title: its heading.
        blocks: what stands in it.

    Example:
        >>> Section("Metrics", [paragraph("Nothing yet.")]).title
        'Metrics'
    """

    title: str
    blocks: Sequence[Block]

    @property
    def pictures(self) -> Iterator[Picture]:
        for block in self.blocks:
            if isinstance(block, Picture):
                yield block
            elif not isinstance(block, Markup):
                yield from block


@dataclass(frozen=True)
class Fact:
    """A number that the head of a page shows, what it is, and a remark."""

    value: str
    name: str
    note: str = ""


def paragraph(text: str, **values: Any) -> Markup:
    """A paragraph; values are put where the text names them, and are escaped as all of it is.

    Example:
        >>> paragraph("The largest is {name}.", name="<b>")
        Markup('<p>The largest is &lt;b&gt;.</p>')
    """
    return Markup("<p>{}</p>").format(text.format(**values) if values else text)


def bullets(lines: Sequence[str]) -> Markup:
    """A list.

    Example:
        >>> bullets(["CCO", "<b>"])
        Markup('<ul><li>CCO</li><li>&lt;b&gt;</li></ul>')
    """
    return Markup("<ul>{}</ul>").format(Markup("").join(Markup("<li>{}</li>").format(line) for line in lines))


def table(head: Sequence[str], rows: Sequence[Sequence[Any]], left: int = 1, scroll: bool = True) -> Markup:
    """A table whose first columns are aligned left and the others right; an empty head is not shown.

    Example:
        >>> str(table(["molecule", "value"], [["CCO", 1.5]])).count("<td")
        2
    """

    def line(tag: str, cells: Sequence[Any]) -> Markup:
        right = Markup(' class="n"')
        made = [Markup("<{0}{1}>{2}</{0}>").format(tag, right * (i >= left), cell) for i, cell in enumerate(cells)]
        return Markup("<tr>{}</tr>").format(Markup("").join(made))

    top = Markup("<thead>{}</thead>").format(line("th", head)) if any(head) else Markup("")
    body = Markup("<tbody>{}</tbody>").format(Markup("").join(line("td", row) for row in rows))
    made = Markup("<table>{}{}</table>").format(top, body)
    return Markup('<div class="wide" tabindex="0">{}</div>').format(made) if scroll else made


def tiles(made: Sequence[tuple[Markup, Sequence[Any]]]) -> Markup:
    """Drawings side by side, each with lines of text below it; the first line is set in bold.

    Example:
        >>> str(tiles([(Markup("<svg></svg>"), ["ethanol", 1.5])])).count("<svg")
        1
    """
    each = [
        Markup('<figure class="tile"><div class="drawing">{}</div><figcaption>{}</figcaption></figure>').format(
            drawing,
            Markup("").join(
                Markup("<strong>{}</strong>" if i == 0 else "<span>{}</span>").format(line)
                for i, line in enumerate(lines)
            ),
        )
        for drawing, lines in made
    ]
    return Markup('<div class="tiles">{}</div>').format(Markup("").join(each))


def details(summary: str, inner: Markup) -> Markup:
    """What is shown when its summary is clicked, and on paper.

    Example:
        >>> details("more", paragraph("text"))
        Markup('<details><summary>more</summary><p>text</p></details>')
    """
    return Markup("<details><summary>{}</summary>{}</details>").format(summary, inner)


@cache
def _template() -> Any:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    where = FileSystemLoader(Path(__file__).parent)
    made = Environment(loader=where, autoescape=True, undefined=StrictUndefined, trim_blocks=True)
    return made.get_template("page.html")


def render(
    title: str,
    sections: Sequence[Section],
    *,
    facts: Sequence[Fact] = (),
    lead: str = "",
    script: str = "",
    svgs: Mapping[str, str] | None = None,
) -> str:
    """The page; ``svgs`` has the SVG of every picture by its name, as :func:`ccn.reports.figures.write_pictures` made
    them.

    Example:
        >>> page = render("A page", [Section("First", [paragraph("Text.")])])
        >>> page.lstrip()[:15]
        '<!DOCTYPE html>'
    """

    def html(block: Block) -> Markup:
        if isinstance(block, Markup):
            return block
        if isinstance(block, Picture):
            caption = Markup("<figcaption>{}</figcaption>").format(block.caption) if block.caption else Markup("")
            svg = inline_svg(block, (svgs or {})[block.name])
            return Markup('<figure class="plot" style="max-width:{}px">{}{}</figure>').format(block.width, svg, caption)
        two = Markup(" two" if len(block) in (2, 4) else "")  # in threes the fourth would stand alone
        return Markup('<div class="plots{}">{}</div>').format(two, Markup("").join(map(html, block)))

    made = [
        {"title": s.title, "key": f"s{i}", "html": Markup("\n").join(map(html, s.blocks))}
        for i, s in enumerate(sections, 1)
    ]
    shown = {"title": title, "lead": lead, "facts": facts, "sections": made, "script": Markup(script)}
    return str(_template().render(shown, version=__version__))
