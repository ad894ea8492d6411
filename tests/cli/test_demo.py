"""`ccn demo`, shortened."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest


@pytest.mark.slow
def test_accuracy_and_predictions_are_printed(
    ccn: Callable[..., None], run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(run, tmp_path / "run")  # an earlier run, which is replaced
    ccn("demo", "-o", tmp_path / "run", "--epochs", "1")
    printed = capsys.readouterr().out
    assert "on 38 held-out molecules" in printed
    assert f"{100 * 26 / 38:.1f} %" in printed
    assert all(name in printed for name in ("9-nitroanthracene", "3-nitrophenanthrene", "nitrobenzene"))
    assert (tmp_path / "run" / "model.safetensors").read_bytes() != (run / "model.safetensors").read_bytes()
