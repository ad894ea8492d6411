"""The estimators: scikit-learn's contract, every kind of input and target, intervals that cover, files and errors."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest
import torch
from rdkit import Chem
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.compose import ColumnTransformer
from sklearn.exceptions import NotFittedError, SkipTestWarning
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.utils import estimator_checks

import ccn
from ccn.datasets.dataset import Dataset
from ccn.errors import ConfigurationError, FileError, GraphError

SMILES = ["C" * i + x for i in range(1, 8) for x in ("O", "N", "", "F", "Cl")]
COUNT = np.array([s.count("C") - s.count("Cl") for s in SMILES], dtype=float)
HALOGEN = np.array(["halogen" if s[-1] in "Fl" else "none" for s in SMILES])
QUICK: dict[str, Any] = {"epochs": 2, "channels": 4, "random_state": 0, "settings": {"hidden": 8}}


def _regressor(**more: Any) -> ccn.CCNRegressor:
    return ccn.CCNRegressor(**{**QUICK, **more})


def _classifier(**more: Any) -> ccn.CCNClassifier:
    return ccn.CCNClassifier(**{**QUICK, **more})


@pytest.mark.parametrize("made", [ccn.CCNClassifier(), ccn.CCNRegressor()])
@pytest.mark.parametrize(
    "check",
    [
        "check_estimator_cloneable",
        "check_estimator_repr",
        "check_estimator_tags_renamed",
        "check_get_params_invariance",
        "check_no_attributes_set_in_init",
        "check_parameters_default_constructible",
        "check_set_params",
        "check_valid_tag_types",
        "check_mixin_order",
    ],
)
def test_checks_of_scikit_learn_that_need_no_table_of_numbers(check: str, made: Any) -> None:
    getattr(estimator_checks, check)(type(made).__name__, made)


@pytest.mark.slow
@pytest.mark.parametrize(("made", "y"), [(_classifier(), HALOGEN), (_regressor(), COUNT)])
def test_what_scikit_learn_checks_on_tables_holds_on_molecules(made: Any, y: Any) -> None:
    """The checks of fitted estimators are for tables of numbers; here are those that make sense for molecules."""
    with pytest.warns(SkipTestWarning, match="requires input"):
        estimator_checks.check_estimator(made)
    fitted = clone(made).fit(SMILES, y)
    before = {key: pickle.dumps(value) for key, value in vars(fitted).items()}
    methods = ["predict", "transform", *(["predict_proba"] if is_classifier(made) else [])]
    for method in methods:
        whole = getattr(fitted, method)(SMILES)
        order = np.random.default_rng(0).permutation(35)
        shuffled = getattr(fitted, method)([SMILES[i] for i in order])
        alone = np.concatenate([getattr(fitted, method)([s]) for s in SMILES[:5]])
        again = getattr(clone(made).fit(SMILES, y).fit(SMILES, y), method)(SMILES)
        if whole.dtype.kind == "f":
            np.testing.assert_allclose(shuffled, whole[order], rtol=1e-4, atol=1e-5)
            np.testing.assert_allclose(alone, whole[:5], rtol=1e-4, atol=1e-5)
        np.testing.assert_array_equal(again, whole)
        with pytest.raises(NotFittedError):
            getattr(clone(fitted), method)(SMILES)
    assert {key: pickle.dumps(value) for key, value in vars(fitted).items()} == before
    assert fitted.score(SMILES, y) == fitted.score(tuple(SMILES), list(y))
    assert len(fitted.get_feature_names_out()) == fitted.transform(SMILES[:1]).shape[1]
    pd = pytest.importorskip("pandas")
    frame = clone(fitted).set_output(transform="pandas").fit(SMILES, y).transform(pd.Series(SMILES, index=range(5, 40)))
    assert frame.columns[0] == f"{type(made).__name__.lower()}0"
    assert frame.index.tolist() == list(range(5, 40))


def test_what_scikit_learn_takes_them_for() -> None:
    assert is_classifier(_classifier())
    assert is_regressor(_regressor())
    for made in (_classifier(), _regressor()):
        with pytest.raises(NotFittedError):
            made.predict(SMILES)


@pytest.mark.slow
def test_fit_changes_no_setting_and_the_same_state_gives_the_same_result() -> None:
    made = _regressor(settings={"dropout": 0.3})
    before = {**made.get_params()}
    np.random.seed(3)  # noqa: NPY002 (the legacy state is what is asked about)
    state, legacy = torch.get_rng_state(), np.random.get_state()[1].copy()  # type: ignore[index]  # noqa: NPY002
    assert made.fit(SMILES, COUNT) is made
    assert made.get_params() == before
    assert torch.equal(torch.get_rng_state(), state)
    np.testing.assert_array_equal(np.random.get_state()[1], legacy)  # type: ignore[index]  # noqa: NPY002
    p = made.predict(SMILES)
    np.testing.assert_array_equal(clone(made).fit(SMILES, COUNT).predict(SMILES), p)
    np.testing.assert_array_equal(made.set_params(n_jobs=1).predict(SMILES[::-1])[::-1].round(5), p.round(5))
    assert not np.array_equal(_regressor(random_state=1).fit(SMILES, COUNT).predict(SMILES), p)
    assert torch.get_num_threads() >= 1


@pytest.mark.slow
def test_it_learns() -> None:
    options: dict[str, Any] = {"channels": 8, "random_state": 0, "batch_size": 16, "validation_fraction": 0.2}
    options |= {"learning_rate": 1e-2, "settings": {"dropout": 0.0, "edge_features": False}}
    made = ccn.CCNRegressor(epochs=20, **options).fit(SMILES * 2, np.tile(COUNT, 2))
    assert made.score(SMILES, COUNT) > 0.9
    net = ccn.CCNClassifier(epochs=15, **options).fit(SMILES * 2, np.tile(HALOGEN, 2))
    assert net.score(SMILES, HALOGEN) > 0.9
    assert net.classes_.tolist() == ["halogen", "none"]
    p = net.predict_proba(SMILES)
    assert p.shape == (35, 2)
    np.testing.assert_allclose(p.sum(1), 1)


@pytest.mark.slow
def test_tools_of_scikit_learn_work() -> None:
    scores = cross_val_score(_classifier(), SMILES, HALOGEN, cv=2)
    assert scores.shape == (2,)
    search = GridSearchCV(_regressor(), {"order": [0, 1]}, cv=2).fit(np.array(SMILES, dtype=object), COUNT)
    assert search.best_params_["order"] in (0, 1)
    strip = FunctionTransformer(lambda rows: [r.strip() for r in rows])
    pipeline = make_pipeline(strip, _regressor()).fit([f" {s} " for s in SMILES], COUNT)
    assert pipeline.predict(SMILES).shape == (35,)
    embedded = make_pipeline(_regressor(epochs=1), StandardScaler(), Ridge()).fit(SMILES, COUNT)
    assert embedded.score(SMILES, COUNT) > 0.9
    pack = ccn.Pack.of([ccn.Graph.from_smiles(s) for s in SMILES])
    assert cross_val_predict(_regressor(epochs=1), pack, COUNT, cv=2).shape == (35,)


@pytest.mark.slow
def test_every_kind_of_input_reads_the_same() -> None:
    pd = pytest.importorskip("pandas")
    made = _regressor().fit(SMILES, COUNT)
    p = made.predict(SMILES)
    mols = [Chem.MolFromSmiles(s) for s in SMILES]
    frame = pd.DataFrame({"smiles": SMILES}, index=range(100, 135))
    for rows in (
        tuple(SMILES),
        np.array(SMILES),
        np.array(SMILES, dtype=object)[:, None],
        frame["smiles"],
        frame,
        mols,
    ):
        np.testing.assert_array_equal(made.predict(rows), p)
    assert made.transform(SMILES).shape[0] == 35
    graphs = [ccn.Graph.from_smiles(s) for s in SMILES]
    ours = _regressor().fit(graphs, COUNT)
    assert ours.predict(ccn.Pack.of(graphs)).tolist() == ours.predict(graphs).tolist()
    foreign = [nx.path_graph(i + 2) for i in range(12)]
    assert _regressor().fit(foreign, range(12)).predict(foreign[:3]).shape == (3,)


def test_a_data_set_brings_its_targets() -> None:
    data = ccn.datasets.load("MUTAG").subset(np.arange(40))
    net = _classifier(epochs=1).fit(data)
    assert net.predict(data).shape == (40,)
    assert set(net.classes_) == {-1, 1}
    assert net.model_.task.targets == data.target_names
    with pytest.raises(ConfigurationError, match=r"ccn\.CCNClassifier"):
        _regressor().fit(data)


def test_a_model_of_a_table_reads_smiles_as_the_table_was_read(tmp_path: Path) -> None:
    rows = "\n".join(f"{s},{c}" for s, c in zip(SMILES, COUNT, strict=True))
    (tmp_path / "table.csv").write_text(f"smiles,carbons\n{rows}\n")
    data = ccn.datasets.load(tmp_path / "table.csv", target_columns="carbons", task="regression", hydrogens=True)
    made = _regressor(features="atoms").fit(data)
    assert (made.model_.inputs.molecules, made.model_.inputs.hydrogens) == ("element", True)
    assert made.model_.task.targets == ("carbons",)
    np.testing.assert_array_equal(made.predict(SMILES), made.predict(data))


def test_the_recipe_of_the_paper() -> None:
    net = ccn.CCNClassifier("paper", epochs=1, channels=2, random_state=0).fit(SMILES, HALOGEN)
    fitted: Any = net.model_.fitted
    assert fitted.networks[0].channels == [2, 4, 8]
    assert fitted.options["in_features"] == 11 * 14
    assert net.predict(["CCF"]).shape == (1,)


@pytest.mark.parametrize("off", [True, False])
def test_a_setting_that_is_none_is_off_also_in_the_file(off: bool, tmp_path: Path) -> None:
    settings = {"least_steps": None, "dropout": None, "head_dropout": None} if off else {"least_steps": "auto"}
    smiles = ["C" * n for n in range(1, 11)]
    made = ccn.CCNRegressor(order=1, levels=1, channels=2, random_state=0, settings=settings, time_limit=0.5)
    loaded = ccn.CCNRegressor.load(made.fit(smiles, range(10)).save(tmp_path / "m.safetensors"))
    assert loaded.settings is not None
    assert {name: loaded.settings[name] for name in settings} == settings
    then = loaded.model_.fitted.recipe  # type: ignore[attr-defined]
    assert [then.get(name) for name in ("least_steps", "dropout")] == ([None, None] if off else [1500, 0.0])
    assert loaded.predict(smiles[:1]) == made.predict(smiles[:1])


@pytest.mark.slow
def test_several_targets_with_missing_ones() -> None:
    y = np.stack([COUNT, COUNT**2], axis=1)
    y[::3, 0] = np.nan
    y[5] = np.nan
    made = _regressor().fit(SMILES, y)
    assert made.predict(SMILES).shape == (35, 2)
    with pytest.warns(UserWarning, match="0 for y0:"):  # calibration rows
        middle, ends = made.predict(SMILES, return_interval=0.5)
    assert np.isfinite(ends[:, 1]).all()
    assert ends.shape == (35, 2, 2)
    assert (ends[..., 0] <= middle).all()
    assert _regressor().fit(SMILES, y[:, 1:]).predict(SMILES[:2]).shape == (2, 1)
    labels = (y > 5).astype(float)
    labels[4, 0] = np.nan
    net = _classifier(class_weight="balanced").fit(SMILES, labels)
    assert net.predict(SMILES).shape == net.predict_proba(SMILES).shape == (35, 2)
    assert set(np.unique(net.predict(SMILES))) <= {0, 1}


@pytest.mark.slow
def test_classes_of_any_kind_some_missing() -> None:
    y = np.array([0.0, 1.0, 2.0, np.nan, 1.0] * 7)
    net = _classifier().fit(SMILES, y, sample_weight=np.ones(35))
    assert net.classes_.tolist() == [0, 1, 2]
    assert net.predict_proba(SMILES).shape == (35, 3)
    words = np.array(["a", None, "b", "a", "b"] * 7, dtype=object)
    assert _classifier().fit(SMILES, words).classes_.tolist() == ["a", "b"]


@pytest.mark.slow
def test_rows_of_no_weight_teach_nothing() -> None:
    weight = np.ones(35)
    weight[::2] = 0
    spoilt = np.where(weight == 0, 1e3, COUNT)
    options: dict[str, Any] = {"validation_fraction": 0.0, "settings": {"norm": None, "dropout": 0.0}, "epochs": 20}
    one = _regressor(**options).fit(SMILES, spoilt, sample_weight=weight)
    scale = one.model_.task.scale
    assert scale is not None
    # The scale of the targets is of all rows, so that only what is learned in its units can be compared.
    other = _regressor(**options).fit(SMILES, np.where(weight == 0, spoilt, COUNT), sample_weight=weight)
    np.testing.assert_array_equal(one.predict(SMILES), other.predict(SMILES))
    unweighted = _regressor(**options).fit(SMILES, spoilt)
    assert unweighted.predict(SMILES).mean() > one.predict(SMILES).mean()


@pytest.mark.slow
@pytest.mark.parametrize("members", [1, 3])
def test_intervals_cover_on_rows_never_seen(members: int) -> None:
    rng = np.random.default_rng(0)
    sizes = rng.integers(2, 9, 500)
    graphs = ccn.Pack.of([ccn.Graph([(i, i + 1) for i in range(n - 1)], n=n) for n in sizes.tolist()])
    y = sizes + rng.standard_normal(500)
    made = _regressor(members=members, epochs=3, order=0, batch_size=64, validation_fraction=0.6)
    made.fit(graphs[:300], y[:300])
    assert made.model_.about["graphs"] == {"train": 120, "validation": 90, "calibration": 90}
    middle, ends = made.predict(graphs[300:], return_interval=0.8)
    np.testing.assert_array_equal(middle, made.predict(graphs[300:]))
    covered = np.mean((ends[:, 0] <= y[300:]) & (y[300:] <= ends[:, 1]))
    # Of 200 rows; given 90 calibration rows the coverage itself varies by 0.04.
    assert covered == pytest.approx(0.8, abs=0.12)
    with pytest.raises(ConfigurationError, match="90"):
        made.predict(graphs[:1], return_interval=90)


@pytest.mark.slow
def test_pickles_and_files_predict_the_same(tmp_path: Path) -> None:
    made = _regressor(members=2).fit(SMILES, COUNT)
    p = made.predict(SMILES)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(made)).predict(SMILES), p)
    again = ccn.CCNRegressor.load(made.save(tmp_path / "model.safetensors"))
    np.testing.assert_array_equal(again.predict(SMILES), p)
    np.testing.assert_array_equal(again.predict(SMILES, 0.2)[1], made.predict(SMILES, 0.2)[1])
    assert clone(again).fit(SMILES, COUNT).predict(SMILES).shape == p.shape
    with pytest.raises(ConfigurationError, match=r"ccn\.CCNRegressor"):
        ccn.CCNClassifier.load(tmp_path / "model.safetensors")
    with pytest.raises(FileError, match="other"):
        ccn.CCNRegressor.load(tmp_path / "other")
    net = _classifier().fit(SMILES, HALOGEN)
    loaded = ccn.CCNClassifier.load(net.save(tmp_path / "c.safetensors"))
    assert loaded.predict(SMILES).tolist() == net.predict(SMILES).tolist()


@pytest.mark.parametrize(
    ("rows", "y", "message"),
    [
        (["CC", "C1CC", "CO"], [1, 2, 3], r"row 1 \('C1CC'\)"),
        (["CC", "CO", "C(C)(C)(C)(C)C"], [1, 2, 3], "row 2 "),
        ([Chem.MolFromSmiles("C"), None], [1, 2], "row 1 .*missing, row 0 .*Mol"),
        (["CC", 5], [1, 2], "row 1 .*int, row 0 "),
        ("CCO", [1], "str"),
        ([], [], "rows"),
        (["C", "CC"], [1], "X .*2 .*y 1"),
        (["C", "CC"], None, "y"),
        (["C", "CC"], [np.nan, np.nan], "y"),
        (["C", "CC"], ["a", "b"], "y"),
        (["C", "CC"], [1.0, np.inf], "target 0 of row 1"),
        (np.zeros((3, 4)), [1, 2, 3], "\\(3, 4\\)"),
    ],
)
def test_bad_rows_and_targets_are_named(rows: Any, y: Any, message: str) -> None:
    with pytest.raises((ConfigurationError, GraphError), match=message):
        _regressor().fit(rows, y)


def test_bad_classes_are_named() -> None:
    with pytest.raises(ConfigurationError):
        _classifier().fit(SMILES, ["a"] * 35)
    with pytest.raises(ConfigurationError):
        _classifier().fit(SMILES, COUNT + 0.5)
    with pytest.raises(ConfigurationError):
        _classifier().fit(SMILES, np.stack([COUNT, COUNT], axis=1))
    with pytest.raises(ConfigurationError, match=r"droput.*dropout"):
        _classifier(settings={"droput": 0.1}).fit(SMILES, HALOGEN)
    with pytest.raises(ConfigurationError):
        _regressor(validation_fraction=0.0).fit(SMILES, COUNT).predict(SMILES, return_interval=0.9)


def test_intervals_that_the_calibration_rows_cannot_support_are_refused() -> None:
    made = _regressor(order=0).fit(SMILES, COUNT)
    rows = made.model_.about["graphs"]["calibration"]
    assert np.isfinite(made.predict(SMILES, return_interval=rows / (rows + 1))[1]).all()
    with pytest.raises(ConfigurationError, match=f"99 calibration rows, there are {rows} "):
        made.predict(SMILES, return_interval=0.99)


def test_a_data_frame_has_its_column_of_smiles_found(tmp_path: Path) -> None:
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"mw": COUNT * 14, "compound": SMILES, "id": range(35)}, index=range(100, 135))
    made = _regressor(order=0)
    with pytest.warns(UserWarning, match=r"'compound'.*'mw', 'id'"):
        made.fit(frame, frame["mw"], validation=(frame.assign(other=SMILES), frame["mw"]))
    assert made.smiles_column_ == "compound"
    p = made.predict(frame)
    # The column of training is read again, also where another one would be found.
    np.testing.assert_array_equal(made.predict(frame.assign(smiles="C")), p)
    loaded = ccn.CCNRegressor.load(made.save(tmp_path / "model.safetensors"))
    np.testing.assert_array_equal(loaded.predict(frame.rename(columns={"compound": "SMILES"})), p)
    assert _regressor(order=0).fit(SMILES, COUNT).smiles_column_ is None
    for bad, fact in (
        (frame.drop(columns="compound"), "'mw', 'id'"),
        (frame.assign(salt=SMILES), "'compound', 'salt'"),
        (pd.DataFrame([["C", "CC"]] * 35, columns=["smiles", "smiles"]), "'smiles', 'smiles'"),
    ):
        with pytest.raises(ConfigurationError, match=fact):
            _regressor().fit(bad, COUNT)


def test_a_column_of_a_data_frame_in_a_pipeline() -> None:
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"smiles": SMILES, "mw": COUNT * 14})
    columns = ColumnTransformer([("net", _regressor(order=0), ["smiles"]), ("rest", "passthrough", ["mw"])])
    assert make_pipeline(columns, Ridge()).fit(frame, COUNT).predict(frame[:3]).shape == (3,)
    assert columns.fit(frame, COUNT).named_transformers_["net"].smiles_column_ == "smiles"
    only = ColumnTransformer([("smiles", "passthrough", ["smiles"])])
    assert make_pipeline(only, _regressor(order=0)).fit(frame, COUNT).predict(frame[:3]).shape == (3,)


def test_edge_features_that_a_model_ignores_are_told_once() -> None:
    plain = [ccn.Graph([(i, i + 1) for i in range(n)], n=n + 1) for n in range(1, 13)]
    graphs = [ccn.Graph(g.edges, n=g.n, edge_features=torch.ones(len(g.edges), 3)) for g in plain]
    made = _regressor(order=0, recipe="paper")
    with pytest.warns(UserWarning, match=r"width 3.*edge_features"):
        made.fit(graphs, range(12))
    made.predict(graphs)  # a second warning would be an error
    _regressor(order=0, settings={"edge_features": False}).fit(graphs, range(12)).predict(graphs)
    _regressor(order=0, recipe="paper").fit(SMILES, COUNT).predict(SMILES)
    with pytest.warns(UserWarning, match="width 3"):
        _regressor(order=0).fit(plain, range(12)).predict(graphs)


def test_graphs_are_not_taken_for_molecules() -> None:
    made = _regressor().fit([nx.path_graph(i + 2) for i in range(12)], range(12))
    with pytest.raises(ConfigurationError):
        made.predict(["CC"])


def test_it_is_quiet_unless_asked(capfd: pytest.CaptureFixture[str]) -> None:
    _regressor(epochs=1).fit(SMILES, COUNT)
    assert capfd.readouterr() == ("", "")
    _regressor(epochs=1, verbose=1).fit(SMILES, COUNT)
    assert "training" in capfd.readouterr().err.replace("tra…", "training")


def test_a_model_to_be_wary_of_is_warned_about() -> None:
    pytest.importorskip("skops")
    made = ccn.CCNRegressor(method="lasso", settings={"alpha": 1e9})
    with pytest.warns(UserWarning, match="all predictions are"):
        made.fit(SMILES, COUNT)


@pytest.mark.parametrize("how", ["settings", "options"])
def test_numbers_are_fitted_on_the_scale_asked_for(how: str) -> None:
    scale = _regressor(**{how: {"target_scale": "log"}}).fit(SMILES, np.arange(len(SMILES)) + 1.0).model_.task.scale
    assert scale is not None
    assert scale.shapes == ("log",)


def test_a_time_limit_keeps_what_there_is() -> None:
    made = _regressor(epochs=1000, time_limit=0.0, validation_fraction=0.0).fit(SMILES, COUNT)
    assert made.model_.about["members"][0]["ended"] == "time limit"
    assert made.predict(["C"]).shape == (1,)


def test_score_of_a_data_set_goes_by_names() -> None:
    smiles = ["C" * i + x for i in range(1, 8) for x in "ONF"]
    pack = ccn.Pack.of([ccn.Graph.from_smiles(s) for s in smiles])
    ends = np.arange(len(smiles)) % 3
    data = Dataset("set", pack, ends[:, None].astype(float), ("y",), "classification", tuple("ONF"))
    made = ccn.CCNClassifier(epochs=2, channels=2, random_state=0).fit(data)
    rows = np.flatnonzero(ends > 0)
    part = Dataset(
        "part", pack.select(rows), (ends[rows, None] - 1).astype(float), ("y",), "classification", ("N", "F")
    )
    assert made.score(part) == made.score(part.pack, np.array(list("ONF"))[ends[rows]])
    sizes = Dataset("sizes", pack, np.array([[float(len(s))] for s in smiles]), ("n",), "regression")
    number = ccn.CCNRegressor(epochs=2, channels=2, random_state=0).fit(sizes)
    assert number.score(sizes) == pytest.approx(number.score(pack, sizes.targets[:, 0]))


@pytest.mark.filterwarnings("ignore:y")
@pytest.mark.parametrize("readout", ["vertex", "edge"])
def test_targets_of_vertices_and_edges(readout: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    graphs = [ccn.testing.random_graph(int(n), rng, density=0.6) for n in rng.integers(2, 7, 24)]
    counts = [g.n if readout == "vertex" else len(g.edges) for g in graphs]
    y = [rng.normal(size=(n, 2)) for n in counts]
    small: dict[str, Any] = {"readout": readout, "order": 1, "channels": 4, "epochs": 2, "random_state": 0}
    weights = np.ones(20)
    model = ccn.CCNRegressor(**small).fit(graphs[:20], y[:20], weights, validation=(graphs[20:], y[20:]))
    found = model.predict(graphs)
    assert found.shape == (sum(counts), 2)
    again = ccn.CCNRegressor.load(model.save(tmp_path / "model.safetensors"))
    np.testing.assert_array_equal(again.predict(graphs), found)
    order = rng.permutation(len(graphs))  # rows follow the graphs
    start = np.cumsum([0, *counts])
    moved = np.concatenate([found[start[i] : start[i + 1]] for i in order])
    np.testing.assert_allclose(model.predict([graphs[i] for i in order]), moved, rtol=1e-4, atol=1e-5)
    assert np.isfinite(model.score(graphs, y))
    assert model.transform(graphs).shape == (24, model.model_.fitted.embedding_width)
    words = [["a" if v > 0 else "b" for v in of[:, 0]] for of in y]
    classifier = ccn.CCNClassifier(**small).fit(graphs, words)
    assert classifier.predict_proba(graphs).shape == (sum(counts), 2)
    assert 0 <= classifier.score(graphs, words) <= 1
    with pytest.raises(ConfigurationError, match="graph 0 has"):
        ccn.CCNRegressor(**small).fit(graphs, [of[1:] for of in y])
    with pytest.raises(ConfigurationError, match="list per graph"):
        ccn.CCNRegressor(**small).fit(graphs, range(24))
