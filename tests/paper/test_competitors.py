"""The competitors on chains, whose length is the target."""

from __future__ import annotations

import stat
import sys
from pathlib import Path

import numpy as np
import pytest

from ccn.errors import DataError, TrainingError
from ccn.methods.registry import METHODS
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


# A command that answers as chemprop does: it learns the mean, and predicts it with the seed added.
FAKE = """#!{python}
import csv, pathlib, sys
given = dict(zip(sys.argv[2::2], sys.argv[3::2]))
if sys.argv[1] == "train":
    rows = list(csv.DictReader(open(given["--data-path"])))
    if given["--task-type"] == "classification":
        sys.exit("no classes today")
    out = pathlib.Path(given["--output-dir"])
    out.mkdir()
    mean = sum(float(row["y"]) for row in rows) / len(rows) + int(given["--pytorch-seed"])
    (out / "best.pt").write_text(str(mean))
else:
    mean = (pathlib.Path(given["--model-paths"]) / "best.pt").read_text()
    rows = list(csv.DictReader(open(given["--test-path"])))
    lines = ["smiles,y", *(row["smiles"] + "," + mean for row in rows)]
    pathlib.Path(given["--preds-path"]).write_text("\\n".join(lines) + "\\n")
"""


@pytest.mark.skipif(sys.platform == "win32", reason="a script is no command there")
def test_chemprop_is_called_as_a_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    command = tmp_path / "chemprop"
    monkeypatch.setenv("CCN_CHEMPROP", str(command))
    assert str(command) in missing("chemprop")
    command.write_text(FAKE.format(python=sys.executable))
    command.chmod(command.stat().st_mode | stat.S_IXUSR)
    assert missing("chemprop") == ""
    predict = COMPETITORS["chemprop"].predict
    assert predict(["C", "CC"], np.array([1.0, 2.0]), TEST, NUMBERS, 3).tolist() == [4.5, 4.5]
    with pytest.raises(TrainingError, match=r"train .* 1: no classes today"):
        predict(["C", "CC"], np.array([0.0, 1.0]), TEST, CLASSES, 0)
    assert COMPETITORS["chemprop"].versions() == {"chemprop": "unknown"}


def test_what_is_missing_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CCN_CHEMPROP", raising=False)
    assert "CCN_CHEMPROP" in missing("chemprop")
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert "ccn[admet]" in missing("maplight")
    assert missing("forest") == missing("ccn-2-kernel") == missing("wl") == ""
    monkeypatch.delitem(METHODS, "ccn-2-kernel")
    assert "ccn-2-kernel" in missing("ccn-2-kernel")
