"""Boosted trees as arrays, against LightGBM itself."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import lightgbm
import numpy as np
import pytest

import ccn
from ccn.errors import FileError
from ccn.methods.trees import FittedTrees, Trees

SMILES = ["C" * n + end for n in range(1, 13) for end in ("O", "N", "Cl")]


def _booster(seed: int, objective: str, classes: int = 1) -> tuple[lightgbm.Booster, np.ndarray]:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(300, 5)).round(1)
    y = (x[:, 0] > 0).astype(int) + (x[:, 1] > 0) * (classes > 2) if classes > 1 else x[:, 0] * x[:, 1]
    settings = {"objective": objective, "num_class": classes if classes > 2 else 1, "verbosity": -1, "num_threads": 1}
    return lightgbm.train(settings, lightgbm.Dataset(x, y), 20), x


@pytest.mark.parametrize(("objective", "classes"), [("regression", 1), ("binary", 2), ("multiclass", 3)])
def test_leaves_add_up_to_what_lightgbm_predicts(objective: str, classes: int) -> None:
    booster, x = _booster(0, objective, classes)
    outputs = classes if classes > 2 else 1
    found = Trees.of_booster(booster).leaves(x).reshape(len(x), -1, outputs).sum(axis=1)
    expected = np.asarray(booster.predict(x, raw_score=True)).reshape(len(x), outputs)
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_a_tree_that_was_altered_is_refused() -> None:
    trees = Trees.of_booster(_booster(1, "regression")[0])
    arrays = trees.state()
    assert Trees.from_state(arrays, trees.depth, 5).depth == trees.depth
    for name, value in (("left", -1), ("right", 10**6), ("feature", 5), ("root", 10**6), ("value", np.inf)):
        forged = {key: a.copy() for key, a in arrays.items()}
        forged[name][0] = value
        with pytest.raises(FileError):
            Trees.from_state(forged, trees.depth, 5)
    back = {key: a.copy() for key, a in arrays.items()}
    inner = np.flatnonzero(back["left"] != np.arange(len(back["left"])))
    back["left"][inner[1]] = inner[0]  # a loop
    with pytest.raises(FileError):
        Trees.from_state(back, trees.depth, 5)


@pytest.mark.parametrize("method", ["trees", "gp"])
def test_molecules_in_a_file_and_back(method: str, tmp_path: Path) -> None:
    y = np.array([len(s) + 2.0 * s.endswith("O") for s in SMILES])
    model = ccn.CCNRegressor(method=method).fit(SMILES, y)
    again = ccn.CCNRegressor.load(model.save(tmp_path / "m.safetensors"))
    new = ["CCCCCO", "CCCCN", "OCCC"]
    np.testing.assert_array_equal(model.predict(new), again.predict(new))
    # Whatever the numbering of atoms.
    np.testing.assert_allclose(model.predict(["OCCC"]), model.predict(["CCCO"]), rtol=1e-9)
    assert np.corrcoef(model.predict(SMILES), y)[0, 1] > 0.9


@pytest.mark.parametrize("method", ["trees", "gp"])
def test_classes_and_weights(method: str) -> None:
    y = np.array(["acid" if s.endswith("O") else "base" if s.endswith("N") else "other" for s in SMILES])
    two = np.where(y == "acid", "acid", "rest")
    for classes in (y, two):
        model = ccn.CCNClassifier(method=method).fit(SMILES, classes)
        assert (model.predict(SMILES) == classes).mean() > 0.8
        np.testing.assert_allclose(model.predict_proba(SMILES[:4]).sum(axis=1), 1)
    size = np.array([len(s) for s in SMILES * 2])
    y, weight = np.repeat([0.0, 1.0], 36) + size, np.repeat([1.0, 9.0], 36)
    heavy = ccn.CCNRegressor(method=method).fit(SMILES * 2, y, sample_weight=weight)
    assert 0.7 < np.mean(heavy.predict(SMILES) - size[:36]) < 1


def test_graphs_that_are_no_molecules() -> None:
    graphs = [
        ccn.Graph([(i, i + 1) for i in range(n)] + [(0, n)] * ring, n=n + 1) for n in range(3, 13) for ring in (0, 1)
    ]
    y = np.tile([0.0, 1.0], 10)
    for method in ("trees", "gp"):
        found = ccn.CCNRegressor(method=method).fit(graphs, y).predict(graphs)
        assert found[1::2].mean() > found[::2].mean() + 0.3


def test_the_same_seed_gives_the_same_trees() -> None:
    y = np.arange(len(SMILES), dtype=float)
    models = [ccn.CCNRegressor(method="trees", random_state=seed).fit(SMILES, y).model_.fitted for seed in (0, 0, 1)]
    one, two, other = (m.trees[0] for m in models if isinstance(m, FittedTrees))
    np.testing.assert_array_equal(one.value, two.value)
    assert one.value.shape != other.value.shape or (one.value != other.value).any()
    assert replace(one, depth=0).leaves(np.zeros((1, 9999))).shape == (1, len(one.root))
