"""RDKit's descriptors of a molecule, without the slow ones: one row of numbers, in an order that is fixed here.

Names and values are RDKit's; what RDKit computes again for every name is computed once. Left out are those that are
slow: qed, BCUT2D, Ipc, AvgIpc, SPS, BertzCT, BalabanJ, FpDensityMorgan and the extreme E-state indices; and those that
repeat others: Chi2n to Chi4n, which nearly equal Chi2v to Chi4v, and Phi, a product of Kappa1 and Kappa2.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ccn.errors import DependencyError

__all__ = ["DESCRIPTORS", "descriptor_row"]

_LARGEST = 1e6
_ATOMS = (
    "NumValenceElectrons", "NumRadicalElectrons", "Chi0", "Chi1", "MaxPartialCharge", "MinPartialCharge",
    "MaxAbsPartialCharge", "MinAbsPartialCharge",
)  # fmt: skip
_CRIPPEN = ("MolLogP", "MolMR")
_BINS = {"PEOE_VSA": 14, "SMR_VSA": 10, "SlogP_VSA": 12, "EState_VSA": 11, "VSA_EState": 10}
_SINGLE = (
    "MolWt", "HeavyAtomMolWt", "ExactMolWt", "Chi0n", "Chi0v", "Chi1n", "Chi1v", "Chi2v", "Chi3v", "Chi4v",
    "HallKierAlpha", "Kappa1", "Kappa2", "Kappa3", "LabuteASA", "TPSA", "FractionCSP3", "HeavyAtomCount", "NHOHCount",
    "NOCount", "NumAliphaticCarbocycles", "NumAliphaticHeterocycles", "NumAliphaticRings", "NumAmideBonds",
    "NumAromaticCarbocycles", "NumAromaticHeterocycles", "NumAromaticRings", "NumAtomStereoCenters",
    "NumBridgeheadAtoms", "NumHAcceptors", "NumHDonors", "NumHeteroatoms", "NumHeterocycles", "NumRotatableBonds",
    "NumSaturatedCarbocycles", "NumSaturatedHeterocycles", "NumSaturatedRings", "NumSpiroAtoms",
    "NumUnspecifiedAtomStereoCenters", "RingCount", "fr_Al_COO", "fr_Al_OH", "fr_Al_OH_noTert", "fr_ArN", "fr_Ar_COO",
    "fr_Ar_N", "fr_Ar_NH", "fr_Ar_OH", "fr_COO", "fr_COO2", "fr_C_O", "fr_C_O_noCOO", "fr_C_S", "fr_HOCCN", "fr_Imine",
    "fr_NH0", "fr_NH1", "fr_NH2", "fr_N_O", "fr_Ndealkylation1", "fr_Ndealkylation2", "fr_Nhpyrrole", "fr_SH",
    "fr_aldehyde", "fr_alkyl_carbamate", "fr_alkyl_halide", "fr_allylic_oxid", "fr_amide", "fr_amidine", "fr_aniline",
    "fr_aryl_methyl", "fr_azide", "fr_azo", "fr_barbitur", "fr_benzene", "fr_benzodiazepine", "fr_bicyclic", "fr_diazo",
    "fr_dihydropyridine", "fr_epoxide", "fr_ester", "fr_ether", "fr_furan", "fr_guanido", "fr_halogen", "fr_hdrzine",
    "fr_hdrzone", "fr_imidazole", "fr_imide", "fr_isocyan", "fr_isothiocyan", "fr_ketone", "fr_ketone_Topliss",
    "fr_lactam", "fr_lactone", "fr_methoxy", "fr_morpholine", "fr_nitrile", "fr_nitro", "fr_nitro_arom",
    "fr_nitro_arom_nonortho", "fr_nitroso", "fr_oxazole", "fr_oxime", "fr_para_hydroxylation", "fr_phenol",
    "fr_phenol_noOrthoHbond", "fr_phos_acid", "fr_phos_ester", "fr_piperdine", "fr_piperzine", "fr_priamide",
    "fr_prisulfonamd", "fr_pyridine", "fr_quatN", "fr_sulfide", "fr_sulfonamd", "fr_sulfone", "fr_term_acetylene",
    "fr_tetrazole", "fr_thiazole", "fr_thiocyan", "fr_thiophene", "fr_unbrch_alkane", "fr_urea",
)  # fmt: skip

DESCRIPTORS = (*_SINGLE, *_CRIPPEN, *_ATOMS, *(f"{name}{i}" for name, n in _BINS.items() for i in range(1, n + 1)))
"""The names of the columns of :func:`descriptor_row`."""


@cache
def _readers() -> Sequence[Callable[[Any], float]]:
    """RDKit's functions for the descriptors that stand for themselves; some are newer in one module than in another."""
    from rdkit import __version__
    from rdkit.Chem import Descriptors, rdMolDescriptors

    found = [getattr(Descriptors, n, None) or getattr(rdMolDescriptors, f"Calc{n}", None) for n in _SINGLE]
    if None in found:
        lacking = _SINGLE[found.index(None)]
        raise DependencyError(f"RDKit {__version__} has no descriptor {lacking}: pip install --upgrade rdkit")
    return [f for f in found if f is not None]


