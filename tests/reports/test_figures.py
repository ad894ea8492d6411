"""The picture of a run, for every kind of task."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ccn.learning.task import Task
from ccn.reports import figures as picture

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
    assert picture.draw_run(tmp_path / "run.png", HISTORY, task, tested)
    assert (tmp_path / "run.png").read_bytes().startswith(b"\x89PNG")


def test_no_picture_of_nothing(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    assert not picture.draw_run(tmp_path / "x.png", [], Task("regression", ("a",)), None)


def test_no_picture_without_matplotlib(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(picture, "find_spec", lambda name: None)
    assert not picture.draw_run(tmp_path / "x.png", [], Task("regression", ("a",)), None)
