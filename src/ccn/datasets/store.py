"""The packed store: a data set compiled once, as arrays on disk that are mapped into memory.

A store is a folder of ``.npy`` files and one ``store.json``, which says from what and how it was made and has the
checksum of every array. It is written under another name and renamed when whole, so that nobody sees half of one;
it is made anew when its source, the options or the version differ, or when a checksum does not fit. Nothing in it
is pickled. Which folder it is follows from the source's path and the options, so that a new store of the same
source takes the place of the old.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import os
import re
import shutil
import tempfile
import time
import warnings
import zlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ccn.datasets.dataset import Dataset
from ccn.datasets.remarks import Remark
from ccn.datasets.strings import Strings
from ccn.files import cache_folder
from ccn.graphs.pack import Pack
from ccn.schemes.kept import keep

__all__ = ["VERSION", "read_store", "store_folder", "stored", "write_store"]

VERSION = 2
_META = "store.json"
_STRINGS = ("smiles", "ids", "groups", "splits")
_ARRAYS = ("targets", "weights", "rows")
_PLAIN = ("name", "target_names", "task", "classes", "units", "vertex_names", "edge_names", "options", "note")
_MAPPED = 1 << 16  # bytes from which a file is mapped and not read
_DAY = 86400.0


def _made_with() -> dict[str, Any]:
    """What the content of a store depends on besides source and options."""
    return {"version": VERSION, "rdkit": importlib.metadata.version("rdkit")}


def store_folder(name: str, files: Sequence[Path], options: Mapping[str, Any]) -> Path:
    """The folder of the store of these files with these options."""
    key = json.dumps([[str(f.resolve()) for f in files], options], sort_keys=True)
    plain = re.sub(r"[^A-Za-z0-9_-]+", "_", name)[:40]
    return cache_folder() / "stores" / f"{plain}-{hashlib.blake2b(key.encode(), digest_size=8).hexdigest()}"


def stored(build: Callable[[], Dataset], name: str, files: Sequence[Path], options: Mapping[str, Any]) -> Dataset:
    """The data set from its store; built, and stored, if there is no good one.

    Where the store cannot be written there is a warning and the data set stays in memory.
    """
    folder = store_folder(name, files, options)
    data = read_store(folder, files, options)
    if data is not None:
        return data
    before = _fingerprint(files)
    built = build()
    try:
        write_store(folder, built, before, options)
    except OSError as error:
        warnings.warn(
            f"{name} is kept in memory only, since its store cannot be written ({error}); set CCN_CACHE to a folder "
            "with space",
            stacklevel=2,
        )
        return built
    return read_store(folder, files, options) or built


# Sources


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _stat(path: Path) -> dict[str, Any]:
    found = path.stat()
    return {"path": str(path.resolve()), "size": found.st_size, "mtime_ns": found.st_mtime_ns}


def _fingerprint(files: Sequence[Path]) -> list[dict[str, Any]]:
    return [{**_stat(f), "sha256": _sha256(f)} for f in files]


def _unchanged(files: Sequence[Path], recorded: Sequence[Mapping[str, Any]]) -> bool:
    """Whether the files are those recorded; a file that was only touched is read to see that it is the same."""
    if len(files) != len(recorded):
        return False
    for file, old in zip(files, recorded, strict=True):
        now = _stat(file)
        if now["size"] != old["size"]:
            return False
        if now["mtime_ns"] != old["mtime_ns"] and _sha256(file) != old["sha256"]:
            return False
    return True


# Writing


def _checksum(path: Path) -> int:
    value = 0
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            value = zlib.crc32(block, value)
    return value


def _arrays(data: Dataset) -> dict[str, NDArray[Any]]:
    """Everything of the data set that is an array, by the name of its file."""
    out = {f"graphs.{key}": value for key, value in keep(data.pack).arrays.items()}
    for name in _STRINGS:
        strings: Strings | None = getattr(data, name)
        if strings is not None:
            out.update({f"{name}.{key}": value for key, value in strings.compact().arrays.items()})
    out.update({name: value for name in _ARRAYS if (value := getattr(data, name)) is not None})
    return out


def _remarks(remarks: Sequence[Remark]) -> list[list[Any]]:
    return [[r.row, r.value, r.reason] for r in remarks]


def _signed(meta: Mapping[str, Any]) -> int:
    return zlib.crc32(json.dumps(meta, sort_keys=True).encode())


def _sync(path: Path) -> None:
    """Make what was written survive a crash; some systems cannot sync a folder."""
    try:
        handle = os.open(path, os.O_RDONLY)
    except OSError:
        return
    try:
        os.fsync(handle)
    except OSError:
        pass
    finally:
        os.close(handle)


def write_store(folder: Path, data: Dataset, sources: Sequence[Mapping[str, Any]], options: Mapping[str, Any]) -> None:
    """Write a store and put it in the place of the old one."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    _clear(folder.parent)
    new = Path(tempfile.mkdtemp(prefix=f"{folder.name}.tmp-", dir=folder.parent))
    try:
        sums = {}
        for name, array in _arrays(data).items():
            path = new / f"{name}.npy"
            with path.open("wb") as file:
                np.save(file, np.ascontiguousarray(array), allow_pickle=False)
                file.flush()
                os.fsync(file.fileno())
            sums[path.name] = {"bytes": path.stat().st_size, "crc32": _checksum(path)}
        meta = {
            **_made_with(),
            "options": options,
            "sources": list(sources),
            "arrays": sums,
            "dataset": {name: getattr(data, name) for name in _PLAIN},
            "dropped": _remarks(data.dropped),
            "noted": _remarks(data.noted),
            "directed": data.pack.directed,
            "self_loops": data.pack.self_loops,
        }
        meta = json.loads(json.dumps(meta))
        with (new / _META).open("w", encoding="utf-8") as text:
            json.dump({**meta, "crc32": _signed(meta)}, text, indent=1)
            text.flush()
            os.fsync(text.fileno())
        _sync(new)
        _put(new, folder)
        _sync(folder.parent)
    finally:
        shutil.rmtree(new, ignore_errors=True)


