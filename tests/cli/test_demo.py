"""`ccn demo`: what it prints; the demonstration itself is tested in tests/runs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from ccn.runs import demonstration
from ccn.runs.demonstration import Shown


def test_accuracy_and_predictions_are_printed(
    ccn: Callable[..., None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = []

    def run(folder: Path, epochs: int, seed: int, **more: object) -> Shown:
        asked.append((folder, epochs, seed))
        return Shown(0.75, 0.5, 4, folder / "model.safetensors", [("nitrobenzene", "C", 0.25)])

    monkeypatch.setattr(demonstration, "run", run)
    ccn("demo", "-o", tmp_path / "run", "--epochs", "2", "--seed", "3")
    assert asked == [(tmp_path / "run", 2, 3)]
    said = capsys.readouterr().out
    assert all(fact in said for fact in ("75.0 % (3 right)", "50.0 %", "nitrobenzene", "25 %"))
