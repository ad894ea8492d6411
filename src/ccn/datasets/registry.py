"""The named data sets: the file of each, where it is looked for, and from where it can be downloaded."""

from __future__ import annotations

import hashlib
import importlib.util
import logging
import os
import tempfile
import tomllib
import zipfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, NamedTuple

from ccn.datasets.archives import read_zip
from ccn.errors import DataError, FileError
from ccn.files import cache_folder, write_atomically

__all__ = ["ENTRIES", "Entry", "Found", "entry_of", "fetch", "find"]

_SECONDS = (4.0, 30.0)  # to connect, and between two packets


@dataclass(frozen=True)
class Entry:
    """A named data set.

    Attributes:
        file: its path below a data folder.
        kind: which reader reads it.
        beside: optional files beside it, and their content.
        url, sha256: a public source and the hashes of its text files; none where there is no such source.
        what: its content.
        package: the PyPI package that contains it, as (module, folder inside).
        origin: where it comes from, and whom to cite.
        licence: as stated by the source.
    """

    name: str
    file: str
    kind: str
    origin: str
    licence: str
    what: str
    beside: Mapping[str, str] = field(default_factory=dict)
    url: str | None = None
    sha256: Mapping[str, str] = field(default_factory=dict)
    package: tuple[str, str] | None = None


_TABLE = tomllib.loads((Path(__file__).parent / "registry.toml").read_text(encoding="utf-8"))
ENTRIES = {name: Entry(name, **fields) for name, fields in _TABLE.items()}
"""All named data sets."""


class Found(NamedTuple):
    """The file (or folder) of a data set, and in which place it was found."""

    path: Path
    place: str


def entry_of(name: str) -> Entry | None:
    """The entry of this name, whatever its case."""
    return next((e for e in ENTRIES.values() if e.name.lower() == name.lower()), None)


def _data_folders() -> Iterable[tuple[str, Path]]:
    if given := os.environ.get("CCN_DATA"):
        yield "CCN_DATA", Path(given)
    yield "cache", cache_folder() / "data"


def find(entry: Entry) -> Found | None:
    """Where the data set is: in ``CCN_DATA``, the cache, this package, or an installed package; else None."""
    for place, folder in _data_folders():
        if (path := folder / entry.file).is_file():
            return Found(path, place)
    if entry.name == "MUTAG":
        return Found(Path(__file__).parent / "mutag" / "MUTAG.zip", "ccn itself")
    if entry.package is not None:
        module, inside = entry.package
        # Located without being imported: importing qm9pack fails with current setuptools.
        spec = importlib.util.find_spec(module)
        for root in (spec.submodule_search_locations or []) if spec is not None else []:
            if (path := Path(root) / inside).is_dir():
                return Found(path, f"package {module}")
    return None


def _where_to_put(entry: Entry) -> str:
    places = " or ".join(str(folder / entry.file) for _, folder in _data_folders())
    name = Path(entry.file).name
    more = "".join(f"; beside it, if you have it, {file} ({what})" for file, what in entry.beside.items())
    env = "" if os.environ.get("CCN_DATA") else f", or at {entry.file} in a folder that CCN_DATA names"
    package = f"; or pip install {entry.package[0]}, which contains it" if entry.package else ""
    return f"put {name} ({entry.what}) at {places}{env}{more}{package}"


def fetch(entry: Entry) -> Found:
    """Download the data set into the cache and check it; an error says which file to put where."""
    if entry.url is None:
        raise DataError(f"{entry.name} is not available here and has no public source: {_where_to_put(entry)}")
    import pooch

    pooch.get_logger().setLevel(logging.WARNING)
    target = cache_folder() / "data" / entry.file
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory() as folder:
            try:
                got = pooch.retrieve(
                    entry.url,
                    known_hash=None,  # of the archive; the text files inside are checked below
                    path=folder,
                    fname="download.zip",
                    downloader=pooch.HTTPDownloader(timeout=_SECONDS),
                )
            except Exception as error:  # whatever the network or its libraries raise
                raise DataError(
                    f"{entry.name} is not available here and cannot be downloaded from {entry.url} "
                    f"({type(error).__name__}): {_where_to_put(entry)}"
                ) from None
            checked = _checked(entry, Path(got))

        def save(file: IO[bytes]) -> None:
            with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
                for name, content in checked.items():
                    archive.writestr(f"{entry.name}/{name}", content)

        write_atomically(target, save)
    except (OSError, FileError) as error:
        raise DataError(f"{entry.name} cannot be cached ({error}); set CCN_CACHE to another folder") from None
    return Found(target, "cache")


def text_sha256(text: bytes) -> str:
    """The sha256 of the lines of a text without blanks and without empty lines at its end."""
    return hashlib.sha256(b"\n".join(b"".join(line.split()) for line in text.rstrip().splitlines())).hexdigest()


def _checked(entry: Entry, path: Path) -> dict[str, bytes]:
    """The text files of a downloaded archive, each with the known hash; other files are left out."""
    inside = {name.rsplit("/", 1)[-1]: content for name, content in read_zip(path, ".txt").items()}
    out = {}
    for part, expected in entry.sha256.items():
        name = f"{entry.name}_{part}.txt"
        if name not in inside or text_sha256(inside[name]) != expected:
            raise DataError(
                f"{entry.name}: the download from {entry.url} is not the known data set ({name} "
                f"{'differs' if name in inside else 'is missing'}); nothing was kept. If you trust it, load it by path"
            )
        out[name] = inside[name]
    return out
