"""Files on disk: written atomically, locked, cached, fingerprinted, and values that JSON can hold.

Owns every write of a file that must not be lost. Imports nothing of the package but its errors.
"""

from __future__ import annotations

import atexit
import hashlib
import json
import math
import os
import shutil
import stat
import tempfile
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from ccn.errors import FileError

__all__ = [
    "cache_folder", "digest", "file_digest", "json_safe", "lock", "new_folder", "private_folder", "remove_unfinished",
    "write_atomically", "write_figure", "write_json",
]  # fmt: skip


def cache_folder() -> Path:
    """Where ccn keeps what it can make or fetch again: ``CCN_CACHE``, else the user's cache directory."""
    if given := os.environ.get("CCN_CACHE"):
        return Path(given)
    import pooch

    return Path(pooch.os_cache("ccn"))


def private_folder(path: Path) -> Path:
    """``path``, made if need be, or a temporary folder of this process if other users could write to ``path``.

    The folder must be ours and writable by us alone. The two folders above it, in which it could be exchanged, must be
    ours or the system's, and writable by others only if these can remove nothing but their own files.
    """
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        inner, *outer = (p.stat() for p in (path.resolve(), *path.resolve().parents[:2]))
    except OSError:
        return _temporary_folder()
    if os.name != "posix":
        return path
    us, shared = os.geteuid(), 0o022
    safe = inner.st_uid == us and not inner.st_mode & shared
    for above in outer:
        # Where every user has a group of their own, folders are often writable by it.
        foreign = above.st_mode & (0o002 if above.st_gid == os.getegid() else shared)
        safe &= above.st_uid in (us, 0) and (not foreign or bool(above.st_mode & stat.S_ISVTX))
    if safe:
        return path
    warnings.warn(
        f"{path}: other users can write there, so it is not used and nothing is kept; set CCN_CACHE to a folder of "
        "your own, or remove it",
        stacklevel=2,
    )
    return _temporary_folder()


def _temporary_folder() -> Path:
    made = tempfile.mkdtemp(prefix="ccn-")
    atexit.register(shutil.rmtree, made, ignore_errors=True)
    return Path(made)


def write_atomically(path: Path, content: bytes | Callable[[IO[bytes]], None]) -> None:
    """Write a file in one step: afterwards it holds ``content``, or what it held before.

    The content is bytes, or a function that writes them to an open file. It is written beside its destination, flushed
    to disk and moved there, so that a process killed at any moment leaves the old file or the new one.
    """
    beside = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with beside.open("wb") as f:
            if callable(content):
                content(f)
            else:
                f.write(content)
            f.flush()
            os.fsync(f.fileno())
        beside.replace(path)
    except OSError as error:
        raise FileError(
            f"{path}: cannot be written ({error.strerror or error}); free space or choose another place, "
            "what was there before is intact"
        ) from error
    finally:
        with suppress(OSError):  # the file is written, or there is an error that says why not
            beside.unlink()
    _sync(path.parent)


def _sync(folder: Path) -> None:
    """Make a move into a folder survive a crash of the machine, where the system can; else it keeps the old file."""
    if os.name != "posix":
        return
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def write_json(path: Path, value: Any) -> None:
    """Write a value as indented JSON, atomically."""
    write_atomically(path, (json.dumps(json_safe(value), indent=1) + "\n").encode())


def write_figure(path: Path, figure: Any, dpi: int = 150) -> None:
    """Write a figure of matplotlib in the format of its suffix, atomically."""
    form = path.suffix[1:].lower() or "png"
    dateless = {"metadata": {"Date": None}} if form == "svg" else {}
    write_atomically(path, lambda file: figure.savefig(file, format=form, dpi=dpi, **dateless))


@contextmanager
def new_folder(path: Path) -> Iterator[Path]:
    """An empty folder to fill, which replaces ``path`` when the block ends without an error.

    Hold the lock of ``path`` meanwhile. A process killed at any moment leaves the old folder, the new one or none.
    """
    new, old = (path.with_name(f".{path.name}.{state}") for state in ("new", "old"))
    for left in (new, old):  # by a process that was killed
        shutil.rmtree(left, ignore_errors=True)
    new.mkdir(parents=True)
    try:
        yield new
        if path.exists():
            path.rename(old)
        new.rename(path)
        _sync(path.parent)
    finally:
        for left in (new, old):
            shutil.rmtree(left, ignore_errors=True)


def remove_unfinished(folder: Path) -> None:
    """Remove the temporary files and folders that a killed process has left in a folder and those below it."""
    for left in list(folder.rglob(".*.part")):
        if left.is_dir():
            shutil.rmtree(left)
        else:
            left.unlink(missing_ok=True)


@contextmanager
def lock(path: Path, *, wait: bool = True) -> Iterator[None]:
    """Hold the lock of ``path``, the file ``.{name}.lock`` beside it; it ends with the process at the latest.

    If another process holds it, wait for that, or raise an error. Without waiting, the file is removed at the end.
    """
    from filelock import FileLock, Timeout

    path.parent.mkdir(parents=True, exist_ok=True)
    file = path.with_name(f".{path.name}.lock")
    held = FileLock(file, timeout=-1 if wait else 0)
    try:
        held.acquire()
    except Timeout:
        raise FileError(
            f"{path.parent}: another process is at work there; wait until it ends, or choose another folder"
        ) from None
    try:
        yield
    finally:
        if not wait:
            file.unlink(missing_ok=True)
        held.release()


def digest(*parts: bytes | str | NDArray[Any] | Mapping[str, Any] | list[Any]) -> str:
    """SHA-256 of texts, arrays and plain data, each delimited by its kind and length: same values, same text.

    Example:
        >>> digest("a", "b") == digest("ab")
        False
    """
    sha = hashlib.sha256()
    for part in parts:
        if isinstance(part, np.ndarray):
            sha.update(f"array {part.dtype} {part.shape}\n".encode())
            sha.update(np.ascontiguousarray(part).tobytes())
            continue
        if not isinstance(part, bytes | str):
            part = json.dumps(part, sort_keys=True)
        content = part.encode() if isinstance(part, str) else part
        sha.update(len(content).to_bytes(8, "little") + content)
    return sha.hexdigest()


def file_digest(path: Path) -> str:
    """SHA-256 of a file's content."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def json_safe(value: Any) -> Any:
    """The same value with null for numbers that are not finite, which JSON does not have.

    Example:
        >>> json_safe({"mae": float("nan"), "rows": (1, 2)})
        {'mae': None, 'rows': [1, 2]}
    """
    if isinstance(value, Mapping):
        return {str(k): json_safe(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [json_safe(v) for v in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
