"""What a model answers for molecules or graphs, as the cells of a table."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ccn.adjacency import EdgeFeatures
from ccn.errors import CCNError, ConfigurationError
from ccn.features.molecules import MoleculeFeatures, molecule_features
from ccn.pack import Pack
from ccn.training.model import Model

__all__ = ["REASON", "Parsed", "answer", "cells", "check_interval", "columns", "embed", "parse", "reads", "width"]

REASON = "reason"

Parsed = tuple[Pack | None, list[int], list[tuple[int, str]]]
"""Graphs, their places among the SMILES given, and (place, reason) of those that are no molecules."""


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


def reads(model: Model) -> MoleculeFeatures:
    """What a model reads of molecules: of bonds only that they are there, unless a channel of A has their features."""
    if model.inputs.molecules is None:
        raise ConfigurationError("the model was trained on graphs with features of their own, which molecules lack")
    features = molecule_features(model.inputs.molecules, model.inputs.hydrogens)
    of_bonds = any(isinstance(c, EdgeFeatures) for net in model.members for c in net.adjacency_channels)
    return features if of_bonds else replace(features, bond=())


def parse(features: MoleculeFeatures, smiles: Sequence[str]) -> Parsed:
    """Graphs from SMILES."""
    from ccn.datasets.molecules import convert

    arrays, good, bad, *_ = convert(smiles, features, False, ())
    return (None if arrays is None else Pack.of_edges(*arrays)), good, bad


def answer(model: Model, parsed: Parsed, count: int, interval: float | None = None) -> list[list[str]]:
    """One row of cells for each of ``count`` SMILES, the last being why there is no prediction, or empty."""
    width = len(columns(model, interval))
    out = [[""] * (width + 1) for _ in range(count)]
    graphs, good, bad = parsed
    for i, why in bad:
        out[i][-1] = why
    if graphs is None:
        return out
    found, failed = _each(lambda g: cells(model, g, interval), model.inputs.vertices(graphs))
    for i, row in zip(good, found, strict=True):
        out[i] = [*row, ""] if row is not None else out[i]
    for k, why in failed:
        out[good[k]][-1] = why
    return out


def embed(model: Model, parsed: Parsed, count: int) -> tuple[NDArray[np.float32], list[str]]:
    """(count, width) the embeddings, NaN where there is none, and why there is none for each row, or empty."""
    graphs, good, bad = parsed
    why = [""] * count
    for i, reason in bad:
        why[i] = reason
    out = np.full((count, width(model)), np.nan, dtype=np.float32)
    if graphs is not None:
        found, failed = _each(lambda g: list(model.embed(g)), model.inputs.vertices(graphs))
        for i, row in zip(good, found, strict=True):
            if row is not None:
                out[i] = row
        for k, reason in failed:
            why[good[k]] = reason
    return out, why


def width(model: Model) -> int:
    """Columns of the embedding; the members' stand side by side."""
    return sum(sum(net.readout_widths) for net in model.members)


def _each(run: Any, graphs: Pack) -> tuple[list[Any], list[tuple[int, str]]]:
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
