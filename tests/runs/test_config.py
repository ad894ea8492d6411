"""Configurations: what takes precedence, what is refused by name, and the folder of a run."""

from __future__ import annotations

import tomllib
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from ccn.errors import ConfigurationError, FileError
from ccn.learning.old_files import AUTO_BEFORE
from ccn.runs.config import (
    RUN_SECTIONS,
    begin_folder,
    check_folder,
    hold_folder,
    merged,
    read_config,
    resolve,
    to_dict,
    to_toml,
    with_none,
)
from ccn.schemes.generators import Balls
from ccn.training.recipe import SECTIONS


def test_flags_take_precedence_over_the_file_and_the_file_over_the_recipe() -> None:
    file = {"source": "a.csv", "seed": 3, "training": {"epochs": 5, "batch_size": 8}}
    config = resolve("b.csv", {"training": {"epochs": 7}}, file, recipe="paper")
    training = config.recipe.training
    assert (config.source, config.seed, training.epochs, training.batch_size) == ("b.csv", 3, 7, 8)
    assert config.recipe.optimiser.method == "sgd"
    assert merged(file, {"seed": 4, "training": {"epochs": 6}})["training"] == {"epochs": 6, "batch_size": 8}


@pytest.mark.parametrize("method", ["ccn", "wl", "gin"])
def test_a_configuration_survives_toml(method: str) -> None:
    given: dict[str, Any] = {"data": {"target_columns": ["a", 'b"c']}, "splitting": {"fractions": (0.5, 0.5, 0.0)}}
    if method == "ccn":
        given["network"] = {"scheme": Balls((0, 1, 2)), "order": (2, 1)}
        given["training"] = {"patience": "none"}
    config = resolve("x.csv", given, method=method, threads=2)
    plain = tomllib.loads(to_toml(config))
    assert plain == to_dict(config)
    assert resolve(file=plain) == config


def test_numbers_and_names_that_json_writes_otherwise_survive_toml() -> None:
    made = {"a b": [float("inf"), 1e300], "c": "\x7f\x1b"}
    config = resolve("x.csv", {"network": {"contractions": made}})
    assert tomllib.loads(to_toml(config))["network"]["contractions"] == made


@pytest.mark.parametrize(
    ("file", "fact"),
    [
        ({}, "no data"),
        ({"source": "x", "sead": 1}, "sead"),
        ({"source": "x", "seed": True}, "seed=True"),
        ({"source": "x", "threads": 0}, "threads=0"),
        ({"source": "x", "recipe": "papper"}, "'papper'.* paper"),
        ({"source": "x", "method": "wl", "recipe": "paper"}, "wl"),
        ({"source": "x", "method": "wl", "training": {"epochs": 2}}, "epochs.* wl"),
        ({"source": "x", "training": {"epoch": 2}}, "training.epoch: .*epochs"),
        ({"source": "x", "data": {"smile_column": "s"}}, "data.smile_column: .*smiles_column"),
        ({"source": "x", "data": {"smiles_column": ["s"]}}, "smiles_column"),
        ({"source": "x", "data": {"target_columns": 5}}, "target_columns=5: .* list"),
        ({"source": "x", "data": {"task": "guess"}}, "one of classification, regression"),
        ({"source": "x", "splitting": {"fractions": "x"}}, "fractions"),
        ({"source": "x", "optimiser": {"final_rate": 10**400}}, "final_rate"),
        ({"source": "x", "network": {"scheme": {"type": "Power", "exponent": 2}}}, "Power"),
    ],
)
def test_a_wrong_setting_is_named(file: dict[str, Any], fact: str) -> None:
    with pytest.raises(ConfigurationError, match=fact):
        resolve(file=file)


def test_a_file_that_is_not_toml_is_named(tmp_path: Path) -> None:
    wrong = (b"seed =", b"\xff", b'recipe = "papper"', b"recipe = [1]", b"seed = " + b"[" * 900 + b"]" * 900)
    for name, content in zip(("a.toml", "b.toml", "c.toml", "d.toml", "e.toml"), wrong, strict=True):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(ConfigurationError, match=name):
            read_config(tmp_path / name)
    with pytest.raises(ConfigurationError, match=r"none\.toml"):
        read_config(tmp_path / "none.toml")


def test_the_folder_of_a_run_is_resumed_or_replaced_only_when_asked(tmp_path: Path) -> None:
    config, folder = resolve("x.csv", method="ccn", seed=1), tmp_path / "run"
    assert check_folder(folder, resume=False, overwrite=False) is None
    begin_folder(folder, config, resume=False)
    before = check_folder(folder, resume=True, overwrite=False)
    assert before is not None
    assert resolve(file=before) == config
    with pytest.raises(FileError, match=r"--resume .*--overwrite"):
        check_folder(folder, resume=False, overwrite=False)
    with pytest.raises(ConfigurationError, match="ccn, not wl"):
        check_folder(folder, resume=True, overwrite=False, method="wl")
    with pytest.raises(ConfigurationError, match="--overwrite"):
        check_folder(folder, resume=True, overwrite=True)
    (folder / "model.safetensors").touch()
    assert check_folder(folder, resume=False, overwrite=True) is None
    with hold_folder(folder):
        begin_folder(folder, config, resume=False)
        assert sorted(p.name for p in folder.iterdir()) == [".former", ".run.lock", "config.toml"]
        assert (folder / ".former" / "model.safetensors").exists()
    assert [p.name for p in folder.iterdir()] == ["config.toml"]


