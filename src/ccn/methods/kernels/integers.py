"""Covariant layers over integers: fixed integer weights, and a hash in place of the nonlinearity.

All numbers are integers smaller than 2^53, so that every sum in float64 is exact, whatever the numbering of the
vertices: what two graphs differ in, they differ in for certain, and copies of one graph never differ.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ccn.errors import GraphError
from ccn.methods.kernels.bags import Names, mix, name
from ccn.methods.kernels.kernel import Floats

__all__ = ["code", "draw_integers", "hash_of"]

_ROWS = 1 << 16  # hashed at a time: 64-bit integers and floats take as much memory again


def code(names: Names, bits: int) -> Floats:
    """Names as integers from 1 to 2^bits.

    Example:
        >>> found = code(name(np.arange(1000)), 8)
        >>> found.min(), found.max()
        (np.float64(1.0), np.float64(256.0))
    """
    return (mix(names) >> np.uint64(64 - bits)).astype(np.float64) + 1


def hash_of(bits: int) -> Callable[[Tensor], Tensor]:
    """The nonlinearity: a hash of every entry, from 1 to 2^bits."""

    def hashed(x: Tensor) -> Tensor:
        if len(x) and float(x.max()) >= 2**53:
            raise GraphError("parts are too large for sums to be exact; use fewer levels or a lower order")
        out = torch.empty_like(x)
        for i in range(0, len(x), _ROWS):
            rows = x[i : i + _ROWS].numpy().astype(np.uint64)
            out[i : i + _ROWS] = torch.from_numpy(code(rows, bits).reshape(rows.shape))
        return out

    return hashed


def draw_integers(layers: Iterable[Any], bits: int, first: int = 0) -> None:
    """Fill ``weight`` and ``bias`` of layers with integers, the same on every machine, that the number of the layer
    decides; these are counted from ``first``.
    """
    with torch.no_grad():
        for i, layer in enumerate(layers, first):
            for j, weight in enumerate((layer.weight, layer.bias)):
                drawn = code(name(i, j, np.arange(weight.numel())), bits)
                weight.copy_(torch.from_numpy(drawn).view(weight.shape))
