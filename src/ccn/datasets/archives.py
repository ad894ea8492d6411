"""Compressed files from untrusted sources: paths outside the folder and decompression bombs are refused."""

from __future__ import annotations

import gzip
import io
import zipfile
import zlib
from lzma import LZMAError
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import IO, BinaryIO

from ccn.errors import DataError

__all__ = ["MAX_RATIO", "check_zip", "open_binary", "read_zip"]

MAX_RATIO = 200
"""A compressed file may expand to this many times its size; text of molecules and graphs expands 3 to 30 times."""
ALWAYS = 16 << 20
"""Up to this many bytes the ratio does not matter."""

_SYMLINK = 0o120000


def _limit(path: Path, always: int = ALWAYS, ratio: int = MAX_RATIO) -> int:
    return max(always, ratio * path.stat().st_size)


def _bomb(path: Path, limit: int) -> DataError:
    return DataError(
        f"{path}: expands to more than {limit:,} bytes, refused as a decompression bomb; unpack it yourself if you "
        "trust it"
    )


class _Bounded(io.RawIOBase):
    """A stream of at most ``limit`` bytes; more is an error."""

    def __init__(self, stream: IO[bytes] | gzip.GzipFile, path: Path, limit: int) -> None:
        self.stream, self.path, self.limit, self.given = stream, path, limit, 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        try:
            block = self.stream.read(len(buffer))
        except (OSError, EOFError, zlib.error) as error:
            raise DataError(f"{self.path}: cannot be unpacked, it is damaged or cut short ({error})") from None
        self.given += len(block)
        if self.given > self.limit:
            raise _bomb(self.path, self.limit)
        buffer[: len(block)] = block
        return len(block)

    def close(self) -> None:
        self.stream.close()
        super().close()


def open_binary(path: Path) -> BinaryIO:
    """A file for reading bytes, decompressed if its name ends in ``.gz``."""
    try:
        if path.suffix.lower() != ".gz":
            return path.open("rb")
        return io.BufferedReader(_Bounded(gzip.open(path), path, _limit(path)), 1 << 20)
    except OSError as error:
        raise DataError(f"{path}: cannot be opened ({error.strerror})") from None


def _outside(name: str) -> bool:
    posix, windows = PurePosixPath(name), PureWindowsPath(name)
    return posix.is_absolute() or bool(windows.anchor) or ".." in posix.parts or ".." in windows.parts


def check_zip(path: Path) -> None:
    """An error if the files of a zip would together be too large, for a reader that opens it by itself.

    Sizes are as declared: Python reads no further, and a file that goes on has a wrong checksum then.
    """
    with zipfile.ZipFile(path) as archive:
        size = sum(entry.file_size for entry in archive.infolist())
    if size > (limit := _limit(path)):
        raise _bomb(path, limit)


def read_zip(path: Path, suffix: str = "", *, always: int = ALWAYS, ratio: int = MAX_RATIO) -> dict[str, bytes]:
    """The files of a zip whose names end in ``suffix``, by name, in memory; nothing is written to disk.

    All of them together may have ``always`` bytes, or ``ratio`` times the size of the zip.
    """
    try:
        limit = _limit(path, always, ratio)
        with zipfile.ZipFile(path) as archive:
            entries = archive.infolist()
            for entry in entries:
                if _outside(entry.filename):
                    raise DataError(f"{path}: refused, since it holds a path outside its folder, {entry.filename!r}")
                if entry.external_attr >> 16 & 0o170000 == _SYMLINK:
                    raise DataError(f"{path}: refused, since it holds a symbolic link, {entry.filename!r}")
            out, left = {}, limit
            for entry in entries:
                if entry.filename.endswith("/") or not entry.filename.endswith(suffix):
                    continue
                with archive.open(entry) as stream:  # not by its declared size, which may be false
                    content = stream.read(left + 1)
                left -= len(content)
                if left < 0:
                    raise _bomb(path, limit)
                out[entry.filename] = content
            return out
    except DataError:
        raise
    except (OSError, zipfile.BadZipFile, zlib.error, LZMAError, EOFError, RuntimeError, ValueError) as error:
        raise DataError(f"{path}: cannot be read as a zip ({error})") from None
