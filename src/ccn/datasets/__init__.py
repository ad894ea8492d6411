"""Data sets: those of the paper by name, and whatever is in a table of molecules or graphs by its path."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ccn.datasets import brec, graphs, hcep, molecules, qm9, registry, splits, tu
from ccn.datasets.dataset import Dataset, Statistics
from ccn.datasets.graphs import from_objects
from ccn.datasets.remarks import Remark, check_strict
from ccn.datasets.store import stored
from ccn.datasets.tables import TABLE_SUFFIXES, suffix_of
from ccn.datasets.tu import read_tu
from ccn.errors import ConfigurationError, DataError

__all__ = ["Dataset", "Remark", "Statistics", "from_objects", "load", "options_of", "read_tu", "splits"]

_STORED_FROM = 200_000  # bytes of source from which a store is worth its while
_NOT_STORED = ("n_jobs", "progress", "strict")  # options on which the content of a data set does not depend


def _itself(path: Path) -> list[Path]:
    return [path]


@dataclass(frozen=True)
class _Reader:
    """How one kind of source is read: the function, the files behind a path, and what is chosen afterwards."""

    read: Callable[..., Dataset]
    files: Callable[[Path], list[Path]] = _itself
    view: Callable[..., Dataset] | None = None


_READERS = {
    "tu": _Reader(tu.read_tu, tu.tu_files),
    "qm9": _Reader(qm9.read_qm9, qm9.qm9_files, qm9.qm9_energies),
    "hcep": _Reader(hcep.read_hcep),
    "brec": _Reader(brec.read_brec),
    "molecules": _Reader(molecules.read_molecules),
    "json lines": _Reader(graphs.read_json_lines),
    "graphs": _Reader(graphs.read_graphs, graphs.graph_files),
}


def _kind(path: Path) -> str:
    """Which reader reads this path."""
    if path.is_dir():
        return "tu" if tu.is_tu(path) else "graphs"
    suffix = suffix_of(path)
    if suffix == ".zip":
        return "tu"
    if suffix in (".jsonl", ".ndjson"):
        return "json lines"
    if suffix in graphs.FOLDER_SUFFIXES:
        return "graphs"
    if suffix in TABLE_SUFFIXES:
        return "molecules"
    raise DataError(
        f"{path}: not a kind of file that ccn reads; it reads {', '.join(TABLE_SUFFIXES)} and .jsonl, also with .gz, "
        "a zip or folder in the TU format, and folders of GraphML or GML"
    )


def _options(function: Callable[..., Any]) -> set[str]:
    return {p.name for p in inspect.signature(function).parameters.values() if p.kind is p.KEYWORD_ONLY}


def load(
    source: str | Path | Iterable[Any],
    *,
    path: str | Path | None = None,
    targets: Any = None,
    draw: int | None = None,
    seed: int = 0,
    store: bool = True,
    **options: Any,
) -> Dataset:
    """A data set by name (``MUTAG``, ``PTC_MR``, ``PTC``, ``NCI1``, ``NCI109``, ``QM9``, ``HCEP``, ``BREC``; case is
    ignored), by the path of a file or folder, or from graphs in memory.

    A name is looked for in the folder that ``CCN_DATA`` names, in the cache, in this package and in installed ones, and
    fetched otherwise. A path is a table of molecules (CSV, TSV, Parquet, SDF, SMILES), of graphs (JSON lines), a TU
    folder or zip, or a folder of GraphML or GML.

    Args:
        source: name, path, or graphs: NetworkX graphs, a PyG data set, :class:`ccn.Graph`.
        path: where the named data set lies, instead of looking for it.
        targets: names of the targets wanted, by default all; for graphs in memory, the values.
        draw: so many graphs, drawn without replacement; by default all.
        seed: of the draw.
        store: keep what was read as arrays on disk, for the next time.
        **options: of the reader: ``features``, ``hydrogens`` and ``n_jobs`` for molecules; ``energies``
            (``"atomisation"`` or ``"total"``) for QM9; ``smiles_column``, ``target_columns``, ``strict`` and the others
            of :func:`ccn.datasets.molecules.read_molecules` for tables.

    Example:
        >>> print(load("MUTAG"))
        MUTAG: 188 graphs, 17.93 vertices and 19.79 edges on average, classes -1: 63, 1: 125

    """
    if not isinstance(source, str | Path):
        data = from_objects(source, targets, **options)
        return _draw(data, draw, seed)
    where, name, kind = _find(source, path)
    data = _read(_READERS[kind], where, name, store, options)
    return _draw(data if targets is None else data.with_targets(targets), draw, seed)


def options_of(source: str | Path) -> set[str]:
    """The options that :func:`load` passes on to the reader of this name or path.

    Example:
        >>> "smiles_column" in options_of("MUTAG")
        False

    """
    return _options(_READERS[_find(source)[2]].read)


def _find(source: str | Path, path: str | Path | None = None) -> tuple[Path, str | None, str]:
    """Where a source lies, its name if it has one, and which reader reads it."""
    entry = registry.entry_of(source) if isinstance(source, str) else None
    if entry is not None:
        return (registry.locate(entry).path if path is None else Path(path)), entry.name, entry.kind
    where = Path(source)
    if not where.exists():
        raise DataError(
            f"{source}: no data set of this name and no such file; the names are {', '.join(registry.ENTRIES)}"
        )
    return where, None, _kind(where)


def _read(reader: _Reader, path: Path, name: str | None, store: bool, options: dict[str, Any]) -> Dataset:
    """Read a path, through its store where that is worth while."""
    own = _options(reader.read)
    later = _options(reader.view) if reader.view is not None else set()
    unknown = sorted(set(options) - own - later)
    if unknown:
        known = ", ".join(sorted(own | later | {"draw", "path", "seed", "store", "targets"}))
        raise ConfigurationError(f"{path}: {unknown[0]!r} is not an option here; the options are {known}")
    if not path.exists():
        raise DataError(f"{path}: no such file")
    files = reader.files(path)
    content = {k: v for k, v in options.items() if k in own and k not in _NOT_STORED and v is not None}
    content = {k: list(v) if isinstance(v, tuple) else v for k, v in content.items()}
    # A featuriser of the user's own has no name by which a store could know it.
    plain = all(isinstance(v, str | bool | int | float | list) for v in content.values())
    strict = bool(options.get("strict", False))

    def build() -> Dataset:
        return reader.read(
            path, *(() if name is None else (name,)), **{k: v for k, v in options.items() if k in own - {"strict"}}
        )

    if store and plain and sum(f.stat().st_size for f in files) >= _STORED_FROM:
        data = stored(build, name or path.name, files, {"reader": reader.read.__name__, **content})
    else:
        data = build()
    check_strict(data, strict, str(path))
    return data if reader.view is None else reader.view(data, **{k: v for k, v in options.items() if k in later})


def _draw(data: Dataset, draw: int | None, seed: int) -> Dataset:
    """So many graphs drawn without replacement, in the order of the source."""
    if draw is None:
        return data
    if not 1 <= draw <= len(data):
        raise ConfigurationError(f"draw={draw} must be between 1 and the {len(data)} graphs of {data.name}")
    return data.subset(np.sort(np.random.default_rng(seed).choice(len(data), draw, replace=False)))
