"""Model files written by 0.1, one of each kind, load and predict what they predicted then."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from ccn.baselines import load
from ccn.learning import model_file
from ccn.learning.old_files import AUTO_BEFORE, updated, with_auto
from ccn.runs.predict import Options, predict_file
from ccn.sealed import Sealed
from ccn.training.recipe import from_dict

FILES = Path(__file__).parents[1] / "files" / "0.1"
EXPECTED: dict[str, Any] = json.loads((FILES / "expected.json").read_text())
NEEDS = {"gin": "torch_geometric", "pscn": "igraph"}
PLAIN = ("network", "estimator", "ccn-1", "ccn-2-estimator", "ngf", *NEEDS)  # need no skops


@pytest.mark.slow
@pytest.mark.parametrize("name", EXPECTED["files"])
def test_a_file_of_0_1_predicts_the_same(name: str, tmp_path: Path) -> None:
    if name in NEEDS or not name.startswith(PLAIN):
        pytest.importorskip(NEEDS.get(name, "skops"))
    then = EXPECTED["files"][name]
    table = tmp_path / "new.csv"
    table.write_text("\n".join(["smiles", *EXPECTED["smiles"]]) + "\n")
    path, out = FILES / f"{name}.safetensors", tmp_path / "out.csv"
    predict_file(path, str(table), out, Options(processes=1), interval=then.get("interval"))
    with out.open(newline="") as file:
        for row, before in zip(csv.DictReader(file), then["predictions"], strict=True):
            del row["smiles"]
            assert row.keys() == before.keys()
            for key, value in before.items():
                assert row[key] == value or float(row[key]) == pytest.approx(float(value), rel=1e-5), key
    assert load(path).predict(EXPECTED["smiles"]).shape[0] == len(EXPECTED["smiles"])
    told = model_file.describe(path)
    assert told["ccn"] == "0.1.0"
    assert told["task"]["targets"][0] == then["target"]


def test_an_old_file_is_written_as_today(tmp_path: Path) -> None:
    old = model_file.load(FILES / "network-regression.safetensors")
    assert old.seen is None  # unknown, which is not the same as no molecule
    new = model_file.load(model_file.save(old, tmp_path / "m.safetensors"))
    graphs = old.inputs.read(EXPECTED["smiles"])
    assert (new.fitted.predict(graphs) == old.fitted.predict(graphs)).all()
    assert new.calibration == old.calibration


def test_what_was_none_is_auto() -> None:
    then = {"training": {"least_steps": None, "patience": None}, "dropout": "none", "head_dropout": 0.0, "norm": "none"}
    training = {"least_steps": "auto", "patience": None}
    assert with_auto(then) == {"training": training, "dropout": "auto", "head_dropout": 0.0, "norm": "none"}


def test_settings_of_an_old_file_that_were_none_are_auto() -> None:
    recipe = {"name": "default", "network": {"dropout": None}, "training": {"least_steps": None}}
    settings = {"method": "ccn", "settings": {"learning_rate": None, "dropout": 0.1}}
    data = {"ccn": "0.1.0", "network": {}, "members": 1, "recipe": recipe, "about": {"settings": settings}}
    data |= dict.fromkeys(("inputs", "task", "calibration"))
    now = updated(Sealed("ccn model", 1, data, {})).data
    assert now["settings"] == {"settings": {"learning_rate": "auto", "dropout": 0.1}}
    assert [from_dict(now["learned"]["recipe"]).get(name) for name in AUTO_BEFORE] == ["auto"] * 4
