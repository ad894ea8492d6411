"""RDKit's descriptors of a molecule, without the slow ones: one row of numbers, in an order that is fixed here.

Names and values are RDKit's; what RDKit computes again for every name is computed once. Left out are those that are
slow (qed, BCUT2D, Ipc, AvgIpc, SPS, BertzCT, BalabanJ, FpDensityMorgan, Chi3 and Chi4, the extreme E-state indices,
three kinds of fragments) and those that repeat others: Chi2n is nearly Chi2v, Phi a product of Kappa1 and Kappa2. A
molecule of ZINC takes about 0.9 ms, all 217 of RDKit take 4.4 ms (processor time of one core that was busy otherwise).
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
    "MolWt", "HeavyAtomMolWt", "ExactMolWt", "Chi0n", "Chi0v", "Chi1n", "Chi1v", "Chi2v", "HallKierAlpha", "Kappa1",
    "Kappa2", "Kappa3", "LabuteASA", "TPSA", "FractionCSP3", "HeavyAtomCount", "NHOHCount", "NOCount",
    "NumAliphaticCarbocycles", "NumAliphaticHeterocycles", "NumAliphaticRings", "NumAmideBonds",
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
    "fr_lactam", "fr_lactone", "fr_methoxy", "fr_morpholine", "fr_nitrile", "fr_nitro", "fr_nitro_arom", "fr_nitroso",
    "fr_oxazole", "fr_oxime", "fr_phenol", "fr_phos_acid", "fr_phos_ester", "fr_piperdine", "fr_piperzine",
    "fr_priamide", "fr_prisulfonamd", "fr_pyridine", "fr_quatN", "fr_sulfide", "fr_sulfonamd", "fr_sulfone",
    "fr_term_acetylene", "fr_tetrazole", "fr_thiazole", "fr_thiocyan", "fr_thiophene", "fr_unbrch_alkane", "fr_urea",
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
        ((187,), 46.07)
    """
    from rdkit.Chem import AddHs, GetDistanceMatrix, GetFormalCharge
    from rdkit.Chem.EState.EState_VSA import estateBins, vsaBins
    from rdkit.Chem.MolSurf import chgBins, logpBins, mrBins
    from rdkit.Chem.rdMolDescriptors import _CalcCrippenContribs, _CalcLabuteASAContribs
    from rdkit.Chem.rdPartialCharges import ComputeGasteigerCharges

    singles = [read(mol) for read in _readers()]
    atoms = [mol.GetAtomWithIdx(i) for i in range(mol.GetNumAtoms())]
    degree = np.array([atom.GetDegree() for atom in atoms], dtype=np.float64)
    hydrogens = np.array([atom.GetTotalNumHs() for atom in atoms])
    outer, shell = np.array([_shell(atom.GetAtomicNum()) for atom in atoms]).T
    electrons = [(outer + hydrogens).sum() - GetFormalCharge(mol), sum(a.GetNumRadicalElectrons() for a in atoms)]

    distance = GetDistanceMatrix(mol)  # 1e8 between pieces
    i, j = np.nonzero(distance == 1)  # every bond in both directions
    chi = (degree[degree > 0] ** -0.5).sum(), ((degree[i] * degree[j]) ** -0.5).sum() / 2

    ComputeGasteigerCharges(mol)
    charge = np.array([atom.GetDoubleProp("_GasteigerCharge") for atom in atoms])
    low, high = charge.min(), charge.max()  # NaN if one of them is
    charges = high, low, max(abs(low), abs(high)), min(abs(low), abs(high))

    logp, refractivity = np.array(_CalcCrippenContribs(AddHs(mol))).T  # hydrogens come after the other atoms
    near = (distance + 1) ** -2
    # An atom without neighbours has no intrinsic state.
    intrinsic = np.divide(4 / shell**2 * (outer - hydrogens) + 1, degree, out=np.zeros(len(atoms)), where=degree > 0)
    state = intrinsic + intrinsic * near.sum(axis=1) - near @ intrinsic
    area = np.array(_CalcLabuteASAContribs(mol)[0])

    def binned(values: NDArray[np.float64], by: NDArray[np.float64], bins: Sequence[float]) -> NDArray[np.float64]:
        place = np.searchsorted(bins, by[: len(atoms)], side="right")
        return np.bincount(place, values, len(bins) + 1).astype(np.float64)

    areas = [
        binned(area, *by) for by in ((charge, chgBins), (refractivity, mrBins), (logp, logpBins), (state, estateBins))
    ]
    crippen = logp.sum(), refractivity.sum()
    row = np.concatenate([singles, crippen, electrons, chi, charges, *areas, binned(state, area, vsaBins)])
    row = np.nan_to_num(row, nan=0.0, posinf=_LARGEST, neginf=-_LARGEST)
    return np.asarray(np.clip(row, -_LARGEST, _LARGEST), dtype=np.float32)
