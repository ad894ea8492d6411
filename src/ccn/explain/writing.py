"""Explanations in files: a page, a drawing, a table of all contributions, or an SDF file.

A page is one self-contained HTML file with a card for each molecule. A table has a line for each term of the sum, so
that the lines of a molecule, without its prediction, add up to it.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

from ccn.chemistry.smiles import parse_smiles
from ccn.errors import ConfigurationError
from ccn.explain.drawing import arcs, draw, headings, heat_map, keyed, molecule, picture, whole
from ccn.explain.explanation import Explanation
from ccn.explain.neighbours import Cliff, Common, Other, common
from ccn.explain.place import Place, short
from ccn.files import write_atomically

__all__ = ["SUFFIXES", "Card", "Extra", "cliffs_page", "page", "sdf", "table", "write"]

SUFFIXES = (".html", ".svg", ".csv", ".tsv", ".sdf")
_MARK = (0.99, 0.85, 0.55)
_MOST = 500  # molecules drawn on a page
_FEW = 20  # up to which their nearest training molecules are drawn too
_STYLE = """
:root { color-scheme: light dark; --ink: #1b1b1b; --paper: #fff; --line: #ddd; --dim: #666; }
@media (prefers-color-scheme: dark) { :root { --ink: #e8e8e8; --paper: #17181a; --line: #3a3c40; --dim: #a5a5a5; } }
body { font: 15px/1.45 Helvetica, Arial, sans-serif; color: var(--ink); background: var(--paper); margin: 0 auto;
  max-width: 960px; padding: 1.2em; }
h1 { font-size: 1.5em; margin: 0 0 .3em; } h2 { font-size: 1.05em; margin: .2em 0; }
h1, h2, figcaption { overflow-wrap: anywhere; }
p, li { max-width: 75ch; overflow-wrap: anywhere; }
section p { margin: .2em 0; } .dim { color: var(--dim); font-size: .92em; }
section { border: 1px solid var(--line); border-radius: 8px; padding: .9em 1.1em; margin: 1em 0; break-inside: avoid; }
figure { margin: .4em .5em .4em 0; background: #fbfbfa; color: #111; border-radius: 6px; padding: 4px;
  display: inline-block; max-width: 100%; box-sizing: border-box; vertical-align: top; }
figure > svg, figure > div > svg { max-width: 100%; height: auto; }
figcaption { font-size: .85em; padding: 2px 8px 6px; color: #333; max-width: 300px; }
table { border-collapse: collapse; font-size: .92em; } th, td { text-align: left; padding: .15em .8em .15em 0; }
@media print { body { max-width: none; } section { border-color: #bbb; } }
"""


@dataclass(frozen=True)
class Extra:
    """Something more about a molecule: drawings with captions, and rows of a table."""

    title: str
    drawings: Sequence[tuple[str, str]] = ()
    head: Sequence[str] = ()
    rows: Sequence[Sequence[str]] = ()


@dataclass(frozen=True)
class Card:
    """A molecule on a page: its name, its explanation, similar molecules with a different outcome, and what else.

    ``fields`` are the receptive fields of each atom, where they were asked for; ``place`` says whether the model has
    seen anything like the molecule.
    """

    name: str
    explanation: Explanation
    others: Sequence[Other] = ()
    extras: Sequence[Extra] = ()
    fields: Sequence[Sequence[Sequence[int]]] = ()
    place: Place | None = None


def _document(title: str, body: str) -> str:
    head = f"<meta charset='utf-8'><meta name='viewport' content='width=device-width'><title>{escape(title)}</title>"
    return f"<!doctype html><html lang='en'><head>{head}<style>{_STYLE}</style></head><body>{body}</body></html>\n"


def _figure(svg: str, caption: str = "") -> str:
    under = f"<figcaption>{escape(caption)}</figcaption>" if caption else ""
    return f"<figure>{svg}{under}</figure>"


def _explained(e: Explanation) -> str:
    """The words as text, which a phone does not shrink, and the drawing, its legend and the bars as they fit."""
    words = "".join(f"<p>{escape(line)}</p>" for line in headings(e))
    drawn = f"<figure>{picture(e, 460, 300)}<div>{keyed(e)}</div></figure>"
    return f"{words}{drawn}" + (f"<figure>{whole(e)}</figure>" if e.whole else "")


def _placed(e: Explanation, place: Place | None, drawn: bool) -> str:
    """Whether the model has seen anything like the molecule."""
    if place is None:
        return ""
    text = "<h2>Has the model seen anything like it?</h2>" + "".join(f"<p>{escape(x)}</p>" for x in place.lines())
    if not drawn or not place.nearest or not e.smiles:
        return text
    shared = common(e.smiles, place.nearest)
    if len(shared) == len(e.atoms) and place.similarity == 1:  # nothing to see
        return text
    measured = f", measured {short(place.value)}" if place.value else ""
    return text + _compared(e, place.nearest, shared, f"nearest training molecule{measured}; what differs is marked")


def _compared(e: Explanation, other: str, shared: Common, caption: str) -> str:
    """The molecule and another, as two figures."""
    this, that = _pair(e.smiles, other, shared)
    return _figure(this, f"this molecule, predicted {e.value:.4g}") + _figure(that, caption)


def _pair(first: str, second: str, common: Common, width: int = 280, height: int = 200) -> tuple[str, str]:
    """Two molecules, drawn alike where they have atoms in common; the others are marked."""
    from rdkit.Chem import rdDepictor

    mols = parse_smiles(first), parse_smiles(second)
    rdDepictor.Compute2DCoords(mols[0])
    if len(common) > 2:
        rdDepictor.GenerateDepictionMatching2DStructure(mols[1], mols[0], [list(pair) for pair in common])
    drawn = []
    for mol, same in zip(mols, zip(*common, strict=True) if common else ((), ()), strict=True):
        marked = dict.fromkeys(set(range(mol.GetNumAtoms())) - set(same), _MARK)
        drawn.append(molecule(mol, width, height, marked, {}, placed=len(common) > 2)[0])
    return drawn[0], drawn[1]


def page(cards: Sequence[Card], title: str, about: Sequence[str] = ()) -> str:
    """A page of explanations; ``about`` are paragraphs at its top."""
    parts = [f"<h1>{escape(title)}</h1>", *(f"<p class='dim'>{escape(text)}</p>" for text in about)]
    if len(cards) > _MOST:
        parts.append(f"<p>The first {_MOST} of {len(cards):,} molecules are drawn; write a .csv file for all.</p>")
    drawn = len(cards) <= _FEW
    for card in cards[:_MOST]:
        e = card.explanation
        parts.append(f"<section><h2>{escape(card.name)}</h2>{_explained(e)}{_placed(e, card.place, drawn)}")
        if e.pairs is not None:
            every = "all pairs; on the diagonal atoms by themselves, which can go beyond the colours"
            parts.append("<h2>Pairs of atoms</h2><p class='dim'>What two atoms contribute together, in networks.</p>")
            parts += [_figure(arcs(e), "the largest pairs"), _figure(heat_map(e), every)]
        if card.others:
            parts.append("<h2>The most similar training molecules with a different outcome</h2>")
        for other in card.others:
            caption = f"measured {short(other.value)}, similarity {other.similarity:.2f}; what differs is marked"
            parts.append(_compared(e, other.smiles, other.common, caption) + "<br>")
        parts += [_more(extra) for extra in card.extras]
        parts.append("</section>")
    return _document(title, "".join(parts))


def _more(extra: Extra) -> str:
    out = f"<h2>{escape(extra.title)}</h2>" + "".join(_figure(svg, text) for svg, text in extra.drawings if svg)
    if extra.head:
        tagged = [("th", extra.head), *(("td", row) for row in extra.rows)]
        lines = [f"<tr>{''.join(f'<{tag}>{escape(c)}</{tag}>' for c in row)}</tr>" for tag, row in tagged]
        out += f"<table>{''.join(lines)}</table>"
    return out


def cliffs_page(found: Sequence[Cliff], title: str, names: Sequence[str], called: Callable[[int], str]) -> str:
    """A page of activity cliffs, the steepest first.

    Args:
        found: the pairs.
        title: of the page.
        names: of classes, where values are their numbers.
        called: the name of a row by its place.
    """

    def value(y: float) -> str:
        return names[int(y)] if names else f"{y:.4g}"

    about = "Similarity is Tanimoto's of counted Morgan fingerprints of radius 2; what differs is marked."
    parts = [f"<h1>{escape(title)}</h1><p class='dim'>{about}</p>"]
    parts += [] if found else ["<p>No two similar molecules have values that differ strongly.</p>"]
    for i, cliff in enumerate(found, 1):
        head = f"{i}. similarity {cliff.similarity:.2f}, {value(cliff.values[0])} and {value(cliff.values[1])}"
        parts.append(f"<section><h2>{escape(head)}</h2>")
        drawn = _pair(*cliff.smiles, cliff.common, 400, 280)
        for row, svg, y in zip(cliff.rows, drawn, cliff.values, strict=True):
            parts.append(_figure(svg, f"{called(row)}: {value(y)}"))
        parts.append("</section>")
    return _document(title, "".join(parts))


def table(cards: Sequence[Card], delimiter: str = ",") -> str:
    """A line for each term: the prediction, the baseline, each atom, bond and whole feature, and the residual."""
    out = io.StringIO()
    writer = csv.writer(out, delimiter=delimiter, lineterminator="\n")
    writer.writerow(["molecule", "smiles", "target", "scale", "term", "index", "name", "contribution"])
    for card in cards:
        e = card.explanation
        first = [card.name, e.smiles, e.target, e.scale]
        lines = [("prediction", "", "", e.prediction), ("baseline", "", "", e.baseline)]
        lines += [("atom", str(i), e.symbols[i], x) for i, x in enumerate(e.atoms.tolist())]
        for (u, v), x in zip(e.ends.tolist(), e.bonds.tolist(), strict=True):
            lines.append(("bond", f"{u}-{v}", f"{e.symbols[u]}-{e.symbols[v]}", x))
        lines += [("whole", "", name, x) for name, x in e.whole.items()]
        lines.append(("residual", "", "", e.residual))
        writer.writerows([*first, *names, f"{x:.9g}"] for *names, x in lines)
    return out.getvalue()


def sdf(cards: Sequence[Card]) -> str:
    """Molecules with the prediction, the baseline and the contributions of atoms and bonds.

    Those of atoms are a list of the kind that RDKit reads as properties of atoms (``atom.dprop.contribution``).
    """
    from rdkit import Chem
    from rdkit.Chem import rdDepictor

    out = io.StringIO()
    writer = Chem.SDWriter(out)
    for card in cards:
        e = card.explanation
        if e.mol is None:
            raise ConfigurationError("graphs that are no molecules cannot be written as .sdf; write .csv or .html")
        mol = Chem.Mol(e.mol)
        rdDepictor.Compute2DCoords(mol)
        mol.SetProp("_Name", " ".join(card.name.split()))
        for atom, x in zip(mol.GetAtoms(), e.atoms.tolist(), strict=True):
            atom.SetDoubleProp("contribution", x)
        Chem.CreateAtomDoublePropertyList(mol, "contribution")
        bonds = {frozenset(pair): x for pair, x in zip(e.ends.tolist(), e.bonds.tolist(), strict=True)}
        ordered = [bonds.get(frozenset((b.GetBeginAtomIdx(), b.GetEndAtomIdx())), 0.0) for b in mol.GetBonds()]
        mol.SetProp("bond contributions", " ".join(f"{x:.6g}" for x in ordered))
        named = {"target": e.target, "scale": e.scale, "value": f"{e.value:.7g}"}
        named |= {name: f"{getattr(e, name):.7g}" for name in ("prediction", "baseline", "residual")}
        for name, text in named.items():
            mol.SetProp(name, text)
        for name, x in e.whole.items():
            mol.SetProp(f"whole.{name}", f"{x:.6g}")
        writer.write(mol)
    writer.close()
    return out.getvalue()


def write(cards: Sequence[Card], path: Path, title: str, about: Sequence[str] = ()) -> None:
    """Write explanations, by the suffix of the file."""
    suffix = path.suffix.lower()
    if suffix not in SUFFIXES:
        raise ConfigurationError(f"{path}: explanations are written as {', '.join(SUFFIXES)}; rename the output")
    if suffix == ".html":
        text = page(cards, title, about)
    elif suffix == ".sdf":
        text = sdf(cards)
    elif suffix == ".svg":
        text = _stacked([draw(card.explanation) for card in cards[:_MOST]])
    else:
        text = table(cards, "\t" if suffix == ".tsv" else ",")
    write_atomically(path, text.encode())


def _stacked(drawings: Sequence[str]) -> str:
    """Drawings below each other as one."""
    if len(drawings) == 1:
        return drawings[0]
    sizes = [re.findall(r"(?:width|height)='(\d+)'", drawing)[:2] for drawing in drawings]
    width, at, parts = max(int(w) for w, _ in sizes), 0, []
    for drawing, (_, height) in zip(drawings, sizes, strict=True):
        parts.append(drawing.replace("<svg ", f"<svg y='{at}' ", 1))
        at += int(height)
    head = f"xmlns='http://www.w3.org/2000/svg' width='{width}' height='{at}' viewBox='0 0 {width} {at}'"
    return f"<svg {head}>{''.join(parts)}</svg>"
