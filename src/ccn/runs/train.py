"""A training run: from a file of molecules or a data set to one folder with everything about it.

The folder holds config.toml, splits.json, dropped.csv, checkpoints/, history.csv, model.safetensors,
predictions.csv (of the test part), metrics.json, report.md and, with matplotlib, report.png.
"""

from __future__ import annotations

import csv
import io
import json
import math
import shutil
import time
from collections.abc import Callable, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from ccn.datasets import Dataset
from ccn.datasets.splits import save_splits
from ccn.errors import ConfigurationError, FileError
from ccn.files import json_safe, remove_unfinished, write_atomically
from ccn.graphs.pack import Pack
from ccn.graphs.ragged import Int
from ccn.learning import model_file
from ccn.learning.inputs import Inputs
from ccn.learning.model import Model
from ccn.methods.fitting import Parts, Run, fit
from ccn.runs.config import Config, read_config, to_toml
from ccn.runs.data import Dealt, deal, read_data
from ccn.training.machine import is_first

__all__ = ["LEVEL", "Result", "begin_folder", "check_folder", "coverage", "threads", "train_run"]

LEVEL = 0.9  # of the intervals that are reported
CONFIG, MODEL = "config.toml", "model.safetensors"
Say = Callable[[str], None]


@dataclass(frozen=True)
class Result:
    """What a run came to."""

    folder: Path
    model: Model
    metrics: Mapping[str, Any]


def check_folder(folder: Path, *, resume: bool, overwrite: bool, method: str | None = None) -> dict[str, Any] | None:
    """The configuration of the run in the folder that is gone on with, if any; nothing is written yet.

    A folder with something in it is taken only to resume or overwrite the run in it; what is not a run is left alone.
    A run is gone on with by its own method, whichever is asked for.
    """
    if resume and overwrite:
        raise ConfigurationError("--resume goes on with a run and --overwrite throws it away; give one of them")
    if folder.exists() and not folder.is_dir():
        raise FileError(f"{folder}: a file, not a folder; choose another output")
    if not folder.exists() or all(p.name.endswith(".part") for p in folder.iterdir()):
        return None  # new, or killed before its first file was whole
    run = (folder / CONFIG).is_file()
    if resume and run:
        before = read_config(folder / CONFIG)
        own = before.get("method", "ccn")
        if method not in (None, own):
            raise ConfigurationError(
                f"{folder}: the run in it is of the method {own}, not {method}; leave out --method to go on with it, "
                "choose another output, or replace it with --overwrite"
            )
        return before
    if overwrite and run:
        return None
    if not run:
        raise FileError(f"{folder}: not empty and not a run of ccn; choose another output")
    raise FileError(f"{folder}: there is a run already; add --resume to go on with it, or --overwrite to replace it")


def begin_folder(folder: Path, config: Config, *, resume: bool) -> None:
    """Make the folder that :func:`check_folder` allowed, in the place of an older run unless that is gone on with."""
    if not resume and (folder / CONFIG).is_file():
        shutil.rmtree(folder)
    folder.mkdir(parents=True, exist_ok=True)
    remove_unfinished(folder)
    if not (folder / CONFIG).is_file():  # that of a run that is gone on with stays: others are refused later
        write_atomically(folder / CONFIG, to_toml(config).encode())


