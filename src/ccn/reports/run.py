"""What a report is made of: the files of a run's folder, read once. The data and the predictions are not made again."""

from __future__ import annotations

import csv
import json
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from ccn.errors import CCNError, FileError
from ccn.learning.metrics import SMALLER, names
from ccn.learning.model import Model
from ccn.learning.model_file import describe, load, with_measured_at_hand
from ccn.learning.resampling import Interval, intervals
from ccn.learning.task import Floats, Task

__all__ = ["Run", "label", "read_run"]


@dataclass(frozen=True)
class Run:
    """A finished run, as its folder holds it.

    Attributes:
        folder: where it is.
        config: config.toml.
        metrics: metrics.json.
        data: data.json, what :func:`ccn.datasets.findings.describe` found.
        about: how the model was made, from the header of its file.
        task: what the predictions mean.
        history: the epochs of all networks; every row names its ``member``.
        rows: the numbers of the rows that are predicted, of the test part or of all folds.
        names, smiles: of these rows; empty where the data have none.
        known: (rows, targets) the targets as in the data, NaN where missing, classes as their numbers.
        predicted: (rows, targets) or, for one target of classes, (rows, classes).
        low, high: (rows, targets) ends of the intervals; None without.
    """

    folder: Path
    config: Mapping[str, Any]
    metrics: Mapping[str, Any]
    data: Mapping[str, Any]
    about: Mapping[str, Any]
    task: Task
    history: Sequence[Mapping[str, str]]
    rows: Sequence[int]
    names: Sequence[str]
    smiles: Sequence[str]
    known: Floats
    predicted: Floats
    low: Floats | None
    high: Floats | None

    @property
    def crossed(self) -> bool:
        """Whether the predictions are those of folds, so that there is no test part."""
        return "cross_validation" in self.metrics

    @property
    def part(self) -> str:
        """How texts call the rows that are predicted."""
        return "rows of the folds" if self.crossed else "test rows"

    @property
    def tested(self) -> Mapping[str, float]:
        """The metrics of these rows."""
        found: Mapping[str, float] = (
            self.metrics["cross_validation"]["pooled"] if self.crossed else self.metrics["metrics"].get("test", {})
        )
        return found

    @property
    def shared(self) -> tuple[str, ...]:
        """The metrics whose mean over all targets says something: not those in the units of several numbers."""
        several = self.task.kind == "regression" and len(self.task.targets) > 1
        return tuple(name for name in names(self.task) if not (several and name in SMALLER))

    @cached_property
    def model(self) -> Model:
        """The model itself, with its training molecules where they are at hand; it takes time to read."""
        return with_measured_at_hand(load(self.folder), self.folder)

    @cached_property
    def intervals(self) -> dict[str, Interval]:
        """The bootstrap interval of each metric of these rows."""
        return intervals(self.task, self.known, self.predicted)

    def label(self, t: int) -> str:
        """A target with its unit."""
        return label(self.data, t)

    def unit(self, t: int) -> str:
        """The unit of a target, empty if it has none."""
        return _unit(self.data, t)

    def title(self, i: int) -> str:
        """The name of a row that is predicted, or its number."""
        return self.names[i] if self.names and self.names[i] else f"row {self.rows[i]}"

    @cached_property
    def nearest(self) -> Mapping[int, tuple[float, Mapping[str, Any]]]:
        """The similarity to the nearest training molecule, and that molecule, by the number of the row."""
        found = {} if self.crossed else (self.data.get("similarity") or {}).get("test", {})
        near = zip(found.get("similarity", ()), found.get("nearest", ()), strict=True)
        return dict(zip(found.get("rows", ()), near, strict=True))


def _unit(d: Mapping[str, Any], t: int) -> str:
    units = d.get("units") or ()
    return str(units[t]) if t < len(units) else ""


def label(d: Mapping[str, Any], t: int) -> str:
    """A target of what :func:`ccn.datasets.findings.describe` found, with its unit."""
    unit = _unit(d, t)
    return f"{d['targets'][t]} ({unit})" if unit else str(d["targets"][t])


def read_run(folder: Path) -> Run:
    """The run in a folder; an error that says what is missing."""
    if not folder.is_dir():
        raise FileError(f"{folder}: no such folder; give the folder of a run, as ccn train --output names it")
    header = describe(folder)
    task = Task.from_dict(header["task"])
    try:
        config = tomllib.loads((folder / "config.toml").read_text(encoding="utf-8"))
        metrics = json.loads((folder / "metrics.json").read_text(encoding="utf-8"))
        data = json.loads((folder / "data.json").read_text(encoding="utf-8"))
        head, *rows = _lines(folder / "history.csv") or [[]]
        history = [dict(zip(head, row, strict=True)) for row in rows]
        tested = folder / "predictions.csv"  # not written where there is no test part
        head, *rows = (tested.exists() and _lines(tested)) or [[]]
        predicted = _predictions(task, head, rows)
    except FileNotFoundError as error:
        name = Path(error.filename or "").name
        raise FileError(
            f"{folder}: it has no {name}, so that no report can be made of it; a run of an earlier version is to be "
            "trained again"
        ) from None
    except (OSError, ValueError, KeyError, IndexError, TypeError) as error:
        if isinstance(error, CCNError):
            raise
        raise FileError(f"{folder}: its files do not belong together or were altered ({error})") from None
    return Run(folder, config, metrics, data, header["about"], task, history, *predicted)


def _lines(path: Path) -> list[list[str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.reader(file))


def _predictions(task: Task, head: Sequence[str], lines: Sequence[Sequence[str]]) -> tuple[Any, ...]:
    """The columns of predictions.csv, by their places: what stands before the targets, these, and the predictions.

    Rows without a prediction are left out.
    """
    count, classes = len(task.targets), [str(c) for c in task.classes]
    if not head:
        width = len(classes) if task.kind in ("binary", "multiclass") else count
        return [], [], [], np.zeros((0, count)), np.zeros((0, width)), None, None
    first = next(i for i in range(1, 4) if list(head[i : i + count]) == list(task.targets))
    before, after = head[:first], first + count
    made = [line for line in lines if line[after]]
    intervals = task.kind == "regression" and f"{task.targets[0]}_low" in head[after:]

    def numbers(place: int, step: int, many: int) -> Floats:
        cells = [[line[place + step * k] for k in range(many)] for line in made]
        return np.array([[float(c) if c else np.nan for c in row] for row in cells], dtype=np.float64).reshape(-1, many)

    def column(name: str) -> list[str]:
        return [line[before.index(name)] for line in made] if name in before else []

    low = high = None
    if task.kind == "regression":
        known, step = numbers(first, 1, count), 3 if intervals else 1
        predicted = numbers(after, step, count)
        if intervals:
            low, high = numbers(after + 1, step, count), numbers(after + 2, step, count)
    else:
        cells = [line[first:after] for line in made]
        known = np.array([[classes.index(c) if c else np.nan for c in row] for row in cells], dtype=np.float64)
        known = known.reshape(-1, count)
        predicted = numbers(after + 1, 2, count) if task.kind == "multilabel" else numbers(after + 1, 1, len(classes))
    return [int(r) for r in column("row")], column("id"), column("smiles"), known, predicted, low, high
