"""The configuration of a run, and the folder that it is written to.

A configuration is everything that decides the result of a run, as plain values in a TOML file. Flags take precedence
over the file, the file over the recipe. The file that a run writes has every field, also those that are off
(``none``), so that its meaning does not change with the defaults of later versions.

>>> c = resolve("molecules.csv", {"training": {"epochs": 5}, "data": {"target_columns": ["pce"]}})
>>> c.recipe.training.epochs, c.data.target_columns
(5, ('pce',))
>>> tomllib.loads(to_toml(c)) == to_dict(c)
True
"""

from __future__ import annotations

import json
import re
import shutil
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from ccn.errors import ConfigurationError, FileError
from ccn.files import lock, remove_unfinished, write_atomically
from ccn.learning.plain import plain
from ccn.methods.registry import make_method
from ccn.settings import setting
from ccn.training.execution import Machine
from ccn.training.recipe import RECIPES, SECTIONS, Recipe, changed
from ccn.training.recipe import recipe as named

if TYPE_CHECKING:
    from ccn.methods.method import Method

__all__ = [
    "RUN_SECTIONS", "Config", "Data", "Splitting", "begin_folder", "check_folder", "hold_folder", "merged",
    "read_config", "resolve", "to_dict", "to_toml",
]  # fmt: skip

_DEFAULT_METHOD = "ccn"
_FILE, _LOCK = "config.toml", ".run.lock"


@dataclass(frozen=True)
class Data:
    """Which column of a table means what; columns that are not named are detected."""

    target_columns: tuple[str, ...] = setting(
        (), "Column to learn; repeat it for several, or say all.", flags=("--target", "--target-columns")
    )
    smiles_column: str | None = setting(
        None, "Column of SMILES; detected by default.", flags=("--smiles-column", "--smiles-columns")
    )
    weight_column: str | None = setting(None, "Column of row weights.")
    group_column: str | None = setting(None, "Column of groups; the rows of a group stay in one part.")
    split_column: str | None = setting(
        None, "Column that says train, val or test.", flags=("--split-column", "--splits-column")
    )
    id_column: str | None = setting(None, "Column of identifiers, kept in predictions.csv.")
    task: Literal["classification", "regression"] | None = setting(
        None, "Detected by default: strings and a few integers are classes."
    )
    class_weight: Literal["balanced"] | None = setting(None, "Weight classes by their inverse frequency.")
    strict: bool = setting(False, "Stop at the first invalid row instead of dropping it.")


@dataclass(frozen=True)
class Splitting:
    """How rows are split into training, validation and test."""

    split: Literal["random", "stratified", "scaffold", "column"] | None = setting(
        None, "By default the split column if there is one, stratified for classes, else random."
    )
    fractions: tuple[float, ...] = setting((0.8, 0.1, 0.1), "Training, validation and test: 0.8,0.1,0.1.")
    splits_file: str | None = setting(None, "Read the split from the splits.json of a run.")
    duplicates: Literal["together", "ignore"] = setting(
        "together", "Keep duplicates of a molecule in one part, or ignore that they are duplicates."
    )


@dataclass(frozen=True)
class Config:
    """The configuration of a run.

    Attributes:
        method: one of :data:`ccn.methods.METHODS`.
        threads: of torch; None leaves the number as it is.
        left: settings of the recipe that were not given and that the method chooses on validation; files omit them.
    """

    source: str
    recipe: Recipe
    data: Data = field(default_factory=Data)
    splitting: Splitting = field(default_factory=Splitting)
    machine: Machine = field(default_factory=Machine)
    method: str = _DEFAULT_METHOD
    seed: int = 0
    threads: int | None = None
    left: tuple[str, ...] = ()

    def make(self, *, classification: bool) -> Method:
        """The method that is configured."""
        method = make_method(self.method, classification=classification, seed=self.seed)
        return method.with_recipe(self.recipe, method.chosen_fields() - set(self.left))


_SINGLE = ("source", "method", "recipe", "seed", "threads")
RUN_SECTIONS = {"data": Data, "splitting": Splitting, "machine": Machine}
"""The sections of a configuration beside those of the recipe."""


def resolve(
    source: str | None = None,
    given: Mapping[str, Mapping[str, Any]] | None = None,
    file: Mapping[str, Any] | None = None,
    **single: Any,
) -> Config:
    """The configuration from flags (``given``, and ``recipe``, ``seed``, ``threads``) and a parsed file.

    A value of None in ``single`` means that it is not given.
    """
    file, given = dict(file or {}), given or {}
    file.update({k: v for k, v in {"source": source, **single}.items() if v is not None})
    if file.get("source") is None:
        raise ConfigurationError("no data: give a file or the name of a data set, for example molecules.csv")
    method = make_method(str(file.get("method", _DEFAULT_METHOD)), classification=False)
    if "recipe" in file and not method.named_recipes:
        raise ConfigurationError(f"method {method.name}: it has one recipe only; leave out --recipe, or --method")
    recipe = named(str(file["recipe"])) if "recipe" in file else method.base_recipe()
    parts: dict[str, Any] = {name: kind() for name, kind in RUN_SECTIONS.items()}
    has = method.recipe_fields()
    seen: set[str] = set()
    for name, values in (*file.items(), *given.items()):
        if name in _SINGLE:
            continue
        if name not in (*RUN_SECTIONS, *SECTIONS) or not isinstance(values, Mapping):
            known = ", ".join((*_SINGLE, *(f"[{s}]" for s in (*RUN_SECTIONS, *SECTIONS))))
            raise ConfigurationError(f"{name}: not a setting of a run; a configuration has {known}")
        values = {k: None if v == "none" else v for k, v in values.items()}
        if name in RUN_SECTIONS:
            parts[name] = changed(parts[name], name, values)
            continue
        recipe = recipe.override(**{f"{name}__{k}": v for k, v in values.items()})
        for key in values:
            if key not in has.get(name, ()):
                raise ConfigurationError(f"[{name}] {key}: the method {method.name} has no such setting; leave it out")
        seen |= values.keys()
    return Config(
        str(file["source"]),
        recipe,
        **parts,
        method=method.name,
        seed=_integer("seed", file.get("seed", 0), 0),
        threads=None if file.get("threads", "none") == "none" else _integer("threads", file["threads"], 1),
        left=tuple(sorted(method.chosen_fields() - seen)),
    )


