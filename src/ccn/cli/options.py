"""Options that commands share: flags made from the settings' dataclasses, and one dataclass per family of verbs.

The settings and their help are declared in :mod:`ccn.training.recipe`, :mod:`ccn.training.execution` and
:mod:`ccn.runs.config`; here their fields become flags that are None unless given.
"""

from __future__ import annotations

import csv
import types
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, fields, make_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from cyclopts import Group, Parameter

from ccn.runs.config import RUN_SECTIONS
from ccn.training.recipe import SECTIONS

if TYPE_CHECKING:
    from ccn.runs.config import Config
    from ccn.runs.predict import Options as PredictOptions

__all__ = [
    "ALL_SECTIONS", "Device", "Flag", "Json", "ModelPath", "Output", "Quiet", "Rows", "Settings", "Smiles", "Source",
    "Stream", "Threads", "flags_of", "given",
]  # fmt: skip

Flag = Annotated[bool, Parameter(negative="", show_default=False)]
Quiet = Annotated[bool, Parameter(negative="", show_default=False, help="No progress and no messages except errors.")]
Json = Annotated[bool, Parameter(negative="", show_default=False, help="Print the result as JSON.")]
Threads = Annotated[int | None, Parameter(help="Torch threads.")]
Device = Annotated[str, Parameter(help="cpu, cuda, mps or auto.")]
ModelPath = Annotated[Path, Parameter(help="A model file or the folder of a run.")]
Output = Parameter(name=("--output", "-o"))
_SMILES = "Column of SMILES; by default that of training, or detected."
Smiles = Annotated[str | None, Parameter(name=("--smiles-column", "--smiles-columns"), help=_SMILES)]
_SOURCE = "A table of molecules (CSV, TSV, Parquet, SDF, SMILES), or a name that `ccn data list` shows."
Source = Annotated[str, Parameter(help=_SOURCE)]
_ROWS = "A table of molecules, or a .jsonl file for a model of graphs; - reads standard input."
Rows = Annotated[str, Parameter(allow_leading_hyphen=True, help=_ROWS)]


def _not_a_flag(kind: Any, value: str) -> None:
    if value.startswith("-") and value != "-":
        raise ValueError(f"{value} is not a file; write ./{value} if it is")


_OutputOrPipe = Parameter(name=("--output", "-o"), allow_leading_hyphen=True, validator=_not_a_flag)

ALL_SECTIONS: dict[str, type] = {**RUN_SECTIONS, **SECTIONS}
_TITLES = {"data": "Columns", "splitting": "Splits"}


def flags_of(sections: Mapping[str, type], *, without: Collection[str] = (), **how: Any) -> Any:
    """A dataclass with a flag for every setting of some sections, in one group of the help per section."""
    made = []
    for section, kind in sections.items():
        group = Group(_TITLES.get(section, section.capitalize()), sort_key=10 + list(ALL_SECTIONS).index(section))
        hints = get_type_hints(kind)
        for f in fields(kind):
            names = f.metadata["flags"]
            if names == () or f.name in without:
                continue
            typed, more = _flag(hints[f.name]), how if hints[f.name] == tuple[str, ...] else {}
            flag = Parameter(name=names, help=f.metadata["help"], group=group, **more)
            made.append((f.name, Annotated[typed | None, flag], None))
    out = make_dataclass("Flags", made, frozen=True, kw_only=True)
    out.__module__ = __name__  # else cyclopts takes it for a built-in type
    return Annotated[out, Parameter(name="*")]


def _members(hint: Any) -> list[Any]:
    """The types of a setting, without None."""
    members = get_args(hint) if get_origin(hint) in (Union, types.UnionType) else (hint,)
    return [m for m in members if m is not type(None)]


def _several(hint: Any) -> bool:
    """Whether a setting has several forms, such as a number or a list of numbers; its flag is read as text."""
    return len(_members(hint)) > 1 or hint is Any or get_origin(hint) is tuple


def _flag(hint: Any) -> Any:
    """The type of the flag of a setting; ``none`` is a choice where the setting may be None."""
    if hint == tuple[str, ...]:
        return Annotated[list[str], Parameter(negative="")]
    (kind,) = [str] if _several(hint) else _members(hint)
    if kind is str or type(None) not in get_args(hint):
        return kind
    return Literal[*get_args(kind), "none"] if get_origin(kind) is Literal else kind | Literal["none"]


