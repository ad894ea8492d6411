"""The folder of a run: whether it may be used, and its first files."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from ccn.errors import ConfigurationError, FileError
from ccn.files import remove_unfinished, write_atomically
from ccn.runs.config import DEFAULT_METHOD, Config, read_config, to_toml

__all__ = ["begin_folder", "check_folder"]

_CONFIG = "config.toml"


def check_folder(folder: Path, *, resume: bool, overwrite: bool, method: str | None = None) -> dict[str, Any] | None:
    """The configuration of the run in the folder that is to be resumed, if any; nothing is written yet.

    A folder that is not empty is taken only to resume or overwrite the run in it; other files are left alone. A run is
    resumed by the method that began it.
    """
    if resume and overwrite:
        raise ConfigurationError("--resume continues a run and --overwrite replaces it; give one of them")
    if folder.exists() and not folder.is_dir():
        raise FileError(f"{folder}: a file, not a folder; choose another output")
    if not folder.exists() or all(p.name.endswith(".part") for p in folder.iterdir()):
        return None  # new, or killed before its first file was written
    run = (folder / _CONFIG).is_file()
    if resume and run:
        before = read_config(folder / _CONFIG)
        began = before.get("method", DEFAULT_METHOD)
        if method not in (None, began):
            raise ConfigurationError(
                f"{folder}: the run in it is of the method {began}, not {method}; leave out --method to resume it, "
                "choose another output, or replace it with --overwrite"
            )
        return before
    if overwrite and run:
        return None
    if not run:
        raise FileError(f"{folder}: not empty and not a run of ccn; choose another output")
    raise FileError(f"{folder}: there is a run already; add --resume to continue it, or --overwrite to replace it")


def begin_folder(folder: Path, config: Config, *, resume: bool) -> None:
    """Make the folder that :func:`check_folder` allowed, in place of an older run unless that is resumed."""
    if not resume and (folder / _CONFIG).is_file():
        shutil.rmtree(folder)
    folder.mkdir(parents=True, exist_ok=True)
    remove_unfinished(folder)
    if not (folder / _CONFIG).is_file():  # that of a resumed run stays: other settings are refused later
        write_atomically(folder / _CONFIG, to_toml(config).encode())