@cache
def _shell(number: int) -> tuple[int, int]:
    """Outer electrons and principal quantum number of an element; a dummy atom has the number 0."""
    from rdkit.Chem import GetPeriodicTable

    return GetPeriodicTable().GetNOuterElecs(number), 1 + sum(number > last for last in (2, 10, 18, 36, 54, 86))


def descriptor_row(mol: Any) -> NDArray[np.float32]:
    """The descriptors of a sanitised molecule, as float32.

    What RDKit cannot compute, such as partial charges of metals, is 0; values beyond a million are cut off there.

    Example:
        >>> from rdkit import Chem
        >>> row = descriptor_row(Chem.MolFromSmiles("CCO"))
        >>> row.shape, round(float(row[DESCRIPTORS.index("MolWt")]), 2)
        ((192,), 46.07)
    """
    from rdkit.Chem import GetFormalCharge
    from rdkit.Chem.rdMolDescriptors import PEOE_VSA_, SMR_VSA_, CalcCrippenDescriptors, SlogP_VSA_

    atoms = [mol.GetAtomWithIdx(i) for i in range(mol.GetNumAtoms())]
    degree = np.array([atom.GetDegree() for atom in atoms], dtype=np.float64)
    hydrogens = np.array([atom.GetTotalNumHs() for atom in atoms])
    outer, shell = np.array([_shell(atom.GetAtomicNum()) for atom in atoms]).T
    singles = [read(mol) for read in _readers()]
    electrons = [(outer + hydrogens).sum() - GetFormalCharge(mol), sum(a.GetNumRadicalElectrons() for a in atoms)]
    of_atoms = [*electrons, *_chi(mol, degree), *_charges(mol, atoms)]
    # An atom without neighbours has no intrinsic state.
    intrinsic = np.divide(4 / shell**2 * (outer - hydrogens) + 1, degree, out=np.zeros(len(atoms)), where=degree > 0)
    binned = [*PEOE_VSA_(mol), *SMR_VSA_(mol), *SlogP_VSA_(mol), *_of_e_states(mol, intrinsic)]
    row = np.array([*singles, *CalcCrippenDescriptors(mol), *of_atoms, *binned])
    row = np.nan_to_num(row, nan=0.0, posinf=_LARGEST, neginf=-_LARGEST)
    return np.asarray(np.clip(row, -_LARGEST, _LARGEST), dtype=np.float32)


def _chi(mol: Any, degree: NDArray[np.float64]) -> tuple[float, float]:
    """Chi0 and Chi1."""
    ends = np.array([(b.GetBeginAtomIdx(), b.GetEndAtomIdx()) for b in mol.GetBonds()], dtype=np.int64).reshape(-1, 2)
    return float((degree[degree > 0] ** -0.5).sum()), float((degree[ends].prod(axis=1) ** -0.5).sum())


def _charges(mol: Any, atoms: Sequence[Any]) -> tuple[float, float, float, float]:
    """The largest and the smallest partial charge, and the largest and the smallest of their sizes."""
    from rdkit.Chem.rdPartialCharges import ComputeGasteigerCharges

    ComputeGasteigerCharges(mol)
    charges = np.array([atom.GetDoubleProp("_GasteigerCharge") for atom in atoms])
    low, high = float(charges.min()), float(charges.max())  # NaN if one of them is
    return high, low, max(abs(low), abs(high)), min(abs(low), abs(high))


def _of_e_states(mol: Any, intrinsic: NDArray[np.float64]) -> NDArray[np.float64]:
    """EState_VSA and VSA_EState: surface areas of atoms by their E-state index, and these by surface area."""
    from rdkit.Chem import GetDistanceMatrix
    from rdkit.Chem.EState.EState_VSA import estateBins, vsaBins
    from rdkit.Chem.rdMolDescriptors import _CalcLabuteASAContribs

    # Atoms of other pieces are 1e8 bonds away, which makes no difference.
    near = (GetDistanceMatrix(mol) + 1.0) ** -2
    state = intrinsic + intrinsic * near.sum(axis=1) - near @ intrinsic
    area = np.array(_CalcLabuteASAContribs(mol)[0])
    areas = np.bincount(np.searchsorted(estateBins, state, side="right"), area, len(estateBins) + 1)
    return np.concatenate([areas, np.bincount(np.searchsorted(vsaBins, area, side="right"), state, len(vsaBins) + 1)])
