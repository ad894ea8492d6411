"""The models that a server answers with, by name, and their replacement while it runs.

A model is copied to a folder of the server before it is read, so that every process reads the same file, also after it
was replaced. A file that cannot be read, such as one that is being written, changes nothing: the version before goes on
answering, and /health says why.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ccn.errors import CCNError, ConfigurationError
from ccn.files import digest, file_digest
from ccn.learning.measured import FILE
from ccn.learning.model_file import model_path
from ccn.progress import say
from ccn.serving.metrics import Metrics
from ccn.serving.pool import Pool

__all__ = ["Catalogue", "Entry", "names_of"]

_EVERY = 1.0  # seconds between looks at the files
_Stamp = tuple[tuple[int, int, int] | None, ...]


@dataclass(frozen=True)
class Entry:
    """A model that answers.

    Attributes:
        name: by which clients ask for it.
        path: the file that is watched.
        version: the first digits of the SHA-256 of its content.
        about: what a client may know of it, as :func:`ccn.serving.answers.describe` says.
        loaded: seconds since 1970.
        stamp: of the files when they were read.
        fault: why a newer file is not used, or an empty text.
    """

    name: str
    path: Path
    version: str
    about: Mapping[str, Any]
    loaded: float
    stamp: _Stamp
    fault: str = ""


def names_of(models: Sequence[str]) -> dict[str, Path]:
    """The names and files of models given as ``PATH`` or ``NAME=PATH``.

    Example:
        >>> names_of(["runs/solubility", "toxic=other/model.safetensors"])
        {'solubility': PosixPath('runs/solubility'), 'toxic': PosixPath('other/model.safetensors')}
    """
    out: dict[str, Path] = {}
    for word in models:
        name, equals, path = word.partition("=")
        if not equals or Path(word).exists():
            found = Path(word).resolve()
            name, path = found.parent.name if found.name == "model.safetensors" else found.stem, word
        if not name or name in out:
            raise ConfigurationError(f"{word}: two models cannot be called {name!r}; give NAME={path} for one of them")
        out[name] = Path(path)
    return out


def _stamp(path: Path) -> _Stamp:
    file = model_path(path)
    out: list[tuple[int, int, int] | None] = []
    for one in (file, file.parent / FILE):
        try:
            found = one.stat()
            out.append((found.st_ino, found.st_size, found.st_mtime_ns))
        except OSError:
            out.append(None)
    return tuple(out)


@dataclass(eq=False)
class Catalogue:
    """The models by name; ``folder`` is where their copies are kept, ``training`` whether training rows are shown."""

    pool: Pool
    folder: Path
    metrics: Metrics
    training: bool = True
    entries: dict[str, Entry] = field(default_factory=dict)

    async def load(self, name: str, path: Path) -> Entry:
        """Read a model and let it answer in place of the version before."""
        stamp = _stamp(path)
        version, copy = await asyncio.to_thread(self._copied, name, path)
        before = self.entries.get(name)
        try:
            about = await self.pool.load(name, version, str(copy), self.training)
        except CCNError as error:  # says the file that was copied, which the copy stands for
            file = model_path(path)
            raise ConfigurationError(str(error).replace(str(copy.parent), str(file.parent))) from None
        self.entries[name] = Entry(name, path, version[:12], about, time.time(), stamp)
        if before is not None:
            for other in copy.parent.parent.iterdir():
                if other != copy.parent:
                    shutil.rmtree(other, ignore_errors=True)
        return self.entries[name]

    def _copied(self, name: str, path: Path) -> tuple[str, Path]:
        """The digest of a model file and a copy of it, with its training rows beside it."""
        file, to = model_path(path), self.folder / digest(name)[:16] / str(time.time_ns())
        if not file.is_file():
            raise ConfigurationError(f"{path}: no such model; give a model file or the folder of a run")
        to.mkdir(parents=True)
        shutil.copyfile(file, to / "model.safetensors")
        if self.training and (file.parent / FILE).is_file():
            shutil.copyfile(file.parent / FILE, to / FILE)
        beside = file_digest(to / FILE) if (to / FILE).is_file() else ""
        return file_digest(to / "model.safetensors") + beside, to / "model.safetensors"

    async def watch(self) -> None:
        """Replace models when their files change, until cancelled."""
        while True:
            await asyncio.sleep(_EVERY)
            for entry in list(self.entries.values()):
                stamp = _stamp(entry.path)
                if stamp == entry.stamp or stamp[0] is None:
                    continue
                try:
                    made = await self.load(entry.name, entry.path)
                    say(f"ccn serve: {entry.name} was replaced by version {made.version}")
                    self.metrics.loaded(entry.name, good=True)
                except (CCNError, OSError) as error:
                    why = f"{type(error).__name__}: {error}" if isinstance(error, OSError) else str(error)
                    shown = why.replace(f"{model_path(entry.path).parent}{os.sep}", "")  # clients learn no folders
                    self.entries[entry.name] = replace(entry, stamp=stamp, fault=shown)
                    say(f"ccn serve: {entry.name}: the new file is not used: {why}")
                    self.metrics.loaded(entry.name, good=False)
