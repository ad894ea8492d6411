"""Metrics of a model on data with known targets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ccn.datasets import Dataset, options_of
from ccn.errors import ConfigurationError, DataError
from ccn.learning.model import Model
from ccn.learning.targets import class_numbers, read_as
from ccn.learning.task import Floats
from ccn.runs.data import read_source
from ccn.runs.train import coverage

__all__ = ["evaluate_on"]


def evaluate_on(
    model: Model,
    source: str,
    *,
    targets: Sequence[str] | None = None,
    smiles_column: str | None = None,
    level: float = 0.9,
    strict: bool = False,
) -> tuple[Dataset, dict[str, Any]]:
    """The data set, and the number of its rows, the metrics and the coverage of the intervals on it."""
    names = tuple(targets or model.task.targets)
    if len(names) != len(model.task.targets):
        raise ConfigurationError(
            f"{len(names)} targets are named, the model has {len(model.task.targets)}: {', '.join(model.task.targets)}"
        )
    options, inputs = options_of(source), model.inputs
    if "features" in options and inputs.molecules is None:
        raise ConfigurationError(f"{source}: a table of molecules, but the model was trained on graphs")
    kind = "regression" if model.task.kind == "regression" else "classification"
    how: dict[str, Any] = {"smiles_column": smiles_column, "task": kind if "target_columns" in options else None}
    how["extra_columns"] = inputs.columns or None
    data = read_source(source, names, (inputs.molecules, inputs.hydrogens), strict=strict, **how)
    known = _known(model, data)
    rows = np.flatnonzero(~np.isnan(known).all(axis=1))
    if not len(rows):
        raise DataError(f"{source}: no row has a value of {', '.join(names)} to compare with")
    predicted = model.predict(model.inputs.read(data).select(rows))
    found = {"rows": len(rows), "metrics": model.metrics(known[rows], predicted)}
    return data, found | {"interval": coverage(model, known[rows], predicted, level)}


def _known(model: Model, data: Dataset) -> Floats:
    """The targets, with classes numbered as in the model."""
    if model.task.kind == "regression":
        return data.targets
    classes = model.task.classes
    for c, number in zip(data.classes, class_numbers(data.classes, classes), strict=True):
        if np.isnan(number):
            raise DataError(
                f"{data.name}: class {c!r} is unknown to the model; it knows {', '.join(map(str, classes))}"
            )
    return read_as(classes, data, None)
