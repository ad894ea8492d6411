"""Standard forms of molecules: what chemists write in several ways is one molecule."""

from typing import Any

import pytest
from rdkit import Chem
from rdkit.Chem.MolStandardize import rdMolStandardize

from ccn.chemistry.standardise import check_standard, standardised
from ccn.errors import ConfigurationError, GraphError


@pytest.mark.parametrize(
    ("smiles", "standard", "expected"),
    [
        ("CN(=O)=O", "cleanup", "C[N+](=O)[O-]"),
        ("CC(=O)[O-].[Na+]", "cleanup", "CC(=O)[O-].[Na+]"),
        ("CC(=O)[O-].[Na+]", "parent", "CC(=O)O"),
        ("CC[NH3+].[Cl-]", "parent", "CCN"),
        ("C[N+](C)(C)C.[Br-]", "parent", "C[N+](C)(C)C"),  # has no neutral form
        ("OC1=CC=CC=N1", "parent", "Oc1ccccn1"),
        ("OC1=CC=CC=N1", "tautomer", "O=c1cccc[nH]1"),
        ("O=C1C=CC=CN1.Cl", "tautomer", "O=c1cccc[nH]1"),
    ],
)
def test_the_standard_form(smiles: str, standard: Any, expected: str) -> None:
    assert Chem.MolToSmiles(standardised(Chem.MolFromSmiles(smiles), standard)) == expected


def test_what_rdkit_cannot_do_is_an_error_with_its_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(mol: Any) -> Any:
        raise ValueError("odd valence")

    monkeypatch.setattr(rdMolStandardize, "Cleanup", fail)
    with pytest.raises(GraphError, match="odd valence"):
        standardised(Chem.MolFromSmiles("C"), "parent")


def test_an_unknown_standard_is_refused() -> None:
    assert check_standard(None) is None
    assert check_standard("parent") == "parent"
    with pytest.raises(ConfigurationError, match="neutral"):
        check_standard("neutral")
