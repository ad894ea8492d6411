"""Target columns as numbers: classes or measured values, some of them missing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ccn.errors import DataError

__all__ = ["Task", "encode_classes", "encode_targets", "ordered"]

Task = Literal["classification", "regression"]
_CLASSES = 10  # distinct integers that may be classes


def ordered(values: Iterable[Any]) -> tuple[Any, ...]:
    """Distinct values in order: numbers by size, else by their text."""
    listed = list(values)
    numbers = all(isinstance(v, int | float) for v in listed)
    return tuple(sorted(listed) if numbers else sorted(listed, key=str))


def encode_classes(columns: Sequence[Sequence[Any]]) -> tuple[NDArray[np.float64], tuple[Any, ...]]:
    """Class numbers (rows, columns), NaN for None, and the classes in order, shared by all columns."""
    classes = ordered({v for column in columns for v in column if v is not None})
    code = {v: float(i) for i, v in enumerate(classes)} | {None: np.nan}
    return np.array([[code[v] for v in column] for column in columns], dtype=np.float64).T, classes


def _few(column: Sequence[Any]) -> bool:
    """Whether values look like classes: words, or a few integers that occur twice on average."""
    given = [v for v in column if v is not None]
    distinct = set(given)
    if any(isinstance(v, str) for v in distinct):
        return True
    return 0 < len(distinct) <= min(_CLASSES, max(2, len(given) // 2)) and all(v == int(v) for v in distinct)


def encode_targets(
    columns: Sequence[Sequence[Any]], names: Sequence[str], rows: int, task: Task | None, where: str
) -> tuple[NDArray[np.float64], Task, tuple[Any, ...]]:
    """Targets (rows, targets), the task and its classes, from columns of numbers and words with None for missing.

    Without a task it is classification where every target has words or a few integers.
    """
    if not columns:
        return np.zeros((rows, 0)), task or "regression", ()
    kinds = {name: _few(column) for name, column in zip(names, columns, strict=True)}
    words = [n for n, column in zip(names, columns, strict=True) if any(isinstance(v, str) for v in column)]
    if task is None:
        task = "classification" if all(kinds.values()) else "regression"
        if task == "regression" and words:
            other = next(name for name, few in kinds.items() if not few)
            raise DataError(
                f"{where}: the target {words[0]!r} has words and {other!r} has numbers, which cannot be learned "
                "together; name target_columns of one kind"
            )
    if task == "classification":
        integers = [[int(v) if isinstance(v, float) and v == int(v) else v for v in column] for column in columns]
        values, classes = encode_classes(integers)
        return values, task, classes
    if words:
        raise DataError(f"{where}: the target {words[0]!r} has words; regression needs numbers")
    numbers = [[np.nan if v is None else v for v in column] for column in columns]
    return np.array(numbers, dtype=np.float64).T, task, ()
