"""SMILES strings: read by RDKit, without its log, and why one is not read.

RDKit stops at a blank or at a character that is not ASCII and returns the molecule before it, and it calls itself once
per atom: what it would misread, or what is too large for it, is refused before.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from ccn.errors import DependencyError, GraphError

__all__ = [
    "MAX_ATOMS", "MOST_ATOMS", "mol_block", "parse_smiles", "parses", "quick_reader", "refusal", "why_unreadable",
]  # fmt: skip

MAX_ATOMS = 2_000
"""Atoms of a molecule that are read by default."""
MOST_ATOMS = 10_000
"""The most that a command or a file may ask for; RDKit overflows the stack at some 20,000."""
_ATOM = re.compile(r"\[[^\]]*\]?|Br|Cl|[A-Za-z*]")
_CHARACTERS = 50  # of a SMILES, per atom


def _read(smiles: str) -> Any:
    """The RDKit molecule, or None."""
    try:
        from rdkit import Chem, rdBase
    except ImportError:
        raise DependencyError("molecules need RDKit: pip install rdkit") from None
    with rdBase.BlockLogs():
        mol = None if refusal(smiles) else Chem.MolFromSmiles(smiles)
    return mol if mol is not None and mol.GetNumAtoms() else None


def parses(smiles: str) -> bool:
    """Whether RDKit reads it as a molecule."""
    return _read(smiles) is not None


def parse_smiles(smiles: str, where: str = "") -> Any:
    """The RDKit molecule of a SMILES string; an error starts with ``where``."""
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
            return "not a SMILES: its spelling is wrong"
        if not mol.GetNumAtoms():
            return "not a SMILES: it has no atom"
        problems = [p.Message() for p in Chem.DetectChemistryProblems(mol)]
    return f"not a molecule: {problems[0] if problems else 'RDKit refuses it'}"


def quick_reader() -> Callable[[str], Any]:
    """From SMILES to RDKit molecules, None for what is none, without the perception of rings and aromaticity.

    Perception is half of the work. Where nothing of it is read, it is enough to know that a Kekulé structure exists
    and that its valences are right. What this does not accept is left to RDKit's complete reading.
    """
    from rdkit import Chem

    raw: Any = Chem.SmilesParserParams()
    raw.sanitize, raw.removeHs = False, False
    flags = Chem.SanitizeFlags
    checks = flags.SANITIZE_CLEANUP | flags.SANITIZE_CLEANUP_ORGANOMETALLICS | flags.SANITIZE_PROPERTIES

    def read(text: str) -> Any:
        # Explicit hydrogens may be merged into their neighbours, and query atoms are examined more closely.
        if not any(odd in text for odd in ("*", "[H", "[#")):
            mol = Chem.MolFromSmiles(text, raw)
            if mol is not None and not Chem.SanitizeMol(mol, checks, catchErrors=True):
                Chem.FastFindRings(mol)
                try:
                    Chem.Kekulize(mol, clearAromaticFlags=True)
                    mol.UpdatePropertyCache(strict=True)
                    return mol
                except Chem.MolSanitizeException:
                    pass
        return Chem.MolFromSmiles(text)

    return read