def _integer(name: str, value: Any, least: int) -> int:
    if type(value) is not int or value < least:
        raise ConfigurationError(f"{name}={value!r}: it must be an integer of at least {least}")
    return value


def merged(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """Two parsed files as one; the second takes precedence."""
    sections = {k: {**base[k], **v} for k, v in over.items() if isinstance(v, dict) and isinstance(base.get(k), dict)}
    return {**base, **over, **sections}


def to_dict(config: Config) -> dict[str, Any]:
    """Plain data for TOML and JSON; ``none`` stands for None."""
    method = make_method(config.method, classification=False)
    out: dict[str, Any] = {"source": config.source, "method": config.method}
    if method.named_recipes:
        out["recipe"] = config.recipe.name
    out |= {"seed": config.seed, "threads": _or_none(config.threads)}
    named = {name: [f.name for f in fields(kind)] for name, kind in RUN_SECTIONS.items()}
    has = method.recipe_fields()
    named |= {s: [f.name for f in fields(kind) if f.name in has.get(s, ())] for s, kind in SECTIONS.items()}
    for name, keys in named.items():
        section = getattr(config if name in RUN_SECTIONS else config.recipe, name)
        values = {key: _or_none(plain(getattr(section, key))) for key in keys if key not in config.left}
        if values:
            out[name] = values
    return out


def _or_none(value: Any) -> Any:
    return "none" if value is None else value


def to_toml(config: Config) -> str:
    """The configuration as a TOML file."""
    lines = []
    for key, value in to_dict(config).items():
        if isinstance(value, dict):
            lines += ["", f"[{key}]", *(f"{k} = {_toml(v)}" for k, v in value.items())]
        else:
            lines.append(f"{key} = {_toml(value)}")
    return "\n".join(lines) + "\n"


def _toml(value: Any) -> str:
    """One value: numbers, strings and lists as in JSON, a mapping as an inline table."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_toml_key(k)} = {_toml(v)}" for k, v in value.items() if v is not None) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_toml, value)) + "]"
    if isinstance(value, float):
        return repr(value)  # also nan and inf, which TOML has and JSON has not
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _toml_key(key: str) -> str:
    return key if re.fullmatch("[A-Za-z0-9_-]+", key) else _toml(key)


def read_config(path: str | Path) -> dict[str, Any]:
    """A configuration file as plain data, for :func:`resolve`."""
    try:
        found = tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise ConfigurationError(f"{path}: cannot be read as a TOML file ({error})") from None
    if "recipe" in found and str(found["recipe"]) not in RECIPES:
        raise ConfigurationError(f"{path}: recipe {found['recipe']!r} is not known; choose from {', '.join(RECIPES)}")
    return found


def check_folder(folder: Path, *, resume: bool, overwrite: bool, method: str | None = None) -> dict[str, Any] | None:
    """The configuration of the run in the folder that is to be resumed, if any; nothing is written yet.

    A folder that is not empty is taken only to resume or overwrite the run in it; other files are left alone. A run is
    resumed by the method that began it.
    """
    if resume and overwrite:
        raise ConfigurationError("--resume continues a run and --overwrite replaces it; give one of them")
    if folder.exists() and not folder.is_dir():
        raise FileError(f"{folder}: a file, not a folder; choose another output")
    if not folder.exists() or all(p.name.endswith((".part", ".lock")) for p in folder.iterdir()):
        return None  # new, or killed before its first file was written
    run = (folder / _FILE).is_file()
    if resume and run:
        before = read_config(folder / _FILE)
        began = before.get("method", _DEFAULT_METHOD)
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
    """Make the folder that :func:`check_folder` allowed, in place of an older run unless that is resumed.

    The configuration of an older run is replaced after the rest is removed: a folder that has files always has one.
    """
    folder.mkdir(parents=True, exist_ok=True)
    remove_unfinished(folder)
    if not resume and (folder / _FILE).is_file():
        for old in folder.iterdir():
            if old.is_dir() and not old.is_symlink():
                shutil.rmtree(old)
            elif old.name not in (_FILE, _LOCK):
                old.unlink()
    begun = any(folder.glob("checkpoints/**/checkpoint-*")) or (folder / "study.log").exists()
    if not (begun and (folder / _FILE).is_file()):  # other settings than those of a run that has begun are refused
        write_atomically(folder / _FILE, to_toml(config).encode())


@contextmanager
def hold_folder(folder: Path) -> Iterator[None]:
    """Keep other processes from writing a run into the folder; if it is new and stays empty, it is removed again."""
    new = not folder.exists()
    try:
        with lock(folder / "run", wait=False):
            yield
    finally:
        if new:
            with suppress(OSError):
                folder.rmdir()
