"""The configuration of a run, and the folder that it is written to.

A configuration is everything that decides the result of a run, as plain values in a TOML file. Flags take precedence
over the file, the file over the recipe. The file that a run writes has every field but columns that were not named,
also those that are off (``none``), so that its meaning does not change with the defaults of later versions.

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
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from ccn.chemistry.standardise import Standard
from ccn.datasets.replicates import Joining
from ccn.errors import ConfigurationError, FileError
from ccn.files import lock, remove_unfinished, write_atomically
from ccn.learning.plain import plain
from ccn.methods.registry import make_method
from ccn.settings import Checked, setting
from ccn.training.execution import Machine
from ccn.training.recipe import SECTIONS, Features, Recipe, changed, from_dict
from ccn.training.recipe import recipe as named

if TYPE_CHECKING:
    from ccn.methods.method import Method

__all__ = [
    "RUN_SECTIONS", "Config", "Data", "Splitting", "begin_folder", "check_folder", "has_column", "hold_folder",
    "merged", "read_config", "resolve", "to_dict", "to_toml", "with_none",
]  # fmt: skip

_DEFAULT_METHOD = "auto"
_FILE, _LOCK = "config.toml", ".run.lock"
_FORMER = ".former"  # the run that another one replaces, until that is complete
_RESULTS = ("model.safetensors", "best.toml")  # written last
_FORMAT = 2  # of configuration files; those that 0.1 wrote do not say theirs


@dataclass(frozen=True)
class Data(Checked):
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
    id_column: str | None = setting(None, "Column of identifiers, copied to predictions.csv.")
    extra_columns: tuple[str, ...] = setting(
        (), "Numeric columns that are inputs beside the molecule: pH,temperature.", commas=True
    )
    auxiliary: tuple[str, ...] = setting(
        (),
        "Auxiliary targets of networks, used where they help: logp,logd. Rows with these alone are used too; they are "
        "not predicted, and predict does not need them.",
        commas=True,
    )
    sheet: str | None = setting(None, "Sheet of an .xlsx file, by its name; by default the first.")
    task: Literal["classification", "regression"] | None = setting(
        None, "Detected by default: strings and a few integers are classes."
    )
    class_weight: Literal["balanced"] | None = setting(None, "Weight classes by their inverse frequency.")
    max_atoms: int | None = setting(
        None, "Atoms above which a molecule is dropped, by default 2000.", least=1, below=10_001
    )
    standardise: Standard | None = setting(
        None, "Standard form of molecules: cleanup, parent (no salts and charges) or tautomer; stored in the model."
    )
    replicates: Joining = setting(
        "keep", "Join rows of one molecule by the mean or median of each target, or keep them."
    )
    strict: bool = setting(False, "Stop at the first invalid row instead of dropping it.")
    share_training: bool = setting(
        False,
        "Store the training molecules and their values in the model file, so that everyone who has it sees the "
        "neighbours of a prediction; otherwise they are beside it in training.csv.gz.",
    )


@dataclass(frozen=True)
class Splitting(Checked):
    """How rows are split into training, validation and test."""

    split: Literal["random", "stratified", "scaffold", "column"] | None = setting(
        None, "By default the split column if there is one, stratified for classes, else random."
    )
    fractions: tuple[float, ...] = setting((0.8, 0.1, 0.1), "Training, validation and test: 0.8,0.1,0.1.", least=0)
    folds: int | None = setting(
        None, "Cross-validate in so many folds of all rows, then fit the model on all of them.", least=2, below=101
    )
    splits_file: str | None = setting(None, "Read the split from the splits.json of a run.")
    duplicates: Literal["together", "ignore"] | None = setting(
        None,
        "Keep duplicates of a molecule together in one part, or ignore that they are duplicates; by default together, "
        "but a split column is followed as it is.",
    )


@dataclass(frozen=True)
class Config:
    """The configuration of a run.

    Attributes:
        method: one of :data:`ccn.methods.METHODS`.
        budget: of the method ``auto``; None for its own.
        threads: of torch; None leaves the number as it is.
        start: the file of a model, or the folder of its run, whose weights the networks begin with.
        left: settings of the recipe that were not given and that the method chooses on validation; files omit them.
    """

    source: str
    recipe: Recipe
    data: Data = field(default_factory=Data)
    splitting: Splitting = field(default_factory=Splitting)
    machine: Machine = field(default_factory=Machine)
    method: str = _DEFAULT_METHOD
    budget: str | None = None
    seed: int = 0
    threads: int | None = None
    left: tuple[str, ...] = ()
    start: str | None = None

    def make(self, *, classification: bool) -> Method:
        """The method that is configured."""
        options = {} if self.budget is None else {"budget": self.budget}
        method = make_method(self.method, classification=classification, seed=self.seed, **options)
        return method.with_recipe(self.recipe, method.chosen_fields() - set(self.left))


_SINGLE = ("format", "source", "method", "budget", "recipe", "from", "seed", "threads")
RUN_SECTIONS = {"data": Data, "splitting": Splitting, "machine": Machine}
"""The sections of a configuration beside those of the recipe."""


def resolve(
    source: str | None = None,
    given: Mapping[str, Mapping[str, Any]] | None = None,
    file: Mapping[str, Any] | None = None,
    **single: Any,
) -> Config:
    """The configuration from flags (``given``, and ``recipe``, ``from``, ``seed``, ``threads``) and a parsed file.

    A value of None in ``single`` means that it is not given. ``from`` names a model to start from: its method, its
    recipe at a tenth of the learning rate, its features, extra columns and standard form of molecules are the defaults.
    """
    file, given = dict(file or {}), given or {}
    file.update({k: v for k, v in {"source": source, **single}.items() if v is not None})
    if file.get("source") is None:
        raise ConfigurationError("no data: give a file or the name of a data set, for example molecules.csv")
    _check(file)
    from ccn.learning.model_file import describe  # loads torch

    begun = None if "from" not in file else describe(file["from"])
    method = make_method(file.get("method", begun["method"] if begun else _DEFAULT_METHOD), classification=False)
    if "recipe" in file and not method.named_recipes:
        raise ConfigurationError(f"method {method.name}: it has one recipe only; leave out --recipe, or --method")
    recipe = named(file["recipe"]) if "recipe" in file else method.base_recipe()
    if begun:
        recipe = _started(file, begun, method)
    base = recipe
    parts: dict[str, Any] = {name: kind() for name, kind in RUN_SECTIONS.items()}
    has = method.recipe_fields()
    seen: set[str] = set()
    for name, values in (*file.items(), *given.items()):
        if name in _SINGLE:
            continue
        values = with_none(file["source"], values)
        if name in RUN_SECTIONS:
            parts[name] = changed(parts[name], name, values)
            continue
        recipe = recipe.override(**{f"{name}__{k}": v for k, v in values.items()})
        for key in values:
            if key not in has.get(name, ()):
                raise ConfigurationError(f"[{name}] {key}: the method {method.name} has no such setting; leave it out")
        seen |= values.keys()
    _check_features(recipe.features)
    left = method.chosen_fields() - seen
    if begun:
        _check_started(file["from"], begun, base, recipe, parts["data"])
        how = {name: v for name, of in _INHERITED.items() if (v := begun["inputs"].get(of))}
        parts["data"] = changed(parts["data"], "data", how)
        left = set()
    return Config(
        file["source"],
        recipe,
        **parts,
        method=method.name,
        budget=file.get("budget"),
        seed=file.get("seed", 0),
        threads=None if file.get("threads", "none") == "none" else file["threads"],
        left=tuple(sorted(left)),
        start=file.get("from"),
    )


_INHERITED = {"standardise": "standardise", "max_atoms": "max_atoms", "extra_columns": "columns"}
"""Settings of the data that fine-tuning takes over, and what the inputs of a model call them."""


def _started(file: Mapping[str, Any], begun: Mapping[str, Any], method: Method) -> Recipe:
    """The recipe of a model to start from, at a tenth of its learning rate."""
    where, how = f"--from {file['from']}", begun["learned"].get("recipe")
    if begun["method"] != method.name:
        raise ConfigurationError(
            f"{where}: a model of the method {begun['method']}, not {method.name}; leave out --method"
        )
    if how is None:
        raise ConfigurationError(f"{where}: the method {method.name} is no network; give a model of --method ccn")
    recipe = from_dict(how)
    if file.get("recipe", recipe.name) != recipe.name:
        raise ConfigurationError(
            f"{where}: trained by the recipe {recipe.name}, not {file['recipe']}; leave out --recipe"
        )
    if begun["inputs"]["molecules"] is not None:
        recipe = recipe.override(**{k: begun["inputs"][k] for k in ("molecules", "hydrogens")})
    o = recipe.optimiser
    rates = {} if isinstance(o.learning_rate, str) else {"learning_rate": o.learning_rate / 10}
    return recipe.override(**rates, final_rate=o.final_rate / 10)


def _check_started(start: str, begun: Mapping[str, Any], base: Recipe, recipe: Recipe, data: Data) -> None:
    """An error that names a setting that differs from that of the model to start from."""
    pairs = [
        (f.name, getattr(old, f.name), getattr(new, f.name))
        for old, new in ((base.network, recipe.network), (base.features, recipe.features))
        for f in fields(old)
    ]
    given = {name: plain(value) for name in _INHERITED if (value := getattr(data, name))}
    pairs += [(name, plain(begun["inputs"].get(_INHERITED[name])), value) for name, value in given.items()]
    for name, old, new in pairs:
        if old != new:
            raise ConfigurationError(
                f"{name}={new!r}: the model to start from (--from {start}) has {old!r}; leave it out"
            )


def _check(file: Mapping[str, Any]) -> None:
    """An error about a name that is not known, or about a setting outside sections with a value of another type."""
    sections = {**RUN_SECTIONS, **SECTIONS}
    for name, values in file.items():
        if name not in _SINGLE and not (name in sections and isinstance(values, Mapping)):
            known = ", ".join((*_SINGLE, *(f"[{s}]" for s in sections)))
            raise ConfigurationError(f"{name}: not a setting of a run; a configuration has {known}")
    integers = {"seed": (0, 2**32 - 1), "threads": (1, 1024), "format": (_FORMAT, _FORMAT)}
    for name in file.keys() & set(_SINGLE):
        value = file[name]
        if name in integers and not (name == "threads" and value == "none"):
            low, high = integers[name]
            if type(value) is not int or not low <= value <= high:
                raise ConfigurationError(f"{name}={value!r}: it must be an integer from {low} to {high}")
        elif not isinstance(value, str):
            raise ConfigurationError(f"{name}={value!r}: it must be a text")


def _check_features(features: Features) -> None:
    """An error unless there are such features of molecules and vertices."""
    from ccn.chemistry.properties import molecule_features
    from ccn.features.vertices import vertex_features

    made: dict[str, Callable[[Any], Any]] = {"molecules": molecule_features, "vertices": vertex_features}
    for name, make in made.items():
        value = getattr(features, name)
        try:
            make(value)
        except ConfigurationError as error:
            raise ConfigurationError(f"{name}={value!r}: {error}") from None


def has_column(source: str, name: str, sheet: str | None = None) -> bool:
    """Whether a source is a table with a column of this name; a named data set has no columns to name."""
    from ccn.datasets import options_of
    from ccn.datasets.tables import open_table

    return "target_columns" in options_of(source) and name in open_table(source, sheet=sheet).columns


def with_none(source: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """Values of settings with None for ``none``, unless that is the name of a column of the source."""
    out = dict(values)
    for key, value in values.items():
        if isinstance(value, str) and value == "none" and not (key.endswith("_column") and has_column(source, "none")):
            out[key] = None
    return out


def merged(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """Two parsed files as one; the second takes precedence."""
    sections = {k: {**base[k], **v} for k, v in over.items() if isinstance(v, dict) and isinstance(base.get(k), dict)}
    return {**base, **over, **sections}


def to_dict(config: Config) -> dict[str, Any]:
    """Plain data for TOML and JSON; ``none`` stands for None, except for columns, which are left out."""
    method = make_method(config.method, classification=False)
    out: dict[str, Any] = {"format": _FORMAT, "source": config.source, "method": config.method}
    if config.budget is not None:
        out["budget"] = config.budget
    if method.named_recipes:
        out["recipe"] = config.recipe.name
    out |= {} if config.start is None else {"from": config.start}
    out |= {"seed": config.seed, "threads": _or_none(config.threads)}
    named = {name: [f.name for f in fields(kind)] for name, kind in RUN_SECTIONS.items()}
    has = method.recipe_fields()
    named |= {s: [f.name for f in fields(kind) if f.name in has.get(s, ())] for s, kind in SECTIONS.items()}
    for name, keys in named.items():
        section = getattr(config if name in RUN_SECTIONS else config.recipe, name)
        plainly = {key: plain(getattr(section, key)) for key in keys if key not in config.left}
        values = {k: _or_none(v) for k, v in plainly.items() if v is not None or not k.endswith("_column")}
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
    from ccn.learning.old_files import with_auto

    if "format" not in found and {"source", "seed", "threads", *RUN_SECTIONS} <= found.keys():  # written by 0.1
        found = {"method": "ccn", **with_auto(found)}
        if isinstance(found["data"], dict):
            found["data"] = {k: v for k, v in found["data"].items() if v != "none"}
    try:
        _check(found)
        make_method(found.get("method", _DEFAULT_METHOD), classification=False)
        named(found.get("recipe", "default"))
        for section, kind in {**RUN_SECTIONS, **SECTIONS}.items():
            for name, value in found.get(section, {}).items():
                try:
                    made = changed(kind(), section, {name: None if value == "none" else value})
                    if isinstance(made, Features):
                        _check_features(made)
                except ConfigurationError as error:
                    raise ConfigurationError(f"{section}.{str(error).removeprefix(f'{section}.')}") from None
    except ConfigurationError as error:
        raise ConfigurationError(f"{path}: {error}") from None
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
    if not folder.exists() or all(p.name.endswith((".part", ".lock", _FORMER)) for p in folder.iterdir()):
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

    An older run is moved into the folder ``.former``, its configuration last, and removed when the new one is complete
    (:func:`hold_folder`). A folder without a configuration has no other files than those.
    """
    folder.mkdir(parents=True, exist_ok=True)
    remove_unfinished(folder)
    former = folder / _FORMER
    if former.is_dir() and not (former / _FILE).exists():  # the move was cut: back to the older run
        for moved in former.iterdir():
            moved.rename(folder / moved.name)
        former.rmdir()
    if not resume and (folder / _FILE).is_file():
        files = [p for p in folder.iterdir() if p.name not in (_FILE, _LOCK, _FORMER)]
        if former.is_dir() and not any(p.name in _RESULTS for p in files):
            for old in files:  # of a run that was to replace the former one and did not end
                shutil.rmtree(old) if old.is_dir() and not old.is_symlink() else old.unlink()
        else:
            _remove_former(folder)
            former.mkdir()
            for old in (*files, folder / _FILE):
                old.rename(former / old.name)
    begun = any(folder.glob("checkpoints/**/checkpoint-*")) or (folder / "study.log").exists()
    if not (begun and (folder / _FILE).is_file()):  # other settings than those of a run that has begun are refused
        write_atomically(folder / _FILE, to_toml(config).encode())


def _remove_former(folder: Path) -> None:
    """Remove the run that another one has replaced; in one step, so that no part of it is taken for a run."""
    with suppress(OSError):
        gone = (folder / _FORMER).rename(folder / f"{_FORMER}.part")
        shutil.rmtree(gone, ignore_errors=True)


@contextmanager
def hold_folder(folder: Path) -> Iterator[None]:
    """Keep other processes from writing a run into the folder; if it is new and stays empty, it is removed again.

    At the end, unless by an error, the run that was in the folder before is removed.
    """
    new = not folder.exists()
    try:
        with lock(folder / "run", wait=False):
            yield
            _remove_former(folder)
    finally:
        if new:
            with suppress(OSError):
                folder.rmdir()
