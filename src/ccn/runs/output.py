"""A file that is written over hours and survives a kill.

Rows are appended to ``out.csv.part``; ``out.csv.progress`` says how many rows of the input are done, how many
bytes they take, and of what input and model they are. It is replaced in one step after the rows are on the disk,
so that whatever stands in the part file beyond those bytes is cut off and done again. At the end the part file
becomes the output.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from ccn.errors import ConfigurationError, FileError
from ccn.files import write_atomically
from ccn.runs.formats import Format

__all__ = ["Output"]


class Output:
    """Rows of a file, or, with the path ``-``, of standard output.

    Args:
        path: of the file.
        form: how rows are written.
        key: what the rows depend on; a run is resumed only if it is the same.
        resume: continue where an earlier run was interrupted.
        overwrite: discard what an earlier run has left unfinished.
        every: seconds between records of progress.

    Attributes:
        done: rows of the input that need not be done again.

    """

    def __init__(
        self,
        path: str | Path,
        form: Format,
        key: Mapping[str, Any],
        *,
        resume: bool = False,
        overwrite: bool = False,
        every: float = 2.0,
    ) -> None:
        self.every = every
        self.pipe = str(path) == "-"
        self.path, self.form, self.key = Path(path), form, json.loads(json.dumps(key))
        self.part = self.path.with_name(f"{self.path.name}.part")
        self.record = self.path.with_name(f"{self.path.name}.progress")
        self.done, self.bytes, self.saved = 0, 0, time.monotonic()
        if self.pipe:
            if resume:
                raise ConfigurationError("--resume needs an output file: name one with -o")
            return
        if not self.path.parent.is_dir():
            raise ConfigurationError(f"{self.path.parent}: there is no such folder for the output")
        if self.record.exists() and not overwrite:
            if not resume:
                raise FileError(
                    f"{self.path}: an earlier run was cut and left {self.part.name}; add --resume to continue it, "
                    "or --overwrite to start again"
                )
            self._continue()

    def _continue(self) -> None:
        try:
            found = json.loads(self.record.read_text(encoding="utf-8"))
            done, size, same = int(found["rows"]), int(found["bytes"]), found["key"] == self.key
            whole = self.part.stat().st_size >= size
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise FileError(f"{self.record}: cannot be resumed ({error}); add --overwrite to start again") from None
        if not same or not whole:
            what = "is of another input, model or set of options" if not same else f"has lost rows of {self.part.name}"
            raise FileError(f"{self.record}: {what}; give those of the cut run, or add --overwrite to start again")
        self.done, self.bytes = done, size

    def __enter__(self) -> Self:
        try:
            if not self.pipe:
                self.file = self.part.open("ab" if self.done else "wb")
                if self.done:
                    self.file.truncate(self.bytes)
        except OSError as error:
            raise FileError(f"{self.path}: cannot be written ({error.strerror})") from None
        if not self.done:
            self._write(self.form.head)
            self._save()
        return self

    def _write(self, content: bytes) -> None:
        try:
            if self.pipe:
                sys.stdout.write(content.decode("utf-8", "surrogatepass"))
                sys.stdout.flush()
            else:
                self.file.write(content)
                self.file.flush()
        except BrokenPipeError:
            raise
        except OSError as error:
            raise FileError(
                f"{self.path}: cannot be written ({error.strerror}); what is done is kept, continue with --resume"
            ) from None
        self.bytes += len(content)

    def write(self, content: bytes, count: int) -> None:
        """Append the answers to ``count`` rows of the input."""
        self._write(content)
        self.done += count
        if not self.pipe and time.monotonic() - self.saved > self.every:
            self._save()

    def _save(self) -> None:
        if self.pipe:
            return
        os.fsync(self.file.fileno())
        data = {"rows": self.done, "bytes": self.bytes, "key": self.key}
        write_atomically(self.record, json.dumps(data).encode())
        self.saved = time.monotonic()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.pipe:
            return
        try:
            if kind is None or issubclass(kind, KeyboardInterrupt):
                self._save()
        finally:
            self.file.close()
        if kind is None:
            self.form.finish(self.part, self.path)
            self.record.unlink(missing_ok=True)