def test_the_former_run_stays_until_another_is_complete(tmp_path: Path) -> None:
    def replaced(seed: int) -> None:
        with hold_folder(tmp_path):
            begin_folder(tmp_path, resolve("x.csv", seed=seed), resume=False)
            (tmp_path / "checkpoints").mkdir()
            raise FileError("no space")

    begin_folder(tmp_path, resolve("x.csv", method="ccn", seed=1), resume=False)
    (tmp_path / "model.safetensors").write_text("1")
    former = tmp_path / ".former"
    for seed in (2, 3):  # neither is complete
        with pytest.raises(FileError, match="no space"):
            replaced(seed)
        assert read_config(former / "config.toml")["seed"] == 1
        assert (former / "model.safetensors").read_text() == "1"
        assert read_config(tmp_path / "config.toml")["seed"] == seed
    (tmp_path / "model.safetensors").write_text("3")  # and killed then
    with pytest.raises(FileError, match="no space"):
        replaced(4)
    assert (former / "model.safetensors").read_text() == "3"
    # Killed while the former run is moved aside, it is in its place again.
    (former / "config.toml").replace(tmp_path / "config.toml")
    (tmp_path / "checkpoints").rmdir()
    begin_folder(tmp_path, resolve("x.csv", seed=3), resume=True)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["checkpoints", "config.toml", "model.safetensors"]


def test_a_folder_of_other_files_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "precious.txt").touch()
    for resume in (True, False):
        with pytest.raises(FileError):
            check_folder(tmp_path, resume=resume, overwrite=not resume)
    with pytest.raises(FileError, match="precious"):
        check_folder(tmp_path / "precious.txt", resume=False, overwrite=False)


def test_a_new_folder_and_one_of_unfinished_files(tmp_path: Path) -> None:
    assert check_folder(tmp_path / "new", resume=False, overwrite=False) is None
    (tmp_path / ".config.toml.1.part").touch()
    assert check_folder(tmp_path, resume=True, overwrite=False) is None
    begin_folder(tmp_path, resolve("x.csv", method="ccn"), resume=True)
    assert [p.name for p in tmp_path.iterdir()] == ["config.toml"]


# The words of TOML for values of each type; a setting takes some of them and names itself in the error for others.
TOML = {"text": '"x"', "list": "[]", "table": "{}", "integer": "-1", "number": "1e400", "nan": "nan", "truth": "true"}
TAKES = {
    "truth": {
        *("strict", "share_training", "hydrogens", "adjacency", "own", "edge_features", "graph_features", "scaled"),
        *("diagonal", "activate_embedding"),
    },
    "list": {
        *("target_columns", "extra_columns", "auxiliary", "relations", "fractions", "order", "channels", "hidden"),
        "contractions",
    },
    "integer": {"devices"},
    "text": {
        *("smiles_column", "weight_column", "group_column", "split_column", "id_column", "splits_file", "source"),
        *("sheet", "device", "strategy", "precision", "contractions", "nonlinearity", "monitor"),
    },
}
SETTINGS = [(s, f.name) for s, kind in {**RUN_SECTIONS, **SECTIONS}.items() for f in fields(kind)]
SINGLE = [("", name) for name in ("format", "source", "method", "recipe", "seed", "threads")]


@pytest.mark.parametrize(("section", "name"), [*SETTINGS, *SINGLE])
def test_a_value_of_another_type_is_named_with_its_file(section: str, name: str, tmp_path: Path) -> None:
    path = tmp_path / "c.toml"
    for kind, value in TOML.items():
        path.write_text((f"[{section}]\n" if section else "") + f"{name} = {value}\n")
        if name in TAKES.get(kind, ()) or name in ("scheme", "contractions"):  # the network checks these two
            assert read_config(path)
            continue
        with pytest.raises(ConfigurationError, match=rf"c\.toml: .*{name}") as found:
            read_config(path)
        assert f"{section}.{name}=" in str(found.value) or not section


@pytest.mark.parametrize("content", ["other = 1", "data = 1", "[other]\nx = 1", "[network]\nscheme = {type = []}"])
def test_what_is_not_a_setting_is_named_with_its_file(content: str, tmp_path: Path) -> None:
    (tmp_path / "c.toml").write_text(content + "\n")
    with pytest.raises(ConfigurationError, match=r"c\.toml: "):
        read_config(tmp_path / "c.toml")


def test_none_in_a_file_of_0_1_is_auto(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    now = resolve("x.csv", {"network": {"dropout": "none"}, "training": {"least_steps": "none"}}, method="ccn")
    path.write_text(to_toml(now))
    assert resolve(file=read_config(path)) == now
    assert (now.recipe.network.dropout, now.recipe.training.least_steps) == (None, None)
    # As 0.1 wrote it: without a format, with all columns.
    then = (
        to_toml(now)
        .replace("format = 2\n", "")
        .replace('method = "ccn"\n', "")
        .replace("[data]\n", '[data]\nweight_column = "none"\n')
    )
    path.write_text(then.replace('learning_rate = "auto"', 'learning_rate = "none"'))
    config = resolve(file=read_config(path))
    assert [config.recipe.get(name) for name in AUTO_BEFORE] == ["auto", "auto", "auto", "auto"]
    assert config.data.weight_column is None


def test_a_column_may_be_called_none(tmp_path: Path) -> None:
    given = {"data": {"weight_column": "none", "target_columns": ["none"], "task": "none"}}
    for columns, weights in (("smiles,none", "none"), ("smiles,y", None)):
        (tmp_path / "t.csv").write_text(f"{columns}\nCC,1\n")
        config = resolve(str(tmp_path / "t.csv"), given)
        assert (config.data.weight_column, config.data.group_column, config.data.task) == (weights, None, None)
        assert config.data.target_columns == ("none",)
        assert resolve(file=tomllib.loads(to_toml(config))) == config
    assert with_none("MUTAG", {"weight_column": "none"}) == {"weight_column": None}
