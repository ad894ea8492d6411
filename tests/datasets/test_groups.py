"""Groups of rows: spellings of one molecule, scaffolds, and groups joined."""

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rdkit import Chem

from ccn.datasets.groups import groups_of, join_groups, molecule_groups, scaffold_groups
from ccn.errors import ConfigurationError, GraphError


def test_equal_values_are_one_group_and_missing_ones_stand_alone() -> None:
    assert groups_of(["a", None, "b", "a", "", float("nan"), None]).tolist() == [0, 1, 2, 0, 3, 4, 5]
    assert groups_of(np.array([7, 7, 3])).tolist() == [0, 0, 1]
    assert groups_of([]).tolist() == []


def test_a_molecule_is_one_group_under_any_spelling() -> None:
    spellings = ["c1ccccc1O", "Oc1ccccc1", "OC1=CC=CC=C1", "[Na+].[Cl-]", "[Cl-].[Na+]", "C", "[CH4]", "[H]C"]
    assert molecule_groups(spellings).tolist() == [0, 0, 0, 1, 1, 2, 2, 2]
    mol = Chem.MolFromSmiles("CC(=O)Oc1ccccc1C(=O)O")
    rng = np.random.default_rng(0)
    others = [
        Chem.MolToSmiles(Chem.RenumberAtoms(mol, rng.permutation(13).tolist()), canonical=False) for _ in range(9)
    ]
    assert len(set(others)) > 1
    assert set(molecule_groups([*others, mol, Chem.AddHs(mol)])) == {0}


def test_what_is_no_molecule_is_an_error_that_names_the_row() -> None:
    with pytest.raises(GraphError, match="row 1: RDKit cannot read the SMILES 'C1CC'"):
        molecule_groups(["C", "C1CC"])


def test_scaffolds_are_rings_and_what_links_them() -> None:
    smiles = [
        "c1ccccc1CCc1ccccc1",
        "Cc1ccccc1CC(=O)c1ccccc1O",
        "c1ccccc1CCc1ccc(F)cc1",
        "CCO",
        "C",
        "[Na+].[Cl-]",
        "C1CC1",
    ]
    assert scaffold_groups(smiles).tolist() == [0, 1, 0, 2, 2, 2, 3]


@given(st.integers(1, 12), st.integers(1, 3), st.integers(0, 10**6))
@settings(deadline=None)  # the first one imports scipy
def test_joined_groups_are_connected_components(n: int, count: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    given_groups = [rng.integers(0, 6, n) for _ in range(count)]
    joined = join_groups(*given_groups)
    g = nx.Graph([(i, j) for of in given_groups for i in range(n) for j in range(n) if of[i] == of[j]])
    expected = {frozenset(c) for c in nx.connected_components(g)}
    assert {frozenset(np.flatnonzero(joined == k).tolist()) for k in set(joined)} == expected


def test_groups_of_different_data_cannot_be_joined() -> None:
    with pytest.raises(ConfigurationError, match=r"groups of \[1, 2\] rows"):
        join_groups([0], [0, 1])
