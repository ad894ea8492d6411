"""The packed store: a data set compiled once, as arrays on disk that are mapped into memory.

A store is a folder of ``.npy`` files and one ``store.json``, which records from what and how it was made and the
checksum of every array. It is written under a lock and moved into place when complete; it is rebuilt when its source,
the options or a version differ, or when a checksum does not match. Nothing in it is pickled. The folder's name follows
from the source's path and the options, so that a new store of the same source replaces the old one.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import re
import warnings
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import astuple
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ccn.datasets.columns import Strings
from ccn.datasets.dataset import ARRAYS, STRINGS, Dataset, Remark
from ccn.errors import FileError
from ccn.files import cache_folder, file_digest, lock, new_folder, write_atomically
from ccn.graphs.pack import Pack
from ccn.graphs.ragged import Ragged

__all__ = ["VERSION", "read_store", "store_folder", "stored", "write_store"]

VERSION = 6
_META = "store.json"
_PLAIN = ("name", "target_names", "task", "classes", "units", "vertex_names", "edge_names", "options", "note", "per")
_MAPPED = 1 << 16  # bytes from which a file is mapped and not read


def store_folder(name: str, files: Sequence[Path], options: Mapping[str, Any]) -> Path:
    """The folder of the store of these files with these options."""
    key = json.dumps([[str(f.resolve()) for f in files], options], sort_keys=True)
    plain = re.sub(r"[^A-Za-z0-9_-]+", "_", name)[:40]
    return cache_folder() / "stores" / f"{plain}-{hashlib.blake2b(key.encode(), digest_size=8).hexdigest()}"


def stored(build: Callable[[], Dataset], name: str, files: Sequence[Path], options: Mapping[str, Any]) -> Dataset:
    """The data set from its store; built, and stored, if there is no valid one.

    Of several processes one builds it and the others wait. Where the store cannot be written there is a warning and
    the data set stays in memory.
    """
    folder = store_folder(name, files, options)
    data, built = read_store(folder, files, options), None
    if data is not None:
        return data
    try:
        with lock(folder):
            data = read_store(folder, files, options)
            if data is None:
                sources = [_source(file) for file in files]
                built = build()
                write_store(folder, built, sources, options)
                data = read_store(folder, files, options)
    except (OSError, FileError) as error:
        warnings.warn(
            f"{name} is kept in memory only, since its store cannot be written ({error}); set CCN_CACHE to a folder "
            "with space",
            stacklevel=2,
        )
    if data is not None:
        return data
    return build() if built is None else built


# Sources


def _source(path: Path) -> dict[str, Any]:
    found = path.stat()
    size, time = found.st_size, found.st_mtime_ns
    return {"path": str(path.resolve()), "size": size, "mtime_ns": time, "sha256": file_digest(path)}


def _unchanged(path: Path, recorded: Mapping[str, Any]) -> bool:
    """Whether a file is the one recorded; if only its time of change differs, its content decides."""
    now = path.stat()
    if now.st_size != recorded["size"]:
        return False
    return bool(now.st_mtime_ns == recorded["mtime_ns"] or file_digest(path) == recorded["sha256"])


# Writing


def _checksum(path: Path) -> int:
    return zlib.crc32(np.memmap(path, mode="r").data)


def _arrays(data: Dataset) -> dict[str, NDArray[Any]]:
    """Everything of the data set that is an array, by the name of its file."""
    from ccn.schemes.generators import keep

    out = {f"graphs.{key}": value for key, value in keep(data.pack).arrays.items()}
    for name in STRINGS:
        strings: Strings | None = getattr(data, name)
        if strings is not None:
            out.update({f"{name}.{key}": value for key, value in strings.compact().arrays.items()})
    out.update({name: np.asarray(value) for name in ARRAYS if (value := getattr(data, name)) is not None})
    if isinstance(data.targets, Ragged):
        out["target_start"] = data.targets.start
    return out


def _signed(meta: Mapping[str, Any]) -> int:
    return zlib.crc32(json.dumps(meta, sort_keys=True).encode())


def write_store(folder: Path, data: Dataset, sources: Sequence[Mapping[str, Any]], options: Mapping[str, Any]) -> None:
    """Write a store in place of the old one; hold the lock of the folder."""
    with new_folder(folder) as new:
        sums = {}
        for name, array in _arrays(data).items():
            path = new / f"{name}.npy"
            write_atomically(path, partial(np.save, arr=np.ascontiguousarray(array), allow_pickle=False))
            sums[path.name] = {"bytes": path.stat().st_size, "crc32": _checksum(path)}
        meta = {
            **_made_with(VERSION),
            "options": options,
            "sources": list(sources),
            "arrays": sums,
            "dataset": {name: getattr(data, name) for name in _PLAIN},
            "dropped": [astuple(r) for r in data.dropped],
            "noted": [astuple(r) for r in data.noted],
            "directed": data.pack.directed,
            "self_loops": data.pack.self_loops,
        }
        meta = json.loads(json.dumps(meta))
        write_atomically(new / _META, json.dumps({**meta, "crc32": _signed(meta)}, indent=1).encode())


# Reading


def _made_with(version: int) -> dict[str, Any]:
    """What the content of a store depends on besides source and options."""
    return {"version": version, "rdkit": importlib.metadata.version("rdkit")}


def read_store(
    folder: Path, files: Sequence[Path], options: Mapping[str, Any], version: int = VERSION
) -> Dataset | None:
    """The data set of a store, or None unless it is intact and made of these files in this way."""
    try:
        meta = json.loads((folder / _META).read_text(encoding="utf-8"))
        if meta.pop("crc32") != _signed(meta):
            return None
        current = all(meta[key] == value for key, value in _made_with(version).items())
        same = meta["options"] == json.loads(json.dumps(options)) and len(meta["sources"]) == len(files)
        if not current or not same or not all(map(_unchanged, files, meta["sources"])):
            return None
        arrays = {}
        for name, expected in meta["arrays"].items():
            path = folder / name
            if path.stat().st_size != expected["bytes"] or _checksum(path) != expected["crc32"]:
                return None
            key = name.removesuffix(".npy")
            # Targets and the like are small and often read: plain arrays that can be written to.
            mapped = "." in key and expected["bytes"] >= _MAPPED
            # A plain view, since indexing numpy's class of mapped arrays is slow.
            arrays[key] = np.asarray(np.load(path, mmap_mode="r" if mapped else None, allow_pickle=False))
        return _dataset(meta, arrays)
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def _dataset(meta: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Dataset:
    own: dict[str, Any] = {name: tuple(v) if isinstance(v, list) else v for name, v in meta["dataset"].items()}

    def part(name: str) -> dict[str, NDArray[Any]]:
        return {key.removeprefix(f"{name}."): a for key, a in arrays.items() if key.startswith(f"{name}.")}

    graphs = Pack(part("graphs"), directed=meta["directed"], self_loops=meta["self_loops"], name=own["name"])
    own |= {name: Strings(found) for name in STRINGS if (found := part(name))}
    own |= {name: arrays[name] for name in ARRAYS if name in arrays}
    own |= {kind: tuple(Remark(*r) for r in meta[kind]) for kind in ("dropped", "noted")}
    own |= {"graphs": graphs}
    if "target_start" in arrays:
        own["targets"] = Ragged(own["targets"], arrays["target_start"])
    return Dataset(**own)
