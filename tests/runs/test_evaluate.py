"""Evaluation: metrics on other data, with classes identified by name."""

from __future__ import annotations

from pathlib import Path

import pytest

from ccn.errors import ConfigurationError, DataError
from ccn.learning.model import Model
from ccn.runs.evaluate import evaluate_on


def table(path: Path, *kinds: str) -> str:
    path.write_text("smiles,kind\n" + "".join(f"{'C' * (i + 1)}O,{kind}\n" for i, kind in enumerate(kinds)))
    return str(path)


def test_classes_are_identified_by_name(classes: Model, tmp_path: Path) -> None:
    first = evaluate_on(classes, table(tmp_path / "a.csv", "alcohol", "amine", "alcohol"), targets=["kind"])[1]
    second = evaluate_on(classes, table(tmp_path / "b.csv", "amine", "alcohol", "amine"), targets=["kind"])[1]
    assert first["rows"] == second["rows"] == 3
    assert first["metrics"]["accuracy"] + second["metrics"]["accuracy"] == pytest.approx(1.0)
    assert first["interval"] is None


def test_other_classes_and_targets_are_refused(classes: Model, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"'ether'.*alcohol, amine"):
        evaluate_on(classes, table(tmp_path / "a.csv", "alcohol", "ether", "amine"), targets=["kind"])
    with pytest.raises(ConfigurationError, match="2 targets"):
        evaluate_on(classes, table(tmp_path / "b.csv", "alcohol", "amine"), targets=["kind", "smiles"])
