"""Descriptors: RDKit's values under RDKit's names, finite for every molecule, whatever the order of its atoms."""

from __future__ import annotations

import numpy as np
import pytest
from rdkit import Chem
from rdkit.Chem import Descriptors

from ccn.chemistry import descriptors
from ccn.chemistry.descriptors import DESCRIPTORS, descriptor_row
from ccn.errors import DependencyError

SMILES = [
    "CC(C)Cc1ccc(cc1)[C@@H](C)C(=O)O", "O=C(NCc1ccncc1)c1sc2nc(Cl)ccc2c1N", "C[Si](C)(C)C", "[CH2]C", "C", "[H][H]",
    "O=[N+]([O-])c1ccccc1.[K+]", "CC*", "*", "[Pt](Cl)(Cl)(N)N", "F[P-](F)(F)(F)(F)F", "C1C2CC3CC1CC(C2)C3", "[Fe]",
]  # fmt: skip


@pytest.mark.parametrize("smiles", SMILES)
def test_the_values_are_rdkits_and_finite(smiles: str) -> None:
    row, known = descriptor_row(Chem.MolFromSmiles(smiles)), dict(Descriptors.descList)
    assert row.dtype == np.float32
    assert np.isfinite(row).all()
    expected = np.array([known[name](Chem.MolFromSmiles(smiles)) for name in DESCRIPTORS], dtype=np.float64)
    np.testing.assert_allclose(row, np.where(np.isfinite(expected), expected, 0), rtol=1e-5, atol=1e-5)


def test_names_are_distinct_and_the_slow_ones_left_out() -> None:
    assert len(set(DESCRIPTORS)) == len(DESCRIPTORS) == 187
    assert not {"qed", "Ipc", "AvgIpc", "SPS", "BertzCT", "BCUT2D_MWHI", "MaxEStateIndex"} & set(DESCRIPTORS)


@pytest.mark.parametrize("smiles", SMILES[:2])
def test_the_order_of_atoms_does_not_count(smiles: str) -> None:
    mol = Chem.MolFromSmiles(smiles)
    order = np.random.default_rng(0).permutation(mol.GetNumAtoms()).tolist()
    again = descriptor_row(Chem.RenumberAtoms(mol, order))
    np.testing.assert_allclose(again, descriptor_row(mol), rtol=1e-4, atol=1e-4)


def test_large_values_are_cut_off_and_a_lacking_one_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    mol = Chem.MolFromSmiles("CCO")
    with monkeypatch.context() as m:
        m.setattr(descriptors, "_readers", lambda: [lambda mol: np.inf, lambda mol: -1e9, lambda mol: np.nan])
        assert descriptor_row(mol)[:3].tolist() == [1e6, -1e6, 0]
    monkeypatch.setattr(descriptors, "_SINGLE", ("MolWt", "Smell"))
    with pytest.raises(DependencyError, match="Smell"):
        descriptors._readers.__wrapped__()
