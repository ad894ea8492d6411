from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from labelled import OXYGEN, SIZE, SMILES, labelled

import ccn
from ccn.baselines import load, method
from ccn.datasets.splits import paper_splits
from ccn.errors import ConfigurationError, FileError
from ccn.methods.choice import grid
from ccn.methods.kernel_machine import KERNELS
from ccn.methods.kernels import WL


def _watch(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many graphs the kernel sees, call by call."""
    seen: list[int] = []
    see = WL.see

    def watched(self: WL, graphs: ccn.Pack) -> Any:
        seen.append(len(graphs))
        return see(self, graphs)

    monkeypatch.setattr(WL, "see", watched)
    return seen


def sharpness(made: Any) -> float:
    return float(made.model_.fitted.machines[0].sharpness)


def test_settings_are_chosen() -> None:
    made: Any = method("wl", "classification", settings={"depth": (0, 2)}, C=(1e-6, 10.0)).fit(SMILES, OXYGEN)
    assert made.chosen_[0]["C"] == 10.0
    assert made.model_.fitted.machines[0].kernel == WL(made.chosen_[0]["depth"])


@pytest.mark.parametrize("name", KERNELS)
def test_numbers_have_settings_of_their_own(name: str) -> None:
    classes, numbers = (KERNELS[name].tried(classification=c) for c in (True, False))
    assert numbers["C"] == (0.1, 1.0, 10.0, 100.0)
    assert classes.keys() == numbers.keys()
    for tried in (classes, numbers):
        grid(tried)  # has no more points than are allowed


def test_a_kernel_of_parts_for_numbers() -> None:
    made: Any = method("ccn-2-kernel", "regression").fit(SMILES, SIZE)
    assert made.chosen_[0]["levels"] in (1, 2)
    assert made.score(SMILES, SIZE) > 0.5


def test_all_splits_of_a_data_set_share_one_gram_matrix(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = ccn.datasets.load("MUTAG")
    seen = _watch(monkeypatch)
    found = []
    for s in paper_splits(data.targets[:, 0], 2):
        made = method("wl", "classification", settings={"depth": (1,)}, C=(10.0,))
        made.fit(data.subset(s.train), validation=data.subset(s.validation))
        found.append(made.predict(data.subset(s.test)))
    assert seen == [188]
    assert len(list(tmp_path.rglob("*.npy"))) == 1
    plain = method("wl", "classification", settings={"depth": (1,)}, C=(10.0,), cache=False)
    plain.fit(data.subset(s.train), validation=data.subset(s.validation))
    assert (plain.predict(data.subset(s.test)) == found[-1]).all()


def test_many_rows_are_drawn_from() -> None:
    made: Any = method("wl", "regression", max_rows=20, C=(1.0,)).fit(SMILES, SIZE)
    assert len(made.model_.fitted.graphs) == 20
    assert made.predict(SMILES).shape == (35,)


def test_validation_rows_are_fitted_only_on_request() -> None:
    held = (SMILES[:5], SIZE[:5])
    for refit, rows in ((False, 30), (True, 35)):
        made: Any = method("wl", "regression", C=(1.0,), settings={}, refit=refit).fit(
            SMILES[5:], SIZE[5:], validation=held
        )
        assert len(made.model_.fitted.graphs) == rows


def test_three_classes() -> None:
    y = np.array([s[-1] for s in SMILES])
    made = method("wl", "classification", C=(100.0,), settings={}).fit(SMILES, y)
    assert made.score(SMILES, y) > 0.9


@pytest.mark.slow
@pytest.mark.parametrize("name", ["wl", "ccn-2-kernel", "forest"])
@pytest.mark.parametrize("classes", [2, 3])
def test_probabilities_agree_with_predictions(name: str, classes: int) -> None:
    y = OXYGEN if classes == 2 else np.array([s[-1] if s[-1] in "ON" else "other" for s in SMILES])
    more: dict[str, Any] = {"trees": 20} if name == "forest" else {}
    made: Any = method(name, "classification", **more).fit(SMILES, y)
    found = made.predict_proba(SMILES)
    assert found.shape == (35, classes)
    np.testing.assert_allclose(found.sum(axis=1), 1)
    assert ((found > 0) & (found < 1)).any()
    assert (made.classes_[found.argmax(axis=1)] == made.predict(SMILES)).all()


def test_ties_of_many_classes_are_broken_alike() -> None:
    graphs = labelled(200)
    y = np.random.default_rng(0).integers(0, 8, len(graphs)).astype(str)
    made: Any = method("wl", "classification", C=(1.0,), settings={}).fit(graphs, y)
    assert (made.classes_[made.predict_proba(graphs).argmax(axis=1)] == made.predict(graphs)).all()


def test_sharpness_makes_what_was_held_back_likelier() -> None:
    rng = np.random.default_rng(0)
    y = np.where(rng.random(len(SMILES)) < 0.3, rng.permutation(OXYGEN), OXYGEN)
    made: Any = method("wl", "classification", C=(100.0,), settings={}).fit(SMILES, y)
    plain: Any = method("wl", "classification", C=(100.0,), settings={}).fit(SMILES, OXYGEN)
    assert sharpness(plain) > sharpness(made)


def test_a_class_in_one_row_only() -> None:
    made: Any = method("wl", "classification", C=(1.0,), settings={}).fit(SMILES[:3], ["a", "b", "c"])
    assert sharpness(made) == 1.0
    assert made.predict_proba(SMILES).shape == (35, 3)


def test_one_class_is_refused() -> None:
    with pytest.raises(ConfigurationError):
        method("wl", "classification").fit(SMILES, ["a"] * len(SMILES))


def test_training_rows_are_seen_once(monkeypatch: pytest.MonkeyPatch) -> None:
    made: Any = method("wl", "classification", C=(1.0,), settings={}).fit(SMILES, OXYGEN)
    seen = _watch(monkeypatch)
    made.predict(SMILES[:2])
    made.predict(SMILES[:3])
    assert seen == [2, 3]  # those of training were seen when the fit was judged


def test_probabilities_of_labels(tmp_path: Path) -> None:
    y = np.stack([OXYGEN == "yes", [("N" in s) for s in SMILES]], axis=1).astype(float)
    made: Any = method("wl", "classification", settings={}, C=(10.0,)).fit(SMILES, y)
    found = made.predict_proba(SMILES)
    assert ((found > 0.5) == made.predict(SMILES)).all()
    pytest.importorskip("skops")
    again = ccn.baselines.load(made.save(tmp_path / "made.safetensors"))
    np.testing.assert_allclose(again.predict_proba(SMILES), found)


def test_a_machine_that_errs_nowhere_keeps_some_doubt() -> None:
    made: Any = method("wl", "classification", C=(100.0,), settings={"depth": (2,)}).fit(SMILES, OXYGEN)
    assert made.score(SMILES, OXYGEN) == 1
    assert made.predict_proba(SMILES).min() > 1e-4


def test_a_constant_among_the_settings_is_tried() -> None:
    made: Any = method("wl", "classification", settings={"depth": 1, "C": (3.0,)}).fit(SMILES, OXYGEN)
    assert made.chosen_ == [{"C": 3.0, "depth": 1}]


def test_a_file_of_another_version_of_a_kernel_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = method("wl", "classification", C=(1.0,), settings={"depth": 1}).fit(SMILES, OXYGEN)
    path = made.save(tmp_path / "wl.safetensors")
    assert load(path).score(SMILES, OXYGEN) == made.score(SMILES, OXYGEN)
    monkeypatch.setattr(WL, "version", 99)
    with pytest.raises(FileError):
        load(path)
