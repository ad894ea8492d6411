"""Predictions and embeddings as the cells of a table, with a reason where a row has none."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np

from ccn.errors import CCNError, ConfigurationError
from ccn.graphs.pack import Pack
from ccn.graphs.ragged import starts
from ccn.learning.inputs import Parsed
from ccn.learning.measured import Measured
from ccn.learning.model import LEVEL, Model, Prediction
from ccn.learning.model_file import with_measured, with_measured_at_hand
from ccn.learning.task import Floats

__all__ = ["NOT_FINITE", "REASON", "Question", "cells", "columns", "faults"]

REASON = "reason"  # the column that says why a row has no answer
NOT_FINITE = "the {} is not a finite number: features of this row, or weights of the model, are too large or NaN"


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
    return ["" if finite else NOT_FINITE.format(what) for finite in np.atleast_1d(np.isfinite(values).all(axis=1))]


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


def _by_graph(
    model: Model, graphs: Pack, rows: list[list[str]], reasons: list[str]
) -> tuple[list[list[list[str]]], list[str]]:
    """The cells of the vertices or edges of each graph, and the first reason among them."""
    start = starts(graphs.sizes if model.task.per == "vertex" else graphs.given_edges).tolist()
    parts = [slice(a, b) for a, b in pairwise(start)]
    return [rows[part] for part in parts], [next(filter(None, reasons[part]), "") for part in parts]


@dataclass(frozen=True)
class Question:
    """What is computed for every row: a prediction or the embedding.

    Attributes:
        interval: the coverage of intervals that are added to predictions.
        embedding: the embedding instead of a prediction.
        domain: add how far a row is from what the model has learned from.
        neighbours: add so many of the nearest training rows.
        measured: the rows that are the neighbours.
    """

    interval: float | None = None
    embedding: bool = False
    domain: bool = False
    neighbours: int = 0
    measured: Measured | None = None

    def key(self) -> dict[str, Any]:
        """What was asked, for the record of an interrupted run."""
        more = {"domain": self.domain, "neighbours": self.neighbours}
        return {"interval": self.interval, "embedding": self.embedding} | {k: v for k, v in more.items() if v}

    def about(self, model: Model, path: Path) -> Question:
        """The same with the training rows that lie beside a model, if neighbours are asked for."""
        return replace(self, measured=with_measured(model, path).measured) if self.neighbours else self

    def on_page(self, model: Model, path: Path, *, neighbour: bool) -> Question:
        """The same with what a page always shows, as far as the model has it: intervals, the domain and a neighbour."""
        there = model.domain is not None
        interval = LEVEL if self.interval is None and model.calibrated() else self.interval
        near = neighbour and there and with_measured_at_hand(model, path).measured is not None
        return replace(self, interval=interval, domain=self.domain or there, neighbours=self.neighbours or int(near))

    def check(self, model: Model) -> None:
        """Raise an error before the first row if the model cannot answer."""
        if self.embedding and not model.fitted.embedding_width:
            raise ConfigurationError(f"the method {model.method} has no embedding; the method ccn has one")
        if self.neighbours < 0:
            raise ConfigurationError(f"--neighbours {self.neighbours}: choose how many, 1 or more")
        if (self.domain or self.neighbours) and model.domain is None:
            raise ConfigurationError(
                "this model does not know what it has learned from: it is of an earlier version, or its graphs are too "
                "dense to be compared; leave out --domain and --neighbours, or train it again"
            )
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
        return (*self._columns(model), REASON)

    def drawn(self, model: Model) -> list[int]:
        """The columns that are SMILES of neighbours, counted from the first that is added."""
        there = {f"neighbour_{i}" for i in range(1, self._count(model) + 1)}
        known = self.measured is not None and self.measured.smiles
        return [i for i, name in enumerate(self.names(model)) if known and name in there]

    def _columns(self, model: Model) -> tuple[str, ...]:
        """The columns of cells."""
        out = list(columns(model, self.interval))
        domain = model.domain
        if domain is not None and self.domain:
            out += ["domain", "distance", "nearest_similarity", *["nearest_morgan"] * (domain.morgan is not None)]
            out.append("unseen")
        if domain is not None and self.measured is not None:
            shown = [name for name, there in zip(("", "_id"), self._called(), strict=True) if there]
            shown += ["_similarity", *["_morgan"] * (domain.morgan is not None)]
            for i in range(1, self._count(model) + 1):
                out += [f"neighbour_{i}{name}" for name in shown]
                out += [f"neighbour_{i}_{target}" for target in self.measured.targets]
        return tuple(out)

    def _count(self, model: Model) -> int:
        """How many neighbours there are."""
        return min(self.neighbours, 0 if model.domain is None else len(model.domain))

    def _called(self) -> tuple[Sequence[Any], Sequence[str]]:
        """What training rows are called, and their identifiers beside that."""
        m = self.measured
        assert m is not None
        return (m.smiles, m.names) if m.smiles else (m.names or m.row.tolist(), ())

    def _near(self, model: Model, graphs: Pack) -> list[list[str]]:
        """The cells of :class:`ccn.methods.domain.Assessment` that are asked for."""
        assert model.domain is not None
        found = model.domain.assess(graphs, max(1, self.neighbours))
        rows: list[list[str]] = [[] for _ in range(len(found))]
        for i, row in enumerate(rows):
            if self.domain:
                row += [str(found.word[i]), *_numbers([found.distance[i], found.similarity[i, 0]])]
                row += [] if found.nearest_morgan is None else _numbers([found.nearest_morgan[i]])
                row.append(found.unseen[i])
            for j, near in enumerate(found.rows[i].tolist()[: self._count(model)]):
                one = [str(name[near]) for name in self._called() if len(name)]
                one += _numbers(x[i, j] for x in (found.similarity, found.morgan) if x is not None)
                one += self.measured.values[near] if self.measured is not None else ()
                row += one if found.similarity[i, j] > 0 else [""] * len(one)  # no neighbour has nothing in common
        return rows

    def answer(self, model: Model, parsed: Parsed, count: int) -> tuple[Any, list[str]]:
        """The values of ``count`` rows and, for each, why it has none, or an empty reason.

        Values are cells, empty for a row without, or embeddings (count, width), NaN for a row without. Where the
        predictions are of vertices or edges, they are a list of rows of cells, one for each of them.
        """
        graphs, good, bad = parsed
        reasons = [""] * count
        for i, reason in bad:
            reasons[i] = reason
        width = len(self._columns(model))
        values: Any = [[""] * width if model.task.per == "graph" else [] for _ in range(count)]
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
                if model.task.per != "graph":
                    rows, reasons = _by_graph(model, graphs, rows, reasons)
                elif self.domain or self.neighbours:
                    rows = [row + more for row, more in zip(rows, self._near(model, graphs), strict=True)]
        except (CCNError, MemoryError) as error:
            if len(graphs) > 1:
                return [one for i in range(len(graphs)) for one in self._each(model, graphs.select(np.array([i])))]
            return [(None, str(error) or "not enough memory")]
        return list(zip(rows, reasons, strict=True))
