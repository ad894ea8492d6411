"""SMILES strings: read by RDKit, without its log, and why one is not read.

RDKit stops at a blank or at a character that is not ASCII and returns the molecule before it, and it calls itself once
per atom: what it would misread, or what is too large for it, is refused before.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from ccn.errors import GraphError

__all__ = [
    "MAX_ATOMS", "MOST_ATOMS", "flat_reader", "mol_block", "parse_smiles", "parses", "quick_reader", "refusal",
    "where_wrong",
    "why_unreadable",
]  # fmt: skip

MAX_ATOMS = 2_000
"""Atoms of a molecule that are read by default."""
MOST_ATOMS = 10_000
"""The most that a command or a file may ask for; RDKit overflows the stack at some 20,000."""
_ATOM = re.compile(r"\[[^\]]*\]?|Br|Cl|[A-Za-z*]")
_CHARACTERS = 50  # of a SMILES, per atom
_TOKEN = re.compile(r"\[[^\]]*\]?|Br|Cl|%\d\d|%\(\d+\)|.", re.DOTALL)
_BONDS = frozenset("-=#$:/\\~.")
_SEARCHED = 400  # characters of a SMILES in which a fault is located
_COMPLETE = ("*", "[H", "[#")  # explicit hydrogens may be merged into neighbours, query atoms are examined more closely


def _read(smiles: str) -> Any:
    """The RDKit molecule, or None."""
    from rdkit import Chem, rdBase

    with rdBase.BlockLogs():
        mol = None if refusal(smiles) else Chem.MolFromSmiles(smiles)
    return mol if mol is not None and mol.GetNumAtoms() else None


def parses(smiles: str) -> bool:
    """Whether RDKit reads it as a molecule."""
    return _read(smiles) is not None


def parse_smiles(smiles: str, where: str = "") -> Any:
    """The RDKit molecule of a SMILES string; an error starts with ``where``.

    Example:
        >>> parse_smiles("CCO").GetNumAtoms()
        3
    """
    mol = _read(smiles)
    if mol is None:
        shown = smiles if len(smiles) <= 200 else f"{smiles[:200]}.."
        why = refusal(smiles) or "check its spelling, rings and valences"
        raise GraphError(f"{where}RDKit cannot read the SMILES {shown!r}; {why}")
    return mol


def mol_block(smiles: str, title: str = "") -> str:
    """The block of a molecule in an SDF file, with coordinates in the plane; without atoms if it cannot be read."""
    mol = _read(smiles)
    from rdkit import Chem, rdBase
    from rdkit.Chem import rdDepictor

    mol = Chem.Mol() if mol is None else mol
    mol.SetProp("_Name", title)
    with rdBase.BlockLogs():
        rdDepictor.Compute2DCoords(mol)
        return str(Chem.MolToMolBlock(mol))


def refusal(smiles: str, max_atoms: int = MAX_ATOMS) -> str:
    """Why a text is not given to RDKit, or an empty string.

    Nothing may follow a SMILES after a blank except the extension of CXSMILES, in bars. Atoms are counted in the text.

    Example:
        >>> refusal("CCO"), refusal("CCO |$a;;$|"), refusal("CCO ethanol")
        ('', '', 'not a SMILES: it has a blank')
    """
    text = smiles.strip()
    if not text:
        return "no SMILES"
    spelled, *more = text.split(maxsplit=1)
    if "\n" in text or "\r" in text:
        return "not a SMILES: it has a line break"
    if more and not (len(more[0]) > 1 and more[0].startswith("|") and more[0].endswith("|")):
        return "not a SMILES: it has a blank"
    if not text.isascii():
        return f"not a SMILES: it has the character {next(c for c in text if not c.isascii())!r}"
    if len(text) > max_atoms:
        if len(text) > _CHARACTERS * max_atoms:
            return f"too large: {len(text):,} characters, a molecule may have {max_atoms:,} atoms (max_atoms)"
        if (atoms := sum(1 for _ in _ATOM.finditer(spelled))) > max_atoms:
            return f"too large: {atoms:,} atoms, a molecule may have {max_atoms:,} (max_atoms)"
    return ""


def why_unreadable(smiles: str, max_atoms: int = MAX_ATOMS) -> str:
    """Why a SMILES is not read."""
    from rdkit import Chem, rdBase

    if reason := refusal(smiles, max_atoms):
        return reason
    with rdBase.BlockLogs():
        mol = Chem.MolFromSmiles(smiles, sanitize=False)
        if mol is None:
            found = _misspelled(smiles.strip()) if len(smiles) <= _SEARCHED else None
            return f"not a SMILES: {found[1] if found else 'its spelling is wrong'}"
        if not mol.GetNumAtoms():
            return "not a SMILES: it has no atom"
        problems = [p.Message() for p in Chem.DetectChemistryProblems(mol)]
    return f"not a molecule: {problems[0] if problems else 'RDKit refuses it'}"


def where_wrong(smiles: str) -> tuple[int, int] | None:
    """The characters from the first to before the second at which a SMILES goes wrong; None if that cannot be said.

    In spelling: a character that nothing allows there, a parenthesis, bracket or ring that is not closed. In chemistry:
    the first atom that RDKit complains about.

    Example:
        >>> where_wrong("CC(C"), where_wrong("c1ccccc"), where_wrong("CC(=O)(=O)C"), where_wrong("CCO")
        ((2, 3), (1, 2), (1, 2), None)
    """
    from rdkit import Chem, rdBase

    text = smiles.strip()
    shift = len(smiles) - len(smiles.lstrip())
    if not text or len(text) > _SEARCHED:
        return None
    strange = next((i for i, c in enumerate(text) if not c.isascii() or c.isspace()), None)
    if strange is not None:
        return strange + shift, strange + shift + 1
    with rdBase.BlockLogs():
        mol = Chem.MolFromSmiles(text, sanitize=False)
        if mol is None:
            found = _misspelled(text)
            place = found[0] if found else None
        else:
            spans = [match.span() for match in _TOKEN.finditer(text)]
            atoms = [span for span in spans if _ATOM.fullmatch(text[slice(*span)])]
            of = [
                p.GetAtomIdx() if hasattr(p, "GetAtomIdx") else min(p.GetAtomIndices())
                for p in Chem.DetectChemistryProblems(mol)
            ]
            place = atoms[of[0]] if of and len(atoms) == mol.GetNumAtoms() else None
    return None if place is None else (place[0] + shift, place[1] + shift)


def _misspelled(text: str) -> tuple[tuple[int, int], str] | None:
    """The first token after which no SMILES can begin like that, else what is not closed; and what is wrong with it."""
    from rdkit import Chem

    spans = [match.span() for match in _TOKEN.finditer(text)]
    open_at: list[int] = []  # tokens of parentheses
    rings: dict[str, int] = {}
    tokens = [text[slice(*span)] for span in spans]
    for k, token in enumerate(tokens):
        if token == "(":
            open_at.append(k)
        elif token == ")":
            if not open_at:
                return spans[k], f"the ')' at character {spans[k][0] + 1} closes nothing"
            open_at.pop()
        elif token.isdigit() or (token[0] == "%" and len(token) > 1):
            label = token.strip("%()").lstrip("0")
            if label in rings:
                del rings[label]
            else:
                rings[label] = k
        unexpected = f"unexpected {token!r} at character {spans[k][0] + 1}"
        if token in _BONDS and (k == 0 or tokens[k - 1] in _BONDS):
            return spans[k], unexpected
        if token in _BONDS or token == "(":
            continue
        begun = "".join(t for i, t in enumerate(tokens[: k + 1]) if i not in rings.values()) + ")" * len(open_at)
        if Chem.MolFromSmiles(begun, sanitize=False) is None:
            if token[0] == "[" and token[-1] != "]":
                return spans[k], f"the '[' at character {spans[k][0] + 1} is not closed"
            return spans[k], unexpected
    if left := [*open_at, *rings.values()]:
        first = min(left)
        what = "the '('" if first in open_at else f"ring {tokens[first]}"
        return spans[first], f"{what} at character {spans[first][0] + 1} is not closed"
    return (spans[-1], f"it ends with the bond {tokens[-1]!r}") if tokens[-1] in _BONDS else None


def _partial_reader(perceive: Callable[[Any], bool], complete: tuple[str, ...]) -> Callable[[str], Any]:
    """A reader that takes a SMILES as it is written, of which ``perceive`` finds out what is needed.

    RDKit's complete reading is for what ``perceive`` does not accept and for texts with a mark in ``complete``.
    """
    from rdkit import Chem

    raw: Any = Chem.SmilesParserParams()
    raw.sanitize, raw.removeHs = False, False

    def read(text: str) -> Any:
        if not any(mark in text for mark in complete):
            mol = Chem.MolFromSmiles(text, raw)
            if mol is not None and perceive(mol):
                return mol
        return Chem.MolFromSmiles(text)

    return read


def flat_reader() -> Callable[[str], Any]:
    """From SMILES to RDKit molecules, None for what is none, without stereochemistry where that can be left out.

    To look for centres and double bonds that have one is a quarter of the work on drugs. Nothing else depends on it.
    """
    from rdkit import Chem

    # An extension in bars may hold stereochemistry.
    return _partial_reader(lambda mol: not Chem.SanitizeMol(mol, catchErrors=True), (*_COMPLETE, "|"))


def quick_reader() -> Callable[[str], Any]:
    """From SMILES to RDKit molecules, None for what is none, without the perception of rings and aromaticity.

    Perception is half of the work. Where nothing of it is read, it is enough to know that a Kekulé structure exists
    and that its valences are right. What this does not accept is left to RDKit's complete reading.
    """
    from rdkit import Chem

    flags = Chem.SanitizeFlags
    checks = flags.SANITIZE_CLEANUP | flags.SANITIZE_CLEANUP_ORGANOMETALLICS | flags.SANITIZE_PROPERTIES

    def perceive(mol: Any) -> bool:
        if Chem.SanitizeMol(mol, checks, catchErrors=True):
            return False
        Chem.FastFindRings(mol)
        try:
            Chem.Kekulize(mol, clearAromaticFlags=True)
            mol.UpdatePropertyCache(strict=True)
        except Chem.MolSanitizeException:
            return False
        return True

    return _partial_reader(perceive, _COMPLETE)
