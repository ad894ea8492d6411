"""A training run: from a file of molecules or a data set to one folder with everything about it.

The folder holds config.toml, splits.json, dropped.csv, replicates.csv (of joined rows), checkpoints/, history.csv,
model.safetensors, predictions.csv (of the test part, or of the rows that each fold left out), training.csv.gz (training
rows that predictions are compared with), metrics.json and data.json (data quality). A report is made of
these alone (:mod:`ccn.reports.report`).
"""

from __future__ import annotations

import importlib.metadata
import math
import platform
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import joblib
import numpy as np

from ccn.datasets import Dataset
from ccn.datasets.findings import describe
from ccn.datasets.splits import save_splits
from ccn.engine.cpu.compiling import kept_kernels
from ccn.files import file_digest, write_atomically, write_json
from ccn.graphs.ragged import Int, Ragged
from ccn.learning import model_file
from ccn.learning.examples import Examples, labelled
from ccn.learning.measured import FILE
from ccn.learning.model import LEVEL, Model, Prediction
from ccn.methods.method import fit
from ccn.methods.network import NetworkMethod
from ccn.progress import log
from ccn.reports.markup import csv_text
from ccn.reports.summary import censored_text, replicates_text
from ccn.runs import answers
from ccn.runs.config import Config, begin_folder, hold_folder
from ccn.runs.data import divide, divide_folds, read_data, shared_molecules
from ccn.runs.folds import cross_validate
from ccn.runs.workers import connected
from ccn.training.checkpoint import write_history
from ccn.training.execution import Execution, is_first, torch_threads
from ccn.version import __version__

__all__ = ["Result", "train_run"]


@dataclass(frozen=True)
class Result:
    """What a run produced."""

    folder: Path
    model: Model
    metrics: Mapping[str, Any]


def train_run(
    config: Config,
    folder: Path,
    execution: Execution = Execution(),  # noqa: B008 (frozen)
    say: Callable[[str], None] = log,
    *,
    cluster: str | None = None,
) -> Result:
    """Train as the configuration says, into a folder that :func:`ccn.runs.config.check_folder` has allowed.

    Of ``execution`` everything counts but the machine and the folder. Other processes are kept from the folder. With
    the address of a Dask ``cluster``, or ``local``, the fits of a stack run there.
    """
    if cluster is not None:
        with connected(cluster, joblib.cpu_count()) as client:
            return train_run(config, folder, replace(execution, client=client), say)
    if not is_first():  # the first of several processes writes
        return _train(config, folder, execution, say)
    with hold_folder(folder):
        return _train(config, folder, execution, say)


