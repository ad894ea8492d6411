"""Evaluation: metrics on other data, with classes identified by name."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ccn.engine.cpu import compiling
from ccn.errors import ConfigurationError, DataError
from ccn.learning.model import Model
from ccn.runs.evaluate import evaluate_on


def _nothing(x: int) -> None:
    """Compiled anew where no code is kept."""


def table(path: Path, *kinds: str) -> str:
    path.write_text("smiles,kind\n" + "".join(f"{'C' * (i + 1)}O,{kind}\n" for i, kind in enumerate(kinds)))
    return str(path)


def test_classes_are_identified_by_name(classes: Model, tmp_path: Path) -> None:
    first = evaluate_on(classes, table(tmp_path / "a.csv", "alcohol", "amine", "alcohol"), targets=["kind"])[1]
    second = evaluate_on(classes, table(tmp_path / "b.csv", "amine", "alcohol", "amine"), targets=["kind"])[1]
    assert first["rows"] == second["rows"] == 3
    assert first["metrics"]["accuracy"] + second["metrics"]["accuracy"] == pytest.approx(1.0)
    assert first["interval"] is None


def test_molecules_of_training_are_counted_however_they_are_spelled(classes: Model, tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    new = ["OCC(C)C,alcohol", "NCC(C)C,amine", "CC(C)O,alcohol"]
    path.write_text("\n".join(["smiles,kind", "OC,alcohol", "NC,amine", "OCC,alcohol", *new, "NCC,"]) + "\n")
    found = evaluate_on(classes, str(path), targets=["kind"])[1]
    overlap = found["overlap"]
    assert found["rows"] == 6
    assert overlap["train"] + overlap["validation"] == 3
    assert overlap["train"] > 0
    assert overlap["without"]["rows"] == 3
    path.write_text("\n".join(["smiles,kind", *new]) + "\n")
    alone = evaluate_on(classes, str(path), targets=["kind"])[1]
    assert overlap["without"]["metrics"] == pytest.approx(alone["metrics"], nan_ok=True)
    assert alone["overlap"] == {"train": 0, "validation": 0, "exact": True}
    assert evaluate_on(replace(classes, seen=None), str(path), targets=["kind"])[1]["overlap"] is None


def test_rows_without_a_finite_prediction_are_counted(
    classes: Model, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = table(tmp_path / "t.csv", "alcohol", "amine", "alcohol")
    predicted, rows = classes.fitted.predict, [0]

    def overflowed(graphs: Any) -> Any:
        found = predicted(graphs)
        found[:, rows] = np.nan
        return found

    monkeypatch.setattr(classes.fitted, "predict", overflowed)
    found = evaluate_on(classes, path, targets=["kind"])[1]
    assert (found["rows"], found["not_finite"]) == (2, 1)
    assert np.isfinite(found["metrics"]["accuracy"])
    rows[:] = range(3)
    with pytest.raises(DataError, match="finite"):
        evaluate_on(classes, path, targets=["kind"])


def test_kernels_that_are_compiled_are_said(classes: Model, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiling, "kernel_folder", lambda: str(tmp_path))
    said: list[str] = []
    source, predict = table(tmp_path / "a.csv", "alcohol", "amine"), Model.predict
    evaluate_on(classes, source, targets=["kind"])
    evaluate_on(classes, source, targets=["kind"], say=said.append)
    assert said == []

    def compiles(model: Model, *given: Any) -> Any:
        compiling.compiled(_nothing)(1)
        return predict(model, *given)

    monkeypatch.setattr(Model, "predict", compiles)
    evaluate_on(classes, source, targets=["kind"], say=said.append)
    assert said == ["compiling kernels (once)"]


def test_other_classes_and_targets_are_refused(classes: Model, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"'ether'.*alcohol, amine"):
        evaluate_on(classes, table(tmp_path / "a.csv", "alcohol", "ether", "amine"), targets=["kind"])
    with pytest.raises(ConfigurationError, match="2 targets"):
        evaluate_on(classes, table(tmp_path / "b.csv", "alcohol", "amine"), targets=["kind", "smiles"])
