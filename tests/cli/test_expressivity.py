"""`ccn expressivity`."""

import csv
import json
from pathlib import Path

import pytest

from ccn.cli import app
from ccn.errors import ConfigurationError

TABLE = "smiles,pce\nC1CCC2CCCCC2C1,5.0\nC1CCC(C1)C1CCCC1,3.0\nCCO,1.0\nOCC,2.0\nCCN,0.5\n"


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CCN_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    Path("molecules.csv").write_text(TABLE, encoding="utf-8")


def run(*words: str) -> None:
    app(["expressivity", *words], result_action="return_value")


def test_tables_on_the_screen(capsys: pytest.CaptureFixture[str]) -> None:
    run("molecules.csv", "--target", "pce", "--order", "2")
    shown = capsys.readouterr().out
    assert "1-WL" in shown
    assert "order 2" in shown
    assert "order 3" not in shown
    assert "pce" in shown


def test_json_and_csv(capsys: pytest.CaptureFixture[str]) -> None:
    run("molecules.csv", "--target", "pce", "--json", "-o", "alike.csv")
    found = json.loads(capsys.readouterr().out)
    assert found["alike"]["1-WL"] == {"graphs": 2, "pairs": 1}
    assert found["floors"][0]["floor"]["1-WL"] == pytest.approx(0.6)
    with Path("alike.csv").open(encoding="utf-8") as file:
        assert [row["row"] for row in csv.DictReader(file)] == ["1", "2", "3", "4"]


def test_a_page(capsys: pytest.CaptureFixture[str]) -> None:
    run("molecules.csv", "--target", "pce", "-o", "alike.html", "--quiet")
    assert Path("alike.html").read_text(encoding="utf-8").count("<svg") >= 2
    assert not capsys.readouterr().err


def test_features_decide_what_is_alike(capsys: pytest.CaptureFixture[str]) -> None:
    Path("two.csv").write_text("smiles,y\nCCO,1\nCCN,2\n", encoding="utf-8")
    run("two.csv", "--target", "y", "--json")
    assert json.loads(capsys.readouterr().out)["repeated"] == 0


@pytest.mark.parametrize("words", [["-o", "alike.txt"], ["--order", "0"], ["--levels", "0"]])
def test_wrong_flags(words: list[str]) -> None:
    with pytest.raises(ConfigurationError):
        run("molecules.csv", "--target", "pce", *words)
