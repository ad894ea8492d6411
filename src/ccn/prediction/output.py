"""A table that is written over hours and survives a kill.

Rows are appended to ``out.csv.part``; ``out.csv.progress`` says how many rows of the input are done, how many
bytes they take, and of what input and model they are. It is replaced in one step after the rows are on the disk,
so that whatever stands in the part file beyond those bytes is cut off and done again. At the end the part file
takes the name of the output.
"""

from __future__ import annotations

import csv
import io
import json
import os
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from ccn.errors import ConfigurationError, FileError
from ccn.training.sealed import write_atomically

__all__ = ["Output"]

_EVERY = 2.0  # seconds between records of progress


class Output:
    """Rows of a CSV or TSV file, or, with the path ``-``, of standard output.

    Args:
        path: of the file; ``.tsv`` separates by tabs.
        header: the names of the columns.
        key: what the rows depend on; a run is gone on with only if it is the same.
        resume: go on where an earlier run was cut.
        overwrite: throw away what an earlier run has left unfinished.

    Attributes:
        done: rows of the input that need not be done again.

    """

    def __init__(
        self,
        path: str | Path,
        header: Sequence[str],
        key: Mapping[str, Any],
        *,
        resume: bool = False,
        overwrite: bool = False,
    ) -> None:
        self.pipe = str(path) == "-"
        self.path, self.header, self.key = Path(path), list(header), json.loads(json.dumps(key))
        suffix = self.path.suffix.lower()
        if not self.pipe and suffix not in (".csv", ".tsv", ".txt"):
            raise ConfigurationError(f"{path}: predictions are written as .csv or .tsv; name the output so, or -")
        self.delimiter = "\t" if suffix == ".tsv" else ","
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
                    f"{self.path}: an earlier run was cut and left {self.part.name}; add --resume to go on with it, "
                    "or --overwrite to begin anew"
                )
            self._continue()

    def _continue(self) -> None:
        try:
            found = json.loads(self.record.read_text(encoding="utf-8"))
            done, size, same = int(found["rows"]), int(found["bytes"]), found["key"] == self.key
            whole = self.part.stat().st_size >= size
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise FileError(f"{self.record}: cannot be gone on with ({error}); add --overwrite to begin anew") from None
        if not same or not whole:
            what = "is of another input, model or set of options" if not same else f"has lost rows of {self.part.name}"
            raise FileError(f"{self.record}: {what}; give those of the cut run, or add --overwrite to begin anew")
        self.done, self.bytes = done, size

    def __enter__(self) -> Self:
        try:
            # Opened so that a row which cannot be written is an error at once, and lines end alike everywhere.
            self.file = (
                sys.stdout if self.pipe else self.part.open("a" if self.done else "w", encoding="utf-8", newline="")
            )
            if self.done:
                self.file.truncate(self.bytes)
        except OSError as error:
            raise FileError(f"{self.path}: cannot be written ({error.strerror})") from None
        if not self.done:
            self._write([self.header])
            self._save()
        return self

    def _write(self, rows: Iterable[Sequence[str]]) -> None:
        text = io.StringIO(newline="")
        csv.writer(text, delimiter=self.delimiter, lineterminator="\n").writerows(rows)
        content = text.getvalue()
        try:
            self.file.write(content)
            self.file.flush()
        except BrokenPipeError:
            raise
        except OSError as error:
            raise FileError(
                f"{self.path}: cannot be written ({error.strerror}); what was done so far is kept, go on with --resume"
            ) from None
        if not self.pipe:
            self.bytes += len(content.encode("utf-8", "surrogatepass"))

    def write(self, rows: Iterable[Sequence[str]], count: int) -> None:
        """Append rows, which are the answers to ``count`` rows of the input."""
        self._write(rows)
        self.done += count
        if not self.pipe and time.monotonic() - self.saved > _EVERY:
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
            self.part.replace(self.path)
            self.record.unlink(missing_ok=True)
