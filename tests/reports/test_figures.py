"""The picture of a run, for every kind of task."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ccn.learning.task import Task
from ccn.reports import figures as picture

HISTORY = "member,epoch,train_loss,validation_loss\n0,1,1.0,1.1\n0,2,0.5,0.7\n1,1,1.2,1.3\n"


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
    history = tmp_path / "history.csv"
    history.write_text(HISTORY)
    assert picture.draw_run(tmp_path / "run.png", history, task, np.asarray(targets), np.asarray(predictions))
    assert (tmp_path / "run.png").read_bytes().startswith(b"\x89PNG")


def test_no_picture_of_nothing(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    (tmp_path / "history.csv").write_text(HISTORY.splitlines()[0])
    none = np.zeros((0, 1))
    assert not picture.draw_run(tmp_path / "x.png", tmp_path / "history.csv", Task("regression", ("a",)), none, none)


def test_no_picture_without_matplotlib(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(picture, "find_spec", lambda name: None)
    none = np.zeros((0, 1))
    assert not picture.draw_run(tmp_path / "x.png", tmp_path / "none", Task("regression", ("a",)), none, none)
