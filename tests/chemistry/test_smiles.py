"""SMILES: read without a log, or with the reason why not."""

import pytest

from ccn.chemistry.smiles import (
    MAX_ATOMS,
    flat_reader,
    mol_block,
    parse_smiles,
    parses,
    quick_reader,
    refusal,
    where_wrong,
    why_unreadable,
)
from ccn.errors import GraphError

BAD = {"": "no SMILES", "C1CC": "ring 1 at character 2 is not closed", "CCÖ": "'Ö'", "C(C)(C)(C)(C)C": "valence"}
BAD |= {"CC(C": "'(' at character 3 is not closed", "CC)": "')' at character 3 closes nothing", "CC=": "bond '='"}
BAD |= {"C[C": "'[' at character 2 is not closed", "C()C": "unexpected ')' at character 3", "CXC": "unexpected 'X'"}
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


@pytest.mark.parametrize(
    "more", ["", "=", "1", "(", "c", "n", "[nH]", "*", ".C", "[H]", "[2H]", "[O-]", "/C=C/", "[C@H](F)"]
)
def test_the_flat_reader_reads_the_same_atoms_and_bonds(more: str) -> None:
    from rdkit import Chem, rdBase

    known = [
        "c1ccccc1",
        "c1cc[nH]c1",
        "CN(=O)=O",
        "N->[Pt](Cl)Cl",
        "C[C@H](F)O",
        "F/C=C/F",
        "C1=CC=CC=C1",
        "CCO |$a;;$|",
    ]
    read = flat_reader()
    with rdBase.BlockLogs():
        for text in (s[:cut] + more + s[cut:] for s in known for cut in range(len(s) + 1)):
            whole, flat = Chem.MolFromSmiles(text), read(text)
            assert (whole is None) == (flat is None)
            if whole is None:
                continue
            asked = [
                [(a.GetSymbol(), a.GetTotalNumHs(), a.GetHybridization(), a.GetIsAromatic()) for a in m.GetAtoms()]
                for m in (whole, flat)
            ]
            bonds = [
                [
                    (b.GetBeginAtomIdx(), b.GetEndAtomIdx(), b.GetBondType(), b.GetIsConjugated(), b.IsInRing())
                    for b in m.GetBonds()
                ]
                for m in (whole, flat)
            ]
            assert asked[0] == asked[1]
            assert bonds[0] == bonds[1]


def test_the_block_of_an_sdf_has_coordinates_stereo_and_a_title(capfd: pytest.CaptureFixture[str]) -> None:
    from rdkit import Chem

    mol = Chem.MolFromMolBlock(mol_block("C[C@H](N)C(=O)O", "alanine"))
    assert (mol.GetProp("_Name"), Chem.MolToSmiles(mol)) == ("alanine", "C[C@H](N)C(=O)O")
    assert len({tuple(p) for p in mol.GetConformer().GetPositions()}) == 6
    assert Chem.MolFromMolBlock(mol_block("C1CC", "bad")).GetNumAtoms() == 0
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize(
    ("smiles", "where"),
    [
        ("CCO)C", (3, 4)),
        ("CC(C", (2, 3)),
        ("c1ccccc", (1, 2)),
        ("C1CC2CC1", (4, 5)),
        ("CC%C", (2, 3)),
        ("  CXC", (3, 4)),
        ("C[Zz]C", (1, 5)),
        ("[CH3", (0, 4)),
        ("C==C", (2, 3)),
        ("CC.", (2, 3)),
        ("CéC", (1, 2)),
        ("CC O", (2, 3)),
        ("CC(=O)(=O)(=O)C", (1, 2)),
        ("c1cccc1", (0, 1)),
        ("CCO", None),
        ("", None),
        ("X" * 500, None),
    ],
)
def test_the_place_of_a_fault_is_found(smiles: str, where: tuple[int, int] | None) -> None:
    assert where_wrong(smiles) == where
