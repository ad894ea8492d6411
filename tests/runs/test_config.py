"""Configurations: what takes precedence, what is refused by name, and the folder of a run."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

from ccn.errors import ConfigurationError, FileError
from ccn.runs.config import begin_folder, check_folder, merged, read_config, resolve, to_dict, to_toml
from ccn.schemes.generators import Balls


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
        ({"source": "x", "data": {"smiles_column": ["s"]}}, r"\[data\] smiles_column"),
        ({"source": "x", "data": {"target_columns": 5}}, r"\[data\] target_columns=5: .* list"),
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
    config, folder = resolve("x.csv", seed=1), tmp_path / "run"
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
    begin_folder(folder, config, resume=False)
    assert [p.name for p in folder.iterdir()] == ["config.toml"]


def test_a_folder_of_other_files_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "precious.txt").touch()
    for resume in (True, False):
        with pytest.raises(FileError, match="not a run"):
            check_folder(tmp_path, resume=resume, overwrite=not resume)
    with pytest.raises(FileError, match="precious"):
        check_folder(tmp_path / "precious.txt", resume=False, overwrite=False)


FOLDER_CONFIG = resolve("molecules.csv", {"training": {"epochs": 3}})


def test_a_new_folder_and_one_of_unfinished_files(tmp_path: Path) -> None:
    assert check_folder(tmp_path / "new", resume=False, overwrite=False) is None
    (tmp_path / ".config.toml.1.part").touch()
    assert check_folder(tmp_path, resume=True, overwrite=False) is None
    begin_folder(tmp_path, FOLDER_CONFIG, resume=True)
    assert [p.name for p in tmp_path.iterdir()] == ["config.toml"]


def test_a_run_is_resumed_by_its_method_or_replaced(tmp_path: Path) -> None:
    begin_folder(tmp_path, FOLDER_CONFIG, resume=False)
    (tmp_path / "model.safetensors").touch()
    with pytest.raises(FileError, match="--resume"):
        check_folder(tmp_path, resume=False, overwrite=False)
    before = check_folder(tmp_path, resume=True, overwrite=False, method="ccn")
    assert before is not None
    assert before["training"]["epochs"] == 3
    with pytest.raises(ConfigurationError, match=r"ccn, not wl"):
        check_folder(tmp_path, resume=True, overwrite=False, method="wl")
    with pytest.raises(ConfigurationError, match="--overwrite"):
        check_folder(tmp_path, resume=True, overwrite=True)
    assert check_folder(tmp_path, resume=False, overwrite=True) is None
    assert (tmp_path / "model.safetensors").exists()
    begin_folder(tmp_path, FOLDER_CONFIG, resume=False)
    assert not (tmp_path / "model.safetensors").exists()


def test_other_files_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / "precious.txt").touch()
    for resume in (True, False):
        with pytest.raises(FileError, match="not a run"):
            check_folder(tmp_path, resume=resume, overwrite=not resume)
    with pytest.raises(FileError, match="not a folder"):
        check_folder(tmp_path / "precious.txt", resume=False, overwrite=False)
