"""What a model says of molecules or graphs, as the cells of a table, with a reason where it says nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ccn.errors import CCNError, ConfigurationError
from ccn.graphs.pack import Pack
from ccn.learning.inputs import Parsed
from ccn.learning.model import Model, Prediction

__all__ = ["REASON", "Question", "cells", "columns"]

REASON = "reason"


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
    """One row of cells per graph."""
    task, p = model.task, predicted.mean
    if task.kind == "regression":
        ends = () if interval is None else model.interval(predicted, interval)
        return [_numbers(row) for row in np.stack([p, *ends], axis=2).reshape(len(p), -1).tolist()]
    if task.kind == "multilabel":
        names = [str(c) for c in task.classes]
        return [[x for v in row for x in (names[int(v > 0.5)], f"{v:.6g}")] for row in p.tolist()]
    return [[str(task.classes[int(k)]), *_numbers(row)] for k, row in zip(p.argmax(axis=1), p.tolist(), strict=True)]


def _numbers(values: Iterable[float]) -> list[str]:
    # The digits that 32 bit floats have.
    return [f"{v:.7g}" for v in values]


@dataclass(frozen=True)
class Question:
    """What is asked about every row: a prediction, with an interval or without, or the embedding."""

    interval: float | None = None
    embedding: bool = False

    def check(self, model: Model) -> None:
        """An error now, not after hours, where the model cannot answer."""
        if self.embedding and not model.fitted.embedding_width:
            raise ConfigurationError(f"the method {model.method} has no embedding; a network of ccn has one")
        if self.interval is None:
            return
        if model.calibration is None:
            kind = "classes have probabilities instead"
            if model.task.kind == "regression":
                kind = "no rows were left for calibration"
            raise ConfigurationError(f"--interval {self.interval}: this model has no calibrated intervals; {kind}")
        model.calibration.half_width(self.interval, np.zeros((1, len(model.task.targets))))

    def names(self, model: Model) -> tuple[str, ...]:
        """The columns that are added to a row."""
        added = (
            [f"e{i}" for i in range(model.fitted.embedding_width)] if self.embedding else columns(model, self.interval)
        )
        return (*added, REASON)

    def answer(self, model: Model, parsed: Parsed, count: int) -> tuple[Any, list[str]]:
        """For each of ``count`` rows its values, and why there are none, or an empty reason.

        Values are cells, empty where there are none, or embeddings (count, width), NaN where there are none.
        """
        graphs, good, bad = parsed
        reasons = [""] * count
        for i, reason in bad:
            reasons[i] = reason
        values: Any = [[""] * len(columns(model, self.interval)) for _ in range(count)]
        if self.embedding:
            values = np.full((count, model.fitted.embedding_width), np.nan, dtype=np.float32)
        found, failed = ([], []) if graphs is None else _each(lambda g: self._values(model, g), graphs)
        for i, row in zip(good, found, strict=True):
            if row is not None:
                values[i] = row
        for k, reason in failed:
            reasons[good[k]] = reason
        return values, reasons

    def _values(self, model: Model, graphs: Pack) -> list[Any]:
        return list(model.embed(graphs)) if self.embedding else cells(model, model.predict(graphs), self.interval)


def _each(run: Callable[[Pack], list[Any]], graphs: Pack) -> tuple[list[Any], list[tuple[int, str]]]:
    """Results for all graphs together; where one of them fails, one by one, and why it failed."""
    try:
        return run(graphs), []
    except (CCNError, MemoryError) as error:
        if len(graphs) == 1:
            return [None], [(0, str(error) or "not enough memory")]
    found, failed = [], []
    for i in range(len(graphs)):
        one, why = _each(run, graphs.select(np.array([i])))
        found += one
        failed += [(i, reason) for _, reason in why]
    return found, failed
