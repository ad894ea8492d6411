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

    command("train", table, "--target", "size", "--method", own, "-o", run, "--quiet", "--no-report")
    command("predict", run, table, "-o", "out.csv", "--interval", "0.5", "--processes", "1", "--quiet")
    with Path("out.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    expected = ccn.baselines.load(run).predict(SMILES)
    np.testing.assert_allclose([float(r["size_pred"]) for r in rows], expected, rtol=1e-6)
    assert all(float(r["size_low"]) <= float(r["size_pred"]) <= float(r["size_high"]) for r in rows)
    capsys.readouterr()
    command("evaluate", run, table, "--json", "--quiet")
    assert json.loads(capsys.readouterr().out)["metrics"]["mae"] < 1


def test_it_reads_columns_of_the_table(own: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def command(*words: object) -> None:
        app([str(w) for w in words], result_action="return_value", exit_on_error=False)

    table, run = tmp_path / "t.csv", tmp_path / "run"
    rows = [(s, i % 5, i % 3) for i, s in enumerate(SMILES)]
    table.write_text("smiles,pH,T,y\n" + "".join(f"{s},{a},{b},{10 * a - 7 * b}.5\n" for s, a, b in rows))
    command(
        "train", table, "--target", "y", "--method", own, "--quiet", "--extra-columns", "pH,T", "-o", run, "--no-report"
    )
    assert 'extra_columns = ["pH", "T"]' in (run / "config.toml").read_text()
    # Other columns, another order of them, and rows without a number.
    (tmp_path / "new.csv").write_text("T,note,smiles,ph\n0,a,CCN,4\n2,b,CCN,0\n,c,CCN,1\n1,d,C1,1\n1,e,CCN,x\n")
    for chunk in (1000, 2, 1):
        how = ("--processes", "1", "--chunk", str(chunk), "--quiet")
        command("predict", run, tmp_path / "new.csv", "-o", tmp_path / f"out{chunk}.csv", *how)
        with (tmp_path / f"out{chunk}.csv").open(newline="") as file:
            out = list(csv.DictReader(file))
        assert float(out[0]["y_pred"]) - float(out[1]["y_pred"]) == pytest.approx(54, abs=4)
        assert [name in row["reason"] for name, row in zip(("T", "pH"), out[2::2], strict=True)] == [True, True]
        assert [bool(row["y_pred"]) for row in out] == [True, True, False, False, False]
    capsys.readouterr()
    command("evaluate", run, table, "--json", "--quiet")
    assert json.loads(capsys.readouterr().out)["metrics"]["mae"] < 2
    command("info", run)
    assert "pH, T" in capsys.readouterr().out
    (tmp_path / "bare.csv").write_text("smiles,pH,y\nCCO,7,1\nCC,6,2\n")
    for verb in ("predict", "evaluate"):
        with pytest.raises(ConfigurationError, match="'T'"):
            command(verb, run, tmp_path / "bare.csv", "--quiet")
    with pytest.raises(ConfigurationError, match=r"pH, T.* table"):
        command("predict", run, "CCO", "--quiet")
    with pytest.raises(ConfigurationError, match="pH"):
        ccn.baselines.load(run).predict(SMILES)


@pytest.mark.parametrize("method", ["ccn", "ccn-2-kernel"])
def test_methods_that_would_ignore_columns_say_so(method: str, tmp_path: Path) -> None:
    table = tmp_path / "t.csv"
    table.write_text("smiles,pH,y\n" + "".join(f"{s},{i % 5},{i}.5\n" for i, s in enumerate(SMILES)))
    words = ("train", table, "--target", "y", "--method", method, "--extra-columns", "pH", "-o", tmp_path / "run")
    with pytest.raises(ConfigurationError, match=rf"{method}.*--extra-columns.*pH"):
        app([*map(str, words), "--quiet"], result_action="return_value", exit_on_error=False)
    assert not (tmp_path / "run").exists()


def test_a_name_that_is_taken_is_refused(own: str) -> None:
    class Other(Method):
        pass

    with pytest.raises(ConfigurationError, match=own):
        register(own, Other)  # type: ignore[type-abstract]
