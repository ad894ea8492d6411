"""The stack: weights, folds, files, resumption."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ccn
from ccn.datasets.splits import Split
from ccn.errors import ConfigurationError
from ccn.learning.examples import Examples
from ccn.learning.inputs import Inputs, read
from ccn.methods.method import Method, fit
from ccn.methods.registry import make_method
from ccn.methods.stack import FittedStack
from ccn.training.execution import Execution

SMILES = ["C" * n + end for n in range(1, 16) for end in ("O", "N", "Cl", "")][:60]
Y = np.array([len(s) + 2.0 * s.endswith("O") for s in SMILES])
QUICK = {"methods": ("trees", "gp"), "folds": 3}
TINY = {"order": 0, "levels": 1, "channels": 2, "hidden": 4, "epochs": 1, "least_steps": 1}


def test_fit_save_load_and_leaderboard(tmp_path: Path) -> None:
    model = ccn.CCNRegressor(method="auto", options=QUICK).fit(SMILES, Y)
    fitted = model.model_.fitted
    assert isinstance(fitted, FittedStack)
    again = ccn.CCNRegressor.load(model.save(tmp_path / "m.safetensors"))
    new = ["CCCCCO", "CCCCN", "OCCC"]
    np.testing.assert_array_equal(model.predict(new), again.predict(new))
    np.testing.assert_allclose(model.predict(["OCCC"]), model.predict(["CCCO"]), rtol=1e-9)
    board = {row["method"]: row for row in model.model_.about["leaderboard"]}
    assert set(board) == {"stack", "trees", "gp", "linear", "constant"}
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

    def spy(method: Method, given: Examples, execution: Execution, **how: Any) -> Any:
        seen.append((method.name, given.split))
        return fit(method, given, execution, **how)

    monkeypatch.setattr("ccn.methods.fits.fit", spy)
    tiny = {"order": 1, "levels": 1, "channels": 4, "hidden": 8, "epochs": 1, "least_steps": 1, "edge_features": False}
    made = make_method("auto", classification=False, budget="best", methods=("trees", "ccn"), folds=3, settings=tiny)
    model, outcome = fit(made, examples)
    assert outcome.held is not None
    exact = np.sort(np.concatenate([split.train, split.validation]))
    exact = exact[~np.isnan(targets[exact, 0])]
    np.testing.assert_array_equal(outcome.held[0], exact)
    assert np.isfinite(outcome.held[1].mean).all()
    assert model.calibration is not None
    folds = [part for name, part in seen if name == "ccn"]
    assert len(folds) == 3
    assert len(outcome.history) == 2 * len(folds)  # with this budget each has two members
    assert [row["epoch"] for row in outcome.history[0]] == [1]
    for part in folds:
        assert not np.isnan(targets[part.validation]).any()
        assert np.isnan(targets[part.train]).any()
        assert not set(groups[part.train]) & set(groups[part.validation])
    np.testing.assert_array_equal(np.sort(np.concatenate([part.validation for part in folds])), exact)


def test_networks_that_do_not_help_are_left_out_early(monkeypatch: pytest.MonkeyPatch) -> None:
    smiles = ["C" * n + end for n in range(1, 61) for end in ("O", "N", "Cl", "")]
    seen: list[str] = []

    def spy(method: Method, given: Examples, execution: Execution, **how: Any) -> Any:
        seen.append(method.name)
        return fit(method, given, execution, **how)

    monkeypatch.setattr("ccn.methods.fits.fit", spy)
    options = {"methods": ("gp", "ccn"), "folds": 4, "settings": TINY | {"learning_rate": 1e-9}}
    model = ccn.CCNRegressor(method="auto", options=options).fit(smiles, [float(len(s)) for s in smiles]).model_
    board = {row["method"]: row for row in model.about["leaderboard"]}
    assert board["ccn"]["folds"] == "2 of 4"
    assert board["ccn"]["weight"] == 0
    assert "folds" not in board["gp"]
    assert (seen.count("ccn"), seen.count("gp")) == (2, 5)


def test_networks_that_read_descriptors_come_back_from_a_file(tmp_path: Path) -> None:
    options = {"methods": ("gp", "ccn"), "folds": 2, "budget": "best", "settings": TINY}
    model = ccn.CCNRegressor(method="auto", options=options).fit(SMILES, Y)
    fitted = model.model_.fitted
    assert isinstance(fitted, FittedStack)
    assert [m.method for m in fitted.members] == ["gp", "ccn"]
    again = ccn.CCNRegressor.load(model.save(tmp_path / "m.safetensors"))
    np.testing.assert_array_equal(model.predict(SMILES), again.predict(SMILES))


def test_estimators_keep_groups_together(monkeypatch: pytest.MonkeyPatch) -> None:
    rings = ["c1ccccc1", "C1CC1", "C1CCCC1", "C1CCCCC1"]
    smiles = [ring + "C" * n for ring in rings for n in range(6)]
    y = np.arange(24.0)
    seen: list[Examples] = []

    def spy(method: Method, given: Examples, execution: Execution, **how: Any) -> Any:
        seen.append(given)
        return fit(method, given, execution, **how)

    monkeypatch.setattr("ccn.methods.fits.fit", spy)
    for given, row_groups in (("scaffold", np.arange(24) // 6), (np.arange(24) % 4, np.arange(24) % 4)):
        seen.clear()
        ccn.CCNRegressor(method="auto", options={"methods": ("trees",), "folds": 3}).fit(smiles, y, groups=given)
        for examples in seen[:-1]:  # the last is of all rows
            assert not set(row_groups[examples.train]) & set(row_groups[examples.validation])
    with pytest.raises(ConfigurationError, match="one label for each of the 24 rows"):
        ccn.CCNRegressor(method="auto").fit(smiles, y, groups=[1, 2])
    with pytest.raises(ConfigurationError, match="'scaffold'"):
        ccn.CCNRegressor(method="auto").fit(smiles, y, groups="ring")
    with pytest.raises(ConfigurationError, match="not molecules"):
        ccn.CCNRegressor(method="auto").fit([ccn.Graph([(0, 1)], n=2)] * 24, y, groups="scaffold")


def test_auxiliary_columns_are_weighed_as_a_member(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    seen: list[tuple[str, Any, int]] = []

    def spy(method: Method, given: Examples, execution: Execution, **how: Any) -> Any:
        seen.append((method.name, getattr(method, "auxiliary", None), len(given.train)))
        return fit(method, given, execution, **how)

    monkeypatch.setattr("ccn.methods.fits.fit", spy)
    tiny = {"order": 1, "levels": 1, "channels": 4, "hidden": 8, "epochs": 1, "least_steps": 1, "edge_features": False}
    y = np.where(np.arange(60) % 3 == 0, np.nan, Y)
    made = ccn.CCNRegressor(method="auto", options={"methods": ("trees", "ccn"), "folds": 2}, settings=tiny)
    made.fit(SMILES, y, auxiliary=Y, groups=np.arange(60))
    assert {row["method"] for row in made.model_.about["leaderboard"]} == {
        "stack",
        "trees",
        "ccn",
        "ccn+auxiliary",
        "linear",
        "constant",
    }
    assert set(seen) >= {("trees", None, 20), ("ccn", False, 40), ("ccn", True, 40)}  # 20 rows have no target
    again = ccn.CCNRegressor.load(made.save(tmp_path / "m.safetensors"))
    np.testing.assert_array_equal(again.predict(SMILES), made.predict(SMILES))
    with pytest.raises(ConfigurationError, match="trees, gp"):
        ccn.CCNRegressor(method="auto", options=QUICK).fit(SMILES, Y, auxiliary=Y)
