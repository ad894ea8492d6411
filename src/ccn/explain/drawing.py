"""Explanations as SVG: the molecule coloured by what its atoms and bonds contribute, a legend, and bars.

Orange raises the prediction and blue lowers it, colours that colour-blind readers can distinguish; small contributions
are pale. Letters and bonds are black, so that colour means nothing else. A graph that is no molecule is drawn by its
layout (networkx).
"""

from __future__ import annotations

import math
import re
import textwrap
from collections.abc import Mapping
from html import escape
from typing import Any

import numpy as np

from ccn.errors import GraphError
from ccn.explain.explanation import Explanation
from ccn.learning.task import Floats

__all__ = [
    "arcs", "colour", "draw", "equation", "headings", "heat_map", "keyed", "legend", "limit", "molecule", "number",
    "picture", "placed", "whole",
]  # fmt: skip

Colour = tuple[float, float, float]
_LOW, _HIGH = np.array([0.24, 0.53, 0.82]), np.array([0.89, 0.50, 0.08])
_PALE = np.array([0.97, 0.97, 0.97])
_FONT = "font-family='Helvetica, Arial, sans-serif'"
_MINUS = "\N{MINUS SIGN}"
_SHOWN = 12  # bars
_KEY = 220  # width of a legend
_MAP = 300  # width of a heat map
_ARCS = 8  # pairs of atoms with an arc
_LINE = 16  # height of a line of text
_MOST = 300  # atoms that are drawn


def colour(share: float) -> Colour:
    """Red, green and blue of a contribution from -1 to 1."""
    end = _LOW if share < 0 else _HIGH
    mixed = _PALE + (end - _PALE) * min(1.0, abs(share)) ** 0.8
    return (float(mixed[0]), float(mixed[1]), float(mixed[2]))


def _hex(c: Colour) -> str:
    return "#" + "".join(f"{round(255 * x):02x}" for x in c)


def _web(share: float) -> str:
    return _hex(colour(share))


def _svg(width: int, height: int, body: str, more: str = "") -> str:
    return f"<svg width='{width}' height='{height}' viewBox='0 0 {width} {height}'{more}>{body}</svg>"


def number(x: float) -> str:
    """A contribution with its sign."""
    return f"{x:+.3g}".replace("-", _MINUS)


def _plain(x: float) -> str:
    return f"{x:.4g}".replace("-", _MINUS)


def equation(e: Explanation) -> str:
    """How the contributions add up, in words, all terms to the same decimal place."""
    parts = {name: x for name, x in e.totals.items() if name != "residual" or abs(x) > 5e-4 * abs(e.prediction)}
    largest = max(map(abs, (e.prediction, e.baseline, *parts.values())))
    digits = 3 - math.floor(math.log10(largest)) if largest else 3

    def said(x: float) -> str:
        return f"{x:.{max(digits, 0)}f}" if -3 < digits < 8 else f"{x:.4g}"

    terms = [f"{_MINUS if x < 0 else '+'} {said(abs(x))} {name}" for name, x in parts.items() if float(said(x))]
    return " ".join([f"{said(e.prediction)} = {said(e.baseline)} baseline".replace("-", _MINUS), *terms])


def limit(e: Explanation) -> float:
    """The largest contribution of an atom or a bond, for colours."""
    return float(max(np.abs(e.atoms).max(initial=0), np.abs(e.bonds).max(initial=0))) or 1.0


def picture(e: Explanation, width: int, height: int) -> str:
    """The molecule alone, as an SVG element."""
    return placed(e, width, height)[0]


def placed(e: Explanation, width: int, height: int) -> tuple[str, Floats]:
    """The same, and (atoms, 2) where the atoms are in it."""
    most = limit(e)
    atoms = {i: colour(x / most) for i, x in enumerate(e.atoms.tolist())}
    bonds = {tuple(pair): colour(x / most) for pair, x in zip(e.ends.tolist(), e.bonds.tolist(), strict=True)}
    return _drawn(e, width, height, atoms, bonds)


