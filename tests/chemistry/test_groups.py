"""Functional groups: which atoms belong to which kind."""

import pytest
from rdkit import Chem

from ccn.chemistry.groups import GROUPS, group_marks


@pytest.mark.parametrize(
    ("smiles", "name", "atoms"),
    [
        ("CC(=O)O", "carboxyl", [1, 2, 3]),
        ("CCO", "hydroxyl", [1, 2]),
        ("C[N+](=O)[O-]", "nitro", [1, 2, 3]),
        ("CC#N", "nitrile", [1, 2]),
        ("ClCCF", "halogen", [0, 3]),
        ("CC(=O)NC", "amide", [1, 2, 3]),
    ],
)
def test_groups_are_found_where_they_are(smiles: str, name: str, atoms: list[int]) -> None:
    marks = group_marks(Chem.MolFromSmiles(smiles))
    bit = 1 << list(GROUPS).index(name)
    assert [i for i, m in enumerate(marks.tolist()) if m & bit] == atoms


def test_every_pattern_is_read_and_alkanes_have_no_group() -> None:
    assert not group_marks(Chem.MolFromSmiles("CCCC")).any()
    assert len(GROUPS) <= 32
