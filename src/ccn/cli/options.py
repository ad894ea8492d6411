"""Options that commands share: flags made from the settings' dataclasses, and one dataclass per family of verbs.

The settings and their help are declared in :mod:`ccn.training.recipe`, :mod:`ccn.training.execution` and
:mod:`ccn.runs.config`; here their fields become flags that are None unless given.
"""

from __future__ import annotations

import csv
import os
import re
import shlex
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, fields, make_dataclass
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from cyclopts import Group, Parameter

from ccn.errors import CCNError, ConfigurationError
from ccn.runs.config import RUN_SECTIONS
from ccn.settings import forms
from ccn.training.recipe import SECTIONS

if TYPE_CHECKING:
    from ccn.runs.config import Config
    from ccn.runs.predict import Options as PredictOptions

__all__ = [
    "ALL_SECTIONS", "Device", "Flag", "Json", "ModelPath", "More", "Output", "Quiet", "Rows", "Settings", "Sheet",
    "Smiles", "Source", "Stream", "Threads", "about_columns", "flags_of", "given", "with_flags",
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
Sheet = Annotated[str | None, Parameter(help="Sheet of an .xlsx file, by its name; by default the first.")]
_SOURCE = "A table of molecules (CSV, TSV, Excel, Parquet, SDF, SMILES), or a name that `ccn data list` shows."
Source = Annotated[str, Parameter(help=_SOURCE)]


def _not_a_flag(kind: Any, value: str | None) -> None:
    if value is not None and value.startswith("-") and value != "-":
        raise ValueError(f"{value} is not a file; write ./{value} if it is")


_ROWS = "A table of molecules, a .jsonl file for a model of graphs, - for standard input, or one or more SMILES."
Rows = Annotated[str, Parameter(allow_leading_hyphen=True, validator=_not_a_flag, help=_ROWS)]
More = Annotated[str, Parameter(help="Further SMILES.")]
_OutputOrPipe = Parameter(name=("--output", "-o"), allow_leading_hyphen=True, validator=_not_a_flag)

ALL_SECTIONS: dict[str, type] = {**RUN_SECTIONS, **SECTIONS}
_TITLES = {"data": "Columns", "splitting": "Splits"}


class _NotGiven:
    """Lets a flag be None, which its type does not say, where pydantic is imported and cyclopts validates with it."""

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:
        from pydantic_core import core_schema

        return core_schema.any_schema()


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
            made.append(
                (f.name, Annotated[typed, flag, _NotGiven()], None)
            )  # without | None, for which ``none`` would be read
    out = make_dataclass("Flags", made, frozen=True, kw_only=True)
    out.__module__ = __name__  # else cyclopts takes it for a built-in type
    return Annotated[out, Parameter(name="*")]


def _several(hint: Any) -> bool:
    """Whether a setting has forms that a flag cannot have, such as lists between commas; it is read as text."""
    kinds = forms(hint)
    return hint is Any or any(get_origin(k) in (tuple, Callable) for k in kinds) or (bool in kinds and len(kinds) > 1)


def _flag(hint: Any) -> Any:
    """The type of the flag of a setting; ``none`` is a choice where the setting may be None."""
    if hint == tuple[str, ...]:
        return Annotated[list[str], Parameter(negative="")]
    kinds = (str,) if _several(hint) else forms(hint)
    words = [w for k in kinds for w in (get_args(k) if get_origin(k) is Literal else ["none"] * (k is type(None)))]
    plain = [k for k in kinds if get_origin(k) is not Literal and k is not type(None)]
    if plain == [str] or not words:
        return plain[0]
    return Union[*plain, Literal[*words]]


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


_FLAGS = {
    f.name: (section, ("--" + f.name.replace("_", "-"),) if f.metadata["flags"] is None else f.metadata["flags"])
    for section, kind in ALL_SECTIONS.items()
    for f in fields(kind)
} | {"seed": ("", ("--seed",)), "threads": ("", ("--threads",))}
_NAMES = "|".join(_FLAGS)
_VALUE = r"""'[^']*'|"[^"]*"|\([^()]*\)|\[[^\[\]]*\]|\{[^{}]*\}|[^\s,;:)]+"""
_NAMED = re.compile(rf"(?<!\.toml: )(?<![^\s(])({_NAMES})=({_VALUE})|(?<=\()({_NAMES})(?=\))")


def with_flags(message: str, words: Sequence[str]) -> str:
    """An error with flags for the settings that it names as ``name=value`` or ``(name)``.

    What the error is about, and the file of --config sets and no flag of the command's words, is named as in the file.

    Example:
        >>> with_flags("max_part=0: it must be more; pass adjacency=False", [])
        '--max-part 0: it must be more; pass --adjacency false'
    """
    from ccn.runs.config import read_config

    flags = [word.partition("=")[0] for word in words]
    at = flags.index("--config") if "--config" in flags else None
    path = None if at is None else words[at].partition("=")[2] or words[at + 1]

    def named(found: re.Match[str]) -> str:
        name, value = found[1] or found[3], found[2]
        section, own = _FLAGS[name]
        about = value is None or found.start() == 0
        if path and about and not set(own) & set(flags) and name in read_config(path).get(section, {}):
            return f"{path}: {section}.{found[0]}"
        if not own or value is None:
            return own[0] if own else found[0]
        if value in ("True", "False") and section and get_type_hints(ALL_SECTIONS[section])[name] is bool:
            return own[0] if value == "True" else f"--no-{own[0][2:]}"
        if value[0] in "([":
            return f"{own[0]} {','.join(part.strip() for part in value[1:-1].split(',') if part.strip()) or value}"
        return f"{own[0]} {value.lower() if value in ('None', 'True', 'False') else value}"

    return _NAMED.sub(named, message)


def about_columns(words: Sequence[str]) -> str:
    """What to write where several words follow a flag of columns: several flags, or one name in quotes.

    If one of the words is a table, names are columns of it; otherwise all words up to the next flag are one name.
    """
    from ccn.datasets.tables import open_table

    columns: set[str] = set()
    for word in words:
        with suppress(CCNError, OSError):
            columns |= set(open_table(word).columns) if os.path.isfile(word) else set()
    flags = {flag for section, own in _FLAGS.values() for flag in own if section == "data"}
    for i, word in enumerate(words):
        flag, equals, first = word.partition("=")
        rest = [*([first] if equals else []), *takewhile(lambda w: not w.startswith("-"), words[i + 1 :])]
        names = [" ".join(rest[:count]) for count in range(len(rest), 1, -1)] if flag in flags else []
        if names and columns.issuperset(rest):
            return "repeat the flag for each column: " + " ".join(f"{flag} {shlex.quote(name)}" for name in rest)
        if names:
            name = next((name for name in names if name in columns), names[0])
            return f"a name with blanks needs quotes: {flag} {shlex.quote(name)}"
    return ""


def _read(text: str) -> Any:
    """The value of a text: ``true``, ``2``, ``2,2,1``, ``abx,xy->ab axx,by->ab``; other words are strings."""
    if "->" in text:
        return tuple(text.split())
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

    recipe: Literal["default", "paper", "authors"] | None = None
    """Settings that are not given: default, paper for those of Kondor et al. (2018), or authors for those of their
    code.
    """
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
        self,
        source: str | None,
        folder: Path,
        *,
        method: str | None = None,
        budget: str | None = None,
        start: Path | None = None,
        check: bool = True,
    ) -> tuple[Config, set[str]]:
        """The configuration of a run in a folder, and the names of the settings that flags or the file gave."""
        from ccn.runs.config import check_folder, merged, read_config, resolve

        flags = given(ALL_SECTIONS, self.flags)
        file: dict[str, Any] = {} if self.config is None else read_config(self.config)
        asked = method or file.get("method")
        how = {"resume": self.resume, "overwrite": self.overwrite}
        before = check_folder(folder, **how, method=asked) if check else None
        if before is not None and start is not None and before.get("from") != str(start):
            raise ConfigurationError(
                f"{folder}: the run in it began from {before.get('from')}; leave out --from {start}"
            )
        single = {"method": method, "budget": budget, "recipe": self.recipe, "seed": self.seed, "threads": self.threads}
        single["from"] = None if start is None else str(start)
        named = {f"{s}.{key}" for part in (file, flags) for s, v in part.items() if isinstance(v, dict) for key in v}
        return resolve(source, flags, merged(before or {}, file), **single), named


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class Stream:
    """The options of ``predict`` and ``embed``."""

    output: Annotated[str | None, _OutputOrPipe] = None
    """File to write, in the format of its suffix; - writes to standard output, as without it if a file is read."""
    smiles_column: Smiles = None
    sheet: Sheet = None
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
    chunk: int | None = None
    """Rows per task; by default 500, on a cluster 1000."""
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
                yield Options(**shared, tell=tell, say=lambda line: tell(0, line))
        except KeyboardInterrupt:
            if self.output not in (None, "-"):
                say(self.quiet)(f"interrupted; {self.output}.part has the rows so far: add --resume")
            raise
