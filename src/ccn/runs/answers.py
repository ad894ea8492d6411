"""What a model answers for molecules or graphs, as the cells of a table."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ccn.chemistry.properties import MoleculeFeatures, molecule_features
from ccn.datasets.graphs import read_lines
from ccn.datasets.molecules import convert
from ccn.errors import CCNError, ConfigurationError
from ccn.graphs.adjacency import EdgeFeatures
from ccn.graphs.pack import Pack
from ccn.learning.inputs import Inputs
from ccn.learning.model import Model

__all__ = ["REASON", "Parsed", "answer", "cells", "check_interval", "columns", "embed", "parse", "reads", "width"]

REASON = "reason"

Parsed = tuple[Pack | None, list[int], list[tuple[int, str]]]
"""Graphs, their places among the rows given, and (place, reason) of those that are none."""


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


def check_interval(model: Model, interval: float | None) -> None:
    """An error now, not after hours, where the model cannot give such intervals."""
    if interval is None:
        return
    if model.calibration is None:
        kind = "classes have probabilities instead" if model.task.kind != "regression" else "no rows were left for it"
        raise ConfigurationError(f"--interval {interval}: this model has no calibrated intervals; {kind}")
    model.calibration.half_width(interval, np.zeros((1, len(model.task.targets))))


def cells(model: Model, graphs: Pack, interval: float | None = None) -> list[list[str]]:
    """One row of cells per graph; ``graphs`` are as the model's inputs give them."""
    task = model.task
    if task.kind == "regression" and interval is not None:
        values = np.stack(model.interval(graphs, interval), axis=2)
        return [_numbers(row) for row in values.reshape(len(graphs), -1).tolist()]
    p = model.predict(graphs)
    if task.kind == "regression":
        return [_numbers(row) for row in p.tolist()]
    if task.kind == "multilabel":
        names = [str(c) for c in task.classes]
        return [[x for v in row for x in (names[int(v > 0.5)], f"{v:.6g}")] for row in p.tolist()]
    return [[str(task.classes[int(k)]), *_numbers(row)] for k, row in zip(p.argmax(axis=1), p.tolist(), strict=True)]


def _numbers(values: Iterable[float]) -> list[str]:
    # The digits that 32 bit floats have.
    return [f"{v:.7g}" for v in values]


Reads = MoleculeFeatures | Inputs
"""What is read of a row: properties of a molecule, or a graph with the columns of training."""


def reads(model: Model) -> Reads:
    """What a model reads: of bonds only that they are there, where its networks have no channel of their features."""
    if model.inputs.molecules is None:
        return model.inputs
    features = molecule_features(model.inputs.molecules, model.inputs.hydrogens)
    bare = model.members and not any(isinstance(c, EdgeFeatures) for n in model.members for c in n.adjacency_channels)
    return replace(features, bond=()) if bare else features


def parse(how: Reads, texts: Sequence[str]) -> Parsed:
    """Graphs from SMILES, or from lines of JSON."""
    if isinstance(how, Inputs):
        data, bad = read_lines(texts, getattr(how.vertices, "width", None))
        return (None, [], bad) if data is None else (how.align(data), np.asarray(data.rows).tolist(), bad)
    made = convert(texts, how)
    return (made.pack if len(made.pack) else None), made.good.tolist(), made.bad


def answer(
    model: Model, parsed: Parsed, count: int, interval: float | None = None
) -> tuple[list[list[str]], list[str]]:
    """For each of ``count`` rows its cells, empty where there is no prediction, and why there is none, or empty."""
    graphs, good, bad = parsed
    why = [""] * count
    out = [[""] * len(columns(model, interval)) for _ in range(count)]
    _fill(out, why, bad, good, lambda g: cells(model, g, interval), model, graphs)
    return out, why


def embed(model: Model, parsed: Parsed, count: int) -> tuple[NDArray[np.float32], list[str]]:
    """(count, width) the embeddings, NaN where there is none, and why there is none for each row, or empty."""
    graphs, good, bad = parsed
    why = [""] * count
    out = np.full((count, width(model)), np.nan, dtype=np.float32)
    _fill(out, why, bad, good, lambda g: list(model.embed(g)), model, graphs)
    return out, why


def _fill(
    out: Any,
    why: list[str],
    bad: Sequence[tuple[int, str]],
    good: Sequence[int],
    run: Callable[[Pack], list[Any]],
    model: Model,
    graphs: Pack | None,
) -> None:
    """Put what there is into ``out``, and into ``why`` what is the matter with the rest."""
    for i, reason in bad:
        why[i] = reason
    found, failed = ([], []) if graphs is None else _each(lambda g: run(model.inputs.vertices(g)), graphs)
    for i, row in zip(good, found, strict=True):
        if row is not None:
            out[i] = row
    for k, reason in failed:
        why[good[k]] = reason


def width(model: Model) -> int:
    """Columns of the embedding; the members' stand side by side."""
    return sum(sum(net.readout_widths) for net in model.members)


def _each(run: Callable[[Pack], list[Any]], graphs: Pack) -> tuple[list[Any], list[tuple[int, str]]]:
    """Results for all graphs together; where one of them cannot be done, one by one, and why."""
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
