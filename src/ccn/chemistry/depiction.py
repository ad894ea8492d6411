"""Drawings of molecules as small SVG elements for pages, by RDKit."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Any

from ccn.chemistry.smiles import parses
from ccn.errors import GraphError

__all__ = ["depict"]

_MOST = 200  # atoms that can be distinguished in a small drawing
_HIGHLIGHT = (1.0, 0.78, 0.42)
_DARKER = {9: (0.1, 0.5, 0.15), 16: (0.6, 0.48, 0.0), 17: (0.0, 0.5, 0.2)}  # RDKit's F, S and Cl are pale on white


def depict(
    smiles: str, width: int = 260, height: int = 180, atoms: Collection[int] = (), bonds: Collection[int] = ()
) -> str:
    """The SVG element of a molecule, some atoms and bonds of it marked; empty if there is nothing to draw.

    Example:
        >>> depict("CCO").startswith("<svg"), depict("not a molecule")
        (True, '')
    """
    from rdkit import Chem, rdBase
    from rdkit.Chem.Draw import rdMolDraw2D

    if not parses(smiles):
        return ""
    with rdBase.BlockLogs():
        mol: Any = Chem.MolFromSmiles(smiles)
        if mol.GetNumAtoms() > _MOST:
            return ""
        canvas = rdMolDraw2D.MolDraw2DSVG(width, height, -1, -1, True)  # labels as text
        options: Any = canvas.drawOptions()
        options.clearBackground, options.fixedBondLength, options.padding = False, 26, 0.06
        options.bondLineWidth, options.minFontSize = 1, 9
        options.setHighlightColour(_HIGHLIGHT)
        options.updateAtomPalette(_DARKER)
        try:
            rdMolDraw2D.PrepareAndDrawMolecule(
                canvas, mol, highlightAtoms=list(atoms), highlightBonds=list(bonds), kekulize=True
            )
        except (ValueError, RuntimeError) as error:
            raise GraphError(f"{smiles}: RDKit cannot draw it ({error})") from None
        canvas.FinishDrawing()
    return _small(canvas.GetDrawingText(), width, height)


def _small(svg: str, width: int, height: int) -> str:
    """The element without what a page does not need: classes, comments, size, digits that cannot be seen."""
    body = svg[svg.index(">", svg.index("<svg")) + 1 :]
    body = re.sub(r"<!--.*?-->|\s+class='[^']*'", "", body, flags=re.DOTALL)
    body = re.sub(r"(\d+\.\d)\d+", r"\1", body)
    body = re.sub(r"fill:none;fill-rule:evenodd;|stroke-(linecap:butt|linejoin:miter|opacity:1)(;|(?='))", "", body)
    joined = re.compile(r"<path d='(M[^']*?)\s*'\s*style='(stroke:[^']*)'\s*/>\s*<path d='(M[^']*)'\s*style='\2'\s*/>")
    while joined.search(body):  # lines of one colour are one path
        body = joined.sub(r"<path d='\1 \3' style='\2' />", body)
    body = re.sub(r"<path d='[^']*' style='fill:none;[^']*miterlimit[^']*' />", "", body)  # corners, see stroke-linecap
    body = re.sub(
        r"font-(style|weight):normal;|fill-opacity:1;|stroke:none;|font-family:[^;]*;|text-anchor:start;", "", body
    )
    body = re.sub(r"style='stroke:(#\w+);stroke-width:1.0px;'", r"stroke='\1' fill='none'", body)
    body = body.replace("style='stroke:", "fill='none' style='stroke:")
    head = f"<svg viewBox='0 0 {width} {height}' role='img' font-family='sans-serif' stroke-linecap='round'>"
    return head + " ".join(body.split()).replace(" />", "/>").replace("> <", "><").replace(" >", ">")