def _drawn(
    e: Explanation, width: int, height: int, atoms: Mapping[int, Colour], bonds: Mapping[Any, Colour]
) -> tuple[str, Floats]:
    """The element, and (atoms, 2) where the atoms are in it."""
    if len(e.atoms) > _MOST:
        text = f"<text x='10' y='20' font-size='12'>{len(e.atoms)} atoms: too many to draw</text>"
        return _svg(width, height, text, f" {_FONT}"), np.zeros((len(e.atoms), 2))
    if e.mol is None:
        return _graph(e, width, height, atoms, bonds)
    return molecule(e.mol, width, height, atoms, bonds)


def molecule(
    mol: Any,
    width: int,
    height: int,
    atoms: Mapping[int, Colour],
    bonds: Mapping[Any, Colour],
    *,
    placed: bool = False,
) -> tuple[str, Floats]:
    """RDKit's drawing with coloured atoms and bonds, which are given by their ends, and where the atoms are in it.

    A molecule that is ``placed`` has coordinates in the plane, which are kept.
    """
    from rdkit import Chem, rdBase
    from rdkit.Chem import rdDepictor
    from rdkit.Chem.Draw import rdMolDraw2D

    with rdBase.BlockLogs():
        mol = Chem.Mol(mol)
        between = {mol.GetBondBetweenAtoms(int(u), int(v)): c for (u, v), c in bonds.items()}
        of_bonds = {bond.GetIdx(): c for bond, c in between.items() if bond is not None}
        if not placed:
            rdDepictor.Compute2DCoords(mol)
        canvas = rdMolDraw2D.MolDraw2DSVG(width, height)
        options: Any = canvas.drawOptions()
        options.useBWAtomPalette()
        options.clearBackground = False
        options.padding, options.fixedBondLength, options.bondLineWidth = 0.08, 34, 1.6
        options.highlightBondWidthMultiplier, options.fillHighlights = 14, True
        try:
            canvas.DrawMolecule(
                rdMolDraw2D.PrepareMolForDrawing(mol, kekulize=True, addChiralHs=False),
                highlightAtoms=list(atoms),
                highlightAtomColors=dict(atoms),
                highlightBonds=list(of_bonds),
                highlightBondColors=of_bonds,
                highlightAtomRadii=dict.fromkeys(atoms, 0.42),
            )
        except (ValueError, RuntimeError) as error:
            raise GraphError(f"RDKit cannot draw {Chem.MolToSmiles(mol)} ({error})") from None
        places = [canvas.GetDrawCoords(i) for i in range(mol.GetNumAtoms())]
        canvas.FinishDrawing()
    text = canvas.GetDrawingText()
    body = re.sub(r"<!--.*?-->|\s+class='[^']*'", "", text[text.index(">", text.index("<svg")) + 1 :], flags=re.DOTALL)
    body = re.sub(r"(\d+\.\d)\d+", r"\1", body).replace("</svg>", "")
    return _svg(width, height, " ".join(body.split())), np.array([[p.x, p.y] for p in places]).reshape(-1, 2)


def _graph(
    e: Explanation, width: int, height: int, atoms: Mapping[int, Colour], bonds: Mapping[Any, Colour]
) -> tuple[str, Floats]:
    import networkx as nx

    g = nx.Graph()
    g.add_nodes_from(range(len(e.atoms)))
    g.add_edges_from(e.ends.tolist())
    placed = nx.spring_layout(g, seed=0) if len(g) > 1 else {0: (0.0, 0.0)}
    xy = np.array([placed[i] for i in range(len(g))])
    span = np.maximum(np.ptp(xy, axis=0), 1e-9)
    xy = (xy - xy.min(axis=0)) / span * [width - 60, height - 60] + 30
    parts = []
    for (u, v), c in bonds.items():
        (x0, y0), (x1, y1) = xy[u], xy[v]
        line = f"x1='{x0:.1f}' y1='{y0:.1f}' x2='{x1:.1f}' y2='{y1:.1f}'"
        parts += [f"<line {line} stroke='{_hex(c)}' stroke-width='9'/>", f"<line {line} stroke='#000'/>"]
    for i, c in atoms.items():
        x, y = xy[i]
        parts.append(f"<circle cx='{x:.1f}' cy='{y:.1f}' r='11' fill='{_hex(c)}' stroke='#000'/>")
        parts.append(f"<text x='{x:.1f}' y='{y + 4:.1f}' font-size='11' text-anchor='middle'>{i}</text>")
    return _svg(width, height, "".join(parts), f" {_FONT}"), xy


