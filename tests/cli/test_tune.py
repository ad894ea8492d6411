"""`ccn tune`: a search that goes on, and a configuration that `ccn train` takes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from ccn.errors import ConfigurationError
from ccn.runs.config import read_config
from tests.reading import csv_rows

pytest.importorskip("optuna")
Call = Callable[..., None]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::optuna.exceptions.ExperimentalWarning")
def test_a_search_goes_on_and_ends_like_one_that_was_not_cut(
    ccn: Call, table: Path, tmp_path: Path, tiny: list[str]
) -> None:
    words = [table, "--target", "size", "--quiet", *tiny[2:]]
    ccn("tune", *words, "-o", tmp_path / "whole", "--trials", "3")
    ccn("tune", *words, "-o", tmp_path / "cut", "--trials", "1")
    ccn("tune", "-o", tmp_path / "cut", "--trials", "3", "--resume", "--quiet")
    tables = [csv_rows(tmp_path / name / "trials.csv") for name in ("whole", "cut")]
    assert tables[0] == tables[1]
    assert len(tables[0]) == 3
    best = read_config(tmp_path / "cut" / "best.toml")
    assert best["network"]["channels"] == 4  # given, not searched
    assert str(best["optimiser"]["learning_rate"]) in {row["optimiser.learning_rate"] for row in tables[0]}
    ccn("train", table, "--config", tmp_path / "cut" / "best.toml", "-o", tmp_path / "run", "--quiet")
    assert (tmp_path / "run" / "model.safetensors").exists()


def test_settings_are_checked_before_an_older_search_is_replaced(
    ccn: Call, table: Path, tmp_path: Path, tiny: list[str]
) -> None:
    before = tmp_path / "config.toml"
    before.write_text("seed = 1\n")
    rest = ("--learning-rate", "0.01", "--weight-decay", "0.1", "--dropout", "0")
    with pytest.raises(ConfigurationError, match="search"):
        ccn("tune", table, "--target", "size", "--quiet", *tiny[2:], *rest, "-o", tmp_path, "--overwrite")
    assert before.read_text() == "seed = 1\n"