def _train(config: Config, folder: Path, execution: Execution, say: Callable[[str], None]) -> Result:
    began, first = time.monotonic(), is_first()
    data = read_data(config)
    classification = data.task == "classification"
    config = replace(config, recipe=config.recipe.for_task(classification=classification))
    method = config.make(classification=classification)
    start = None if config.start is None else model_file.load(config.start)
    if start is not None:
        assert isinstance(method, NetworkMethod)  # others have no recipe to start from
        method = replace(method, start=start)
    split, examples = divide(data, config)
    folds = [] if config.splitting.folds is None else divide_folds(data, config)
    test = split.test[labelled(data.targets)[split.test]]
    censored = _censored(data, examples)
    sizes = _sizes(data, examples, test, censored)
    counts = ", ".join(f"{name} {count:,}" for name, count in sizes.items() if count)
    say(str(data))
    if censored:
        say(censored_text(censored))
    replicates = None if data.replicates is None else data.replicates.summary()
    if replicates:
        say(replicates_text(replicates))
    say(f"learning {_what(data)}; rows: {counts}")
    shared = shared_molecules(data, split, say)
    if method.compiles and config.machine.device == "cpu" and not kept_kernels():
        say("compiling kernels (once per machine, a few seconds)")

    def begin() -> None:
        """Make the folder; an older run in it is removed only when all settings have been checked."""
        if first:
            begin_folder(folder, config, resume=execution.resume)
            source = data.pack if data.smiles is None else data.smiles
            save_splits(folder / "splits.json", [split], source)
            if folds:
                save_splits(folder / "folds.json", folds, source)
            data.write_dropped(folder / "dropped.csv")
            if data.replicates is not None:
                data.replicates.write(folder / "replicates.csv")

    if execution.resume and not folds and not method.resumes:
        say(f"the method {method.name} has no checkpoints: it is fitted from the beginning")
    execution = replace(execution, machine=config.machine, folder=folder / "checkpoints", begin=begin, say=say)
    crossed = None
    with torch_threads(config.threads):
        if folds:
            limit = None if execution.time_limit is None else execution.time_limit / (len(folds) + 1)
            execution = replace(execution, time_limit=limit)
            crossed = cross_validate(data, folds, config, method, execution)
            say(f"the model, on all rows: {counts}")
            execution = replace(execution, begin=lambda: None)
        model, outcome = fit(method, examples, execution, _about(data, config, start))
        predicted = model.predict(examples.graphs.select(test)) if len(test) else None
        if predicted is not None:
            model = _tested(model, data, examples, test, predicted)
    metrics, overlap = model.about["metrics"], model.about.get("overlap", {})
    found: dict[str, Any] = {"task": model.task.kind, "targets": list(model.task.targets), "metrics": metrics}
    if predicted is not None:
        found["interval"] = model.coverage(data.targets[test], predicted)
    if crossed is not None:
        found["cross_validation"] = crossed.summary(model, data)
        if start is not None and start.seen is not None and data.canonical is not None:
            known_before = np.any(list(start.seen.parts(data.canonical.select(crossed.rows)).values()), axis=0)
            found["cross_validation"]["seen_before"] = int(known_before.sum())
    found |= {"overlap": overlap or None, "shared_molecules": shared}
    found |= {key: value for key, value in {"censored": censored, "replicates": replicates}.items() if value}
    if trust := model.about.get("trust"):
        found["trust"] = trust
    found |= {
        "members": model.about["members"],
        "warnings": model.about["warnings"],
        "graphs": sizes,
        "seconds": round(time.monotonic() - began, 2),
        "versions": _versions(),
    }
    model = _with_training(replace(model, about={**model.about, "overlap": overlap, "graphs": sizes}), data)
    result = Result(folder, model, found)
    if not first:
        return result
    history = [{"member": i, **row} for i, rows in enumerate(outcome.history) for row in rows]
    write_history(folder / "history.csv", history)
    text = None
    if predicted is not None:
        level = LEVEL if "coverage" in (found["interval"] or {}) else None
        text = _predictions(model, data, test, predicted, level)
    elif crossed is not None:  # the intervals are those of the model, not of the folds
        text = _predictions(model, data, crossed.rows, crossed.predicted, None)
    if text is not None:
        write_atomically(folder / "predictions.csv", text.encode())
    write_json(folder / "metrics.json", found)
    write_json(folder / "data.json", describe(data, split))
    if model.measured is not None:
        model.measured.write(folder / FILE)
    # Last: a run with a model file is complete.
    model_file.save(model, folder / "model.safetensors", share_training=config.data.share_training)
    return result


def _about(data: Dataset, config: Config, start: Model | None) -> dict[str, Any]:
    """What the model file says of the data, and of the model that training began with."""
    about: dict[str, Any] = {
        "data": data.name,
        "smiles_column": data.options.get("smiles_column"),
        "target_columns": list(data.target_names),
        "units": list(data.units),
        "single": len(data.target_names) == 1,
    }
    if config.start is not None and start is not None:
        file = file_digest(model_file.model_path(config.start))
        about["from"] = {"sha256": file, "fingerprint": start.about.get("fingerprint")}
    return about


def _tested(model: Model, data: Dataset, examples: Examples, test: Int, predicted: Prediction) -> Model:
    """The model that knows its metrics on the test part, the overlap with training and the error by distance there."""
    known, about = data.targets[test], dict(model.about)
    about["metrics"] = {**about["metrics"], "test": model.metrics(known, predicted)}
    if (same := model.overlap(examples.molecules_of(test), known, predicted)) is not None:
        about["overlap"] = {**about.get("overlap", {}), "test": same}
    model = replace(model, about=about)
    if model.domain is None or "trust" not in about:
        return model
    distance = model.domain.distance(examples.graphs.select(test))
    return model.with_trust("test", model.trust(known, predicted, distance))


