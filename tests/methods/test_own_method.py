"""The method of one's own in docs/design.md: usable at once by the commands, the estimators and the model file."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path

import numpy as np
import pytest

import ccn
from ccn.cli import app
from ccn.errors import ConfigurationError
from ccn.methods import METHODS, register
from ccn.methods.method import Method

PAGE = Path(__file__).parents[2] / "docs" / "design.md"
SMILES = [f"{'C' * (1 + i // 4)}{('O', 'N', 'C(=O)O', 'C#N')[i % 4]}" for i in range(40)]


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("ccn.methods.registry.METHODS", dict(METHODS))
    (code,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    exec(code, {"__name__": "__main__"})
    return "morgan-linear"


def test_it_trains_predicts_and_is_evaluated(own: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table, run = tmp_path / "t.csv", tmp_path / "run"
    table.write_text("smiles,size\n" + "".join(f"{s},{len(s)}.5\n" for s in SMILES))

    def command(*words: object) -> None:
        app([str(w) for w in words], result_action="return_value", exit_on_error=False)

    command("train", table, "--target", "size", "--method", own, "-o", run, "--quiet")
    command("predict", run, table, "-o", "out.csv", "--interval", "0.5", "--processes", "1", "--quiet")
    with Path("out.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    expected = ccn.baselines.load(run).predict(SMILES)
    np.testing.assert_allclose([float(r["size_pred"]) for r in rows], expected, rtol=1e-6)
    assert all(float(r["size_low"]) <= float(r["size_pred"]) <= float(r["size_high"]) for r in rows)
    capsys.readouterr()
    command("evaluate", run, table, "--json", "--quiet")
    assert json.loads(capsys.readouterr().out)["metrics"]["mae"] < 1


def test_a_name_that_is_taken_is_refused(own: str) -> None:
    class Other(Method):
        pass

    with pytest.raises(ConfigurationError, match=own):
        register(own, Other)  # type: ignore[type-abstract]
