"""Cross-validation of a run: each row is predicted once, and a killed run continues at its fold."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ccn.datasets.splits import load_splits
from ccn.errors import ConfigurationError, FileError
from ccn.methods.stack import _Plan
from ccn.runs import folds
from ccn.runs.config import Config, resolve
from ccn.runs.data import divide, divide_folds, read_data
from ccn.runs.train import train_run
from ccn.training.execution import Execution
from tests.reading import csv_rows

QUIET = Execution(resume=True)


@pytest.fixture
def config(tmp_path: Path) -> Config:
    rows = [f"{'C' * (1 + i // 2)}{'ON'[i % 2]},{i + 0.25}" for i in range(30)]
    path = tmp_path / "t.csv"
    path.write_text("\n".join(["smiles,y", *rows, f"OCC,{2.5}"]) + "\n")
    network = {"order": 1, "levels": 1, "channels": 4, "hidden": 8, "contractions": "distinct"}
    training = {"epochs": 1, "batch_size": 16}
    features = {"molecules": "element"}
    given: dict[str, Any] = {"network": network, "training": training, "features": features, "splitting": {"folds": 3}}
    return resolve(str(path), given, method="ccn")


def test_every_row_is_in_one_test_part_and_the_model_has_all(config: Config) -> None:
    data = read_data(config)
    made = divide_folds(data, config)
    assert np.sort(np.concatenate([f.test for f in made])).tolist() == list(range(31))
    assert all(len(f) == 31 and len(f.validation) for f in made)
    assert data.canonical is not None
    assert not any(len(f.shared(data.canonical)) for f in made)  # the two spellings of ethanol
    split, examples = divide(data, config)
    assert len(split.test) == 0
    assert len(split.train) + len(split.validation) == 31
    assert sum(examples.sizes.values()) == 31


def test_a_method_that_needs_no_validation_learns_from_it(config: Config) -> None:
    other = resolve(config.source, {"splitting": {"folds": 3}}, method="wl")
    examples = divide(read_data(other), other)[1]
    assert len(examples.validation) == 0
    assert sum(examples.sizes.values()) == 31


def test_columns_and_files_of_splits_are_refused(config: Config) -> None:
    for how in ({"splits_file": "splits.json"}, {"split": "column"}):
        other = resolve(config.source, {"splitting": {"folds": 3, **how}})
        with pytest.raises(ConfigurationError, match="--split"):
            divide(read_data(other), other)


def test_a_killed_run_continues_at_its_fold(
    config: Config, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, report_text: Callable[[Path], str]
) -> None:
    whole = train_run(config, tmp_path / "whole", Execution(), lambda line: None)
    fold = folds._fold
    done: list[int] = []

    def killed(*given: Any) -> Any:
        if len(done) == 2:
            raise KeyboardInterrupt
        done.append(1)
        return fold(*given)

    monkeypatch.setattr(folds, "_fold", killed)
    with pytest.raises(KeyboardInterrupt):
        train_run(config, tmp_path / "run", Execution(), lambda line: None)

    def resumed(*given: Any) -> Any:
        done.append(2)
        return fold(*given)

    monkeypatch.setattr(folds, "_fold", resumed)
    found = train_run(config, tmp_path / "run", QUIET, lambda line: None)
    assert done == [1, 1, 2]
    crossed = found.metrics["cross_validation"]
    assert crossed == whole.metrics["cross_validation"]
    assert (crossed["folds"], crossed["rows"]) == (3, 31)
    each = [f["mae"] for f in crossed["each"]]
    assert crossed["mean"]["mae"] == pytest.approx(np.mean(each))
    assert crossed["deviation"]["mae"] == pytest.approx(np.std(each, ddof=1))
    rows = csv_rows(tmp_path / "run" / "predictions.csv")
    assert sorted(int(r["row"]) for r in rows) == list(range(1, 32))
    errors = [abs(float(r["y"]) - float(r["y_pred"])) for r in rows]
    assert crossed["pooled"]["mae"] == pytest.approx(np.mean(errors), rel=1e-4)
    data = read_data(config)
    assert len(load_splits(tmp_path / "run" / "folds.json", data.smiles)) == 3
    assert json.loads((tmp_path / "run" / "metrics.json").read_text())["cross_validation"]["rows"] == 31
    assert "3 folds" in report_text(tmp_path / "run")
    other = resolve(config.source, {"splitting": {"folds": 3}}, method="ccn", seed=1)
    with pytest.raises(FileError, match="fold0"):
        train_run(other, tmp_path / "run", QUIET, lambda line: None)


def test_the_default_method_is_cross_validated(
    config: Config, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, report_text: Callable[[Path], str]
) -> None:
    monkeypatch.setattr("ccn.methods.stack._PLANS", {"fast": _Plan(2, 2, {"trees": {"runs": 1}, "gp": {}})})
    stack = resolve(config.source, {"splitting": {"folds": 2}}, budget="fast")
    found = train_run(stack, tmp_path / "run", Execution(), lambda line: None)
    assert (stack.method, found.model.method) == ("auto", "auto")
    crossed = found.metrics["cross_validation"]
    assert (crossed["folds"], crossed["rows"]) == (2, 31)
    assert {row["method"] for row in found.model.about["leaderboard"]} == {"stack", "trees", "gp", "linear", "constant"}
    assert "mean of 2 folds" in report_text(tmp_path / "run")
    begun: dict[str, Any] = {"from": str(tmp_path / "run")}
    with pytest.raises(ConfigurationError, match="auto"):
        resolve(config.source, **begun)