def _sizes(data: Dataset, examples: Examples, test: Int, censored: Mapping[str, Any] | None) -> dict[str, int]:
    """How many rows each part has, and how many are used otherwise or not at all."""
    sizes = {**examples.sizes, "test": len(test)}
    if left := (censored or {}).get("left_out"):
        sizes["censored, left out"] = left
    unlabelled = ~labelled(data.targets)
    if data.bounds is not None:
        unlabelled &= ~labelled(data.bounds[..., 0])
    if alone := int(unlabelled[examples.train].sum()):
        sizes["auxiliary alone"] = alone  # among those of training
    if rest := int(unlabelled.sum()) - alone:
        sizes["without target"] = rest
    return sizes


def _versions() -> dict[str, str]:
    """Of what the result depends on."""
    packages = ("torch", "rdkit", "numpy", "scikit-learn", "lightgbm")
    made = {name: importlib.metadata.version(name) for name in packages}
    return {"ccn": __version__, "Python": platform.python_version(), **made}


def _with_training(model: Model, data: Dataset) -> Model:
    """The model with training rows that are called as in the data, and the digest by which it knows them."""
    if model.measured is None:
        return model
    rows = model.measured.row

    def texts(column: Sequence[str] | None) -> tuple[str, ...]:
        return () if column is None else tuple(str(column[i]) for i in rows.tolist())

    number = rows + 1 if data.rows is None else np.asarray(data.rows)[rows]
    measured = replace(model.measured, row=number, names=texts(data.ids), smiles=texts(data.smiles))
    return replace(model, measured=measured, about={**model.about, "training": measured.digest()})


def _censored(data: Dataset, examples: Examples) -> dict[str, Any] | None:
    """Censored values of each target, the rows that have no others, and how many of these are learned from or not."""
    if data.bounds is None:
        return None
    there = ~np.isnan(data.bounds[..., 0])
    alone = there.any(axis=1) & ~labelled(data.targets)
    used = int(alone[examples.train].sum())
    values = dict(zip(data.target_names, there.sum(axis=0).tolist(), strict=True))
    return {"values": values, "rows": int(alone.sum()), "trained_on": used, "left_out": int(alone.sum()) - used}


def _what(data: Dataset) -> str:
    more = len(data.target_names) - 5
    names = ", ".join(data.target_names[:5]) + (f" and {more} more" if more > 0 else "")
    kind = "numbers"
    if data.task == "classification":
        kind = f"classes {', '.join(map(str, data.classes[:6]))}{', ..' * (len(data.classes) > 6)}"
    beside = f", with the help of {', '.join(data.auxiliary_names)}" if data.auxiliary_names else ""
    return f"{names} ({kind}){beside}"


def _predictions(model: Model, data: Dataset, rows: Int, predicted: Prediction, level: float | None) -> str:
    """Rows of the data as a table: their number, identifier, SMILES and targets, and the predictions."""
    number = np.arange(1, len(data) + 1) if data.rows is None else data.rows
    columns = {"row": number.tolist(), "id": data.ids, "smiles": data.smiles}
    kept = {name: column for name, column in columns.items() if column is not None}
    classes = data.classes if data.task == "classification" else None

    def cell(y: float) -> str:
        return "" if math.isnan(y) else f"{y:.10g}" if classes is None else str(classes[int(y)])

    targets = [[cell(y) for y in row] for row in data.targets[rows].tolist()]
    cells = answers.cells(model, predicted, level)
    own = [[c[i] for c in kept.values()] for i in rows.tolist()]
    head = [*kept, *data.target_names, *answers.columns(model, level)]
    if isinstance(data.targets, Ragged):  # a line for each vertex or edge of a graph
        counts = data.targets.counts[rows].tolist()
        own = [[*line, number] for line, count in zip(own, counts, strict=True) for number in range(count)]
        head = [*kept, data.per, *head[len(kept) :]]
    lines = [[*line, *t, *p] for line, t, p in zip(own, targets, cells, strict=True)]
    if any(faults := answers.faults(predicted.mean)):
        head, lines = [*head, answers.REASON], [[*line, why] for line, why in zip(lines, faults, strict=True)]
    return csv_text(head, lines)