def legend(most: float, scale: str) -> str:
    """The colours, from lowering to raising, with the numbers at their ends; 40 high."""
    stops = "".join(f"<stop offset='{(s + 1) / 2:.2f}' stop-color='{_web(s)}'/>" for s in np.linspace(-1, 1, 9))
    ends = "".join(
        f"<text x='{x}' y='26' text-anchor='{anchor}'>{text}</text>"
        for x, anchor, text in ((0, "start", number(-most)), (_KEY / 2, "middle", "0"), (_KEY, "end", number(most)))
    )
    name = f"c{abs(hash((round(most, 9), _KEY))) % 10**9}"
    return (
        f"<g {_FONT} font-size='11'><defs><linearGradient id='{name}'>{stops}</linearGradient></defs>"
        f"<rect width='{_KEY}' height='12' fill='url(#{name})' stroke='#888' stroke-width='0.5'/>{ends}"
        f"<text y='41'>{escape(scale)}</text></g>"
    )


def _bars(values: Mapping[str, float], width: int) -> tuple[str, int]:
    """Contributions by name as bars, the largest first and what is left as one, and their height."""
    items = list(values.items())
    if len(items) > _SHOWN:
        rest = items[_SHOWN - 1 :]
        items = [*items[: _SHOWN - 1], (f"{len(rest)} others", sum(x for _, x in rest))]
    most = max((abs(x) for _, x in items), default=1.0) or 1.0
    middle, reach, out = width * 0.72, width * 0.26, []
    for i, (name, x) in enumerate(items):
        y, length = 22 * i, abs(x) / most * reach
        left = middle - length if x < 0 else middle
        short = name if len(name) <= 26 else f"{name[:25]}\N{HORIZONTAL ELLIPSIS}"
        out.append(
            f"<text x='0' y='{y + 13}'><title>{escape(name)}</title>{escape(short)}</text>"
            f"<rect x='{left:.1f}' y='{y + 3}' width='{max(length, 0.5):.1f}' height='13' "
            f"fill='{_web(np.sign(x) * 0.8)}'/>"
            f"<text x='{middle - 5 if x >= 0 else middle + 5:.1f}' y='{y + 13}' "
            f"text-anchor='{'end' if x >= 0 else 'start'}'>{number(x)}</text>"
        )
    height = 22 * len(items)
    axis = f"<line x1='{middle}' x2='{middle}' y1='0' y2='{height}' stroke='#888'/>"
    return f"<g {_FONT} font-size='11'>{''.join(out)}{axis}</g>", height


def headings(e: Explanation) -> list[str]:
    """What is predicted, and how the contributions add up to it."""
    value = "" if e.value == e.prediction else f" \N{MIDDLE DOT} predicted {_plain(e.value)}"
    return [f"{e.target}{value}", equation(e)]


def keyed(e: Explanation) -> str:
    """The legend of a drawing, as an element of its own."""
    text = f"contributions, {e.scale}"
    width = max(230, min(460, 7 * len(text)))
    return _svg(width, 48, _at(1, 2, legend(limit(e), text)))


def whole(e: Explanation, width: int = 300) -> str:
    """The bars of the molecule-level features, as an element of its own."""
    return _whole(e, width)[0]


def _whole(e: Explanation, width: int) -> tuple[str, int]:
    """The same, and its height."""
    made, height = _bars(e.whole, width)
    title = f"<text y='12' font-size='12' {_FONT}>whole molecule</text>"
    return _svg(width, height + 24, title + _at(0, 22, made)), height + 24


def _at(x: int, y: int, content: str) -> str:
    return f"<g transform='translate({x},{y})'>{content}</g>"


