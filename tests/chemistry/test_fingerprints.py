"""Fingerprints of molecules: what RDKit gives, in the pack, through tables, models and selections."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from rdkit import Chem
from rdkit.Chem import rdFingerprintGenerator

import ccn
from ccn.chemistry.fingerprints import fingerprint_row
from ccn.errors import ConfigurationError, GraphError
from ccn.features import molecule_features
from ccn.learning.inputs import read

SMILES = ["CCO", "c1ccccc1O", "C", "CC(=O)[O-]", "OCC"]


def test_rows_are_those_of_rdkit_and_belong_to_the_molecule() -> None:
    generator = rdFingerprintGenerator.GetMorganGenerator(radius=2, fpSize=1024)
    for smiles in SMILES:
        mol = Chem.MolFromSmiles(smiles)
        assert (fingerprint_row(("morgan",), mol) == generator.GetCountFingerprintAsNumPy(mol)).all()
    pack, molecules, _ = read(SMILES, "element+morgan", False)
    assert molecules
    assert pack.graph_features.shape == (5, 1024)
    assert (pack.graph_features[0] == pack.graph_features[4]).all()


def test_they_follow_the_graphs(tmp_path: Path) -> None:
    pack, _, _ = read(SMILES, "element+morgan", False)
    rows = pack.graph_features
    chosen = pack.select([3, 0])
    np.testing.assert_array_equal(chosen.graph_features, rows[[3, 0]])
    np.testing.assert_array_equal(chosen.compact().graph_features, rows[[3, 0]])
    np.testing.assert_array_equal(ccn.Pack.join([chosen, pack]).graph_features, rows[[3, 0, *range(5)]])
    other, _, _ = read([Chem.MolFromSmiles(s) for s in SMILES], "element+morgan", False)
    np.testing.assert_array_equal(other.graph_features, rows)
    (tmp_path / "t.csv").write_text("smiles,y\n" + "".join(f"{s},{i}.5\n" for i, s in enumerate(SMILES)))
    data = ccn.datasets.load(tmp_path / "t.csv", target_columns="y", features="element+morgan")
    np.testing.assert_array_equal(data.pack.graph_features, rows)
    with pytest.raises(GraphError, match="element\\+morgan"):
        _ = read(SMILES, "element", False)[0].graph_features
    with pytest.raises(GraphError, match="graph_features"):
        ccn.Pack.join([pack, read(SMILES, "element", False)[0]])


def test_unknown_ones_are_named() -> None:
    assert molecule_features("compact+morgan").fingerprints == ("morgan",)
    with pytest.raises(ConfigurationError, match=r"element\+nothing.*\+morgan"):
        molecule_features("element+nothing")
