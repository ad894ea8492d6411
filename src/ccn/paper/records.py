"""Records of cells that have run: one line of JSON each, in append-only files below the results folder.

A line that a killed process left unfinished is skipped, and a later record of a cell replaces an earlier one.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, Literal, get_args

from ccn.errors import FileError
from ccn.files import json_safe, lock
from ccn.paper.tasks import CLIFF_RMSE, TASKS

__all__ = ["METRICS", "Key", "Record", "Status", "append", "history", "latest", "newest", "read"]

Key = tuple[str, str, int]
Status = Literal["done", "timeout", "failed"]
METRICS = {"kernels": "accuracy", "hcep": "mae", "qm9": "scaled mae", "expressivity": "pairs"}
METRICS |= {"folds": "accuracy", "zinc": "mae"}
METRICS |= {name: task.metric for name, task in TASKS.items()}
"""The metric of each table, and of each task on molecules."""


@dataclass(frozen=True)
class Record:
    """How a method did on one split of a data set.

    Attributes:
        metric: one of :data:`METRICS`.
        validation, test: the metric on these parts, None where there is none.
        seconds: of fitting and predicting.
        version: of ccn.
        config: the resolved settings, what was chosen on validation, the number of training rows.
        details: figures of each target, or the error of a cell that failed; of a task on molecules all metrics on the
            test rows, the processor time in seconds and the date.
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
        return self.dataset, self.method, self.split


_FIELDS = tuple(f.name for f in fields(Record))


def append(path: Path, record: Record) -> None:
    """Write one line, complete and on disk before this returns; several processes may do so at once."""
    line = json.dumps(json_safe(asdict(record)), allow_nan=False).encode() + b"\n"
    path.parent.mkdir(parents=True, exist_ok=True)
    with lock(path), path.open("a+b") as file:
        if file.seek(0, os.SEEK_END):
            file.seek(-1, os.SEEK_END)
            if file.read(1) != b"\n":
                line = b"\n" + line  # a killed process left an unfinished line
        file.write(line)
        file.flush()
        os.fsync(file.fileno())


def history(results: Path) -> list[Record]:
    """All records in the ``.jsonl`` files below a folder, replaced ones too."""
    return [record for path in sorted(results.rglob("*.jsonl")) for record in _records(path)]


def latest(records: Iterable[Record]) -> list[Record]:
    """The newest record of every cell."""
    found: dict[Key, Record] = {}
    for record in records:
        found.pop(record.key, None)
        found[record.key] = record
    return list(found.values())


def read(results: Path) -> list[Record]:
    """The newest record of every cell, from all ``.jsonl`` files below a folder."""
    return latest(history(results))


def newest(path: Path, key: Key) -> Record | None:
    """The newest record of one cell in its file."""
    return next((r for r in reversed(_records(path)) if r.key == key), None) if path.exists() else None


def _records(path: Path) -> list[Record]:
    found = (_parse(line, f"{path}, line {i}") for i, line in enumerate(path.read_bytes().splitlines(), 1))
    return [r for r in found if r is not None]


def _parse(line: bytes, where: str) -> Record | None:
    try:
        data = json.loads(line)
    except ValueError:
        return None
    if not isinstance(data, dict) or not set(_FIELDS[:-2]) <= set(data):
        raise FileError(f"{where}: not a record of an experiment; keep other files out of the results folder")
    record = Record(**{name: data[name] for name in _FIELDS if name in data})
    for name, valid in _checks(record).items():
        if not valid:
            raise FileError(
                f"{where}: not a record of an experiment: {name} has an invalid value; correct or remove the line"
            )
    return record


def _checks(record: Record) -> dict[str, bool]:
    """Whether each field has a value of the kind that tables are made from."""
    return {
        **{name: isinstance(getattr(record, name), str) for name in ("dataset", "method", "version")},
        "split": type(record.split) is int and record.split >= 0,
        "seed": type(record.seed) is int,
        "validation": record.validation is None or _number(record.validation),
        "test": record.test is None or _number(record.test),
        "status": record.status in get_args(Status),
        "metric": record.metric in METRICS.values() and _metric_of(str(record.dataset)) in (None, record.metric),
        "seconds": _number(record.seconds) and record.seconds >= 0,
        "config": _valid_config(record.config),
        "details": isinstance(record.details, dict) and (record.status != "done" or _valid_details(record)),
    }


def _metric_of(dataset: str) -> str | None:
    """The metric of a task, or of a table that is called like its data set."""
    return METRICS.get(dataset if dataset in TASKS else dataset.lower())


def _valid_config(config: Any) -> bool:
    """Whether notes of tables can be made from the settings."""
    if not isinstance(config, dict) or not _number(config.get("rows", 0)):
        return False
    recipe, options = config.get("recipe", {}), config.get("options", {})
    if not isinstance(recipe, dict) or not isinstance(options, dict):
        return False
    parts = [options.get("settings") or {}, *(part for name, part in recipe.items() if name != "name")]
    return all(isinstance(part, dict) for part in parts) and _number(recipe.get("training", {}).get("members", 1))


def _valid_details(record: Record) -> bool:
    """Whether the details of a cell that is done, if there are any, are the figures that belong to its metric."""
    metric, details = record.metric, record.details
    if str(record.dataset) in TASKS:
        measured: Any = details.get("metrics")
        needed = (metric, CLIFF_RMSE) if TASKS[record.dataset].cliffs else (metric,)
        return (
            isinstance(measured, dict)
            and all(name in measured and (measured[name] is None or _number(measured[name])) for name in needed)
            and _number(details.get("processor_seconds"))
            and isinstance(details.get("date"), str)
        )
    if metric == "accuracy" or not details:
        return True
    if metric == "pairs":
        return all(_number(details.get(name)) for name in ("apart", "pairs"))
    columns: list[Any] = [details.get(name) for name in ("targets", "mae", "rmse", "scale")]
    targets, mae, rmse, scale = columns
    return (
        all(isinstance(column, list) and column and len(column) == len(targets) for column in columns)
        and all(isinstance(target, str) for target in targets)
        and all(error is None or _number(error) for error in (*mae, *rmse))
        and all(_number(s) and s > 0 for s in scale)
    )


def _number(value: Any) -> bool:
    """Whether it is a number, neither NaN nor so large that sums would be infinite."""
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e100
