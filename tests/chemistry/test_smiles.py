"""SMILES: read without a log, or with the reason why not."""

import pytest

from ccn.chemistry.smiles import MAX_ATOMS, mol_block, parse_smiles, parses, quick_reader, refusal, why_unreadable
from ccn.errors import GraphError

BAD = {"": "no SMILES", "C1CC": "spelling", "CCÖ": "'Ö'", "C(C)(C)(C)(C)C": "valence"}
BAD |= {"CCO ethanol": "blank", "CCO\nCC": "line break", "CCO\r2.5,CC": "line break", "CCO é": "blank"}
BAD |= {"C" * 20_000: "20,000 atoms", "C" * 100_000: "100,000 atoms", "[C" * 200_000: "400,000 characters"}


@pytest.mark.parametrize("smiles", BAD)
def test_what_is_not_a_molecule_has_a_reason(smiles: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert not parses(smiles)
    assert BAD[smiles] in why_unreadable(smiles)
    with pytest.raises(GraphError, match=r"^row 3: "):
        parse_smiles(smiles, "row 3: ")
    assert capfd.readouterr().err == ""


def test_the_extension_of_cxsmiles_may_follow() -> None:
    assert parse_smiles("C[C@H](N)O |o1:1|").GetNumAtoms() == 4
    assert refusal("CCO |")
    assert refusal("CCO |$a;;$| ethanol")


def test_atoms_are_limited_not_characters() -> None:
    atoms = ["[13CH3]", *["[13CH2]"] * (MAX_ATOMS - 2), "Cl"]
    assert parse_smiles("".join(atoms)).GetNumAtoms() == MAX_ATOMS
    assert refusal("".join(["Br", *atoms]))
    assert refusal("CCO", max_atoms=2)
    assert not refusal("ClCBr", max_atoms=3)


def test_the_quick_reader_does_not_perceive_aromaticity() -> None:
    mol = quick_reader()("c1ccccc1")
    assert mol.GetNumAtoms() == 6
    assert not any(atom.GetIsAromatic() for atom in mol.GetAtoms())


def test_the_block_of_an_sdf_has_coordinates_stereo_and_a_title(capfd: pytest.CaptureFixture[str]) -> None:
    from rdkit import Chem

    mol = Chem.MolFromMolBlock(mol_block("C[C@H](N)C(=O)O", "alanine"))
    assert (mol.GetProp("_Name"), Chem.MolToSmiles(mol)) == ("alanine", "C[C@H](N)C(=O)O")
    assert len({tuple(p) for p in mol.GetConformer().GetPositions()}) == 6
    assert Chem.MolFromMolBlock(mol_block("C1CC", "bad")).GetNumAtoms() == 0
    assert capfd.readouterr().err == ""
