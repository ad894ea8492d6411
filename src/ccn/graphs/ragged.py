"""Ragged arrays in one piece: counts, starts and concatenated ranges; and a cache of what is built from them."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

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
    """Numbers that are not negative in the smallest type that holds them."""
    return x.astype(np.min_scalar_type(int(x.max(initial=0))))


class Cache:
    """Things that are built once. They are built as ordinary tensors without gradients even in inference mode, so
    that what is first needed for a prediction can serve for training later.
    """

    def __init__(self) -> None:
        self._built: dict[Hashable, Any] = {}

    def __call__(self, key: Hashable, build: Callable[[], Any]) -> Any:
        """What was built under ``key``, built now if it was not."""
        if key not in self._built:
            with torch.inference_mode(False), torch.no_grad():
                self._built[key] = build()
        return self._built[key]

    def current(self, key: Hashable, sources: Sequence[torch.Tensor], build: Callable[[], Any]) -> Any:
        """The same for what is made of the values of tensors: built anew when one is another or has changed.

        One result is kept per key, with its sources. Tensors of inference mode do not say when they change, so
        that nothing is kept of them.
        """
        if any(s.is_inference() for s in sources):
            return build()
        versions = [s._version for s in sources]
        held = self._built.get(key)
        if (
            held is None
            or len(held[0]) != len(sources)
            or any(a is not b for a, b in zip(held[0], sources, strict=True))
        ):
            held = None
        if held is None or held[1] != versions:
            with torch.inference_mode(False), torch.no_grad():
                held = self._built[key] = (list(sources), versions, build())
        return held[2]
