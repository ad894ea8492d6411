"""Which folders a run may use; nothing is written or removed before it is allowed."""

from __future__ import annotations

from pathlib import Path

import pytest

from ccn.errors import ConfigurationError, FileError
from ccn.runs.config import resolve
from ccn.runs.folder import begin_folder, check_folder

CONFIG = resolve("molecules.csv", {"training": {"epochs": 3}})


def test_a_new_folder_and_one_of_unfinished_files(tmp_path: Path) -> None:
    assert check_folder(tmp_path / "new", resume=False, overwrite=False) is None
    (tmp_path / ".config.toml.1.part").touch()
    assert check_folder(tmp_path, resume=True, overwrite=False) is None
    begin_folder(tmp_path, CONFIG, resume=True)
    assert [p.name for p in tmp_path.iterdir()] == ["config.toml"]


def test_a_run_is_resumed_by_its_method_or_replaced(tmp_path: Path) -> None:
    begin_folder(tmp_path, CONFIG, resume=False)
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
    begin_folder(tmp_path, CONFIG, resume=False)
    assert not (tmp_path / "model.safetensors").exists()


def test_other_files_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / "precious.txt").touch()
    for resume in (True, False):
        with pytest.raises(FileError, match="not a run"):
            check_folder(tmp_path, resume=resume, overwrite=not resume)
    with pytest.raises(FileError, match="not a folder"):
        check_folder(tmp_path / "precious.txt", resume=False, overwrite=False)
