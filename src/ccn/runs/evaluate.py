"""Metrics of a model on data with known targets."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ccn.chemistry.smiles import MAX_ATOMS
from ccn.datasets import Dataset, options_of
from ccn.engine.cpu.compiling import when_compiling
from ccn.errors import ConfigurationError, DataError
from ccn.graphs.ragged import Ragged
from ccn.learning.examples import labelled
from ccn.learning.model import LEVEL, Model
from ccn.learning.targets import class_numbers, read_as
from ccn.progress import log
from ccn.runs.answers import NOT_FINITE
from ccn.runs.data import read_source

__all__ = ["evaluate_on"]


def evaluate_on(
    model: Model,
    source: str,
    *,
    targets: Sequence[str] | None = None,
    smiles_column: str | None = None,
    sheet: str | None = None,
    level: float = LEVEL,
    strict: bool = False,
    say: Callable[[str], None] = log,
) -> tuple[Dataset, dict[str, Any]]:
    """The data set, and on it the number of rows, the metrics, the coverage of the intervals, and the overlap with the
    molecules that the model was made with (:meth:`Model.overlap`). ``censored`` rows, if any, have no exact value in
    some target and do not count there; ``not_finite`` rows, whose prediction is not, count nowhere. ``say`` is called
    with a line that says what takes time besides.
    """
    names = tuple(targets or model.task.targets)
    if len(names) != len(model.task.targets):
        raise ConfigurationError(
            f"{len(names)} targets are named, the model has {len(model.task.targets)}: {', '.join(model.task.targets)}"
        )
    options, inputs = options_of(source), model.inputs
    if "features" in options and inputs.molecules is None:
        raise ConfigurationError(f"{source}: a table of molecules, but the model was trained on graphs")
    how: dict[str, Any] = {"smiles_column": smiles_column, "sheet": sheet, "standardise": inputs.standardise}
    how["extra_columns"] = inputs.columns or None
    if "task" in options:
        how["task"] = "regression" if model.task.kind == "regression" else "classification"
    if "max_atoms" in options and inputs.max_atoms != MAX_ATOMS:
        how["max_atoms"] = inputs.max_atoms
    data = read_source(source, names, (inputs.molecules, inputs.hydrogens), strict=strict, **how)
    known = _known(model, data)
    if data.per != model.task.per:
        raise DataError(f"{source}: its targets are of each {data.per}, those of the model of each {model.task.per}")
    rows = np.flatnonzero(labelled(known))
    if not len(rows):
        raise DataError(f"{source}: no row has a value of {', '.join(names)} to compare with")
    with when_compiling(lambda: say("compiling kernels (once)")):
        predicted = model.predict(model.inputs.read(data).select(rows))
    finite = answered = np.asarray(np.isfinite(predicted.mean).all(axis=1))
    if isinstance(known, Ragged):  # a graph counts if all its vertices or edges have an answer
        finite = ~known.select(rows).any(~answered)
        answered = np.repeat(finite, known.counts[rows])
    if not finite.any():
        raise DataError(f"{source}: no row can be compared: {NOT_FINITE.format('prediction')}")
    rows, predicted = rows[finite], predicted.select(answered)
    canonical = data.canonical if data.per == "graph" else None
    molecules, known = None if canonical is None else canonical.select(rows), known[rows]
    return data, {
        "rows": len(rows),
        "metrics": model.metrics(known, predicted),
        "interval": model.coverage(known, predicted, level),
        "overlap": model.overlap(molecules, known, predicted, level),
        **({} if finite.all() else {"not_finite": int((~finite).sum())}),
        **({} if data.bounds is None else {"censored": int(labelled(data.bounds[..., 0]).sum())}),
    }


def _known(model: Model, data: Dataset) -> Any:
    """The targets, with classes numbered as in the model."""
    if model.task.kind == "regression":
        if data.task == "classification":
            raise DataError(f"{data.name}: its targets are classes, but the model predicts numbers")
        return data.targets
    classes = model.task.classes
    for c, number in zip(data.classes, class_numbers(data.classes, classes), strict=True):
        if np.isnan(number):
            raise DataError(
                f"{data.name}: class {c!r} is unknown to the model; it knows {', '.join(map(str, classes))}"
            )
    return read_as(classes, data, None)