def given(sections: Mapping[str, type], flags: Any) -> dict[str, dict[str, Any]]:
    """The flags that were given, as values of each section of the configuration."""
    found: dict[str, dict[str, Any]] = {}
    for section, kind in sections.items():
        hints = get_type_hints(kind)
        for f in fields(kind):
            value = getattr(flags, f.name, None)
            if value is not None:
                if f.metadata["commas"]:
                    value = [name for part in csv.reader(value, skipinitialspace=True) for name in part]
                read = _read(value) if isinstance(value, str) and _several(hints[f.name]) else value
                found.setdefault(section, {})[f.name] = read
    return found


def _read(text: str) -> Any:
    """The value of a text: ``true``, ``2``, ``2,2,1``; other words are strings."""
    if "," in text:
        return tuple(_read(part.strip()) for part in text.split(","))
    if text in ("true", "false"):
        return text == "true"
    for number in (int, float):
        try:
            return number(text)
        except ValueError:
            continue
    return text


if TYPE_CHECKING:
    _Flags = Any
else:
    _Flags = flags_of(ALL_SECTIONS)


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class Settings:
    """The options of ``train`` and ``tune``."""

    recipe: Literal["default", "paper"] | None = None
    """Settings that are not given: default, or paper for those of Kondor et al. (2018)."""
    config: Path | None = None
    """TOML file of settings, such as the config.toml of a run; flags take precedence."""
    seed: int | None = None
    """Random seed; same seed, same result."""
    threads: Threads = None
    time_limit: float | None = None
    """Seconds after which training stops with the best so far, or a search starts no trial."""
    resume: Flag = False
    """Resume what is in the output folder, with its settings."""
    overwrite: Flag = False
    """Replace what is in the output folder."""
    quiet: Quiet = False
    json: Json = False
    flags: _Flags | None = None

    def resolve(
        self, source: str | None, folder: Path, *, method: str | None = None, check: bool = True
    ) -> tuple[Config, set[str]]:
        """The configuration of a run in a folder, and the names of the settings that flags or the file gave."""
        from ccn.runs.config import check_folder, merged, read_config, resolve

        flags = given(ALL_SECTIONS, self.flags)
        file: dict[str, Any] = {} if self.config is None else read_config(self.config)
        asked = method or file.get("method")
        how = {"resume": self.resume, "overwrite": self.overwrite}
        before = check_folder(folder, **how, method=asked) if check else None
        single = {"method": method, "recipe": self.recipe, "seed": self.seed, "threads": self.threads}
        named = {f"{s}.{key}" for part in (file, flags) for s, v in part.items() if isinstance(v, dict) for key in v}
        return resolve(source, flags, merged(before or {}, file), **single), named


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class Stream:
    """The options of ``predict`` and ``embed``."""

    output: Annotated[str, _OutputOrPipe] = "-"
    """File to write, in the format of its suffix; - writes to standard output."""
    smiles_column: Smiles = None
    resume: Flag = False
    """Resume an interrupted command with this output."""
    overwrite: Flag = False
    """Start over instead."""
    spreadsheet_safe: Flag = False
    """For CSV files that are opened in a spreadsheet: put an apostrophe before cells that begin with =, +, -, @, a tab
    or a carriage return and are not numbers, which it could run as formulas."""
    cluster: str | None = None
    """Address of a Dask scheduler, such as tcp://host:8786; local starts one here."""
    processes: int | None = None
    """Processes on this machine; by default one per core."""
    device: Device = "cpu"
    chunk: int = 1000
    """Rows per batch."""
    quiet: Quiet = False
    json: Json = False

    @contextmanager
    def progress(self) -> Iterator[PredictOptions]:
        """The options of ``predict_file`` and ``embed_file``, with progress on the terminal around the call."""
        from ccn.cli.show import say
        from ccn.progress import progress
        from ccn.runs.predict import Options

        try:
            with progress("reading", shown=not (self.quiet or self.json)) as tell:
                shared = {f.name: getattr(self, f.name) for f in fields(Options) if hasattr(self, f.name)}
                yield Options(**shared, tell=tell)
        except KeyboardInterrupt:
            if self.output != "-":
                say(self.quiet)(f"interrupted; {self.output}.part has the rows so far: add --resume")
            raise
