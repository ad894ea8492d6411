"""Predictions and embeddings as the cells of a table, with a reason where a row has none."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import isfinite
from typing import Any

import numpy as np

from ccn.errors import CCNError, ConfigurationError
from ccn.graphs.pack import Pack
from ccn.learning.inputs import Parsed
from ccn.learning.model import Model, Prediction
from ccn.learning.task import Floats

__all__ = ["REASON", "Question", "cells", "columns", "faults"]

REASON = "reason"  # the column that says why a row has no answer
_NOT_FINITE = "the {} is not a finite number: features of this row, or weights of the model, are too large or NaN"


def columns(model: Model, interval: float | None = None) -> tuple[str, ...]:
    """The names of the columns of :func:`cells`."""
    task = model.task
    out: list[str] = []
    for target in task.targets:
        out.append(f"{target}_pred")
        if task.kind == "multilabel":
            out.append(f"{target}_prob")
        elif task.kind != "regression":
            out += [f"{target}_prob_{c}" for c in task.classes]
        elif interval is not None:
            out += [f"{target}_low", f"{target}_high"]
    return tuple(out)


def cells(model: Model, predicted: Prediction, interval: float | None = None) -> list[list[str]]:
    """One row of cells per graph; they are empty where :func:`faults` has a reason."""
    made, blank = _cells(model, predicted, interval), [""] * len(columns(model, interval))
    return [blank if why else row for row, why in zip(made, faults(predicted.mean), strict=True)]


def faults(values: Floats, what: str = "prediction") -> list[str]:
    """For each row of numbers why it is not an answer, or an empty string."""
    return ["" if finite else _NOT_FINITE.format(what) for finite in np.atleast_1d(np.isfinite(values).all(axis=1))]


def _cells(model: Model, predicted: Prediction, interval: float | None) -> list[list[str]]:
    task, p = model.task, predicted.mean
    if task.kind == "regression":
        ends = () if interval is None else model.interval(predicted, interval)
        return [_numbers(row) for row in np.stack([p, *ends], axis=2).reshape(len(p), -1).tolist()]
    if task.kind == "multilabel":
        names = [str(c) for c in task.classes]
        return [[x for v in row for x in (names[int(v > 0.5)], f"{v:.6g}")] for row in p.tolist()]
    return [[str(task.classes[int(k)]), *_numbers(row)] for k, row in zip(p.argmax(axis=1), p.tolist(), strict=True)]


def _numbers(values: Iterable[float]) -> list[str]:
    return [f"{v:.7g}" if isfinite(v) else "" for v in values]  # the digits of float32


@dataclass(frozen=True)
class Question:
    """What is computed for every row: a prediction, with an interval or without, or the embedding."""

    interval: float | None = None
    embedding: bool = False

    def check(self, model: Model) -> None:
        """Raise an error before the first row if the model cannot answer."""
        if self.embedding and not model.fitted.embedding_width:
            raise ConfigurationError(f"the method {model.method} has no embedding; the method ccn has one")
        if self.interval is None:
            return
        if model.calibration is None:
            numbers = model.task.kind == "regression"
            why = "no rows were left for calibration" if numbers else "classes have probabilities instead"
            raise ConfigurationError(f"--interval {self.interval}: this model has no calibrated intervals; {why}")
        model.check_interval(self.interval)

    def names(self, model: Model) -> tuple[str, ...]:
        """The columns that are added to a row."""
        if self.embedding:
            return (*(f"e{i}" for i in range(model.fitted.embedding_width)), REASON)
        return (*columns(model, self.interval), REASON)

    def answer(self, model: Model, parsed: Parsed, count: int) -> tuple[Any, list[str]]:
        """The values of ``count`` rows and, for each, why it has none, or an empty reason.

        Values are cells, empty for a row without, or embeddings (count, width), NaN for a row without.
        """
        graphs, good, bad = parsed
        reasons = [""] * count
        for i, reason in bad:
            reasons[i] = reason
        width = len(columns(model, self.interval))
        values: Any = [[""] * width for _ in range(count)]
        if self.embedding:
            values = np.full((count, model.fitted.embedding_width), np.nan, dtype=np.float32)
        if graphs is not None:
            for i, (row, reason) in zip(good, self._each(model, graphs), strict=True):
                if reason:
                    reasons[i] = reason
                else:
                    values[i] = row
        return values, reasons

    def _each(self, model: Model, graphs: Pack) -> list[tuple[Any, str]]:
        """For each graph its values or a reason: all graphs together or, if one of them fails, one by one."""
        rows: Any
        try:
            if self.embedding:
                rows = model.embed(graphs)
                reasons = faults(rows, "embedding")
            else:
                predicted = model.predict(graphs)
                rows, reasons = cells(model, predicted, self.interval), faults(predicted.mean)
        except (CCNError, MemoryError) as error:
            if len(graphs) > 1:
                return [one for i in range(len(graphs)) for one in self._each(model, graphs.select(np.array([i])))]
            return [(None, str(error) or "not enough memory")]
        return list(zip(rows, reasons, strict=True))
