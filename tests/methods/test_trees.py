"""Boosted trees as arrays, against LightGBM itself."""

from __future__ import annotations

from pathlib import Path
from typing import Any

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
    found = Trees.of_booster(booster).sums(x, outputs)
    expected = np.asarray(booster.predict(x, raw_score=True)).reshape(len(x), outputs)
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_a_tree_that_was_altered_is_refused() -> None:
    trees = Trees.of_booster(_booster(1, "regression")[0])
    arrays = trees.state()
    assert len(Trees.from_state(arrays, 5).root) == len(trees.root)
    for name, value in (("left", -1), ("right", 10**6), ("feature", 5), ("root", 10**6), ("value", np.inf)):
        forged = {key: a.copy() for key, a in arrays.items()}
        forged[name][0] = value
        with pytest.raises(FileError):
            Trees.from_state(forged, 5)
    back = {key: a.copy() for key, a in arrays.items()}
    inner = np.flatnonzero(back["left"] != np.arange(len(back["left"])))
    back["left"][inner[1]] = inner[0]  # a loop
    with pytest.raises(FileError):
        Trees.from_state(back, 5)


def test_work_is_bounded_by_the_nodes_of_a_file() -> None:
    """Neither many trees with one root nor many short ones beside a deep one take more steps than there are nodes."""
    deep, short = 900, 100_000
    odd = np.arange(2 * deep + 1 + short, dtype=np.int32)
    left, right = odd.copy(), odd.copy()
    left[: 2 * deep : 2], right[: 2 * deep : 2] = odd[1 : 2 * deep : 2], odd[2 : 2 * deep + 1 : 2]
    numbers = np.zeros(len(odd))
    root = np.concatenate([odd[:1], odd[2 * deep + 1 :]])
    arrays: dict[str, Any] = {
        "feature": 0 * odd,
        "threshold": numbers,
        "left": left,
        "right": right,
        "value": numbers,
        "root": root,
    }
    made = Trees.from_state(arrays, 1)
    assert made.depth == deep
    assert made.sums(np.ones((2, 1))).tolist() == [[0.0], [0.0]]
    deeper = odd[: 2 * deep + 1 + short].copy(), odd.copy()
    deeper[0][:9_000:2], deeper[1][:9_000:2] = odd[1:9_000:2], odd[2:9_001:2]
    chain = {"left": deeper[0], "right": deeper[1], "root": np.concatenate([odd[:1], odd[9_001:]])}
    for forged in ({"root": np.concatenate([root, root])}, {"left": np.where(left < right, right, left)}, chain):
        with pytest.raises(FileError):
            Trees.from_state({**arrays, **forged}, 1)


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
    assert one.sums(np.zeros((1, 9999))).shape == (1, 1)
