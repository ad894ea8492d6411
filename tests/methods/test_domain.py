"""The distance to what was learned: invariance, words, unseen parts, files."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from problem import graphs as random_graphs

import ccn
from ccn import sealed
from ccn.datasets.splits import Split
from ccn.errors import ConfigurationError, FileError
from ccn.learning import model_file
from ccn.learning.examples import Examples
from ccn.learning.inputs import Inputs, read
from ccn.methods import domain as module
from ccn.methods.domain import Domain, fit_domain
from ccn.methods.method import fit
from ccn.methods.registry import make_method

FEATURES = "full+morgan"
SMILES = [f"{'C' * n}{end}" for n in range(2, 12) for end in ("O", "N", "c1ccccc1", "C(=O)O", "Cl")]
NEW = ["CCCCOC", "OCC(O)CO", "c1ccncc1", "CB(O)O", "C1CC1N"]
FORMS = {model_file.FORM: model_file.VERSION}


def molecules(smiles: list[str]) -> ccn.Pack:
    return read(smiles, FEATURES, False)[0]


@pytest.fixture(scope="module")
def made() -> Domain:
    found, rows = Domain.fit(molecules(SMILES), Inputs(FEATURES), salt=7)
    assert rows.tolist() == list(range(len(SMILES)))
    return found.with_words(0.5, 0.8)


def permuted(graph: ccn.Graph, rng: np.random.Generator) -> ccn.Graph:
    order = rng.permutation(graph.n)
    while graph.n > 1 and (order == np.arange(graph.n)).all():
        order = rng.permutation(graph.n)
    place = np.argsort(order)
    edges = [(int(place[u]), int(place[v])) for u, v in np.asarray(graph.edges).tolist()]
    return ccn.Graph(edges, graph.features[torch.from_numpy(order)])


def test_training_molecules_have_distance_zero(made: Domain) -> None:
    found = made.assess(molecules(SMILES), 3)
    assert (found.distance == 0).all()
    assert (found.similarity[:, 0] == 1).all()
    assert found.morgan is not None
    assert found.nearest_morgan is not None
    assert (found.morgan[:, 0] == 1).all()
    assert (found.rows[:, 0] == np.arange(len(SMILES))).all()
    assert set(found.word) == {"inside"}
    assert set(found.unseen) == {""}
    assert (np.diff(found.similarity, axis=1) <= 0).all()


def test_the_distance_is_one_minus_the_largest_share_of_parts(made: Domain) -> None:
    from ccn.methods.kernels.bags import Bag, matrices, unary
    from ccn.methods.kernels.parts import part_bags

    def bag(pack: ccn.Pack) -> Bag:
        each = [unary(b) for b in part_bags(pack, 2, 2)]
        graph, key, count = (np.concatenate([getattr(b, a) for b in each]) for a in ("graph", "key", "count"))
        return Bag(graph, key, count, len(pack))

    new, old = matrices(bag(molecules(NEW)), bag(molecules(SMILES)))
    both = (new @ old.T).toarray()
    share = both / (new.sum(axis=1)[:, None] + old.sum(axis=1) - both)
    found = made.assess(molecules(NEW), 4)
    np.testing.assert_allclose(found.distance, 1 - share.max(axis=1), atol=1e-6)
    np.testing.assert_allclose(found.similarity, -np.sort(-share, axis=1)[:, :4], atol=1e-6)
    np.testing.assert_allclose(made.distance(molecules(NEW)), found.distance)
    assert ((found.distance >= 0) & (found.distance <= 1)).all()


def test_vertices_may_be_numbered_in_any_order() -> None:
    rng = np.random.default_rng(0)
    labels = np.eye(3, dtype=np.float32)
    train, new = (random_graphs(40, seed) for seed in (0, 1))
    train, new = (p.with_features(labels[rng.integers(0, 3, int(p.sizes.sum()))]) for p in (train, new))
    shuffled = ccn.Pack.of([permuted(new[i], rng) for i in range(len(new))])
    found = Domain.fit(train, Inputs())[0]
    a, b = found.assess(new, 3), found.assess(shuffled, 3)
    assert 0 < np.median(a.distance) < 1
    for key in ("distance", "word", "rows", "similarity", "unseen"):
        np.testing.assert_array_equal(getattr(a, key), getattr(b, key))


def test_elements_and_parts_that_were_never_seen_are_named(made: Domain) -> None:
    found = made.assess(molecules(["CCO", "CB(O)O", "CCS"]))
    assert found.unseen[0] == ""
    assert "element B" in found.unseen[1]
    assert "4 of 4 parts" in found.unseen[1]
    assert "element S" in found.unseen[2]
    assert found.word[2] != "inside"
    near = made.with_words(1.0, 1.0).assess(molecules(["CCO", "CCS"]))
    assert near.word.tolist() == ["inside", "edge"]


@pytest.mark.parametrize("bonds", [True, False])
@pytest.mark.parametrize("features", ["element", "compact", "full"])
def test_rows_of_predictions_are_seen_as_those_of_training(features: str, bonds: bool) -> None:
    inputs = Inputs(features)
    found, _ = Domain.fit(read(SMILES, features, False)[0], inputs, edges=bonds)
    parsed = inputs.parse(SMILES, bonds)[0]
    assert parsed is not None
    assert (found.distance(parsed) == 0).all()


def test_words_follow_the_thresholds(made: Domain) -> None:
    d = np.array([0.0, 0.5, 0.51, 0.8, 0.81])
    assert made.words(d).tolist() == ["inside", "inside", "edge", "edge", "outside"]


def test_rows_held_out_together_are_kept_apart(made: Domain) -> None:
    rows = np.arange(len(SMILES))
    fold = rows % 5
    found = made.distance(molecules(SMILES), (fold, fold))
    assert (found > 0).all()
    other = molecules([SMILES[i] for i in rows if fold[i] != fold[3]])
    alone = Domain.fit(other, Inputs(FEATURES))[0].distance(molecules([SMILES[3]]))
    np.testing.assert_allclose(found[3], alone[0])


def test_many_rows_are_drawn_by_the_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_ROWS", 12)
    monkeypatch.setattr(module, "_MOST_KNOWN", 30)
    pack = molecules(SMILES)
    (a, rows), (b, same), (_, others) = (Domain.fit(pack, Inputs(FEATURES), seed=s) for s in (0, 0, 1))
    assert len(a) == len(rows) == 12
    np.testing.assert_array_equal(rows, same)
    assert not np.array_equal(rows, others)
    assert (a.distance(pack.select(rows)) == 0).all()
    np.testing.assert_array_equal(a.distance(pack), b.distance(pack))
    assert a.columns.sum() == Domain.fit(pack, Inputs(FEATURES))[0].columns.sum()


def test_numbers_as_features_are_not_compared() -> None:
    train, new = random_graphs(30, 0), random_graphs(10, 1)
    found, _ = Domain.fit(train, Inputs())
    assert not found.labels
    assert np.median(found.distance(new)) < 0.9
    assert (found.distance(train) == 0).all()


def test_parts_that_cannot_be_compared_give_no_domain(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: Any) -> None:
        raise ccn.errors.GraphError("too large")

    monkeypatch.setattr(module, "part_bags", fails)
    assert fit_domain(molecules(SMILES), Inputs(FEATURES)) is None


def test_error_grows_with_distance_on_data_made_so() -> None:
    rng = np.random.default_rng(0)
    near, far = ["C" * n for n in range(2, 42)], ["".join(rng.choice(["N", "O", "S"], 6)) for _ in range(20)]
    smiles = [*near, *near, *far]
    y = np.array([float(len(s)) for s in smiles])
    y[80:] += rng.choice([-30.0, 30.0], 20)
    rows = np.arange(100)
    held = np.sort(np.concatenate([rows[40:80:2], rows[80:]]))
    pack, _, canonical = read(smiles, "element", False, canonical=True)
    split = Split(np.setdiff1d(rows, held), held, rows[:0])
    model, _ = fit(
        make_method("ridge", classification=False),
        Examples(pack, y[:, None], split, inputs=Inputs("element"), molecules=canonical),
    )
    trust = model.about["trust"]["parts"]["validation"]
    assert trust["rank_correlation"] > 0.5
    beyond = [trust["words"][w]["error"] for w in ("edge", "outside") if trust["words"][w]["rows"]]
    assert max(beyond) > 3 * trust["words"]["inside"]["error"]
    assert sum(w["rows"] for w in trust["words"].values()) == len(held)
    assert sum(b["rows"] for b in trust["bands"]) == len(held)


@pytest.mark.parametrize(
    ("method", "options"),
    [("ridge", {}), ("gp", {}), ("wl", {}), ("ccn", {"epochs": 1, "channels": 2})],
)
def test_every_method_has_a_domain_and_files_hold_no_molecule(
    method: str, options: dict[str, Any], tmp_path: Path
) -> None:
    y = np.array([float(len(s)) for s in SMILES])
    model = ccn.CCNRegressor(method=method, random_state=0, **options).fit(SMILES, y)
    path = model.save(tmp_path / "m.safetensors")
    again = ccn.CCNRegressor.load(path)
    a, b = model.domain([*SMILES, *NEW]), again.domain([*SMILES, *NEW])
    np.testing.assert_array_equal(a.distance, b.distance)
    assert a.unseen == b.unseen
    raw = path.read_bytes()
    assert not [s for s in SMILES if len(s) > 4 and s.encode() in raw]
    near = model.nearest(SMILES[:1], 2)[0]
    assert near[0].keys() >= {"row", "smiles", "similarity", "y"}
    with pytest.raises(ConfigurationError):
        again.nearest(SMILES[:1])
    shared = ccn.CCNRegressor.load(model.save(tmp_path / "s.safetensors", share_training=True))
    assert shared.nearest(SMILES[:1], 2) == model.nearest(SMILES[:1], 2)


def test_out_of_fold_distances_choose_the_words_of_a_stack() -> None:
    y = np.array([float(len(s)) for s in SMILES])
    model = ccn.CCNRegressor(method="auto", options={"methods": ("trees", "gp"), "folds": 3}).fit(SMILES, y).model_
    trust = model.about["trust"]
    assert model.domain is not None
    assert (model.domain.inside, model.domain.outside) == (trust["inside"], trust["outside"])
    assert sum(b["rows"] for b in trust["parts"]["validation"]["bands"]) == len(SMILES)
    assert trust["inside"] > 0  # not the distance of a row to itself
    assert (model.domain.distance(model.inputs.read(SMILES)) == 0).all()


@pytest.fixture(scope="module")
def content(tmp_path_factory: pytest.TempPathFactory) -> sealed.Sealed:
    model = ccn.CCNRegressor(method="ridge").fit(SMILES, range(len(SMILES)))
    path = model.save(tmp_path_factory.mktemp("m") / "m.safetensors", share_training=True)
    return sealed.read(path, FORMS)


def forged(tmp_path: Path, content: sealed.Sealed, tensors: dict[str, Any], data: dict[str, Any]) -> Path:
    path = tmp_path / "f.safetensors"
    sealed.write(path, model_file.FORM, model_file.VERSION, {**content.tensors, **tensors}, data)
    return path


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("inside", float("nan")),
        ("inside", 2.0),
        ("outside", -1.0),
        ("salt", -1),
        ("salt", 2**70),
        ("order", 12),
        ("names", [1] * 14),
        ("names", ["element=C"]),
        ("morgan_at", [0, 10**9]),
        ("morgan_at", [0]),
    ],
)
def test_forged_settings_are_refused(content: sealed.Sealed, key: str, value: Any, tmp_path: Path) -> None:
    data = copy.deepcopy(content.data)
    data["domain"][key] = value
    with pytest.raises(FileError):
        model_file.load(forged(tmp_path, content, {}, data))


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("domain/known", torch.tensor([2, 1], dtype=torch.int32)),
        ("domain/known", torch.tensor([float("nan")])),
        ("domain/columns", torch.zeros(0, dtype=torch.uint8)),
        ("domain/parts/start", torch.tensor([0, 10**9], dtype=torch.int32)),
        ("training/rows", torch.tensor(list(b"row,y\n1,2\n"), dtype=torch.uint8)),
        ("training/rows", torch.tensor(list(b"row,y\n" + b"x,2\n" * 50), dtype=torch.uint8)),
        ("training/rows", torch.zeros((2, 2))),
        ("training/rows", torch.tensor([255, 254], dtype=torch.uint8)),
    ],
)
def test_forged_arrays_are_refused(content: sealed.Sealed, key: str, value: Any, tmp_path: Path) -> None:
    with pytest.raises(FileError):
        model_file.load(forged(tmp_path, content, {key: value}, content.data))


def test_a_file_without_a_domain_still_loads(content: sealed.Sealed, tmp_path: Path) -> None:
    held = {k: t for k, t in content.tensors.items() if not k.startswith(("domain/", "training/"))}
    path = tmp_path / "old.safetensors"
    data = {k: v for k, v in content.data.items() if k != "domain"}
    sealed.write(path, model_file.FORM, model_file.VERSION, held, data)
    old = ccn.CCNRegressor.load(path)
    assert old.model_.domain is None
    assert len(old.predict(NEW)) == len(NEW)
    with pytest.raises(ConfigurationError):
        old.domain(NEW)
