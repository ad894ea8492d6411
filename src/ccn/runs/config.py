"""The configuration of a run: everything that decides its result, as plain values in a TOML file.

Flags come before the file, the file before the recipe. The file that a run writes names every field, also
those that are off (``none``), so that it says the same whatever the defaults of a later version are.

>>> c = resolve("molecules.csv", {"training": {"epochs": 5}, "data": {"target_columns": ["pce"]}})
>>> c.recipe.training.epochs, c.data.target_columns
(5, ('pce',))
>>> parse(to_toml(c), "here") == to_dict(c)
True
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from ccn.errors import ConfigurationError
from ccn.learning.plain import plain
from ccn.methods.registry import make_method
from ccn.settings import setting
from ccn.training.execution import Machine
from ccn.training.recipe import RECIPES, SECTIONS, Recipe
from ccn.training.recipe import recipe as named

if TYPE_CHECKING:
    from ccn.methods.method import Method

__all__ = [
    "DEFAULT_METHOD",
    "OWN",
    "Config",
    "Data",
    "Splitting",
    "merged",
    "parse",
    "read_config",
    "resolve",
    "to_dict",
    "to_toml",
]


DEFAULT_METHOD = "ccn"


@dataclass(frozen=True)
class Data:
    """Which column of a table means what; columns that are not named are detected."""

    target_columns: tuple[str, ...] = setting(
        (), "Column to learn; repeat it for several.", flags=("--target", "--target-columns")
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
        method: ``ccn``, or one of :data:`ccn.methods.METHODS`, which has its own recipe.
        threads: of torch; None leaves the number as it is.
        left: settings of the recipe that were not given and that the method chooses on validation; files omit them.

    """

    source: str
    recipe: Recipe
    data: Data = field(default_factory=Data)
    splitting: Splitting = field(default_factory=Splitting)
    machine: Machine = field(default_factory=Machine)
    method: str = DEFAULT_METHOD
    seed: int = 0
    threads: int | None = None
    left: tuple[str, ...] = ()

    def make(self, *, classification: bool) -> Method:
        """The method that is configured."""
        method = make_method(self.method, classification=classification, seed=self.seed)
        return method.with_recipe(self.recipe, method.chosen_fields() - set(self.left))


SINGLE = ("source", "method", "recipe", "seed", "threads")
OWN = {"data": Data, "splitting": Splitting, "machine": Machine}


def resolve(
    source: str | None = None,
    given: Mapping[str, Mapping[str, Any]] | None = None,
    file: Mapping[str, Any] | None = None,
    **single: Any,
) -> Config:
    """The configuration from flags (``given``, and ``recipe``, ``seed``, ``threads``) and a parsed file.

    What is None in ``single`` is not given.
    """
    file, given = dict(file or {}), given or {}
    file.update({k: v for k, v in {"source": source, **single}.items() if v is not None})
    if file.get("source") is None:
        raise ConfigurationError("no data: give a file or the name of a data set, for example molecules.csv")
    method = make_method(str(file.get("method", DEFAULT_METHOD)), classification=False)
    _check_method(method, file, given)
    made = named(str(file["recipe"])) if "recipe" in file else method.base_recipe()
    own = {name: kind() for name, kind in OWN.items()}
    for section in (file, given):
        for name, values in section.items():
            if name in SINGLE:
                continue
            if name not in (*OWN, *SECTIONS) or not isinstance(values, Mapping):
                known = ", ".join((*SINGLE, *(f"[{s}]" for s in (*OWN, *SECTIONS))))
                raise ConfigurationError(f"{name}: not a setting of a run; a configuration has {known}")
            chosen = {k: None if v == "none" else v for k, v in values.items()}
            if name in SECTIONS:
                made = made.override(**{f"{name}__{k}": v for k, v in chosen.items()})
            else:
                own[name] = _changed(own[name], name, chosen)
    seed, threads = file.get("seed", 0), file.get("threads", "none")
    return Config(
        str(file["source"]),
        made,
        **own,
        method=method.name,
        seed=_whole("seed", seed, 0),
        threads=None if threads == "none" else _whole("threads", threads, 1),
        left=_left(method, file, given),
    )


def _left(method: Method, *sections: Mapping[str, Any]) -> tuple[str, ...]:
    """What a method chooses on validation, except for what was given."""
    named = {key for section in sections for name in SECTIONS for key in section.get(name, ())}
    return tuple(sorted(method.chosen_fields() - named))


def _check_method(method: Method, file: Mapping[str, Any], given: Mapping[str, Any]) -> None:
    """An error if settings are given that the method does not have."""
    if "recipe" in file and not method.named_recipes:
        raise ConfigurationError(f"method {method.name} has a recipe of its own; leave out --recipe, or --method")
    has = method.recipe_fields()
    for section, values in (*file.items(), *given.items()):
        unknown = [key for key in values if key not in has.get(section, ())] if section in SECTIONS else []
        if unknown:
            raise ConfigurationError(
                f"[{section}] {unknown[0]}: the method {method.name} has no such setting; leave it out"
            )


def merged(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """Two parsed files as one; what the second says comes first."""
    sections = {k: {**base[k], **v} for k, v in over.items() if isinstance(v, dict) and isinstance(base.get(k), dict)}
    return {**base, **over, **sections}


def _whole(name: str, value: Any, least: int) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise ConfigurationError(f"{name}={value!r}: it must be a whole number from {least}")
    return value


def _changed(section: Any, name: str, values: Mapping[str, Any]) -> Any:
    known = [f.name for f in fields(section)]
    for key in values:
        if key not in known:
            near = get_close_matches(key, known, n=1)
            hint = f"did you mean {near[0]}?" if near else f"choose from {', '.join(known)}"
            raise ConfigurationError(f"[{name}] {key}: there is no such setting; {hint}")
    return replace(section, **{k: tuple(v) if isinstance(v, list) else v for k, v in values.items()})


def to_dict(config: Config) -> dict[str, Any]:
    """Plain data for TOML and JSON; ``none`` stands for None."""
    method = make_method(config.method, classification=False)
    single: dict[str, Any] = {"source": config.source, "method": config.method}
    if method.named_recipes:
        single["recipe"] = config.recipe.name
    single |= {"seed": config.seed, "threads": config.threads}
    sections = {name: getattr(config, name) for name in OWN} | {n: getattr(config.recipe, n) for n in SECTIONS}
    out: dict[str, Any] = {key: _none(value) for key, value in single.items()}
    has = method.recipe_fields()
    for name, section in sections.items():
        named = [f.name for f in fields(section) if name in OWN or f.name in has.get(name, ())]
        named = [key for key in named if name in OWN or key not in config.left]
        if named:
            out[name] = {key: _none(plain(getattr(section, key))) for key in named}
    return out


def _none(value: Any) -> Any:
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
    """One value: JSON's numbers, strings and lists are TOML's too; a mapping becomes an inline table."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{k} = {_toml(v)}" for k, v in value.items() if v is not None) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_toml, value)) + "]"
    return json.dumps(value, ensure_ascii=False)


def parse(text: str, where: str) -> dict[str, Any]:
    """A configuration from the text of a TOML file."""
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigurationError(f"{where}: not a TOML file ({error})") from None


def read_config(path: str | Path) -> dict[str, Any]:
    """A configuration file as plain data, for :func:`resolve`."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"{path}: cannot be read as a configuration file ({error})") from None
    found = parse(text, str(path))
    if "recipe" in found and found["recipe"] not in RECIPES:
        raise ConfigurationError(f"{path}: recipe {found['recipe']!r} is not known; choose from {', '.join(RECIPES)}")
    return found
