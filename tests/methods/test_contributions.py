"""Contributions of every method that has them: they add up to its prediction, and permute with the atoms."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ccn
from ccn.errors import ConfigurationError
from ccn.graphs.ragged import starts
from ccn.learning.contributions import margin_of

SMILES = [
    f"{'C' * n}{end}"
    for n in range(1, 9)
    for end in ("O", "N", "c1ccccc1", "C(=O)O", "/C=C/Cl", "[C@H](F)Cl", "S(=O)(=O)N")
]
NEW = ["CC(=O)Nc1ccc(O)cc1", "C", "O=C(O)c1ccccc1OC(C)=O", "CC.[Na+]", "Brc1ccncc1"]
NUMBERS = np.array([len(s) - 3.0 * s.count("O") for s in SMILES])
CLASSES = np.array(["yes" if "O" in s else "no" for s in SMILES])
THREE = np.array(["acid" if s.endswith("C(=O)O") else "ring" if "c1" in s else "other" for s in SMILES])
SETTINGS = {"levels": 2, "channels": 3, "order": 1, "epochs": 2, "least_steps": 4}
EXACT = {
    "gp": 1e-10,
    "trees": 1e-10,
    "ccn-2-kernel": 1e-6,
    "lasso": 1e-10,
    "ridge": 1e-10,
    "forest": 1e-6,
    "boosting": 1e-6,
}


def made(method: str, y: Any, **more: Any) -> Any:
    kind = ccn.CCNRegressor if np.issubdtype(np.asarray(y).dtype, np.number) else ccn.CCNClassifier
    options: dict[str, Any] = {"options": more} if more else {}
    if method in ("ccn", "auto"):
        options["settings"] = SETTINGS
    if method == "auto":
        options["options"] = {"folds": 2, "processes": 1, **more}
    if method in ("forest", "boosting"):
        options["options"] = {"trees": 5, **more}
    return kind(method=method, random_state=0, **options).fit(SMILES, y).model_


@pytest.fixture(scope="module")
def models() -> dict[Any, Any]:
    return {}


def model_of(models: dict[Any, Any], method: str, what: str) -> Any:
    y = {"numbers": NUMBERS, "classes": CLASSES, "three": THREE, "log": np.exp(NUMBERS / 3)}[what]
    if (method, what) not in models:
        more = {"target_scale": "log"} if what == "log" else {}
        models[method, what] = made(method, y, **more)
    return models[method, what]


CASES = [
    *((method, what) for method in ("gp", "trees", "ccn", "auto") for what in ("numbers", "classes", "three", "log")),
    *((method, what) for method in ("ccn-2-kernel", "forest", "boosting") for what in ("numbers", "classes")),
    ("lasso", "numbers"),
    ("ridge", "numbers"),
    ("forest", "three"),
]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("method", "what"), CASES)
def test_contributions_add_up_to_the_margin_of_the_prediction(models: dict[Any, Any], method: str, what: str) -> None:
    model = model_of(models, method, what)
    graphs = model.inputs.read(NEW)
    output = 2 if what == "three" else 0
    found = model.explain(graphs, output)
    tolerance = EXACT.get(method, 1e-5) if what != "three" or method in EXACT else 1e-2
    assert np.abs(found.residual).max() <= tolerance * max(1.0, np.abs(found.difference).max())
    predicted = model.predict(graphs).mean
    column = {"classes": 1}.get(what, output)
    to_margin = margin_of(model.task, output)
    margin = predicted[:, column] if to_margin is None else to_margin(predicted[:, column])
    if (method, what) != ("auto", "three"):  # whose margins are normalised afterwards
        np.testing.assert_allclose(found.prediction, margin, rtol=1e-5, atol=1e-5)
    assert len(found.atoms) == graphs.sizes.sum()
    assert (np.abs(found.atoms).sum(), len(found.bonds)) > (0, 0)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("method", "what"), [c for c in CASES if c[1] in ("numbers", "three")])
def test_contributions_permute_with_the_atoms(models: dict[Any, Any], method: str, what: str) -> None:
    from rdkit import Chem

    model = model_of(models, method, what)
    mols = [Chem.MolFromSmiles(s) for s in NEW]
    rng = np.random.default_rng(0)
    orders = [rng.permutation(m.GetNumAtoms()) for m in mols]
    moved = [Chem.RenumberAtoms(m, order.tolist()) for m, order in zip(mols, orders, strict=True)]
    one, other = (model.explain(model.inputs.read(x)) for x in (mols, moved))
    start = starts(one.atom_counts)
    for i, order in enumerate(orders):
        a, b = (c.atoms[start[i] : start[i + 1]] for c in (one, other))
        np.testing.assert_allclose(a[order], b, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(one.whole, other.whole, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(one.baseline, other.baseline, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("method", ["wl", "ngf"])
def test_others_refuse(method: str) -> None:
    settings = {"epochs": 1, "least_steps": 1} if method == "ngf" else None
    model = ccn.CCNRegressor(method=method, settings=settings).fit(SMILES[:20], NUMBERS[:20]).model_
    with pytest.raises(ConfigurationError):
        model.explain(model.inputs.read(["CCO"]))


def test_an_output_that_is_not_there_is_refused(models: dict[Any, Any]) -> None:
    model = model_of(models, "gp", "numbers")
    with pytest.raises(ConfigurationError):
        model.explain(model.inputs.read(["CCO"]), 1)


def test_graphs_that_are_no_molecules() -> None:
    rng = np.random.default_rng(0)
    graphs = []
    for i in range(40):
        n = int(rng.integers(3, 9))
        edges = [(int(rng.integers(j)), j) for j in range(1, n)]
        graphs.append(ccn.Graph(edges, np.eye(3)[rng.integers(3, size=n)].astype(np.float32), name=str(i)))
    y = [float(g.features[:, 0].sum()) for g in graphs]
    for method in ("gp", "trees"):
        model = ccn.CCNRegressor(method=method).fit(graphs, y).model_
        found = model.explain(model.inputs.read(graphs[:7]))
        assert np.abs(found.residual).max() < 1e-10
        assert found.whole.shape == (7, 0)
