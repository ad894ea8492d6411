"""The data that commands look at."""

import csv
import gzip
import json
from pathlib import Path

import pytest

from ccn.cli import app
from ccn.datasets.published import TARGETS
from ccn.errors import ConfigurationError


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
