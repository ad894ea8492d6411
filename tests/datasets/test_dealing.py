"""The one rule behind every split: exact sizes, classes in proportion, groups in one piece."""

import networkx as nx
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from rdkit import Chem

from ccn.chemistry.smiles import MAX_ATOMS
from ccn.datasets.dealing import (
    allot,
    canonical_smiles,
    deal,
    fold_groups,
    groups_of,
    join_groups,
    molecule_groups,
    quotas,
    scaffold_groups,
)
from ccn.errors import ConfigurationError, GraphError

seeds = st.integers(0, 10**6)
shares = st.sampled_from([(0.8, 0.1, 0.1), (0.5, 0.25, 0.25), (0.9, 0.0, 0.1), (1 / 3, 1 / 3, 1 / 3), (0.2,) * 5])


@given(n=st.integers(0, 500), fractions=shares)
def test_shares_are_integers_add_up_and_are_exact_to_rounding(n: int, fractions: tuple[float, ...]) -> None:
    out = allot(n, np.array(fractions))
    wanted = np.count_nonzero(fractions)
    assert out.sum() == n
    assert (out >= 0).all()
    if n >= 10 * wanted:
        assert (np.abs(out - n * np.array(fractions)) < 1).all()
    if n >= wanted:
        assert ((out > 0) == (np.array(fractions) > 0)).all()


@given(
    seed=seeds, counts=st.lists(st.integers(1, 60), min_size=1, max_size=8), fractions=shares, train_first=st.booleans()
)
def test_quotas_are_exact_in_total_and_close_in_each_class(
    seed: int, counts: list[int], fractions: tuple[float, ...], train_first: bool
) -> None:
    of, share = np.array(counts), np.array(fractions)
    out = quotas(of, share, np.random.default_rng(seed), train_first=train_first)
    assert (out >= 0).all()
    assert out.sum(1).tolist() == counts
    assert out.sum(0).tolist() == allot(sum(counts), share).tolist()
    if not train_first and sum(counts) >= 30:
        assert (np.abs(out - of[:, None] * share) < 2).all()
    if train_first and out[:, 0].sum() >= len(counts):
        assert (out[:, 0] > 0).all()


@given(seed=seeds, n=st.integers(1, 60), classes=st.integers(1, 4), groups=st.integers(1, 60), fractions=shares)
@example(seed=6, n=5, classes=1, groups=4, fractions=(0.8, 0.1, 0.1))  # the last row must go to the empty part
@settings(deadline=None)
def test_groups_stay_together_and_every_part_gets_rows(
    seed: int, n: int, classes: int, groups: int, fractions: tuple[float, ...]
) -> None:
    rng = np.random.default_rng(seed)
    group = np.unique(rng.integers(0, groups, n), return_inverse=True)[1]
    strata = np.unique(rng.integers(0, classes, n), return_inverse=True)[1]
    share = np.array(fractions)
    try:
        part = deal(share, strata, group, np.random.default_rng(seed))
    except ConfigurationError:
        # With one class, only too few groups are a reason to give up.
        assert strata.max() > 0 or group.max() + 1 < np.count_nonzero(share)
        return
    assert set(part) == set(np.flatnonzero(share))
    for g in range(group.max() + 1):
        assert len(set(part[group == g])) == 1
    again = deal(share, strata, group, np.random.default_rng(seed))
    assert np.array_equal(part, again)


@given(seed=seeds, pairs=st.integers(1, 40))
def test_pairs_among_single_rows_leave_sizes_exact_and_are_not_all_for_training(seed: int, pairs: int) -> None:
    groups = np.concatenate([np.repeat(np.arange(pairs), 2), np.arange(pairs, 300)])
    part = deal(np.array([0.8, 0.1, 0.1]), np.zeros(len(groups), dtype=int), groups, np.random.default_rng(seed))
    assert np.bincount(part).tolist() == allot(len(groups), np.array([0.8, 0.1, 0.1])).tolist()


def test_a_pair_goes_to_each_part_as_often_as_a_row_does() -> None:
    groups = np.concatenate([[0, 0], np.arange(1, 99)])
    strata = np.zeros(100, dtype=int)
    dealt = np.stack(
        [deal(np.array([0.5, 0.3, 0.2]), strata, groups, np.random.default_rng(seed)) for seed in range(400)]
    )
    for row in (0, 50):
        np.testing.assert_allclose(np.bincount(dealt[:, row]) / 400, [0.5, 0.3, 0.2], atol=0.08)


def test_a_group_that_would_be_most_of_a_part_goes_where_there_is_room() -> None:
    groups = np.concatenate([np.zeros(9, dtype=int), np.arange(1, 92)])
    for seed in range(20):
        part = deal(np.array([0.8, 0.1, 0.1]), np.zeros(100, dtype=int), groups, np.random.default_rng(seed))
        assert set(part[:9]) == {0}


def test_too_few_groups_are_an_error() -> None:
    with pytest.raises(ConfigurationError, match=r"6 rows in 2 groups.*3 parts"):
        deal(np.array([0.8, 0.1, 0.1]), np.zeros(6, dtype=int), np.array([0, 0, 0, 1, 1, 1]), np.random.default_rng(0))


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
    with pytest.raises(GraphError, match=r"row 1: .*'C1CC'"):
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


def test_a_molecule_that_rdkit_cannot_write_has_no_canonical_smiles() -> None:
    impossible = Chem.MolFromSmiles("C(C)(C)(C)(C)C", sanitize=False)
    large = Chem.MolFromSmiles("C" * (MAX_ATOMS + 1))
    assert list(canonical_smiles(["OCC", impossible, large, Chem.AddHs(Chem.MolFromSmiles("CO"))])) == [
        "CCO",
        "",
        "",
        "CO",
    ]
    assert molecule_groups([impossible, large, impossible]).tolist() == [0, 1, 2]


def test_folds_keep_together_what_the_test_part_keeps_apart() -> None:
    smiles = ["c1ccccc1C", "c1ccccc1O", "C1CC1", "CC1CC1", "", ""]
    assert fold_groups(None) is None
    assert fold_groups(None, ["a", "b", "a"]).tolist() == [0, 1, 0]  # type: ignore[union-attr]
    for how, expected in (
        ({}, [0, 1, 2, 3, 4, 5]),
        ({"groups": [0, 1, 1, 2, 3, 4]}, [0, 1, 1, 2, 3, 4]),
        ({"test": np.array([2, 3])}, [0, 0, 1, 1, 2, 2]),
        ({"test": np.array([1, 3])}, [0, 1, 2, 3, 4, 5]),
        ({"test": np.array([1, 3]), "scaffolds": True}, [0, 0, 1, 1, 2, 2]),
        ({"test": np.array([2, 3]), "scaffolds": False}, [0, 1, 2, 3, 4, 5]),
        ({"scaffolds": True, "groups": [0, 1, 1, 2, 3, 4]}, [0, 0, 0, 0, 1, 1]),
    ):
        found = fold_groups(smiles, **how)
        assert found is not None
        assert found.tolist() == expected
