"""Targets as users give them, read as the arrays that training needs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ccn.datasets.dataset import Dataset
from ccn.errors import ConfigurationError
from ccn.graphs.ragged import Int, Ragged, starts
from ccn.learning.task import Floats, Per

__all__ = [
    "Targets",
    "class_numbers",
    "read_as",
    "read_auxiliary",
    "read_classes",
    "read_numbers",
    "read_targets",
]


@dataclass(frozen=True)
class Targets:
    """Targets as training reads them, (rows, targets), and what they mean; ``single`` if y had one axis.

    Those of vertices or edges are a :class:`Ragged`. ``bounds`` are those of the censored targets of a data set.
    """

    values: Any
    names: tuple[str, ...]
    classification: bool
    classes: tuple[Any, ...] = ()
    single: bool = True
    bounds: Floats | None = None
    per: Per = "graph"


def _of_dataset(rows: Any, *, classification: bool) -> Targets:
    """The targets of a data set, where no others are given."""
    if not isinstance(rows, Dataset):
        raise ConfigurationError("y is missing: give one target for each row of X")
    if (rows.task == "classification") != classification:
        other = "CCNClassifier" if rows.task == "classification" else "CCNRegressor"
        raise ConfigurationError(f"{rows.name} is a set of {rows.task}; use ccn.{other}")
    single = rows.targets.shape[1] == 1
    names, classes = tuple(rows.target_names), tuple(rows.classes)
    return Targets(rows.targets, names, classification, classes, single, rows.bounds, rows.per)


def _flat(y: Any, per: Per) -> tuple[Any, Int]:
    """Targets of vertices or edges, given as a list per graph, one after another; and how many each graph has."""
    try:
        groups = [np.asarray(list(of)) for of in y]
    except TypeError:
        raise ConfigurationError(f"y of each {per} is a list per graph, with one value or row for each {per}") from None
    counts = np.array([len(g) for g in groups], dtype=np.int64)
    filled = [g for g in groups if len(g)]
    if any(g.ndim not in (1, 2) or g.shape[1:] != filled[0].shape[1:] for g in filled):
        raise ConfigurationError(f"y of each {per}: give (n,) or (n, targets) for each graph, the same for all")
    return (np.concatenate(filled) if filled else np.zeros(0)), counts


def read_targets(rows: Any, y: Any, *, classification: bool, per: Per) -> Targets:
    """Targets of graphs or, as a list for each graph, of their vertices or edges."""
    read = read_classes if classification else read_numbers
    if per == "graph" or y is None:
        found = read(rows, y)
        if per not in ("graph", found.per):
            raise ConfigurationError(f"targets of each {per} are asked for, and the data set has those of {found.per}s")
        return found
    values, counts = _flat(y, per)
    found = read(rows, values)
    return replace(found, values=Ragged(np.asarray(found.values), starts(counts)), per=per)


def _names(y: Any, count: int) -> tuple[str, ...]:
    """The names of the targets: those of a frame or series, else y, or y0, y1, .."""
    if hasattr(y, "columns"):
        return tuple(str(c) for c in y.columns)
    if getattr(y, "name", None) is not None:
        return (str(y.name),)
    return ("y",) if count == 1 else tuple(f"y{i}" for i in range(count))


def _numbers(given: Any, called: str) -> Floats:
    """(rows, columns) numbers as a user gives them, also in one axis."""
    try:
        values = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ConfigurationError(f"{called} must hold numbers, NaN where one is missing ({error})") from None
    values = values[:, None] if values.ndim == 1 else values
    if values.ndim != 2:
        raise ConfigurationError(f"{called} has shape {np.shape(given)}; give (rows,) or (rows, columns)")
    return values


def read_numbers(rows: Any, y: Any) -> Targets:
    """The targets of a regression."""
    if y is None:
        return _of_dataset(rows, classification=False)
    values = _numbers(y, "y")
    if not values.shape[1]:
        raise ConfigurationError("y has no columns; give (rows,) or (rows, columns)")
    if np.isinf(values).any():
        row, column = np.argwhere(np.isinf(values))[0]
        raise ConfigurationError(f"target {column} of row {row} is infinite; put NaN where a target is missing")
    return Targets(values, _names(y, values.shape[1]), classification=False, single=np.ndim(y) == 1)


def read_auxiliary(rows: Any, given: Any) -> tuple[Floats | None, tuple[str, ...]]:
    """Auxiliary columns (rows, columns) and their names; by default those of a data set."""
    if given is None:
        return (rows.auxiliary, rows.auxiliary_names) if isinstance(rows, Dataset) else (None, ())
    values = _numbers(given, "auxiliary")
    named = hasattr(given, "columns") or getattr(given, "name", None) is not None
    return values, _names(given, values.shape[1]) if named else ()


def read_classes(rows: Any, y: Any) -> Targets:
    """The targets of a classification, as numbers."""
    if y is None:
        return _of_dataset(rows, classification=True)
    given = np.asarray(y)
    if given.ndim == 2 and given.shape[1] == 1:
        given = given[:, 0]
    if given.ndim == 2:
        try:
            values = given.astype(np.float64)
        except (TypeError, ValueError):
            values = np.full(given.shape, 2.0)
        if not np.isin(values[~np.isnan(values)], (0.0, 1.0)).all():
            raise ConfigurationError("y of several labels must hold zeros and ones, NaN where one is missing")
        return Targets(values, _names(y, values.shape[1]), True, (0, 1), single=False)
    if given.ndim != 1:
        raise ConfigurationError(f"y has shape {given.shape}; give (rows,) or (rows, labels)")
    missing = np.array([v is None or (isinstance(v, float | np.floating) and bool(np.isnan(v))) for v in given])
    known = given[~missing]
    if given.dtype.kind == "f":
        if not (known == np.floor(known)).all():
            raise ConfigurationError("y holds numbers with a fraction, not classes; use ccn.CCNRegressor for numbers")
        known = known.astype(np.int64) if missing.any() else known
    elif given.dtype == object:
        known = np.array(known.tolist())
    classes, number = np.unique(known, return_inverse=True)
    if len(classes) < 2:
        raise ConfigurationError(f"y has one class only ({classes.tolist()}); classification needs two or more classes")
    values = np.full((len(given), 1), np.nan)
    values[~missing, 0] = number
    return Targets(values, _names(y, 1), True, tuple(classes.tolist()))


def class_numbers(values: Iterable[Any], classes: Iterable[Any], unknown: float = np.nan) -> Floats:
    """(values,) the number of each value among the classes, by value or by name; NaN where it is missing.

    Example:
        >>> class_numbers(["b", None, 1, "d"], ["a", "b", "1"], unknown=-1)
        array([ 1., nan,  2., -1.])
    """
    known = list(classes)
    of = {str(c): float(i) for i, c in enumerate(known)} | {c: float(i) for i, c in enumerate(known)}
    return np.array([np.nan if v is None or v != v else of.get(v, of.get(str(v), unknown)) for v in values])


def read_as(classes: Sequence[Any], rows: Any, y: Any, unknown: float = np.nan, per: Per = "graph") -> Any:
    """(rows, targets) of a classification, numbered like ``classes``; others are ``unknown``.

    The classes of a data set, which have other numbers, are identified by name. Those of vertices or edges are given as
    a list per graph.
    """
    if y is not None and per != "graph":
        values, counts = _flat(y, per)
        return Ragged(np.asarray(read_as(classes, rows, values, unknown)), starts(counts))
    if y is not None and np.ndim(y) == 2 and np.shape(y)[1] == 1:
        y = np.asarray(y)[:, 0]
    if y is not None and np.ndim(y) == 1:
        return class_numbers(np.asarray(y).tolist(), classes, unknown)[:, None]
    given = read_classes(rows, y)
    number = np.append(class_numbers(given.classes, classes, unknown), np.nan)  # the last one for missing targets
    found: Floats = number[np.nan_to_num(np.asarray(given.values), nan=-1).astype(np.int64)]
    return Ragged(found, given.values.start) if isinstance(given.values, Ragged) else found
