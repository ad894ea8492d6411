"""Ragged arrays in one piece: counts, starts and concatenated ranges; and a cache of what is built from them.

Imports torch only to build a cached value.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import torch

__all__ = ["Cache", "Int", "ranges", "small", "starts"]

Int = NDArray[np.int64]


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


class Cache:
    """Values that are built once, as ordinary tensors without gradients even in inference mode, so that what is first
    needed for a prediction can serve for training later.
    """

    def __init__(self) -> None:
        self._built: dict[Hashable, Any] = {}

    def __call__(self, key: Hashable, build: Callable[[], Any]) -> Any:
        """The value of ``key``, built now if it is not there."""
        if key not in self._built:
            self._built[key] = _without_gradient(build)
        return self._built[key]

    def current(self, key: Hashable, sources: Sequence[torch.Tensor], build: Callable[[], Any]) -> Any:
        """The same for what depends on the values of tensors: built anew when one is replaced or has changed.

        One result is kept per key, with its sources. Tensors of inference mode do not record changes, so that nothing
        is kept of them.
        """
        if any(s.is_inference() for s in sources):
            return build()
        versions = [(id(s), s._version) for s in sources]
        held = self._built.get(key)
        if held is None or held[0] != versions:
            # The sources are kept too, so that no other tensor can have the identity of one of them.
            held = self._built[key] = versions, list(sources), _without_gradient(build)
        return held[2]


def _without_gradient(build: Callable[[], Any]) -> Any:
    import torch

    with torch.inference_mode(False), torch.no_grad():
        return build()
