"""`ccn data`: list, info and get."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from ccn.cli import app
from ccn.datasets import load
from ccn.datasets.registry import ENTRIES
from ccn.errors import CCNError
from tests.reading import csv_rows


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CCN_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("CCN_DATA", raising=False)
    monkeypatch.chdir(tmp_path)


def run(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    app(["data", *words], result_action="return_value")
    return capsys.readouterr().out


def ccn(*words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-W", "error", "-c", "from ccn.cli import main; main()", "data", *words]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_list_shows_every_set_in_three_ways(capsys: pytest.CaptureFixture[str]) -> None:
    table, markdown, rows = (run(capsys, "list", *w) for w in ([], ["--markdown"], ["--json"]))
    for name in ENTRIES:
        assert name in table
        assert f"| {name} |" in markdown
    found = {row["name"]: row for row in json.loads(rows)}
    assert found["MUTAG"]["at_hand"] == "ccn itself"
    assert found["MUTAG"]["classes"] == {"-1": 63, "1": 125}
    assert found["HCEP"]["source"] is None


def test_list_computes_what_is_at_hand(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ccn.datasets.statistics.ENTRIES", {"MUTAG": ENTRIES["MUTAG"]})
    monkeypatch.setattr(
        "ccn.datasets.statistics.known", lambda: dict.fromkeys(ENTRIES, load("MUTAG").subset([0]).statistics())
    )
    rows = json.loads(run(capsys, "list", "--json", "--compute"))
    assert [row["graphs"] for row in rows[:2]] == [188, 1]


def test_the_table_of_the_documentation_is_what_the_command_prints(capsys: pytest.CaptureFixture[str]) -> None:
    page = Path(__file__).parents[2] / "docs" / "datasets.md"
    assert run(capsys, "list", "--markdown") in page.read_text(encoding="utf-8")


@pytest.mark.slow
def test_info_of_a_name_in_the_terminal_and_as_a_picture(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    out = run(capsys, "info", "mutag")
    assert "3,371 (17.93 on average, 10 to 28)" in out
    assert "MUTAG[0]" in out
    assert out.splitlines()[-1].startswith("188 graphs;")
    pytest.importorskip("matplotlib")
    run(capsys, "info", "MUTAG", "-o", str(tmp_path / "o"))
    assert [p.name for p in (tmp_path / "o").iterdir()] == ["MUTAG.png"]
    assert json.loads(run(capsys, "info", "MUTAG", "--json"))["edges"] == 3721


@pytest.mark.slow
def test_info_of_a_file_with_bad_rows_says_so_and_succeeds(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("smiles,y\nCCO,1.5\nC1CC,2\nCCN,x\n")
    done = ccn("info", "t.csv")
    assert done.returncode == 0
    last = done.stdout.splitlines()[-1]
    assert last.startswith("1 graphs; 2 ")
    assert "dropped.csv" in last
    rows = csv_rows(tmp_path / "dropped.csv")
    assert [(r["row"], r["value"], r["action"]) for r in rows] == [("2", "C1CC", "dropped"), ("3", "x", "dropped")]


@pytest.mark.parametrize(
    ("words", "facts"),
    [
        (["info", "half.csv", "--strict"], ["half.csv", "row 1"]),
        (["info", "t.csv"], ["t.csv", "1"]),
        (["info", "t.csv", "--target-columns", "z"], ["t.csv", "'z'"]),
        (["info", "no.csv"], ["no.csv"]),
        (["get", "HCEP"], ["HCEP", "CCN_DATA"]),
        (["get", "nothing"], ["nothing", "MUTAG"]),
    ],
)
def test_an_error_says_what_is_wrong(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: list[str], facts: list[str]
) -> None:
    (tmp_path / "t.csv").write_text("smiles,y\nC1CC,2\n")
    (tmp_path / "half.csv").write_text("smiles,y\nC1CC,2\nCC,2\n")
    with pytest.raises(CCNError) as error:
        run(capsys, *words)
    assert str(error.value).startswith(facts[0])
    assert all(fact in str(error.value) for fact in facts)
    assert "\n" not in str(error.value)


def test_get_says_where_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, "get", "mutag").startswith("MUTAG: ")


def test_a_page_about_a_file(ccn: Callable[..., None], table: Path, tmp_path: Path) -> None:
    ccn("data", "info", table, "--target", "size", "--html", tmp_path / "page.html", "--graphs", "0")
    page = (tmp_path / "page.html").read_text()
    assert page.count("<svg") > 8
    assert list((tmp_path / "figures").glob("distribution-1-size.png"))
