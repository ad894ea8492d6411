"""Explanations of molecules: named terms that add up, whatever was given."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from rdkit import Chem

import ccn
from ccn.errors import ConfigurationError
from ccn.explain import Explanation, explain
from ccn.explain.explanation import LACKING, output_of, scale_of
from ccn.learning.task import Task

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")  # a few molecules leave doubts
SMILES = ["CC(=O)Nc1ccc(O)cc1", "C", "OCC.Cl"]


def _total(e: Explanation) -> float:
    return e.baseline + sum(e.totals.values())


def test_terms_add_up_to_the_prediction(numbers: Any) -> None:
    found = numbers.explain(SMILES)
    np.testing.assert_allclose([_total(e) for e in found], [e.prediction for e in found], rtol=1e-10)
    np.testing.assert_allclose([e.value for e in found], numbers.predict(SMILES), rtol=1e-6)
    assert [len(e.atoms) for e in found] == [11, 1, 4]
    assert found[0].symbols[:4] == ["C", "C", "O", "N"]
    assert "MolWt" in found[0].whole
    sizes = np.abs(list(found[0].whole.values()))
    assert (np.diff(sizes) <= 0).all()


def test_columns_of_the_fingerprint_go_to_atoms() -> None:
    smiles = [s * k for s in ("CO", "CN", "CC", "CS") for k in range(1, 11)]
    y = [float(len(s) + 10 * ("O" in s)) for s in smiles]
    trees = ccn.CCNRegressor(method="trees", options={"trees": 20}).fit(smiles, y)
    e = trees.explain(["COCOCO"])[0]
    np.testing.assert_allclose(_total(e), e.prediction, rtol=1e-9)
    assert not [name for name in e.whole if name.startswith("morgan")]
    assert np.abs(e.atoms).sum() > 0
    assert LACKING in e.whole


@pytest.mark.parametrize("hydrogens", [False, True])
def test_molecules_of_rdkit_keep_their_order(hydrogens: bool) -> None:
    smiles = ["C" * n + end for n in range(1, 8) for end in ("O", "N")]
    model = ccn.CCNRegressor(method="gp", hydrogens=hydrogens).fit(smiles, [float(len(s)) for s in smiles])
    mol = Chem.MolFromSmiles("CCNCCO")
    moved = Chem.RenumberAtoms(mol, [5, 0, 4, 1, 3, 2])
    one, other = model.explain([mol, moved])
    heavy = [5, 0, 4, 1, 3, 2]
    np.testing.assert_allclose(one.atoms[heavy], other.atoms[:6], rtol=1e-8, atol=1e-10)
    assert len(one.atoms) == (Chem.AddHs(mol).GetNumAtoms() if hydrogens else 6)


def test_the_class_that_is_predicted_is_explained(classes: Any) -> None:
    found = classes.explain(["CCCC(=O)O", "CCc1ccccc1"])
    assert [e.target.rpartition(" = ")[2] for e in found] == ["acid", "ring"]
    asked = classes.explain(["CCCC(=O)O"], label="chain")[0]
    assert asked.value < found[0].value
    assert abs(_total(asked) - asked.prediction) < 1e-6
    with pytest.raises(ConfigurationError):
        classes.explain(["CCO"], label="base")
    with pytest.raises(ConfigurationError):
        classes.explain(["CCO"], target="other")


def test_what_is_explained_has_a_name_and_a_scale() -> None:
    binary = Task("binary", ("active",), classes=("no", "yes"))
    output = output_of(binary)
    assert output is not None
    assert (output.name, output.column, scale_of(binary, output)) == ("active = yes", 1, "log odds")
    with pytest.raises(ConfigurationError):
        output_of(binary, label="no")
    several = Task("multilabel", ("a", "b"), classes=(0, 1))
    chosen = output_of(several, "b")
    assert chosen is not None
    assert (chosen.number, chosen.column) == (1, 1)


def test_a_pack_has_no_molecules(numbers: Any) -> None:
    graphs = numbers.model_.inputs.read(["CCO"])
    e = explain(numbers.model_, graphs)[0]
    assert e.mol is None
    assert e.symbols == ["0", "1", "2"]
    assert abs(_total(e) - e.prediction) < 1e-9


def test_bonds_are_shared_by_their_ends(network: Any) -> None:
    e = network.explain(["CC=O"])[0]
    np.testing.assert_allclose(e.on_atoms().sum(), e.atoms.sum() + e.bonds.sum())
