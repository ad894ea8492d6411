"""Functional groups of a molecule: which atoms belong to which kind of group."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["GROUPS", "group_marks"]

GROUPS = {
    "carboxyl": "[CX3](=O)[OX2H1,OX1-]",
    "ester": "[CX3](=O)[OX2][#6]",
    "amide": "[CX3](=O)[NX3]",
    "acyl halide": "[CX3](=O)[F,Cl,Br,I]",
    "aldehyde": "[CX3H1](=O)[#6,#1]",
    "ketone": "[#6][CX3](=O)[#6]",
    "hydroxyl": "[OX2H][#6]",
    "ether": "[OD2]([#6])[#6]",
    "amine": "[NX3;!$(NC=[O,S,N]);!$(N-[O,N])]",
    "imine": "[CX3]=[NX2]",
    "nitrile": "[CX2]#[NX1]",
    "nitro": "[$([NX3](=O)=O),$([NX3+](=O)[O-])](~[OX1])~[OX1]",
    "azo": "[NX2]=[NX2]",
    "thiol": "[SX2H]",
    "sulfide": "[SD2]([#6])[#6]",
    "sulfonyl": "[SX4](=O)(=O)",
    "phosphoryl": "[PX4]=O",
    "halogen": "[F,Cl,Br,I]",
    "alkene": "[CX3]=[CX3]",
    "alkyne": "[CX2]#[CX2]",
}
"""SMARTS of the groups by name."""


@cache
def _patterns() -> list[Any]:
    from rdkit import Chem

    return [Chem.MolFromSmarts(smarts) for smarts in GROUPS.values()]


def group_marks(mol: Any) -> NDArray[np.uint32]:
    """(atoms,) for each atom the kinds of groups that it belongs to, bit i for the i-th of :data:`GROUPS`."""
    marks = np.zeros(mol.GetNumAtoms(), dtype=np.uint32)
    for i, pattern in enumerate(_patterns()):
        for match in mol.GetSubstructMatches(pattern, maxMatches=10**6):
            marks[list(match)] |= np.uint32(1 << i)
    return marks
