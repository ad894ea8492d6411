"""SMILES strings: read by RDKit, without its log, and why RDKit does not read one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ccn.errors import DependencyError, GraphError

__all__ = ["is_ascii", "parse_smiles", "parses", "quick_reader", "why_unreadable"]


def _read(smiles: str) -> Any:
    """The RDKit molecule, or None."""
    try:
        from rdkit import Chem, rdBase
    except ImportError:
        raise DependencyError("molecules need RDKit: pip install rdkit") from None
    with rdBase.BlockLogs():
        mol = Chem.MolFromSmiles(smiles) if is_ascii(smiles) else None
    return mol if mol is not None and mol.GetNumAtoms() else None


def parses(smiles: str) -> bool:
    """Whether RDKit reads it as a molecule."""
    return _read(smiles) is not None


def parse_smiles(smiles: str, where: str = "") -> Any:
    """The RDKit molecule of a SMILES string; an error starts with ``where``."""
    mol = _read(smiles)
    if mol is None:
        raise GraphError(f"{where}RDKit cannot read the SMILES {smiles!r}; check its spelling, rings and valences")
    return mol


def is_ascii(smiles: str) -> bool:
    """Whether a SMILES, up to a name that may follow it, is ASCII.

    RDKit stops at any other character and returns the molecule before it.
    """
    return not (words := smiles.split(maxsplit=1)) or words[0].isascii()


def why_unreadable(smiles: str) -> str:
    """Why RDKit does not read a SMILES."""
    from rdkit import Chem, rdBase

    if not smiles:
        return "no SMILES"
    if not is_ascii(smiles):
        odd = next(c for c in smiles if not c.isascii())
        return f"not a SMILES: it has the character {odd!r}"
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
