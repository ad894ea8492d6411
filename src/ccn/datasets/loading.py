"""One function for every source: a name, a path or graphs in memory, each read by the reader of its kind."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ccn.datasets import graphs, published, registry, tu
from ccn.datasets.dataset import CONTRADICTION, NOT_A_NUMBER, Dataset
from ccn.datasets.molecule_tables import COLUMN_OPTIONS, MOLECULE_OPTIONS, read_molecules
from ccn.datasets.store import stored
from ccn.datasets.tables import TABLE_SUFFIXES, suffix_of
from ccn.errors import ConfigurationError, DataError

__all__ = ["load", "options_of"]

_NOT_STORED = ("n_jobs", "progress")  # options on which the content of a data set does not depend


@dataclass(frozen=True)
class _Reader:
    """How one kind of source is read.

    Attributes:
        read: the function; its keyword-only parameters are options.
        files: the files behind a path.
        view: what is chosen afterwards, with options too.
        passes_on: further options of ``read``.
    """

    read: Callable[..., Dataset]
    files: Callable[[Path], list[Path]] = lambda path: [path]
    view: Callable[..., Dataset] = lambda data: data
    passes_on: tuple[str, ...] = ()

    @property
    def options(self) -> set[str]:
        return {*self.passes_on, *_keywords(self.read)}


def _keywords(function: Callable[..., Any]) -> set[str]:
    return {p.name for p in inspect.signature(function).parameters.values() if p.kind is p.KEYWORD_ONLY}


_READERS = {
    "tu": _Reader(tu.read_tu, tu.tu_files),
    "qm9": _Reader(published.read_qm9, published.qm9_files, published.qm9_energies, MOLECULE_OPTIONS),
    "hcep": _Reader(published.read_hcep, passes_on=MOLECULE_OPTIONS),
    "brec": _Reader(published.read_brec),
    "molecules": _Reader(read_molecules, passes_on=(*COLUMN_OPTIONS, *MOLECULE_OPTIONS)),
    "json lines": _Reader(graphs.read_json_lines),
    "graphs": _Reader(graphs.read_graphs, graphs.graph_files),
}
_SUFFIXES = {
    ".zip": "tu",
    ".jsonl": "json lines",
    ".ndjson": "json lines",
    **dict.fromkeys(graphs.FOLDER_SUFFIXES, "graphs"),
    **dict.fromkeys(TABLE_SUFFIXES, "molecules"),
}


def _kind(path: Path) -> str:
    """Which reader reads this path."""
    if path.is_dir():
        return "tu" if tu.is_tu(path) else "graphs"
    suffix = suffix_of(path)
    if suffix not in _SUFFIXES:
        raise DataError(
            f"{path}: not a supported kind of file; ccn reads {', '.join(_SUFFIXES)}, tables also with .gz, and "
            "folders in the TU format or of GraphML or GML"
        )
    return _SUFFIXES[suffix]


def load(
    source: str | Path | Iterable[Any],
    *,
    path: str | Path | None = None,
    targets: Any = None,
    draw: int | None = None,
    seed: int = 0,
    strict: bool = False,
    store: bool = True,
    store_from: int = 200_000,
    **options: Any,
) -> Dataset:
    """A data set by name (``MUTAG``, ``PTC_MR``, ``PTC``, ``NCI1``, ``NCI109``, ``QM9``, ``HCEP``, ``BREC``; case is
    ignored), by the path of a file or folder, or from graphs in memory.

    A name is looked for in the folder ``CCN_DATA``, in the cache, in this package and in installed ones, and
    downloaded otherwise. A path is a table of molecules (CSV, TSV, Parquet, SDF, SMILES), of graphs (JSON lines), a TU
    folder or zip, or a folder of GraphML or GML.

    Args:
        source: name, path, or graphs: NetworkX graphs, a PyG data set, :class:`ccn.Graph`.
        path: the file or folder of the named data set, instead of looking for it.
        targets: names of the targets to keep, by default all; for graphs in memory, the values.
        draw: number of graphs, drawn without replacement; by default all.
        seed: of the draw.
        strict: raise an error at the first row that is dropped or contradicts another.
        store: keep what was read as arrays on disk, for the next time.
        store_from: bytes of source from which a store is worth while.
        **options: of the reader: ``features``, ``hydrogens`` and ``n_jobs`` for molecules; ``energies``
            (``"atomisation"`` or ``"total"``) for QM9; ``smiles_column``, ``target_columns`` and the others of
            :func:`ccn.datasets.molecule_tables.read_molecules` for tables.

    Example:
        >>> print(load("MUTAG"))
        MUTAG: 188 graphs, 17.93 vertices and 19.79 edges on average, classes -1: 63, 1: 125
    """
    if not isinstance(source, str | Path):
        return _draw(graphs.from_objects(source, targets, **options), draw, seed)
    where, name, kind = _find(source, path)
    reader = _READERS[kind]
    choices = _keywords(reader.view)
    known = reader.options | choices
    if unknown := sorted(set(options) - known):
        known |= {"draw", "path", "seed", "store", "strict", "targets"}
        raise ConfigurationError(f"{where}: there is no option {unknown[0]!r}; choose from {', '.join(sorted(known))}")
    if not os.path.exists(where):
        raise DataError(f"{where}: no such file")
    data = _read(reader, where, name, options, store_from if store else None)
    # Single atoms, salts and other encodings lose nothing: they are only noted.
    lost = [*data.dropped, *(r for r in data.noted if r.kind in (NOT_A_NUMBER, CONTRADICTION))]
    if strict and lost:
        raise DataError(f"{where}: {min(lost, key=lambda r: r.row)}")
    data = reader.view(data, **{k: v for k, v in options.items() if k in choices})
    return _draw(data if targets is None else data.with_targets(targets), draw, seed)


def options_of(source: str | Path) -> set[str]:
    """The options of the reader of this name or path that :func:`load` accepts.

    Example:
        >>> "smiles_column" in options_of("MUTAG")
        False
    """
    return _READERS[_find(source)[2]].options | {"strict"}


def _find(source: str | Path, path: str | Path | None = None) -> tuple[Path, str | None, str]:
    """The path of a source, its name if it has one, and which reader reads it."""
    entry = registry.entry_of(source) if isinstance(source, str) else None
    if entry is not None:
        where = Path(path) if path is not None else (registry.find(entry) or registry.fetch(entry)).path
        return where, entry.name, entry.kind
    where = Path(source)
    if not os.path.exists(where):
        raise DataError(f"{source}: no such file or data set; the names are {', '.join(registry.ENTRIES)}")
    return where, None, _kind(where)


def _read(reader: _Reader, path: Path, name: str | None, options: dict[str, Any], least: int | None) -> Dataset:
    """Read a path, through its store if its files have at least so many bytes."""
    own = {k: v for k, v in options.items() if k in reader.options}

    def build() -> Dataset:
        return reader.read(path, *(() if name is None else (name,)), **own)

    files = reader.files(path)
    key = {k: list(v) if isinstance(v, tuple) else v for k, v in own.items() if k not in _NOT_STORED and v is not None}
    # Features that are given as an object have no name by which a store could identify them.
    plain = all(isinstance(v, str | bool | int | float | list) for v in key.values())
    if least is None or not plain or sum(f.stat().st_size for f in files) < least:
        return build()
    return stored(build, name or path.name, files, {"reader": reader.read.__name__, **key})


def _draw(data: Dataset, draw: int | None, seed: int) -> Dataset:
    """So many graphs drawn without replacement, in the order of the source."""
    if draw is None:
        return data
    if not 1 <= draw <= len(data):
        raise ConfigurationError(f"draw={draw} must be between 1 and the {len(data)} graphs of {data.name}")
    return data.subset(np.sort(np.random.default_rng(seed).choice(len(data), draw, replace=False)))
