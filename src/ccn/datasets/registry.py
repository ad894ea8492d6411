"""The named data sets: the file of each, where it is looked for, and from where it can be downloaded."""

from __future__ import annotations

import hashlib
import importlib.util
import logging
import os
import tempfile
import zipfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from ccn.datasets.archives import read_zip
from ccn.errors import DataError, FileError
from ccn.files import cache_folder, write_atomically

__all__ = ["ENTRIES", "Entry", "Found", "entry_of", "fetch", "find", "locate"]

_TU = "https://www.chrsmrrs.com/graphkerneldatasets/{}.zip"
_SECONDS = (4.0, 30.0)  # to connect, and between two packets

# Of the text files in the archives: SHA-256 of the lines without blanks, so that line ends and the blank in "1, 2" do
# not matter.
_SHA256: dict[str, dict[str, str]] = {
    "MUTAG": {
        "A": "692aa71bcba2953bb3a41cb6de97615bb512eaff87236ef881d8aa8822550147",
        "edge_labels": "e365ce2f7a990d365687b95b434ff8f9249a44ac773aa437e68b1b0b9df3ece4",
        "graph_indicator": "f4b33293ace23bb2574ece47425080874d4a3eac002f2f42b218b48c09be9e2c",
        "graph_labels": "61a76b08007e68b78c40bcbe6fbc54954ede5b86496ebaa63acbe6f3dad64a1c",
        "node_labels": "16984a3e338aa842d6b876cbaaa2547ed56df29e4b868974dc62d6d39d64309c",
    },
    "PTC_MR": {
        "A": "220ebd27c28af40b7763a8539d2bdcdc28adb920e664408462547cfd7c56ddea",
        "edge_labels": "f2552b17d4ecf88f8913745d7b884fa6beed1ae8311b86003ba4724c57a6157c",
        "graph_indicator": "0a39f24051ca227f7e2194c7dd2fa3461adcbfa8be17b182fcc5cd398ed8a4f7",
        "graph_labels": "c2e28a84594271b3a895e946c25251e2986523c514bd017183b47c5f9ba63ee4",
        "node_labels": "7890046c30487868f7e856404b35cb9e55960793d043954bed6b6234d8d91e59",
    },
    "NCI1": {
        "A": "9341c9c1378baf556993904b221512adb016132cc9385b78e4bfc32848f2eeb2",
        "graph_indicator": "cc32e4becf0e3223e4c84c7d3a6c658eda44dd2fe12358de257862ba9bd6ae64",
        "graph_labels": "add445fa3feb1b99fbf048169fa1569204d6a422b147719b451c941b28aa437a",
        "node_labels": "a0695309c50a8353733fde1189e6e451064a35bddbe4b1d446f8fcd9e132407b",
    },
    "NCI109": {
        "A": "568be778b213ad8ce5b49fd8a13e9220c78f8e3e95c411a23b08858f4f677196",
        "graph_indicator": "cb55ca86801884337620ae5b1b308b8f2f3fb45cc081f3b43a570bd435a94afc",
        "graph_labels": "872ff4b121276eba538f4530cf7d2c049dee8502e39603ad398b93d53b1fce48",
        "node_labels": "1f37fb2560d52f8ff0891bffd9246f5c12a9e3e78af04b22167a7207ce56bef7",
    },
}


@dataclass(frozen=True)
class Entry:
    """A named data set.

    Attributes:
        file: its path below a data folder.
        kind: which reader reads it.
        beside: optional files beside it, and their content.
        url, sha256: a public source and the hashes of its text files; none where there is no such source.
        package: the PyPI package that carries it, as (module, folder inside).
        origin: where it comes from, and whom to cite.
        licence: as stated by the source.

    """

    name: str
    file: str
    kind: str
    origin: str
    licence: str
    beside: Mapping[str, str] = field(default_factory=dict)
    url: str | None = None
    sha256: Mapping[str, str] = field(default_factory=dict)
    package: tuple[str, str] | None = None
    what: str = ""


def _tu(name: str, origin: str, **more: object) -> Entry:
    url, sums = (_TU.format(name), _SHA256[name]) if name in _SHA256 else (None, {})
    return Entry(
        name,
        f"{name}/{name}.zip",
        "tu",
        origin,
        "none stated",
        url=url,
        sha256=sums,
        **more,  # type: ignore[arg-type]
    )


def _orders(name: str) -> dict[str, str]:
    return {f"{name}_edge_labels.txt.gz": "bond orders, one line per line of the file that ends in _A.txt"}


_ALL = (
    _tu("MUTAG", "TU Dortmund; Debnath et al. 1991", what="188 nitro compounds"),
    _tu("PTC_MR", "TU Dortmund; Toivonen et al. 2003", what="344 compounds, male rats"),
    _tu("PTC", "LibCCNs; Toivonen et al. 2003", what="the molecules of PTC_MR with hydrogens"),
    _tu("NCI1", "TU Dortmund; Wale and Karypis 2006", beside=_orders("NCI1"), what="lung cancer screen"),
    _tu("NCI109", "TU Dortmund; Wale and Karypis 2006", beside=_orders("NCI109"), what="ovarian cancer screen"),
    Entry(
        "QM9",
        "qm9/qm9.csv.gz",
        "qm9",
        "Ramakrishnan et al. 2014, by the package qm9pack",
        "MIT (qm9pack)",
        package=("qm9pack", "data"),
        what="columns index, smiles and the 13 targets",
    ),
    Entry(
        "HCEP",
        "hcep/hcep.csv.gz",
        "hcep",
        "Harvard Clean Energy Project; Hachmann et al. 2011",
        "academic use; part MIT, part none stated",
        what="columns smiles, pce and source",
    ),
    Entry(
        "BREC",
        "brec/brec_pairs.tsv",
        "brec",
        "GraphPKU/BREC; Wang and Zhang 2023",
        "MIT",
        what="columns category, graph6_a and graph6_b",
    ),
)
ENTRIES: dict[str, Entry] = {e.name: e for e in _ALL}
"""All named data sets."""


@dataclass(frozen=True)
class Found:
    """The file (or folder) of a data set, and in which place it was found."""

    path: Path
    place: str


def entry_of(name: str) -> Entry | None:
    """The entry of this name, whatever its case."""
    return next((e for e in _ALL if e.name.lower() == name.lower()), None)


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


def locate(entry: Entry) -> Found:
    """Where the data set is; downloaded if it is nowhere."""
    return find(entry) or fetch(entry)


def _where_to_put(entry: Entry) -> str:
    places = " or ".join(str(folder / entry.file) for _, folder in _data_folders())
    name = Path(entry.file).name
    more = "".join(f"; beside it, if you have it, {file} ({what})" for file, what in entry.beside.items())
    env = "" if os.environ.get("CCN_DATA") else f", or at {entry.file} in a folder that CCN_DATA names"
    package = f"; or pip install {entry.package[0]}, which carries it" if entry.package else ""
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
        raise DataError(
            f"{entry.name} cannot be kept in the cache ({error}); set CCN_CACHE to another folder"
        ) from None
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
