"""Records against what RDKit says of each atom and bond."""

from typing import Any

import numpy as np
import pytest
from rdkit import Chem

from ccn.chemistry.records import FORMATS, HYBRIDISATIONS, ORDERS, decode

SMILES = [
    "C",
    "[He]",
    "[Na+].[Cl-]",
    "[13CH4]",
    "[235U]",
    "N[C@@H](C)C(=O)O",
    "F/C=C/F",
    "CC(Cl)=C(F)Br",
    "C/C=C\\C",
    "N->[Pt](Cl)Cl",
    "C1CC1",
    "[CH3]",
    "[CH2]",
    "c1ccc2ccccc2c1",
    "[Fe]",
    "[Fe+3]",
    "[H][H]",
    "[2H]C",
    "[H]O[H]",
    "C1CC1.C1CCC1",
    "[#6]C",
    "Cl[Pt@SP1](Cl)(N)N",
    "C$C",
    "[C-]#[O+]",
    "[Cu-2]",
    "[H+]",
    "c1cc[se]c1",
    "C[Si](C)(C)C",
    "FS(F)(F)(F)(F)F",
    "ClP(Cl)(Cl)(Cl)Cl",
    "C1CC2CC1CC2",
    "c1ccccc1-c1ccccc1",
    "OC(=O)c1ccccc1[N+](=O)[O-]",
    "C12C3C4C1C5C2C3C45",
    "C1CCCCCCCCC1",
    "O=c1[nH]cnc2ccccc12",
    "CC(=O)Oc1ccccc1C(=O)O",
    "B1OC1",
    "c1ccc-2c(c1)-c1ccccc12",
]
LARGE = "C" * 256
ODD = ["*C", "C~C", "[CH3:7]C", LARGE]


def stored(smiles: list[str]) -> tuple[list[Any], list[bytes]]:
    mols = [Chem.MolFromSmiles(text) for text in smiles]
    return mols, [mol.ToBinary(0) for mol in mols]


def test_everything_is_what_rdkit_says() -> None:
    mols, binary = stored(SMILES)
    found = decode(binary)
    assert found.decoded.all()
    atoms = [atom for mol in mols for atom in mol.GetAtoms()]
    bonds = [bond for mol in mols for bond in mol.GetBonds()]
    assert found.atoms.tolist() == [mol.GetNumAtoms() for mol in mols]
    assert found.bonds.tolist() == [mol.GetNumBonds() for mol in mols]
    assert found.number.tolist() == [a.GetAtomicNum() for a in atoms]
    assert found.charge.tolist() == [a.GetFormalCharge() for a in atoms]
    assert found.hydrogens.tolist() == [a.GetTotalNumHs(True) for a in atoms]
    assert [HYBRIDISATIONS[i] for i in found.hybridisation] == [a.GetHybridization().name for a in atoms]
    assert found.aromatic.tolist() == [a.GetIsAromatic() for a in atoms]
    assert found.degree.tolist() == [a.GetDegree() for a in atoms]
    assert found.chiral.tolist() == [int(a.GetChiralTag()) for a in atoms]
    assert found.isotope.tolist() == [a.GetIsotope() for a in atoms]
    rings = [mol.GetRingInfo().MinAtomRingSize(i) for mol in mols for i in range(mol.GetNumAtoms())]
    assert found.ring.tolist() == rings
    assert found.pairs.tolist() == [[b.GetBeginAtomIdx(), b.GetEndAtomIdx()] for b in bonds]
    assert [ORDERS[i] for i in found.order] == [b.GetBondTypeAsDouble() for b in bonds]
    assert found.conjugated.tolist() == [b.GetIsConjugated() for b in bonds]
    assert found.bond_ring.tolist() == [b.IsInRing() for b in bonds]
    assert found.stereo.tolist() == [int(b.GetStereo()) for b in bonds]


def test_names_are_those_of_rdkit() -> None:
    assert [Chem.HybridizationType.values[i].name for i in range(len(HYBRIDISATIONS))] == list(HYBRIDISATIONS)


def test_the_installed_rdkit_writes_a_format_that_is_read() -> None:
    blob = Chem.MolFromSmiles("C").ToBinary(0)
    assert tuple(np.frombuffer(blob[8:16], dtype="<i4").tolist()) in FORMATS


@pytest.mark.parametrize("odd", ODD)
def test_what_is_something_else_is_left_out(odd: str) -> None:
    _, binary = stored(["CCO", odd, "c1ccccc1"])
    found, alone = decode(binary), decode([binary[0], binary[2]])
    assert found.decoded.tolist() == [True, False, True]
    assert np.array_equal(found.number, alone.number)
    assert np.array_equal(found.pairs, alone.pairs)
    assert np.array_equal(found.ring, alone.ring)


def test_other_versions_and_other_bytes_are_left_out() -> None:
    _, (good,) = stored(["CCO"])
    newer = good[:12] + bytes([99]) + good[13:]
    cut = [good[:n] for n in range(0, 34, 3)]
    assert decode([newer, b"", *cut, good]).decoded.tolist() == [False] * (len(cut) + 2) + [True]
    assert not len(decode([]).number)
