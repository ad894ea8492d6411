"""Ragged arrays in one piece: counts, starts and concatenated ranges; and a cache of what is built from them.

Imports torch only to build a cached value.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import torch

__all__ = ["Cache", "Int", "Ragged", "plain_tensors", "ranges", "small", "starts"]

Int = NDArray[np.int64]
T = TypeVar("T")


def ranges(start: Int, count: Int) -> Int:
    """The concatenation of ``arange(start[i], start[i] + count[i])``."""
    total = int(count.sum())
    shift = np.repeat(start - (np.cumsum(count) - count), count)
    return shift + np.arange(total)


def starts(count: Int | Sequence[int]) -> Int:
    """``[0, count[0], count[0] + count[1], ..]``."""
    out = np.zeros(len(count) + 1, dtype=np.int64)
    np.cumsum(count, dtype=np.int64, out=out[1:])
    return out


def small(x: NDArray[Any]) -> NDArray[Any]:
    """Nonnegative integers in the smallest type that holds them."""
    return x.astype(np.min_scalar_type(int(x.max(initial=0))))


class Ragged:
    """Rows of numbers in groups: those of the vertices, or of the edges, of each graph.

    Its length is the number of groups, and indexing by numbers of groups gives their rows, one after another, so that
    it can stand where an array has one row per graph.

    Args:
        values: (rows, columns).
        start: (groups+1,) first row of each group.

    Example:
        >>> r = Ragged(np.array([[1.0], [2.0], [3.0]]), starts([2, 1]))
        >>> len(r), r[[1, 0]].tolist()
        (2, [[3.0], [1.0], [2.0]])
    """

    def __init__(self, values: NDArray[np.float64], start: Int) -> None:
        self.values, self.start = values, start

    @property
    def counts(self) -> Int:
        """(groups,) rows of each."""
        return np.diff(self.start)

    @property
    def shape(self) -> tuple[int, ...]:
        return self.values.shape

    @property
    def ndim(self) -> int:
        return self.values.ndim

    def __len__(self) -> int:
        return len(self.start) - 1

    def rows(self, groups: Any) -> Int:
        """The numbers of the rows of some groups, by their numbers or a mask."""
        chosen = np.asarray(groups)
        chosen = np.flatnonzero(chosen) if chosen.dtype == bool else chosen.astype(np.int64)
        return ranges(self.start[chosen], self.counts[chosen])

    def __getitem__(self, groups: Any) -> NDArray[np.float64]:
        return self.values[self.rows(groups)]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return np.asarray(self.values, dtype=dtype)

    def select(self, groups: Any) -> Ragged:
        """The same of some groups."""
        counts = self.counts[np.asarray(groups)]
        return Ragged(self[groups], starts(counts))

    def columns(self, chosen: Sequence[int]) -> Ragged:
        """The same with some of the columns."""
        return Ragged(self.values[:, list(chosen)], self.start)

    def any(self, mask: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """(groups,) whether a mask of the rows holds for any of a group's."""
        return np.asarray(np.bincount(np.repeat(np.arange(len(self)), self.counts)[mask], minlength=len(self)) > 0)

    @classmethod
    def join(cls, a: Ragged, b: Ragged) -> Ragged:
        """One after the other."""
        return cls(np.concatenate([a.values, b.values]), starts(np.concatenate([a.counts, b.counts])))


class Cache:
    """Values that are built once, as ordinary tensors without gradients even in inference mode or a transform of
    ``torch.func``, so that what is first needed for a prediction can serve for training later.
    """

    def __init__(self) -> None:
        self._built: dict[Hashable, Any] = {}

    def __call__(self, key: Hashable, build: Callable[[], T]) -> T:
        """The value of ``key``, built now if it is not there."""
        if key not in self._built:
            with plain_tensors():
                self._built[key] = build()
        value: T = self._built[key]
        return value

    def on(self, device: torch.device, key: Hashable, build: Callable[[], NDArray[Any]]) -> torch.Tensor:
        """An array as a tensor on a device, to which it is copied once: the host waits for a copy."""

        def copied() -> torch.Tensor:
            import torch

            return torch.from_numpy(build()).to(device)

        return self((key, device), copied)

    def current(self, key: Hashable, sources: Sequence[torch.Tensor], build: Callable[[], T]) -> T:
        """The same for what depends on the values of tensors: built anew when one is replaced or has changed.

        One result is kept per key, with its sources. Tensors of inference mode do not record changes, so that nothing
        is kept of them.
        """
        if any(s.is_inference() for s in sources):
            return build()
        versions = [(id(s), s._version) for s in sources]
        if key not in self._built or self._built[key][0] != versions:
            # The sources are kept too, so that no other tensor can have the identity of one of them.
            with plain_tensors():
                self._built[key] = versions, list(sources), build()
        value: T = self._built[key][2]
        return value


@contextmanager
def plain_tensors() -> Iterator[None]:
    """Inside, new tensors can be kept for later, whatever the mode: inference, recording, a transform of torch.func."""
    import torch

    with torch.inference_mode(False), torch.no_grad(), torch._C._DisableFuncTorch():
        yield
