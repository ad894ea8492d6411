"""The data that commands look at."""

import csv
import gzip
import json
from pathlib import Path

import pytest

from ccn.cli import app
from ccn.datasets.published import TARGETS
from ccn.errors import ConfigurationError


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # where dropped.csv is written


def test_a_target_of_a_named_data_set_is_chosen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("CCN_DATA", str(tmp_path))
    (tmp_path / "qm9").mkdir()
    rows = [[i, smiles, *range(12), 3] for i, smiles in enumerate("CNO", 1)]
    with gzip.open(tmp_path / "qm9" / "qm9.csv.gz", "wt", newline="") as file:
        csv.writer(file).writerows([["index", "smiles", *TARGETS], *rows])
    app(["data", "info", "QM9", "--target", "mu", "--json"], result_action="return_value")
    assert json.loads(capsys.readouterr().out)["targets"] == ["mu"]


def test_a_column_that_does_not_exist_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "m.csv").write_text("smiles,y\nC,1\nCC,2\n")
    with pytest.raises(ConfigurationError, match="nowhere"):
        app(["data", "info", str(tmp_path / "m.csv"), "--target", "nowhere"], result_action="return_value")


def test_a_negative_number_of_pictures_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="--graphs"):
        app(["data", "info", "MUTAG", "--graphs", "-1"], result_action="return_value")


def test_all_targets_of_a_table_are_named_by_one_word(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "m.csv").write_text("Compound ID,smiles,a,b\n7,C,1,2.5\n8,CC,2,3.5\n")
    (tmp_path / "named.csv").write_text("smiles,all,b\nC,1,2.5\nCC,2,3.5\n")
    for name, targets in (("m.csv", ["a", "b"]), ("named.csv", ["all"])):
        app(["data", "info", str(tmp_path / name), "--target", "all", "--json"], result_action="return_value")
        assert json.loads(capsys.readouterr().out)["targets"] == targets


def test_cliffs_name_rows_as_the_source_does(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = ["C1CC,0", *(f"{'C' * n}O,{n}" for n in (8, 9)), "CCCCCCCCCCl,900"]
    (tmp_path / "m.csv").write_text("\n".join(["smiles,y", *rows]))
    named = "\n".join(["compound_id,smiles,y", *(f"c{i},{row}" for i, row in enumerate(rows))])
    (tmp_path / "named.csv").write_text(named)
    words = ["--similarity", "0.1", "--target", "y"]
    app(["data", "cliffs", str(tmp_path / "m.csv"), *words, "--json"], result_action="return_value")
    assert json.loads(capsys.readouterr().out)[0]["rows"] == [3, 4]
    page = tmp_path / "cliffs.html"
    app(["data", "cliffs", str(tmp_path / "named.csv"), *words, "-o", str(page)], result_action="return_value")
    assert "c2: 9" in page.read_text()
    assert "c3: 900" in page.read_text()
