"""Columns of a data set: strings in two arrays, and targets as numbers, classes or measured, some of them missing."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Literal, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ccn.errors import DataError
from ccn.graphs.ragged import Int, starts

__all__ = ["Strings", "Task", "encode_classes", "encode_targets", "ordered"]

Task = Literal["classification", "regression"]
_CLASSES = 10  # distinct integers that may be classes, and words that may be without repetition
_MAGNITUDE = r"[+\u2212-]?[.,]?\d[\d.,'\u2019\s]*(?:e[+\u2212-]?\d+)?"
_NUMBER_LIKE = re.compile(  # also with a currency, a deviation, or a unit after decimals
    rf"[<>=~≤≥≈±$€£¥(\s]*{_MAGNITUDE}\s*(?:(?:±|\+/-)\s*{_MAGNITUDE})?[%‰°$€£¥)\s]*"
    r"|[<>=~≤≥≈±\s]*[+\u2212-]?\d*[.,]\d+\s*[^\W\d_]\S*",
    re.IGNORECASE,
)
_LONGEST_NUMBER = 100  # characters of a cell that may look like one


class Strings(Sequence[str]):
    """Strings held as concatenated UTF-8 bytes, which can be mapped from disk; choosing some copies nothing.

    Example:
        >>> s = Strings.of(["CCO", "", "C"])
        >>> s[0], list(s.select([2, 1]))
        ('CCO', ['C', ''])
    """

    def __init__(self, arrays: Mapping[str, NDArray[Any]], chosen: Int | None = None) -> None:
        self.arrays = arrays
        self.chosen = np.arange(len(arrays["start"]) - 1) if chosen is None else chosen

    @classmethod
    def of(cls, values: Iterable[str]) -> Strings:
        """From any strings."""
        raw = [v.encode("utf-8", "replace") for v in values]
        return cls({"text": np.frombuffer(b"".join(raw), dtype=np.uint8), "start": starts([len(r) for r in raw])})

    def __len__(self) -> int:
        return len(self.chosen)

    @overload
    def __getitem__(self, i: int) -> str: ...
    @overload
    def __getitem__(self, i: slice) -> Strings: ...
    def __getitem__(self, i: int | slice) -> str | Strings:
        if isinstance(i, slice):
            return self.select(np.arange(len(self))[i])
        a, b = self.arrays["start"][self.chosen[i] : self.chosen[i] + 2].tolist()
        return self.arrays["text"][a:b].tobytes().decode("utf-8")

    def select(self, indices: ArrayLike) -> Strings:
        """The chosen strings, in that order."""
        which = np.asarray(indices)
        return Strings(self.arrays, self.chosen[which if which.dtype == bool else which.astype(np.int64)])

    def compact(self) -> Strings:
        """The same with arrays that hold the chosen strings only."""
        return Strings.of(self)

    def __repr__(self) -> str:
        return f"Strings({len(self)})"


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


def _check_words(name: str, column: Sequence[Any], where: str) -> None:
    """An error if the words of a target are hardly classes."""
    given = [v for v in column if v is not None]
    words = {v for v in given if isinstance(v, str)}
    alike = sorted(word for word in words if len(word) <= _LONGEST_NUMBER and _NUMBER_LIKE.fullmatch(word))
    if 2 * len(alike) > len(words):
        what = f"cells like {alike[0]!r} that look like numbers and cannot be read as such; write them as 1234.5"
    elif len(words) > _CLASSES and 2 * len(words) > len(given):
        what = f"{len(words)} different words in {len(given)} rows; choose another target (--target)"
    else:
        return
    raise DataError(f"{where}: the target {name!r} has {what}, or set task='classification'")


def encode_targets(
    columns: Sequence[Sequence[Any]],
    names: Sequence[str],
    rows: int,
    task: Task | None,
    where: str,
    measured: Collection[str] = (),
) -> tuple[NDArray[np.float64], Task, tuple[Any, ...]]:
    """Targets (rows, targets), the task and its classes, from columns of numbers and words with None for missing.

    Without a task it is classification where every target has words or a few integers, and none is ``measured``. Words
    that are mostly different, or that look like numbers, are an error then: they would hardly be meant as classes.
    """
    if not columns:
        return np.zeros((rows, 0)), task or "regression", ()
    kinds = {name: name not in measured and _few(column) for name, column in zip(names, columns, strict=True)}
    words = [n for n, column in zip(names, columns, strict=True) if any(isinstance(v, str) for v in column)]
    if task is None:
        for name, column in zip(names, columns, strict=True):
            _check_words(name, column, where)
        task = "classification" if all(kinds.values()) else "regression"
        if task == "regression" and words:
            other = next(name for name, few in kinds.items() if not few)
            raise DataError(
                f"{where}: the target {words[0]!r} has words and {other!r} has numbers, which cannot be learned "
                "together; name targets of one kind"
            )
    if task == "classification":
        integers = [[int(v) if isinstance(v, float) and v == int(v) else v for v in column] for column in columns]
        values, classes = encode_classes(integers)
        return values, task, classes
    if words:
        raise DataError(f"{where}: the target {words[0]!r} has words; regression needs numbers")
    numbers = [[np.nan if v is None else v for v in column] for column in columns]
    return np.array(numbers, dtype=np.float64).T, task, ()