def draw(e: Explanation, width: int = 720) -> str:
    """The whole picture as an SVG document."""
    left = round(width * 0.58) if e.whole else width
    height = min(round(left * 0.68), 340)
    first, second = headings(e)
    lines = [*textwrap.wrap(first, max(20, width // 8)), *textwrap.wrap(second, max(20, width // 7))]
    top = 10 + _LINE * len(lines)
    texts = "".join(
        f"<text x='12' y='{6 + _LINE * (i + 1)}' font-size='{12 if i else 14}'>{escape(line)}</text>"
        for i, line in enumerate(lines)
    )
    key = legend(limit(e), f"contributions, {e.scale}")
    parts = [_at(0, top, picture(e, left, height)), _at(12, top + height + 4, key)]
    total = top + height + 52
    if e.whole:
        made, tall = _whole(e, width - left - 20)
        parts.append(_at(left + 8, top + 2, made))
        total = max(total, top + tall + 18)
    head = f"xmlns='http://www.w3.org/2000/svg' width='{width}' height='{total}' viewBox='0 0 {width} {total}'"
    return f"<svg {head} {_FONT}><rect width='100%' height='100%' fill='#fff'/>{texts}{''.join(parts)}</svg>"


def _together(e: Explanation) -> tuple[Floats, float]:
    """(atoms, atoms) what two atoms contribute together and, on the diagonal, by themselves; the largest of pairs."""
    assert e.pairs is not None
    both = e.pairs + e.pairs.T
    np.fill_diagonal(both, np.diag(e.pairs))
    apart = ~np.eye(len(both), dtype=bool)
    return both, float(np.abs(both[apart]).max(initial=0)) or float(np.abs(both).max(initial=0)) or 1.0


def arcs(e: Explanation, width: int = 420, height: int = 300) -> str:
    """The molecule with arcs between the pairs of atoms that contribute most together, below its letters."""
    both, largest = _together(e)
    u, v = np.triu_indices(len(both), 1)
    order = np.argsort(-np.abs(both[u, v]), kind="stable")[:_ARCS]
    drawn, xy = _drawn(e, width, height, {}, {})
    lines = []
    for k in order[::-1].tolist():
        a, b, x = xy[u[k]], xy[v[k]], float(both[u[k], v[k]])
        bend = (a + b) / 2 + np.array([a[1] - b[1], b[0] - a[0]]) * 0.28
        lines.append(
            f"<path d='M{a[0]:.1f},{a[1]:.1f} Q{bend[0]:.1f},{bend[1]:.1f} {b[0]:.1f},{b[1]:.1f}' fill='none' "
            f"stroke='{_web(x / largest)}' stroke-width='{1 + 4 * abs(x) / largest:.1f}' stroke-opacity='0.85'>"
            f"<title>{escape(f'{e.symbols[u[k]]}{u[k]} and {e.symbols[v[k]]}{v[k]}: {number(x)}')}</title></path>"
        )
    key = _at(10, height, legend(largest, f"together, {e.scale}"))
    return _svg(width, height + 46, f"{''.join(lines)}{drawn}{key}")


def heat_map(e: Explanation) -> str:
    """The contributions of pairs as a matrix of colours, each pair twice; the diagonal has atoms by themselves.

    The colours are those of :func:`arcs`, up to the largest pair: an atom by itself often contributes more.
    """
    both, most = _together(e)
    n, margin = len(both), 26
    cell = (_MAP - margin) / n
    names = [f"{s}{i}" for i, s in enumerate(e.symbols)]
    squares = []
    for i in range(n):
        for j in range(n):
            title = escape(f"{names[i]} {names[j]}: {number(both[i, j])}")
            place = f"x='{margin + j * cell:.1f}' y='{margin + i * cell:.1f}' width='{cell:.2f}' height='{cell:.2f}'"
            squares.append(f"<rect {place} fill='{_web(both[i, j] / most)}'><title>{title}</title></rect>")
    font = f"font-size='{max(5.0, min(10.0, cell * 0.8)):.1f}'"
    labels = []
    for i in range(0, n, max(1, int(np.ceil(7 / cell)))):
        at = margin + (i + 0.75) * cell
        labels.append(f"<text x='{margin - 3}' y='{at:.1f}' {font} text-anchor='end'>{names[i]}</text>")
        turned = f"transform='translate({at:.1f},{margin - 3}) rotate(-90)'"
        labels.append(f"<text {turned} {font}>{names[i]}</text>")
    key = _at(margin, _MAP + 6, legend(most, f"together, {e.scale}"))
    return _svg(_MAP, _MAP + 52, "".join([*squares, *labels, key]), f" {_FONT}")
