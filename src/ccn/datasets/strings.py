"""Many short strings in two arrays, so that they can be mapped from disk beside the graphs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ccn.graphs.ragged import Int, starts

__all__ = ["Strings"]


class Strings(Sequence[str]):
    """A sequence of strings held as concatenated UTF-8 bytes; choosing some copies nothing.

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
