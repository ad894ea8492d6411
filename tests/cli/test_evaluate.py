"""`ccn evaluate`: metrics for people and for programs."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest


def test_metrics_as_a_table_and_as_json(
    ccn: Callable[..., None], run: Path, table: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ccn("evaluate", run, table, "--json", "--interval", "0.5")
    found = json.loads(capsys.readouterr().out)
    assert found["rows"] == 40
    assert found["metrics"]["mae"] > 0
    ccn("evaluate", run, table, "--interval", "0.5")
    said = capsys.readouterr().out
    assert "MAE" in said
    assert f"{100 * found['interval']['coverage']:.1f} %" in said
    ccn("evaluate", run, table)  # the run has two calibration rows
    assert "9 calibration rows" in capsys.readouterr().out
