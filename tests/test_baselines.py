"""One interface for all methods: settings, tasks, inputs, the same seed, files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from labelled import OXYGEN, SIZE, SMILES
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.exceptions import NotFittedError

import ccn
from ccn import sealed
from ccn.baselines import METHODS, load, method
from ccn.datasets.dataset import Dataset
from ccn.errors import ConfigurationError, FileError, GraphError
from ccn.methods.objects import to_tensor

QUICK: dict[str, dict[str, Any]] = {
    "forest": {"trees": 5, "settings": {"depth": (None,), "leaf": (1, 2), "split": (2,)}},
    "boosting": {"trees": 5, "settings": {"depth": (3,), "leaf": (1,), "split": (2,), "learning_rate": (0.1, 0.3)}},
    "lasso": {"settings": {"alpha": (1e-3, 1e-1)}},
    "ridge": {"settings": {"alpha": (1e-3, 1e-1)}},
    **{m: {"settings": {"epochs": 2}, "choices": ({},)} for m in ("ngf", "pscn", "gin")},
    **{
        m: {"settings": {"epochs": 1, "channels": 2, "hidden": 4}}
        for m in METHODS
        if m in ("ccn", "ccn-1", "ccn-1-default") or (m.startswith("ccn-2") and m != "ccn-2-kernel")
    },
    # Order 3 with the edge features of molecules plans thousands of contractions.
    "ccn-3-default": {"settings": {"epochs": 1, "channels": 2, "hidden": 4, "edge_features": False, "levels": 1}},
}
QUICK |= {"gp": {"depth": 2}, "trees": {"trees": 20}, "auto": {"methods": ("trees", "gp"), "folds": 2}}
NEEDS = {"gin": "torch_geometric", "pscn": "igraph"}


def make(name: str, task: Any, **more: Any) -> Any:
    if name in NEEDS:
        pytest.importorskip(NEEDS[name])
    options = QUICK.get(name, {"C": (1.0, 10.0), "folds": 3})
    return method(name, task, **{**options, **more})


@pytest.mark.slow
@pytest.mark.parametrize("name", ["ccn-2-default", "ngf"])
def test_members_of_an_ensemble_answer_together(name: str, tmp_path: Path) -> None:
    made = make(name, "classification", settings={**QUICK[name]["settings"], "members": 3}).fit(SMILES, OXYGEN)
    together = made.predict_proba(SMILES)
    each = made.model_.fitted.predict(made.model_.inputs.read(SMILES))
    assert len({e.tobytes() for e in each}) == len(each) == 3
    np.testing.assert_allclose(np.mean(each, axis=0), together, rtol=1e-6)
    again = load(made.save(tmp_path / "m.safetensors"))
    np.testing.assert_allclose(again.predict_proba(SMILES), together, rtol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("name", METHODS)
@pytest.mark.filterwarnings("ignore:.*all predictions are")  # of five rows, or of networks that hardly learn
def test_every_method_learns_predicts_and_comes_back_from_its_file(name: str, tmp_path: Path) -> None:
    if not name.startswith("ccn") and name not in ("ngf", "pscn", "gin"):
        pytest.importorskip("skops")
    for task, y, kind in (("classification", OXYGEN, is_classifier), ("regression", SIZE, is_regressor)):
        made = make(name, task)
        assert kind(made)
        with pytest.raises(NotFittedError):
            made.predict(SMILES)
        before = {**made.get_params()}
        assert made.fit(SMILES[5:], y[5:], validation=(SMILES[:5], y[:5])) is made
        assert made.get_params() == before
        found = made.predict(SMILES)
        assert found.shape == y.shape
        assert set(found) <= set(y) or task == "regression"
        again = clone(made).fit(SMILES[5:], y[5:], validation=(SMILES[:5], y[:5]))
        np.testing.assert_array_equal(again.predict(SMILES), found)
        again = load(made.save(tmp_path / f"{task}.safetensors"))
        if task == "regression":
            np.testing.assert_allclose(again.predict(SMILES), found, rtol=1e-5)
        else:
            assert (again.predict(SMILES) == found).all()
        assert again.get_params().keys() == before.keys()
        assert again.method == name


@pytest.mark.parametrize(
    "name", ["ridge", "forest", "wl", "wl-oa", "shortest-path", "random-walk", "multiscale-laplacian"]
)
def test_they_learn_something(name: str) -> None:
    # What oxygen is, is plain to see; so is the size, for those that count or whose kernel is not normalised.
    assert make(name, "classification").fit(SMILES, OXYGEN).score(SMILES, OXYGEN) > 0.9
    if name in ("ridge", "forest"):
        assert make(name, "regression").fit(SMILES, SIZE).score(SMILES, SIZE) > 0.8


@pytest.mark.slow
@pytest.mark.parametrize("name", ["ridge", "boosting", "wl", "ngf"])
def test_several_targets_with_gaps(name: str) -> None:
    y = np.stack([SIZE, -SIZE], axis=1)
    y[::7, 0] = np.nan
    y[3] = np.nan
    made = make(name, "regression").fit(SMILES, y)
    assert made.predict(SMILES[:4]).shape == (4, 2)
    labels = np.stack([OXYGEN == "yes", OXYGEN == "no"], axis=1).astype(float)
    labels[4, 1] = np.nan
    assert set(make(name, "classification").fit(SMILES, labels).predict(SMILES).ravel().tolist()) <= {0, 1}


def test_data_sets_and_packs() -> None:
    pack = ccn.Pack.of([ccn.Graph.from_smiles(s) for s in SMILES])
    data = Dataset("set", pack, (OXYGEN == "yes").astype(float)[:, None], ("y",), "classification", (0, 1))
    a = make("wl", "classification").fit(data.subset(range(5, 35)), validation=data.subset(range(5)))
    b = make("wl", "classification").fit(pack.select(range(5, 35)), data.targets[5:, 0].astype(int))
    c = make("wl", "classification").fit(
        pack.select(range(5, 35)), OXYGEN[5:], validation=(list(pack.select(range(5))), OXYGEN[:5])
    )
    assert a.score(data) > 0.9
    assert (a.predict(data) == b.predict(pack)).mean() > 0.9
    assert set(c.predict(data)) == {"no", "yes"}
    with pytest.raises(GraphError, match="width"):
        b.predict([ccn.Graph(n=2)])
    with pytest.raises(ConfigurationError):
        b.predict(["CCO"])


def test_errors_say_what_to_do() -> None:
    with pytest.raises(ConfigurationError, match="ccn, lasso, ridge"):
        method("wll", "classification")
    with pytest.raises(ConfigurationError, match="depth"):
        method("wl", "classification", depth=3)
    with pytest.raises(ConfigurationError, match="classification or regression"):
        method("wl", "classify")  # type: ignore[arg-type]
    with pytest.raises(ConfigurationError, match=r"35 .*30"):
        method("ridge", "regression").fit(SMILES, SIZE[:30])
    with pytest.raises(ConfigurationError, match="validation"):
        method("ridge", "regression").fit(SMILES, SIZE, validation=SMILES)


def test_files_hold_nothing_but_what_methods_write(tmp_path: Path) -> None:
    pytest.importorskip("skops")
    path = make("ridge", "regression").fit(SMILES, SIZE).save(tmp_path / "ridge.safetensors")
    held = sealed.read(path, {"ccn model": 2})
    tensors, about = held.tensors, held.data
    from sklearn.preprocessing import FunctionTransformer

    tensors["model0"] = to_tensor(FunctionTransformer(np.ndarray.dump))
    sealed.write(path, "ccn model", 2, tensors, about)
    with pytest.raises(FileError):
        load(path)
    content = bytearray(path.read_bytes())
    content[-3] ^= 1
    path.write_bytes(content)
    with pytest.raises(FileError):
        load(path)


@pytest.mark.slow
def test_models_of_the_package_load_as_methods_too(tmp_path: Path) -> None:
    path = make("ccn-2", "regression").fit(SMILES, SIZE).save(tmp_path / "model.safetensors")
    np.testing.assert_allclose(ccn.CCNRegressor.load(path).predict(SMILES), load(path).predict(SMILES), rtol=1e-5)
    other = ccn.CCNRegressor(epochs=1, channels=2).fit(SMILES, SIZE).save(tmp_path / "other.safetensors")
    np.testing.assert_array_equal(load(other).predict(SMILES), ccn.CCNRegressor.load(other).predict(SMILES))


@pytest.mark.parametrize("name", ["ridge", "wl"])
def test_classes_of_a_data_set_go_by_their_names(name: str) -> None:
    pack = ccn.Pack.of([ccn.Graph.from_smiles(s) for s in SMILES])
    ends = np.arange(len(SMILES)) % 5  # of the five endings of SMILES
    data = Dataset("set", pack, ends[:, None].astype(float), ("y",), "classification", tuple("ONCFX"))
    made = make(name, "classification").fit(data)
    rows = np.flatnonzero(ends >= 3)
    other = Dataset(
        "other", pack.select(rows), (ends[rows, None] - 3).astype(float), ("y",), "classification", ("F", "X")
    )
    names = np.array(data.classes)[ends[rows]]
    assert made.score(other) == made.score(other.pack, names) == made.score(other.pack, names[:, None]) > 0.9
    assert made.score(data) > 0.9
    strange = Dataset("strange", other.pack, other.targets, ("y",), "classification", ("F", "P"))
    assert made.score(strange) == pytest.approx((names == "F").mean(), abs=0.1)  # P is always missed
    other.targets[0] = np.nan
    assert made.score(other) == made.score(other.pack, [None, *names[1:]]) > 0.9
    again = make(name, "classification").fit(data, validation=other)
    assert (again.predict(data) == np.array(data.classes)[ends]).mean() > 0.9
    assert make(name, "classification").fit(data, validation=strange).score(data) > 0.9
    with pytest.raises(ConfigurationError):
        made.score(SMILES)


def test_score_of_numbers_leaves_out_what_is_missing() -> None:
    y = np.stack([SIZE, -SIZE], axis=1)
    made = make("ridge", "regression").fit(SMILES, y)
    y[::7, 0] = np.nan
    assert made.score(SMILES, y) > 0.8


@pytest.mark.slow
@pytest.mark.parametrize(("name", "setting"), [("ngf", {"learning_rate": 0.5}), ("ccn-2", {"channels": 2})])
def test_what_is_set_is_not_chosen(name: str, setting: dict[str, Any]) -> None:
    made = make(name, "classification", settings={"epochs": 1, "hidden": 4, **setting}, choices=None)
    made.fit(SMILES, OXYGEN)
    recipe = made.model_.fitted.recipe
    assert recipe == recipe.override(**setting)
    assert made.chosen_ == [{}]


@pytest.mark.slow
def test_a_network_that_was_loaded_can_be_fitted_again_alike(tmp_path: Path) -> None:
    made = make("ccn-1", "classification", random_state=3).fit(SMILES, OXYGEN)
    again = clone(load(made.save(tmp_path / "m"))).fit(SMILES, OXYGEN)
    np.testing.assert_array_equal(again.predict_proba(SMILES), made.predict_proba(SMILES))


def test_settings_by_themselves_and_misspelt() -> None:
    made = method("wl", "classification", C=1.0, settings={"depth": 2}).fit(SMILES, OXYGEN)
    assert made.chosen_ == [{"depth": 2, "C": 1.0}]
    for name in ("wl", "forest"):
        with pytest.raises(ConfigurationError, match="'depht'"):
            method(name, "classification", settings={"depht": (2,)}).fit(SMILES, OXYGEN)


@pytest.mark.slow
def test_ccn_and_its_name_in_the_tables_give_the_same_bits() -> None:
    settings = QUICK["ccn-2-default"]["settings"]
    one, other = (method(n, "regression", settings=settings).fit(SMILES, SIZE) for n in ("ccn", "ccn-2-default"))
    np.testing.assert_array_equal(one.predict(SMILES), other.predict(SMILES))
