"""The stack: weights, folds, files, resumption."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ccn
from ccn.datasets.splits import Split
from ccn.learning.examples import Examples
from ccn.learning.inputs import Inputs, read
from ccn.learning.task import Task
from ccn.methods.method import Method, fit
from ccn.methods.registry import make_method
from ccn.methods.stack import FittedStack, fit_weights
from ccn.training.execution import Execution

SMILES = ["C" * n + end for n in range(1, 16) for end in ("O", "N", "Cl", "")][:60]
Y = np.array([len(s) + 2.0 * s.endswith("O") for s in SMILES])
QUICK = {"methods": ("trees", "gp"), "folds": 3}


def test_weights_are_those_of_the_better_member() -> None:
    rng = np.random.default_rng(0)
    y = rng.normal(size=(400, 1))
    z = np.stack([y + 0.3 * rng.normal(size=y.shape), y + 0.6 * rng.normal(size=y.shape)])
    w, b = fit_weights(Task("regression", ("y",)), z, y)
    best = np.linalg.lstsq(z[:, :, 0].T, y[:, 0], rcond=None)[0]
    np.testing.assert_allclose(w, best, atol=0.05)
    assert b.tolist() == [0.0]


@pytest.mark.parametrize("kind", ["binary", "multilabel", "multiclass"])
def test_weights_of_classes_are_not_negative_and_ignore_noise(kind: str) -> None:
    rng = np.random.default_rng(1)
    classes = (0, 1, 2) if kind == "multiclass" else (0, 1)
    outputs = 3 if kind == "multiclass" else 2 if kind == "multilabel" else 1
    y = rng.integers(0, len(classes), size=(500, 2 if kind == "multilabel" else 1)).astype(float)
    signal = 2.0 * (y == np.arange(3)) if kind == "multiclass" else 4 * y - 2
    z = np.stack([signal + rng.normal(size=(500, outputs)), -signal, rng.normal(size=(500, outputs))])
    w, b = fit_weights(Task(kind, tuple("ab"[: y.shape[1]]), classes=classes), z, y)  # type: ignore[arg-type]
    assert (w >= 0).all()
    assert w[0] > 0.5 > w[1] + w[2]
    assert b.shape == (outputs,)


def test_few_rows_leave_weights_nearly_equal() -> None:
    rng = np.random.default_rng(2)
    y = rng.normal(size=(4, 1))
    w, _ = fit_weights(Task("regression", ("y",)), np.stack([y, rng.normal(size=y.shape)]), y)
    assert abs(w[0] - w[1]) < 0.4


def test_fit_save_load_and_leaderboard(tmp_path: Path) -> None:
    model = ccn.CCNRegressor(method="auto", options=QUICK).fit(SMILES, Y)
    fitted = model.model_.fitted
    assert isinstance(fitted, FittedStack)
    again = ccn.CCNRegressor.load(model.save(tmp_path / "m.safetensors"))
    new = ["CCCCCO", "CCCCN", "OCCC"]
    np.testing.assert_array_equal(model.predict(new), again.predict(new))
    np.testing.assert_allclose(model.predict(["OCCC"]), model.predict(["CCCO"]), rtol=1e-9)
    board = {row["method"]: row for row in model.model_.about["leaderboard"]}
    assert set(board) == {"stack", "trees", "gp", "constant"}
    assert board["stack"]["metrics"]["mae"] < board["constant"]["metrics"]["mae"]
    assert model.model_.calibration is not None  # from rows that were held out


def test_no_row_is_predicted_by_a_model_that_was_fitted_on_it() -> None:
    """A target of pure noise: held-out figures must not look better than the constant."""
    noise = np.random.default_rng(0).normal(size=len(SMILES))
    board = ccn.CCNRegressor(method="auto", options=QUICK).fit(SMILES, noise).model_.about["leaderboard"]
    r2 = {row["method"]: row["metrics"]["r2"] for row in board}
    assert r2["stack"] < 0.2


def test_the_same_seed_gives_the_same_model() -> None:
    one, two = (ccn.CCNRegressor(method="auto", options=QUICK, random_state=3).fit(SMILES, Y) for _ in range(2))
    np.testing.assert_array_equal(one.predict(SMILES), two.predict(SMILES))


def test_classes() -> None:
    y = np.array(["acid" if s.endswith("O") else "other" for s in SMILES])
    model = ccn.CCNClassifier(method="auto", options=QUICK).fit(SMILES, y)
    assert (model.predict(SMILES) == y).mean() > 0.9
    np.testing.assert_allclose(model.predict_proba(SMILES).sum(axis=1), 1)


def test_rows_with_bounds_alone_are_for_the_networks_and_never_held_out(monkeypatch: pytest.MonkeyPatch) -> None:
    graphs, _, molecules = read(SMILES, "element", False, canonical=True)
    targets, bounds = Y[:, None].copy(), np.full((len(Y), 1, 2), np.nan)
    bounds[::5, 0], targets[::5] = (3.0, np.inf), np.nan
    rows, groups = np.arange(len(Y)), np.arange(len(Y)) // 4
    split = Split(rows[:48], rows[48:][targets[48:, 0] > 0], rows[:0], complete=False)
    examples = Examples(
        graphs, targets, split, inputs=Inputs("element"), molecules=molecules, bounds=bounds, groups=groups
    )
    seen: list[tuple[str, Split]] = []

    def spy(method: Method, given: Examples, execution: Execution) -> Any:
        seen.append((method.name, given.split))
        return fit(method, given, execution)

    monkeypatch.setattr("ccn.methods.stack.fit", spy)
    tiny = {"order": 1, "levels": 1, "channels": 4, "hidden": 8, "epochs": 1, "edge_features": False}
    made = make_method("auto", classification=False, methods=("trees", "ccn"), folds=3, settings=tiny)
    model, outcome = fit(made, examples)
    assert outcome.held is not None
    exact = np.sort(np.concatenate([split.train, split.validation]))
    exact = exact[~np.isnan(targets[exact, 0])]
    np.testing.assert_array_equal(outcome.held[0], exact)
    assert np.isfinite(outcome.held[1].mean).all()
    assert model.calibration is not None
    folds = [part for name, part in seen if name == "ccn"]
    assert len(folds) == 3
    for part in folds:
        assert not np.isnan(targets[part.validation]).any()
        assert np.isnan(targets[part.train]).any()
        assert not set(groups[part.train]) & set(groups[part.validation])
    np.testing.assert_array_equal(np.sort(np.concatenate([part.validation for part in folds])), exact)
