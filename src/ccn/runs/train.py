"""A training run: from a file of molecules or a data set to one folder with everything about it.

The folder holds config.toml, splits.json, dropped.csv, checkpoints/, history.csv, model.safetensors,
predictions.csv (of the test part), metrics.json, report.md and, with matplotlib, report.png.
"""

from __future__ import annotations

import csv
import io
import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from ccn.datasets import Dataset
from ccn.datasets.splits import save_splits
from ccn.engine.cpu.vectors import kept_kernels
from ccn.files import write_atomically, write_json
from ccn.graphs.ragged import Int
from ccn.learning import model_file
from ccn.learning.examples import labelled
from ccn.learning.model import Model, Prediction
from ccn.learning.task import Floats
from ccn.methods.method import Outcome, fit
from ccn.reports.summary import draw_run, report
from ccn.runs import answers
from ccn.runs.config import Config
from ccn.runs.data import divide, read_data
from ccn.runs.folder import begin_folder
from ccn.training.execution import Execution
from ccn.training.history import write_history
from ccn.training.machine import is_first, torch_threads

__all__ = ["LEVEL", "Result", "coverage", "train_run"]

LEVEL = 0.9  # of the intervals that are reported
Say = Callable[[str], None]


@dataclass(frozen=True)
class Result:
    """What a run came to."""

    folder: Path
    model: Model
    metrics: Mapping[str, Any]


@dataclass(frozen=True)
class _Tested:
    """The test part: its rows, their targets, and the predictions, which are computed once."""

    rows: Int
    targets: Floats
    predicted: Prediction


def train_run(
    config: Config,
    folder: Path,
    *,
    resume: bool = False,
    checkpoint_every: float = 30.0,
    time_limit: float | None = None,
    tensorboard: bool = False,
    verbose: bool = False,
    say: Say = lambda line: None,
) -> Result:
    """Train as the configuration says, into a folder that :func:`ccn.runs.folder.check_folder` has allowed."""
    began, first = time.monotonic(), is_first()
    data = read_data(config)
    classification = data.task == "classification"
    config = replace(config, recipe=config.recipe.for_task(classification=classification))
    method = config.make(classification=classification)
    split, examples = divide(data, config)
    test = split.test[labelled(data.targets[split.test])]
    sizes = {**examples.sizes, "test": len(test)}
    say(str(data))
    say(f"learning {_what(data)}; rows: " + ", ".join(f"{name} {count:,}" for name, count in sizes.items() if count))
    if method.compiles and config.machine.device == "cpu" and not kept_kernels():
        say("compiling kernels (once per machine, about half a minute)")

    def begin() -> None:
        """Make the folder; an older run in it is removed only when all settings have been checked."""
        if first:
            begin_folder(folder, config, resume=resume)
            save_splits(folder / "splits.json", [split], data.pack if data.smiles is None else data.smiles)
            data.write_dropped(folder / "dropped.csv")

    execution = Execution(
        config.machine,
        folder / "checkpoints",
        resume,
        every=checkpoint_every,
        time_limit=time_limit,
        tensorboard=tensorboard,
        verbose=verbose,
        begin=begin,
    )
    about = {
        "data": data.name,
        "smiles_column": data.options.get("smiles_column"),
        "target_columns": list(data.target_names),
        "units": list(data.units),
        "single": len(data.target_names) == 1,
    }
    with torch_threads(config.threads):
        model, outcome = fit(method, examples, execution, about)
        tested = _Tested(test, data.targets[test], model.predict(examples.graphs.select(test))) if len(test) else None
    found = _metrics(model, tested) | {"graphs": sizes, "seconds": round(time.monotonic() - began, 2)}
    model = replace(model, about={**model.about, "metrics": found["metrics"], "graphs": sizes})
    if first:
        _write(folder, model, outcome, data, tested, found, config)
    return Result(folder, model, found)


def _what(data: Dataset) -> str:
    more = len(data.target_names) - 5
    names = ", ".join(data.target_names[:5]) + (f" and {more} more" if more > 0 else "")
    if data.task == "regression":
        return f"{names} (numbers)"
    return f"{names} (classes {', '.join(map(str, data.classes[:6]))}{', ..' * (len(data.classes) > 6)})"


def _metrics(model: Model, tested: _Tested | None) -> dict[str, Any]:
    """The metrics of all parts that were not fitted, and the coverage of the intervals on the test part."""
    held_out = dict(model.about["metrics"])
    out: dict[str, Any] = {"task": model.task.kind, "targets": list(model.task.targets), "metrics": held_out}
    if tested is not None:
        held_out["test"] = model.metrics(tested.targets, tested.predicted)
        out["interval"] = coverage(model, tested.targets, tested.predicted)
    return out | {"members": model.about["members"]}


def coverage(model: Model, targets: Floats, predicted: Prediction, level: float = LEVEL) -> dict[str, Any] | None:
    """The coverage of the intervals of this level and their mean width; None without intervals."""
    if model.calibration is None:
        return None
    low, high = model.interval(predicted, level)
    there = ~np.isnan(targets)
    inside = (low <= targets) & (targets <= high)
    width = np.where(there, high - low, np.nan)
    return {
        "level": level,
        "coverage": float(inside[there].mean()) if there.any() else math.nan,
        "mean_width": {
            name: float(np.nanmean(width[:, i])) if there[:, i].any() else math.nan
            for i, name in enumerate(model.task.targets)
        },
        "rows": int(there.any(axis=1).sum()),
    }


def _write(
    folder: Path,
    model: Model,
    outcome: Outcome,
    data: Dataset,
    tested: _Tested | None,
    found: Mapping[str, Any],
    config: Config,
) -> None:
    history = [{"member": i, **row} for i, rows in enumerate(outcome.history) for row in rows]
    write_history(folder / "history.csv", history)
    drawn = draw_run(
        folder / "report.png",
        history,
        model.task,
        None if tested is None else (tested.targets, tested.predicted.mean),
    )
    if tested is not None:
        write_atomically(folder / "predictions.csv", _predictions(model, data, tested).encode())
    write_json(folder / "metrics.json", found)
    write_atomically(folder / "report.md", report(folder, model, data, found, config, drawn).encode())
    # Last: where there is a model file, the run is complete.
    model_file.save(model, folder / "model.safetensors")


def _predictions(model: Model, data: Dataset, tested: _Tested) -> str:
    """The test part as a table: the rows of the source, what is known of them, and the predictions."""
    level = None if model.calibration is None else LEVEL
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    known = {"id": data.ids, "smiles": data.smiles}
    carried = {name: column for name, column in known.items() if column is not None}
    table.writerow(["row", *carried, *data.target_names, *answers.columns(model, level)])
    number = np.arange(1, len(data) + 1) if data.rows is None else data.rows
    for i, cells in zip(tested.rows.tolist(), answers.cells(model, tested.predicted, level), strict=True):
        targets = ["" if math.isnan(y) else _target(data, y) for y in data.targets[i].tolist()]
        table.writerow([int(number[i]), *(column[i] for column in carried.values()), *targets, *cells])
    return text.getvalue()


def _target(data: Dataset, y: float) -> str:
    return str(data.classes[int(y)]) if data.task == "classification" else f"{y:.10g}"
