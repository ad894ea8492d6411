"""Figures as SVG for a page, which sets their colours, and as SVG and PNG files.

The colours are Okabe and Ito's, which colour-blind readers can distinguish. A figure is drawn once with the colours of
paper; in a page each of them becomes a variable of the style sheet, so that dark pages have light ink.
"""

from __future__ import annotations

import io
import re
import textwrap
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from markupsafe import Markup

from ccn.files import write_atomically

__all__ = ["COLOURS", "INK", "MUTED", "Picture", "inline_svg", "new_figure", "slug", "wrapped", "write_pictures"]

INK, MUTED = "#1b1f24", "#8a929c"
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#b58900", "#4fa3d8", "#7a5195", "#6b6b6b")
"""One after another for the series of a figure."""
_VARIABLES = {INK: "ink", MUTED: "muted", **{c: f"c{i}" for i, c in enumerate(COLOURS)}}
_STYLE = {
    "axes.edgecolor": MUTED,
    "axes.grid": True,
    "axes.labelcolor": INK,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlecolor": INK,
    "axes.titlesize": 10,
    "axes.labelsize": 9,
    "figure.facecolor": "none",
    "axes.facecolor": "none",
    "font.size": 9,
    "grid.alpha": 0.3,
    "grid.color": MUTED,
    "grid.linewidth": 0.6,
    "legend.fontsize": 8,
    "legend.frameon": False,
    "legend.labelcolor": INK,
    "savefig.facecolor": "none",
    "svg.fonttype": "none",
    "svg.hashsalt": "ccn",
    "text.color": INK,
    "text.parse_math": False,  # names of columns may have dollar signs
    "xtick.color": INK,
    "xtick.labelsize": 8,
    "ytick.color": INK,
    "ytick.labelsize": 8,
}
_DPI = 150


@dataclass(frozen=True)
class Picture:
    """A figure with the name of its files.

    Attributes:
        name: of the files, without a suffix.
        title: what it shows, for readers who do not see it.
        draw: called with a new figure of matplotlib, on which it draws.
        size: in inches.
        caption: the text below it.
    """

    name: str
    title: str
    draw: Callable[[Any], None] = field(repr=False)
    size: tuple[float, float] = (4.4, 3.6)
    caption: str = ""

    @property
    def width(self) -> int:
        """The widest that it is shown, in pixels."""
        return round(110 * self.size[0])


def new_figure(size: tuple[float, float]) -> Any:
    """A figure without a window; titles and labels are given the room that they need."""
    from matplotlib.figure import Figure

    return Figure(figsize=size, layout="constrained")


def wrapped(text: str, width: int = 42) -> str:
    """A title or label in lines of some width, so that none is cut."""
    return "\n".join(textwrap.wrap(text, width, break_long_words=True))


def slug(text: str) -> str:
    """A text as a part of a file's name."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:40] or "target"


def write_pictures(pictures: Iterable[Picture], folder: Path) -> dict[str, str]:
    """Write every picture as SVG and PNG into a folder; the SVG of each by its name."""
    import matplotlib as mpl

    made: dict[str, str] = {}
    for picture in pictures:
        if picture.name in made:
            raise ValueError(f"two pictures are called {picture.name}")
        with mpl.rc_context(_STYLE):
            figure = new_figure(picture.size)
            picture.draw(figure)
            svg, png = io.StringIO(), io.BytesIO()
            figure.savefig(svg, format="svg", metadata={"Date": None}, dpi=_DPI)
            figure.set_layout_engine("none")  # it is laid out
            figure.savefig(png, format="png", dpi=_DPI, facecolor="white")
        made[picture.name] = svg.getvalue()
        folder.mkdir(parents=True, exist_ok=True)
        white = made[picture.name].replace("<svg ", '<svg style="background:#ffffff" ', 1)
        write_atomically(folder / f"{picture.name}.svg", white.encode())
        write_atomically(folder / f"{picture.name}.png", png.getvalue())
    return made


_ID = re.compile(r'(\bid="|url\(#|href="#)')


def inline_svg(picture: Picture, svg: str) -> Markup:
    """An SVG as an element of a page: as wide as there is room, in its colours, its ids prefixed by its name."""
    body = svg[svg.index("<svg") :]
    body = re.sub(r"<metadata>.*?</metadata>", "", body, flags=re.DOTALL)
    opening = body[: body.index(">") + 1]
    view = re.search(r'viewBox="[^"]*"', opening)
    body = body[len(opening) :]
    body = _ID.sub(lambda found: f"{found[1]}{picture.name}-", body)
    for colour, name in _VARIABLES.items():
        body = body.replace(colour, f"var(--{name})")
    body = re.sub(r"\s*\n\s*", " ", body)
    head = Markup('<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" {} role="img">')
    return (
        head.format(Markup(view[0] if view else "")) + Markup("<title>{}</title>").format(picture.title) + Markup(body)
    )
