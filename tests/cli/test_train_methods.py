"""Methods in the place of a network: runs that `ccn train --method` makes and other commands read."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ccn.baselines import load
from ccn.cli import app
from ccn.errors import ConfigurationError, DependencyError
from ccn.runs.config import read_config, resolve
from tests.reading import csv_rows

pytest.importorskip("skops")
SMILES = [f"{'C' * (1 + i // 4)}{('O', 'N', 'C(=O)O', 'C#N')[i % 4]}" for i in range(40)]


def ccn(*words: object) -> None:
    words = (*words, "--no-report") if words[0] == "train" else words
    app([str(w) for w in words], result_action="return_value", exit_on_error=False)


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("data") / "molecules.csv"
    kinds = ["acid" if i % 4 == 2 else "other" for i in range(40)]
    lines = [f"{s},{len(s) + 0.25},{k}" for s, k in zip(SMILES, kinds, strict=True)]
    path.write_text("\n".join(["smiles,size,kind", *lines]) + "\n")
    return path


@pytest.mark.slow
@pytest.mark.parametrize("name", ["ridge", "wl", "wl-edge", "ngf", "ccn-1"])
def test_a_run_of_any_method_is_read_like_that_of_a_network(
    name: str, table: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], report_text: Callable[[Path], str]
) -> None:
    run, out = tmp_path / "run", tmp_path / "out.csv"
    short = ["--epochs", "2", "--batch-size", "16"] if name in ("ngf", "ccn-1") else []
    ccn("train", table, "--target", "size", "--method", name, "-o", run, "--quiet", "--threads", "1", *short)
    assert {p.name for p in run.iterdir()} >= {
        "config.toml", "splits.json", "metrics.json", "history.csv", "model.safetensors", "predictions.csv",
        "dropped.csv", "data.json",
    }  # fmt: skip
    assert read_config(run / "config.toml")["method"] == name
    assert len(csv_rows(run / "history.csv")) == (2 if short else 0)
    assert f"Method {name}" in report_text(run)
    capsys.readouterr()
    ccn("info", run)
    assert name in capsys.readouterr().out
    ccn("evaluate", run, table, "--json", "--quiet")
    assert json.loads(capsys.readouterr().out)["rows"] == 40
    ccn("predict", run, table, "-o", out, "--interval", "0.5", "--processes", "1", "--quiet")
    found = csv_rows(out)
    np.testing.assert_allclose(
        [float(r["size_pred"]) for r in found], load(run / "model.safetensors").predict(SMILES), rtol=1e-5
    )
    assert all(float(r["size_low"]) <= float(r["size_pred"]) <= float(r["size_high"]) for r in found)


def test_classes_have_names_and_the_configuration_makes_the_run_again(table: Path, tmp_path: Path) -> None:
    ccn("train", table, "--target", "kind", "--method", "wl", "-o", tmp_path / "a", "--quiet", "--features", "atoms")
    tested = csv_rows(tmp_path / "a" / "predictions.csv")
    assert set(tested[0]) == {"row", "smiles", "kind", "kind_pred", "kind_prob_acid", "kind_prob_other"}
    ccn("train", "--config", tmp_path / "a" / "config.toml", "-o", tmp_path / "b", "--quiet")
    assert csv_rows(tmp_path / "b" / "predictions.csv") == tested
    settings = read_config(tmp_path / "b" / "config.toml")
    assert settings["features"] == {"molecules": "atoms", "hydrogens": False}
    assert settings["training"] == {"target_scale": "linear"}


@pytest.mark.parametrize(
    ("given", "single", "said"),
    [
        ({"training": {"epochs": 3}}, {"method": "wl"}, r"\[training\] epochs: .*wl"),
        ({"network": {"order": 1}}, {"method": "ngf"}, r"\[network\] order: .*ngf"),
        ({}, {"method": "wl", "recipe": "paper"}, "wl.*--recipe"),
        ({}, {"method": "wll"}, "ccn, lasso"),
    ],
)
def test_settings_that_a_method_has_not_are_refused(given: dict[str, Any], single: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigurationError, match=said):
        resolve("molecules.csv", given, **single)


def test_what_is_for_networks_is_refused(table: Path, tmp_path: Path) -> None:
    ccn("train", table, "--target", "size", "--method", "ridge", "-o", tmp_path / "run", "--quiet")
    with pytest.raises(ConfigurationError, match="ridge"):
        ccn("embed", tmp_path / "run", table, "-o", tmp_path / "e.csv", "--quiet")
    with pytest.raises(ConfigurationError, match="wl"):
        ccn("train", table, "--target", "kind", "--method", "wl", "--class-weight", "balanced", "-o", tmp_path / "w")


@pytest.fixture(scope="module")
def ridge(table: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run."""
    run = tmp_path_factory.mktemp("runs") / "ridge"
    ccn("train", table, "--target", "size", "--method", "ridge", "-o", run, "--quiet")
    return run


