"""Fingerprints of molecules: what RDKit gives, in the pack, through tables, models and selections."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from rdkit import Chem
from rdkit.Avalon.pyAvalonTools import GetAvalonCountFP
from rdkit.Chem import rdFingerprintGenerator
from rdkit.Chem.rdReducedGraphs import GetErGFingerprint

import ccn
from ccn.chemistry import fingerprints
from ccn.chemistry.fingerprints import FINGERPRINTS, Fingerprint, columns_of, fingerprint_row, molecule_columns
from ccn.datasets.molecules import convert
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
    with pytest.raises(ConfigurationError, match=r"morgan\+morgan"):
        molecule_features("element+morgan+morgan")
    with pytest.raises(ConfigurationError, match="nothing"):
        columns_of(("nothing",))


def test_avalon_and_erg_are_those_of_rdkit() -> None:
    for smiles in [*SMILES, "C" * 300, "CC*"]:
        mol = Chem.MolFromSmiles(smiles)
        counts, row = GetAvalonCountFP(mol, 1024), fingerprint_row(("avalon",), mol)
        assert row.dtype == np.uint8
        assert row.tolist() == [min(counts[i], 255) for i in range(1024)]
        np.testing.assert_array_equal(fingerprint_row(("erg",), mol), GetErGFingerprint(mol).astype(np.float32))


def test_several_stand_one_after_another_and_are_found_by_name() -> None:
    names, mol = ("descriptors", "morgan", "avalon", "erg"), Chem.MolFromSmiles("c1ccccc1O")
    row, places, columns = fingerprint_row(names, mol), columns_of(names, ("pH", "MolWt")), molecule_columns(names)
    assert row.dtype == np.float32
    assert row.shape == (len(columns),) == (len(set(columns)),)
    assert list(places) == [*names, "columns"]
    for name in names:
        np.testing.assert_array_equal(row[places[name]], fingerprint_row((name,), mol))
        assert all(column.startswith(f"{name}.") for column in columns[places[name]])
    assert places["columns"] == slice(len(row), len(row) + 2)
    assert molecule_columns(names, ("pH", "MolWt")) == (*columns, "columns.pH", "columns.MolWt")
    assert fingerprint_row(("morgan", "avalon"), mol).dtype == np.uint8
    assert columns_of(()) == {}


def test_a_set_with_other_columns_is_refused() -> None:
    written = molecule_features("full+descriptors+morgan").to_json()
    assert molecule_features(written).fingerprints == ("descriptors", "morgan")
    for changed in ({"morgan": 2048}, {"descriptors": written["fingerprints"]["descriptors"][::-1]}):
        with pytest.raises(ConfigurationError, match="fingerprints"):
            molecule_features({**written, "fingerprints": {**written["fingerprints"], **changed}})


def test_a_molecule_without_them_is_the_fault_of_its_row(monkeypatch: pytest.MonkeyPatch) -> None:
    raw = Chem.MolFromSmiles("CCO", sanitize=False)
    with pytest.raises(GraphError, match=r"row 1.*erg"):
        read([Chem.MolFromSmiles("C"), raw], "element+erg", False)

    def picky(mol: Chem.Mol) -> np.ndarray:
        if mol.GetNumAtoms() == 1:
            raise RuntimeError("too small")
        return np.zeros(3, dtype=np.uint8)

    monkeypatch.setattr(fingerprints, "FINGERPRINTS", {**FINGERPRINTS, "erg": Fingerprint(picky, 3)})
    made = convert(SMILES, molecule_features("element+erg"))
    assert made.good.tolist() == [0, 1, 3, 4]
    assert [i for i, why in made.bad if "too small" in why] == [2]
    assert made.pack.graph_features.shape == (4, 3)
