"""What is known of a cell once it has run: one line of JSON in an append-only file below the results folder.

A line that a killed process left unfinished is passed over, and a later record of a cell takes the place of an
earlier one.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import IO, Any, Literal

from ccn.errors import FileError

__all__ = ["Key", "Record", "Status", "append", "json_safe", "read"]

Key = tuple[str, str, int]
Status = Literal["done", "timeout", "failed"]


@dataclass(frozen=True)
class Record:
    """How a method did on one split of a data set.

    Attributes:
        metric: ``accuracy``, ``mae``, ``scaled mae`` or ``pairs``.
        validation, test: the metric on these parts, None where there is none.
        seconds: of fitting and predicting.
        version: of ccn.
        config: the settings as they were resolved, what was chosen on validation, the training rows used.
        details: figures of each target, or the error of a cell that failed.

    """

    dataset: str
    method: str
    split: int
    status: Status
    metric: str
    validation: float | None
    test: float | None
    seconds: float
    seed: int
    version: str
    config: Mapping[str, Any] = field(default_factory=dict)
    details: Mapping[str, Any] = field(default_factory=dict)

    @property
    def key(self) -> Key:
        """What names the cell."""
        return self.dataset, self.method, self.split


_FIELDS = tuple(f.name for f in fields(Record))


def append(path: Path, record: Record) -> None:
    """Write one line, whole and on disk before this returns; several processes may do so at once."""
    line = json.dumps(json_safe(asdict(record)), allow_nan=False).encode() + b"\n"
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a+b") as file:
        _lock(file)
        if file.seek(0, os.SEEK_END) and not _ends_whole(file):
            line = b"\n" + line  # a killed process left half a line
        file.write(line)
        file.flush()
        os.fsync(file.fileno())


def read(results: Path) -> list[Record]:
    """The newest record of every cell, from all ``.jsonl`` files below a folder."""
    found: dict[Key, Record] = {}
    for path in sorted(results.rglob("*.jsonl")):
        for number, line in enumerate(path.read_bytes().splitlines(), 1):
            record = _parse(line, f"{path}, line {number}")
            if record is not None:
                found.pop(record.key, None)
                found[record.key] = record
    return list(found.values())


def json_safe(value: Any) -> Any:
    """The same with null for what is not a finite number, which JSON does not have."""
    if isinstance(value, Mapping):
        return {str(k): json_safe(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [json_safe(v) for v in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _parse(line: bytes, where: str) -> Record | None:
    try:
        data = json.loads(line)
    except ValueError:
        return None
    if not isinstance(data, dict) or not set(_FIELDS[:-2]) <= set(data):
        raise FileError(f"{where}: not a record of an experiment; keep other files out of the results folder")
    return Record(**{name: data[name] for name in _FIELDS if name in data})


def _ends_whole(file: IO[bytes]) -> bool:
    file.seek(-1, os.SEEK_END)
    return file.read(1) == b"\n"


def _lock(file: IO[bytes]) -> None:
    """Keep other processes from writing until the file is closed."""
    if os.name == "posix":
        import fcntl

        fcntl.flock(file, fcntl.LOCK_EX)
