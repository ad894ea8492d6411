"""Similar molecules with a different outcome, and activity cliffs."""

from __future__ import annotations

import numpy as np
from rdkit import Chem, DataStructs
from rdkit.Chem import rdFingerprintGenerator

from ccn.explain.neighbours import cliffs, common, counterfactuals

SMILES = ["CCCCO", "CCCCN", "c1ccccc1C", "c1ccccc1CC", "CCCCCl", "CCCC"]


def test_similarity_is_that_of_rdkit() -> None:
    generator = rdFingerprintGenerator.GetMorganGenerator(radius=2, fpSize=1024)
    prints = [generator.GetCountFingerprint(Chem.MolFromSmiles(s)) for s in SMILES]
    for other in counterfactuals(SMILES[0], SMILES, ["1"] * 6, "0", most=6):
        expected = DataStructs.TanimotoSimilarity(prints[0], prints[other.row])
        np.testing.assert_allclose(other.similarity, expected, rtol=1e-12)


def test_only_molecules_with_another_answer_count() -> None:
    found = counterfactuals("CCCCO", SMILES, ["yes", "yes", "", "no", "no", "yes"], "yes", most=5)
    assert [other.row for other in found] == [4, 3]
    numbers = counterfactuals("CCCCO", SMILES, ["1", "1.5", "9", "8", "", "3"], 1.0, apart=1.0, most=2)
    assert [other.row for other in numbers] == [5, 3]
    assert counterfactuals("CCO", SMILES, [""] * 6, "yes") == []


def test_what_two_molecules_have_in_common() -> None:
    assert common("CCCCO", "CCCCN") == ((0, 0), (1, 1), (2, 2), (3, 3))
    assert common("CO", "CO") == ((0, 0), (1, 1))
    assert common("C", "[Na+]") == ()


def test_cliffs_are_similar_and_far_apart() -> None:
    values = np.array([0.0, 5.0, 0.0, 0.1, np.nan, 0.0])
    found = cliffs(SMILES, values, similarity=0.3)
    assert found[0].rows == (0, 1)
    assert found[0].values == (0.0, 5.0)
    assert found[0].common == ((0, 0), (1, 1), (2, 2), (3, 3))
    assert all(c.similarity >= 0.3 for c in found)
    steep = [c.steepness for c in found]
    assert steep == sorted(steep, reverse=True)
    assert cliffs(SMILES[:1], values[:1]) == []
