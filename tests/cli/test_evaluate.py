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
    # On the data of the run, what is left is its test part.
    part = json.loads((run / "metrics.json").read_text())
    assert found["overlap"]["train"] == part["graphs"]["train"]
    assert found["overlap"]["without"]["rows"] == part["graphs"]["test"]
    assert found["overlap"]["without"]["metrics"] == pytest.approx(part["metrics"]["test"])
    assert f"train {part['graphs']['train']}" in said
    ccn("evaluate", run, table)  # the run has two calibration rows
    assert "9 calibration rows" in capsys.readouterr().out