def refused(run: Path, kind: type[Exception], said: str, *words: object) -> None:
    """The command is refused, and the run is as it was."""
    before = {p: p.read_bytes() for p in run.rglob("*") if p.is_file()}
    with pytest.raises(kind, match=said):
        ccn("train", *words, "-o", run, "--quiet")
    assert {p: p.read_bytes() for p in run.rglob("*") if p.is_file()} == before


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--target", "kind", "--method", "wl", "--class-weight", "balanced"], "leave out their weights"),
        (["--target", "size", "--method", "ridge", "--devices", "2"], "leave out --devices"),
        (["--target", "size", "--method", "ngf", "--monitor", "accuracy"], "monitor='accuracy'"),
        (["--target", "size", "--method", "ccn-1", "--channels", "4,4", "--levels", "5"], "channels="),
        (["--target", "size", "--method", "ridge", "--tensorboard"], "leave out --tensorboard"),
        (["--target", "size", "--method", "ridge", "--time-limit", "0.01"], "leave out --time-limit"),
        (["--target", "size", "--method", "ridge", "--device", "cuda"], "leave out --device"),
    ],
)
def test_settings_are_checked_before_an_older_run_is_replaced(
    words: list[str], said: str, ridge: Path, table: Path
) -> None:
    refused(ridge, ConfigurationError, said, table, *words, "--overwrite")


@pytest.mark.parametrize(("name", "package"), [("wl", "skops"), ("ridge", "skops"), ("pscn", "igraph")])
def test_what_a_method_needs_is_looked_for_before_it_is_fitted(
    name: str, package: str, ridge: Path, table: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (package, f"{package}.io"):
        monkeypatch.setitem(sys.modules, module, None)
    words = (table, "--target", "size", "--method", name, "--overwrite")
    refused(ridge, DependencyError, rf"{package}: pip install 'ccn\[baselines\]'", *words)


def test_a_run_is_gone_on_with_by_its_own_method(ridge: Path) -> None:
    refused(ridge, ConfigurationError, "the run in it is of the method ridge, not wl", "--resume", "--method", "wl")
    refused(ridge, ConfigurationError, "the run in it is of the method ridge, not ccn", "--resume", "--method", "ccn")
    ccn("train", "--resume", "--method", "ridge", "-o", ridge, "--quiet")


@pytest.mark.slow
@pytest.mark.parametrize(("words", "chosen"), [([], True), (["--channels", "8"], False)])
def test_a_setting_that_is_given_is_not_chosen_even_if_it_is_the_one_of_the_recipe(
    words: list[str], chosen: bool, table: Path, tmp_path: Path
) -> None:
    quick = ("--target", "size", "--method", "ccn-2", "--epochs", "1", "--hidden", "4", "--levels", "1", "--quiet")
    ccn("train", table, *quick, *words, "-o", tmp_path / "one")
    assert bool(load(tmp_path / "one").chosen_[0]) == chosen
    assert ("channels = 8" in (tmp_path / "one" / "config.toml").read_text()) != chosen
    ccn("train", "--config", tmp_path / "one" / "config.toml", "-o", tmp_path / "again", "--quiet")
    one, again = ((tmp_path / run / "predictions.csv").read_bytes() for run in ("one", "again"))
    assert one == again


@pytest.mark.slow
def test_networks_of_a_method_can_be_several(table: Path, tmp_path: Path) -> None:
    words = ("--target", "size", "--method", "ngf", "--members", "2", "--epochs", "1", "--learning-rate", "0.01")
    ccn("train", table, *words, "-o", tmp_path / "two", "--quiet")
    assert len(load(tmp_path / "two").model_.fitted.networks) == 2  # type: ignore[attr-defined]


def test_a_method_is_loaded_from_the_folder_of_its_run(ridge: Path) -> None:
    found = load(ridge).predict(SMILES)
    np.testing.assert_array_equal(found, load(ridge / "model.safetensors").predict(SMILES))


def test_training_rows_are_shared_only_if_asked_for(table: Path, tmp_path: Path) -> None:
    words = ("train", table, "--target", "size", "--method", "ridge", "--quiet", "--fractions", "0.6,0.2,0.2")
    for name, flags in (("own", ()), ("shared", ("--share-training",))):
        ccn(*words, *flags, "--output", tmp_path / name)
    raw = {name: (tmp_path / name / "model.safetensors").read_bytes() for name in ("own", "shared")}
    long = [s.encode() for s in SMILES if len(s) > 6]
    assert not any(s in raw["own"] for s in long)
    assert any(s in raw["shared"] for s in long)
    alone = tmp_path / "alone.safetensors"
    alone.write_bytes(raw["shared"])
    ccn("predict", alone, "CCCO", "-o", tmp_path / "out.csv", "--neighbours", "1", "--quiet")
    found = csv_rows(tmp_path / "out.csv")[0]
    assert found["neighbour_1"] in SMILES
    trust = json.loads((tmp_path / "own" / "metrics.json").read_text())["trust"]
    assert set(trust["parts"]) == {"validation", "test"}
    assert read_config(tmp_path / "shared" / "config.toml")["data"]["share_training"] is True