def _put(new: Path, folder: Path) -> None:
    """Rename ``new`` to ``folder``; what stands there is moved away first. Whoever comes last wins."""
    for _ in range(10):
        try:
            new.rename(folder)
        except OSError:
            if not folder.exists():
                raise
            aside = Path(tempfile.mkdtemp(prefix=f"{folder.name}.tmp-", dir=folder.parent))
            try:
                folder.rename(aside / "old")
            except OSError:
                pass  # another process was quicker
            finally:
                shutil.rmtree(aside, ignore_errors=True)
        else:
            return
    raise OSError(f"{folder} is being replaced by others all the time")


def _clear(parent: Path) -> None:
    """Remove what processes that died while writing left behind."""
    for path in parent.glob("*.tmp-*"):
        try:
            if time.time() - path.stat().st_mtime > _DAY:
                shutil.rmtree(path, ignore_errors=True)
        except OSError:
            continue


# Reading


def read_store(folder: Path, files: Sequence[Path], options: Mapping[str, Any]) -> Dataset | None:
    """The data set of a store, or None where there is none that is whole and made of these files in this way."""
    try:
        meta = json.loads((folder / _META).read_text(encoding="utf-8"))
        if meta.pop("crc32") != _signed(meta):
            return None
        current = all(meta[key] == value for key, value in _made_with().items())
        same = meta["options"] == json.loads(json.dumps(options)) and _unchanged(files, meta["sources"])
        if not current or not same:
            return None
        arrays = {}
        for name, expected in meta["arrays"].items():
            path = folder / name
            if path.stat().st_size != expected["bytes"] or _checksum(path) != expected["crc32"]:
                return None
            key = name.removesuffix(".npy")
            # Targets and the like are small and read all the time: plain arrays that can be written to.
            mapped = "." in key and expected["bytes"] >= _MAPPED
            # A plain view: numpy's class of mapped arrays takes longer to index than what is indexed.
            arrays[key] = np.asarray(np.load(path, mmap_mode="r" if mapped else None, allow_pickle=False))
        return _dataset(meta, arrays)
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def _dataset(meta: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Dataset:
    own: dict[str, Any] = {name: tuple(v) if isinstance(v, list) else v for name, v in meta["dataset"].items()}

    def part(name: str) -> dict[str, NDArray[Any]]:
        return {key.removeprefix(f"{name}."): a for key, a in arrays.items() if key.startswith(f"{name}.")}

    graphs = Pack(part("graphs"), directed=meta["directed"], self_loops=meta["self_loops"], name=own["name"])
    own |= {name: Strings(found) for name in _STRINGS if (found := part(name))}
    own |= {name: arrays[name] for name in _ARRAYS if name in arrays}
    own |= {kind: tuple(Remark(*r) for r in meta[kind]) for kind in ("dropped", "noted")}
    own |= {"graphs": graphs}
    return Dataset(**own)
