"""The competitors on chains, whose length is the target."""

from __future__ import annotations

import numpy as np
import pytest

from ccn.errors import DataError
from ccn.paper.competitors import COMPETITORS, missing
from ccn.paper.tasks import TASKS

SMILES = ["C" * (i % 12 + 1) + ("O", "N", "F")[i // 12] for i in range(36)]
Y = np.array([i % 12 + 1.0 for i in range(36)])
TEST = ["CCO", "CCCCCCCCCCN"]
NUMBERS, CLASSES = TASKS["caco2_wang"], TASKS["dili"]


@pytest.mark.parametrize("name", ["forest", "boosting", "maplight"])
def test_longer_chains_are_predicted_to_be_longer(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if name == "maplight":
        pytest.importorskip("catboost")
    monkeypatch.setattr("ccn.paper.competitors._TREES", 20)
    predict = COMPETITORS[name].predict
    short, long = predict(SMILES * 3, np.tile(Y, 3), TEST, NUMBERS, 0)
    assert 1 <= short < 5
    assert 7 < long <= 12
    short, long = predict(SMILES * 3, np.tile(Y > 6, 3).astype(float), TEST, CLASSES, 0)
    assert 0 <= short < 0.4
    assert 0.6 < long <= 1
    assert all(COMPETITORS[name].versions().values())


def test_maplight_takes_logarithms_where_its_recipe_does() -> None:
    pytest.importorskip("catboost")
    predict = COMPETITORS["maplight"].predict
    y = 10 ** (Y / 3)
    found = {task: predict(SMILES, y, SMILES, TASKS[task], 0) for task in ("caco2_wang", "half_life_obach")}
    errors = {task: np.abs(np.log10(p.clip(1e-3)) - np.log10(y)).max() for task, p in found.items()}
    assert errors["half_life_obach"] < errors["caco2_wang"]
    assert found["half_life_obach"].max() > 1000


def test_a_molecule_that_is_none_is_named() -> None:
    with pytest.raises(DataError, match="C1CC"):
        COMPETITORS["forest"].predict(["CC", "C1CC"], np.array([1.0, 2.0]), ["C"], NUMBERS, 0)


def test_what_is_missing_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CCN_CHEMPROP", raising=False)
    assert "CCN_CHEMPROP" in missing("chemprop")
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert "ccn[admet]" in missing("maplight")
    assert missing("forest") == missing("ccn-2-kernel") == missing("wl") == ""
