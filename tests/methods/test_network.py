"""Networks as methods: a fit that was cut goes on, and ends where one that was not ends."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from labelled import labelled

import ccn
from ccn.baselines import load, method
from ccn.errors import ConfigurationError, FileError

SETTINGS = {"epochs": 4, "batch_size": 8, "members": 2}
TINY: dict[str, Any] = {"epochs": 2, "order": 1, "levels": 1, "channels": 4, "random_state": 0}


def made(**options: Any) -> Any:
    return method("ngf", "regression", settings=SETTINGS, **options)


@pytest.mark.slow
def test_a_fit_that_was_cut_goes_on_from_its_checkpoints(tmp_path: Path) -> None:
    graphs = labelled(30, seed=3)
    y = np.array([float(g.n) for g in graphs])
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        whole = made().fit(graphs, y)
        folder = str(tmp_path / "kept")
        made(folder=folder, time_limit=1e-9).fit(graphs, y)
        assert len(list(Path(folder).glob("choice0-*/checkpoint-*"))) >= 2
        again = made(folder=folder).fit(graphs, y)
    finally:
        torch.set_num_threads(before)
    np.testing.assert_array_equal(again.predict(graphs), whole.predict(graphs))
    assert [row["epoch"] for row in again.outcome_.history[0]] == [1, 2, 3, 4]
    assert again.outcome_.earlier >= 0
    done = made(folder=folder).fit(graphs, y)  # nothing is left to do
    np.testing.assert_array_equal(done.predict(graphs), whole.predict(graphs))
    with pytest.raises(FileError):
        made(folder=folder).fit(graphs, -y)
    assert load(done.save(tmp_path / "model")).folder is None


@pytest.mark.slow
def test_with_many_rows_a_draw_of_them_decides_and_all_are_learned_from(tmp_path: Path) -> None:
    graphs = labelled(30, seed=3)
    y = np.array([float(g.n) for g in graphs])
    rates: tuple[dict[str, Any], ...] = ({"learning_rate": 1e-5}, {"learning_rate": 1e-2})
    alone = made(choices=rates[1:]).fit(graphs, y)
    drawn = made(choices=rates, folder=str(tmp_path), many=20, few=(20, 20)).fit(graphs, y)
    assert drawn.chosen_ == [rates[1]]
    assert {f.name for f in tmp_path.iterdir()} == {
        *(f"choice{c}-member{m}-few" for c in (0, 1) for m in (0, 1)),
        *(f"choice1-member{m}" for m in (0, 1)),
    }
    np.testing.assert_allclose(drawn.predict(graphs), alone.predict(graphs), rtol=1e-5)


def test_a_model_to_start_from_must_fit() -> None:
    rows, y = ["CCO", "CCN", "CC", "CCC", "CCCC", "CO"] * 3, np.arange(18.0)
    how: dict[str, Any] = {"epochs": 1, "order": 1, "levels": 1, "channels": 4, "random_state": 0}
    made = ccn.CCNRegressor(features="element", **how).fit(rows, y).model_
    for kind, features, fact in (("ccn", "atoms", "atoms"), ("ngf", "element", "ccn")):
        given = {} if kind == "ngf" else {k: how[k] for k in ("order", "levels", "channels")}
        other = ccn.CCNRegressor(features=features, method=kind, options={"start": made}, epochs=1, **given)
        with pytest.raises(ConfigurationError, match=fact):
            other.fit(rows, y)
    again = ccn.CCNRegressor(features="element", options={"start": made}, **how).fit(rows, y)
    assert again.model_.task.scale == made.task.scale
    assert "start" not in again.model_.settings


def test_auxiliary_columns_leave_no_trace_in_the_model(tmp_path: Path) -> None:
    smiles = ["C" * n + end for n in range(1, 9) for end in ("O", "N", "")]
    y = np.array([float(len(s)) for s in smiles])
    half = np.where(np.arange(24) % 2, y, np.nan)
    tiny = {**TINY, "validation_fraction": 0.3}
    nets = {
        how: ccn.CCNRegressor(**tiny, options={"auxiliary": how}).fit(smiles, half, auxiliary=np.stack([y, -y], axis=1))
        for how in (True, False, None)
    }
    for net in nets.values():
        again = ccn.CCNRegressor.load(net.save(tmp_path / "m.safetensors"))
        np.testing.assert_array_equal(again.predict(smiles), net.predict(smiles))
        assert again.predict(smiles).shape == (24,)
        assert again.model_.task.targets == ("y",)
        assert again.model_.about["auxiliary"] == ["auxiliary0", "auxiliary1"]
    helps = nets[None].chosen_[0]["auxiliary"]
    np.testing.assert_array_equal(nets[None].predict(smiles), nets[helps].predict(smiles))
    assert (nets[True].predict(smiles) != nets[False].predict(smiles)).any()
    mae = {how: net.model_.about["metrics"]["validation"]["mae"] for how, net in nets.items()}
    assert mae[None] == min(mae.values())
    plain = ccn.CCNRegressor(**tiny).fit(smiles, half)
    np.testing.assert_array_equal(plain.predict(smiles), nets[False].predict(smiles))


def test_auxiliary_labels_beside_one_target_of_classes() -> None:
    smiles = ["C" * n + end for n in range(1, 9) for end in ("O", "N", "")]
    y = ["long" if len(s) > 5 else "short" for s in smiles]
    labels = np.array([float(s.endswith("O")) for s in smiles])
    net = ccn.CCNClassifier(**TINY, class_weight="balanced", options={"auxiliary": True}).fit(
        smiles, y, auxiliary=labels
    )
    assert net.predict_proba(smiles).shape == (24, 2)
    assert net.classes_.tolist() == ["long", "short"]
    with pytest.raises(ConfigurationError, match="--auxiliary"):
        ccn.CCNClassifier(method="trees").fit(smiles, y, auxiliary=labels)
