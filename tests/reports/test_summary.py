"""The report of a run."""

from __future__ import annotations

import math
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from ccn.datasets import load
from ccn.features.scaling import TargetScale
from ccn.learning.task import Task
from ccn.reports import summary
from ccn.reports.summary import figure, metrics_rows, overlap_text, report
from ccn.training.recipe import recipe

FOUND: dict[str, Any] = {
    "task": "regression",
    "graphs": {"train": 8, "validation": 1, "calibration": 0, "test": 1},
    "metrics": {"validation": {"mae": 0.5, "r2": math.nan}, "calibration": {"mae": 1.0}, "test": {"mae": 0.25}},
    "interval": {"level": 0.9, "coverage": 0.875, "mean_width": {"size": 1.5}, "rows": 1},
    "members": [{"epochs": 7, "ended": "patience", "best_epoch": 5}],
    "seconds": 12.3,
    "overlap": {"validation": {"train": 0, "exact": True}},
    "shared_molecules": 0,
    "warnings": [],
}


def made(method: str, found: dict[str, Any], **about: Any) -> str:
    data = load(["CO", "CCO"], targets=[1.0, 2.0], task="regression")
    config: Any = SimpleNamespace(method=method, seed=3, recipe=recipe("default"))
    scale = TargetScale.fit([[1.0], [2.0]], "log" if "log" in about else "linear")
    model: Any = SimpleNamespace(about=about, task=Task("regression", ("size",), scale=scale))
    return report(Path("runs/first"), model, data, found, config)


@pytest.mark.parametrize(("value", "shown"), [(None, "-"), (math.inf, "-"), (0.123456, "0.1235")])
def test_figures(value: float | None, shown: str) -> None:
    assert figure(value) == shown


def test_metrics_have_a_column_for_each_part_but_that_of_calibration() -> None:
    head, rows = metrics_rows(FOUND["metrics"])
    assert head == ["", "validation", "test"]
    assert rows == [["MAE", "0.5", "0.25"], ["R2", "-", "-"]]


def test_a_network_has_its_metrics_intervals_epochs_and_commands() -> None:
    text = made("ccn", FOUND, chosen=[])
    assert "| MAE | 0.5 | 0.25 |" in text
    for fact in ("train 8, validation 1, test 1", "90 % intervals", "87.5 %", "size 1.5", "7 epochs", "epoch 5 kept"):
        assert fact in text
    assert "ccn predict first new.csv -o predictions.csv --interval 0.9\n" in text
    assert "report.png" not in text


def test_warnings_the_scale_and_a_run_that_was_stopped_are_in_it() -> None:
    ended = {"members": [{"epochs": 7, "ended": "validation loss rose", "best_epoch": 5}]}
    text = made("ccn", FOUND | ended | {"warnings": ["size: all predictions are 1"]}, chosen=[], log=True)
    for fact in ("Warning: size: all predictions are 1.", "size log", "validation loss rose", "epoch 5 kept"):
        assert fact in text
    assert "log" not in made("ccn", FOUND, chosen=[])


def test_another_method_has_what_it_chose() -> None:
    text = made("wl", FOUND | {"interval": None}, chosen=[{"depth": 3, "C": 1.0}, {"depth": 3, "C": 1.0}])
    assert text.count("depth 3, C 1.0") == 1
    assert "Method wl" in text
    assert "--interval" not in text


OVERLAP = {
    "train": 3,
    "validation": 0,
    "exact": True,
    "without": {"rows": 17, "metrics": {"mae": 0.75}, "interval": {"coverage": 0.625}},
}


def test_rows_that_were_trained_on_are_counted_and_left_out_in_a_column_of_their_own() -> None:
    head, rows = metrics_rows({"test": {"mae": 0.25}}, {"test": OVERLAP})
    assert (len(head), rows) == (3, [["MAE", "0.25", "0.75"]])
    assert "" not in metrics_rows({"": {"mae": 0.25}}, {"": OVERLAP})[0][1:]
    text = overlap_text(OVERLAP, 20, "test ")
    for fact in ("3 of the 20 test rows", "train 3", "17", "62.5 %"):
        assert fact in text
    assert "validation" not in text
    text = made("ccn", FOUND | {"overlap": {"test": OVERLAP}, "shared_molecules": 2}, chosen=[])
    assert "3 of the 1 test rows" in text
    assert "of the split: 2." in text


def test_an_overlap_that_is_not_known_is_not_zero() -> None:
    none = {"train": 0, "validation": 0, "exact": True}
    assert "unknown" in overlap_text(None, 5)
    assert "unknown" not in overlap_text(none, 5)
    assert "RDKit" not in overlap_text(none, 5)
    assert "RDKit" in overlap_text(none | {"exact": False}, 5)
    assert "not molecules" in made("ccn", FOUND | {"overlap": None}, chosen=[])


HISTORY = [
    {"member": m, "epoch": e, "train_loss": t, "validation_loss": v}
    for m, e, t, v in ((0, 1, 1.0, 1.1), (0, 2, 0.5, 0.7), (1, 1, 1.2, 1.3))
]


@pytest.mark.parametrize(
    ("task", "targets", "predictions"),
    [
        (Task("regression", ("a", "b")), [[1.0, np.nan], [2.0, np.nan]], [[1.5, 0.0], [2.5, 0.0]]),
        (Task("binary", ("a",), ("no", "yes")), [[0.0], [1.0]], [[0.7, 0.3], [0.6, 0.4]]),
        (Task("multilabel", ("a", "b"), (0, 1)), [[0.0, 1.0], [1.0, np.nan]], [[0.7, 0.3], [0.6, 0.4]]),
        (Task("regression", ("a",)), np.zeros((0, 1)), np.zeros((0, 1))),
    ],
)
def test_every_task_has_one(task: Task, targets: object, predictions: object, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    tested = np.asarray(targets), np.asarray(predictions)
    assert summary.draw_run(tmp_path / "run.png", HISTORY, task, tested)
    assert (tmp_path / "run.png").read_bytes().startswith(b"\x89PNG")


def test_no_picture_of_nothing(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    assert not summary.draw_run(tmp_path / "x.png", [], Task("regression", ("a",)), None)


def test_no_picture_without_matplotlib(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(summary, "find_spec", lambda name: None)
    assert not summary.draw_run(tmp_path / "x.png", [], Task("regression", ("a",)), None)
