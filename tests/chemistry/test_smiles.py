"""SMILES: read without a log, or with the reason why not."""

import pytest

from ccn.chemistry.smiles import is_ascii, parse_smiles, parses, quick_reader, why_unreadable
from ccn.errors import GraphError

BAD = {"": "no SMILES", "C1CC": "spelling", "CCÖ": "'Ö'", "C(C)(C)(C)(C)C": "valence"}


@pytest.mark.parametrize("smiles", BAD)
def test_what_is_not_a_molecule_has_a_reason(smiles: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert not parses(smiles)
    assert BAD[smiles] in why_unreadable(smiles)
    with pytest.raises(GraphError, match=r"^row 3: "):
        parse_smiles(smiles, "row 3: ")
    assert capfd.readouterr().err == ""


def test_a_name_may_follow_and_need_not_be_ascii() -> None:
    assert is_ascii("CCO éthanol")
    assert parse_smiles("CCO éthanol").GetNumAtoms() == 3


def test_the_quick_reader_does_not_perceive_aromaticity() -> None:
    mol = quick_reader()("c1ccccc1")
    assert mol.GetNumAtoms() == 6
    assert not any(atom.GetIsAromatic() for atom in mol.GetAtoms())