@contextmanager
def threads(count: int | None) -> Any:
    """So many threads for torch, afterwards as many as before."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(count or before)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def train_run(
    config: Config,
    folder: Path,
    *,
    resume: bool = False,
    time_limit: float | None = None,
    tensorboard: bool = False,
    verbose: bool = False,
    say: Say = lambda line: None,
) -> Result:
    """Train as the configuration says, into a folder that :func:`check_folder` has allowed."""
    began = time.monotonic()
    first = is_first()
    data = read_data(config)
    config = replace(config, recipe=config.recipe.for_task(classification=data.task == "classification"))
    dealt = deal(data, config)
    say(str(data))
    parts = dealt.parts
    sizes = {"train": len(parts.train), "validation": len(parts.validation), "calibration": len(parts.calibration)}
    sizes["test"] = len(dealt.test)
    say(f"learning {_what(data)}; rows: " + ", ".join(f"{name} {count:,}" for name, count in sizes.items() if count))

    def begin() -> None:
        """Make the folder; what is in it of an older run is gone only when all settings have been checked."""
        if first:
            begin_folder(folder, config, resume=resume)
            save_splits(folder / "splits.json", [dealt.split], data.pack if data.smiles is None else data.smiles)
            data.write_dropped(folder / "dropped.csv")

    run = Run(
        folder / "checkpoints", resume, time_limit=time_limit, tensorboard=tensorboard, verbose=verbose, begin=begin
    )
    about = {
        "data": data.name,
        "smiles_column": data.options.get("smiles_column"),
        "target_columns": list(data.target_names),
        "units": list(data.units),
        "single": len(data.target_names) == 1,
    }
    from ccn.engine.cpu.vectors import kept_kernels

    with threads(config.threads):
        if config.method == "ccn":
            if config.machine.device == "cpu" and not kept_kernels():
                say("the first network on this machine: its code is compiled now, once, in about half a minute")
            model, graphs = _network(config, data, parts, run, about)
        else:
            from ccn.methods.model import learn

            model = learn(config, data, parts, run, about)
            graphs = model.inputs.vertices(data.pack)
        found = _metrics(model, graphs, data, dealt)
    found |= {"graphs": sizes, "seconds": round(time.monotonic() - began, 2)}
    model = replace(model, about={**model.about, "metrics": found["metrics"], "graphs": sizes})
    if first:
        _write(folder, model, graphs, data, dealt, found, config)
    return Result(folder, model, found)


def _network(config: Config, data: Dataset, parts: Parts, run: Run, about: Mapping[str, Any]) -> tuple[Model, Pack]:
    """A network of this package, and the graphs as it reads them."""
    inputs = Inputs.of_dataset(data, parts.train, config.recipe.features)
    graphs = inputs.vertices(data.pack)
    model = fit(
        graphs,
        data.targets,
        parts,
        config.recipe,
        inputs,
        classification=data.task == "classification",
        names=data.target_names,
        classes=data.classes,
        class_weight=config.data.class_weight,
        weights=data.weights,
        seed=config.seed,
        machine=config.machine,
        run=run,
        about=about,
    )
    return model, graphs


def _what(data: Dataset) -> str:
    names = ", ".join(data.target_names[:5]) + (
        f" and {len(data.target_names) - 5} more" * (len(data.target_names) > 5)
    )
    if data.task == "regression":
        return f"{names} (numbers)"
    return f"{names} (classes {', '.join(map(str, data.classes[:6]))}{', ..' * (len(data.classes) > 6)})"


def _metrics(model: Model, graphs: Pack, data: Dataset, dealt: Dealt) -> dict[str, Any]:
    """The metrics of all parts that were not fitted, and how often the intervals held on the test part."""
    held = dict(model.about["metrics"])
    out: dict[str, Any] = {"task": model.task.kind, "targets": list(model.task.targets), "metrics": held}
    if len(dealt.test):
        chosen = graphs.select(dealt.test)
        held["test"] = model.evaluate(chosen, data.targets[dealt.test])
        out["interval"] = coverage(model, chosen, data.targets[dealt.test])
    out["members"] = model.about["members"]
    return out


def coverage(model: Model, graphs: Pack, targets: Any, level: float = LEVEL) -> dict[str, Any] | None:
    """How many of the targets the intervals of this level hold, and their mean width; None without intervals."""
    if model.calibration is None:
        return None
    _, low, high = model.interval(graphs, level)
    there = ~np.isnan(targets)
    inside = (low <= targets) & (targets <= high)
    width = np.where(there, high - low, np.nan)
    names = model.task.targets
    return {
        "level": level,
        "coverage": float(inside[there].mean()) if there.any() else math.nan,
        "mean_width": {
            name: float(np.nanmean(column)) if there[:, i].any() else math.nan
            for i, (name, column) in enumerate(zip(names, width.T, strict=True))
        },
        "rows": int(there.any(axis=1).sum()),
    }


def _write(
    folder: Path, model: Model, graphs: Pack, data: Dataset, dealt: Dealt, found: Mapping[str, Any], config: Config
) -> None:
    from ccn.reports.figures import draw_run
    from ccn.reports.summary import report

    _history(folder, len(model.members) or 1)
    tested = (
        data.targets[dealt.test],
        model.predict(graphs.select(dealt.test)) if len(dealt.test) else np.zeros((0, 1)),
    )
    drawn = draw_run(folder / "report.png", folder / "history.csv", model.task, *tested)
    if len(dealt.test):
        write_atomically(folder / "predictions.csv", _predictions(model, graphs, data, dealt.test).encode())
    text = json.dumps(json_safe(found), indent=1)
    write_atomically(folder / "metrics.json", (text + "\n").encode())
    write_atomically(folder / "report.md", report(folder, model, data, found, config, drawn).encode())
    # Last: where there is a model file, the run is whole.
    model_file.save(model, folder / MODEL)


def _predictions(model: Model, graphs: Pack, data: Dataset, rows: Int) -> str:
    """The test part as a table: its rows of the source, what is known of them, and the predictions."""
    from ccn.runs import answers

    level = None if model.calibration is None else LEVEL
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    known = {"id": data.ids, "smiles": data.smiles}
    carried = {name: column for name, column in known.items() if column is not None}
    table.writerow(["row", *carried, *data.target_names, *answers.columns(model, level)])
    number = np.arange(1, len(data) + 1) if data.rows is None else data.rows
    for i, cells in zip(rows.tolist(), answers.cells(model, graphs.select(rows), level), strict=True):
        targets = ["" if math.isnan(y) else _target(data, y) for y in data.targets[i].tolist()]
        table.writerow([int(number[i]), *(column[i] for column in carried.values()), *targets, *cells])
    return text.getvalue()


def _target(data: Dataset, y: float) -> str:
    return str(data.classes[int(y)]) if data.task == "classification" else f"{y:.10g}"


def _history(folder: Path, members: int) -> None:
    """One history.csv of all members, from those that the loop keeps beside the checkpoints."""
    text = io.StringIO()
    table: Any = None
    for i in range(members):
        path = folder / "checkpoints" / f"member{i}" / "history.csv"
        if not path.is_file():
            continue
        with path.open(newline="", encoding="utf-8") as file:
            for row in csv.DictReader(file):
                if table is None:
                    table = csv.DictWriter(text, ["member", *row], lineterminator="\n")
                    table.writeheader()
                table.writerow({"member": i, **row})
    write_atomically(folder / "history.csv", text.getvalue().encode())
