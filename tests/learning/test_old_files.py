"""Model files written by 0.1, one of each kind, load and predict what they predicted then."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from ccn.baselines import load
from ccn.learning import model_file
from ccn.runs.predict import Options, predict_file

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
