"""Sparse matrices times dense ones: sums of chosen rows.

``torch.nn.functional.embedding_bag`` with int32 indices and per-sample weights is the fastest kernel for
this that PyTorch has on CPUs, and it runs on GPUs as well.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from typing import Any

import numpy as np
import torch
import torch.nn.functional as nnf
from numpy.typing import NDArray
from torch import Tensor

__all__ = ["Bag", "gather", "int32", "runs_compiled", "without_kernels"]


@dataclass(frozen=True)
class Bag:
    """Some rows of a sparse matrix: the column of each entry, where each row begins and, where they are fixed and not
    all 1, the values.
    """

    index: Tensor
    offset: Tensor
    weight: Tensor | None = None

    def to(self, device: torch.device) -> Bag:
        """The same on another device."""
        weight = None if self.weight is None else self.weight.to(device)
        return Bag(self.index.to(device), self.offset.to(device), weight)

    @property
    def nbytes(self) -> int:
        tensors = [self.index, self.offset] + ([self.weight] if self.weight is not None else [])
        return sum(t.numel() * t.element_size() for t in tensors)


def gather(table: Tensor, bag: Bag, weight: Tensor | None = None) -> Tensor:
    """``out[i] = sum over the entries e of row i of weight[e] * table[index[e]]``."""
    if not len(bag.index):
        return table.new_zeros(len(bag.offset) - 1, table.shape[1])
    if weight is None and bag.weight is not None:
        weight = bag.weight.to(table.dtype)
    return nnf.embedding_bag(
        bag.index, table, bag.offset, mode="sum", per_sample_weights=weight, include_last_offset=True
    )


_off: ContextVar[bool] = ContextVar("without_kernels", default=False)


@contextmanager
def without_kernels() -> Iterator[None]:
    """Inside, everything is done by PyTorch's own operations."""
    before = _off.set(True)
    try:
        yield
    finally:
        _off.reset(before)


def runs_compiled(x: Tensor) -> bool:
    """Whether there are compiled kernels for such numbers: on CPUs, where Numba is installed.

    What PyTorch follows to compile or export it must be PyTorch's own operations.
    """
    known = x.device.type == "cpu" and x.dtype in (torch.float32, torch.float64)
    return known and not _off.get() and not torch.compiler.is_compiling() and _numba()


@cache
def _numba() -> bool:
    return find_spec("numba") is not None


def int32(x: NDArray[Any]) -> Tensor:
    """An index array as a tensor of int32."""
    return torch.from_numpy(x.astype(np.int32, copy=False))
