"""`ccn info`: the description of a model."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest


def test_a_model_describes_itself(ccn: Callable[..., None], run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ccn("info", run)
    assert "size (regression)" in capsys.readouterr().out
    ccn("info", run, "--json")
    assert json.loads(capsys.readouterr().out)["about"]["smiles_column"] == "smiles"
