"""Whether a level fits into memory, before anything large is allocated; and memory that is used again."""

from __future__ import annotations

import ctypes
import sys
import warnings
from collections.abc import Sequence
from functools import cache

import numpy as np
import psutil
import torch

from ccn.errors import ConfigurationError
from ccn.graphs.ragged import Int
from ccn.schemes.packed import Level

__all__ = ["available_bytes", "check_memory", "keep_freed_memory", "level_bytes", "warn_of_work"]

_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3  # of glibc's mallopt
_KEPT_BYTES, _HEAP_BYTES = 1 << 29, 1 << 25  # free memory that a process keeps; allocations that it may serve
_ROWS, _ROW_SECONDS = 5e8, 2e-8  # rows that are added up without a warning; what one takes, of a few channels
_NUMBER_BYTES = 48  # of a scheme: its own, and what is made of it while it is packed


@cache
def keep_freed_memory() -> None:
    """Let the C library keep up to 512 MB of freed memory, as PyTorch does on GPUs, where it has a setting for it.

    Else glibc returns the temporaries of every step to the system, and the first touch of every page of fresh memory
    is a fault: for temporaries of some megabytes that costs more than the arithmetic.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None) if sys.platform == "linux" else None
    if mallopt is not None:
        mallopt(_M_MMAP_THRESHOLD, _HEAP_BYTES)
        mallopt(_M_TRIM_THRESHOLD, _KEPT_BYTES)


def level_bytes(sizes: Int, order: int, channels: int, itemsize: int, stored: bool = True) -> float:
    """About what a level with parts of these sizes takes while it is computed: its activation, working memory of twice
    that, index maps. If it is not ``stored``, a byte per number for the gradient instead of the first two.
    """
    each = (3 * itemsize if stored else 1) * channels + 128
    return float((sizes.astype(np.float64) ** order).sum()) * each


def available_bytes(device: torch.device) -> int | None:
    """Free memory, or None where it is unknown."""
    if device.type == "cuda":
        return int(torch.cuda.mem_get_info(device)[0])
    return int(psutil.virtual_memory().available) if device.type == "cpu" else None


def _shown(n: float) -> str:
    return f"{n / 1e9:,.1f} GB" if n >= 1e9 else f"{n / 1e6:,.1f} MB"


def check_memory(
    levels: Sequence[Int],
    orders: Sequence[int],
    channels: Sequence[int],
    dtype: torch.dtype,
    device: torch.device,
    numbers: int = 0,
    first: int = 1,
    unstored: int | None = None,
) -> None:
    """Raise an error that states the bytes needed and what would fit, if a level is too large for memory.

    Args:
        levels: the sizes of the parts of the levels 1, 2, ..
        orders, channels: of these levels.
        first: the number of the first of them.
        unstored: the number of the level whose activation is not stored, if there is one.
        numbers: that the scheme of the last of them needs besides: the places of the children's atoms, A in its parts.
    """
    free = available_bytes(device)
    if free is None:
        return
    size = dtype.itemsize
    for level, (sizes, order, width) in enumerate(zip(levels, orders, channels, strict=True), first):
        scheme = _NUMBER_BYTES * numbers
        last = level == first + len(levels) - 1
        need = level_bytes(sizes, order, width, size, level != unstored) + (scheme if last else 0)
        if need > free:
            every = list(zip(levels, channels, strict=True))
            lower = [k for k in range(order) if all(level_bytes(s, k, c, size) + scheme <= free for s, c in every)]
            rows = free / level_bytes(sizes, 0, width, size)  # rows a node may have
            ways = [f"order={lower[-1]}"] if lower else []
            ways += [f"levels={level - 1}"] if level > 1 else []
            ways += [f"a scheme with max_part={int(rows ** (1 / max(order, 1)))}"] if rows >= 1 else []
            raise ConfigurationError(
                f"level {level} at order {order} needs {_shown(need)} for {len(sizes):,} nodes with parts of up to "
                f"{int(sizes.max()):,} atoms, and {_shown(free)} are free; what fits: "
                f"{', '.join([*ways, 'smaller batches'])}"
            )


def warn_of_work(levels: Sequence[Level], orders: Sequence[int], own: bool) -> None:
    """Warn of levels, whose children have these orders, that take long: dense graphs at high order.

    Twins (:meth:`Level.twins`, with ``own`` if the layers read it) count once.
    """
    for number, (level, order) in enumerate(zip(levels, orders, strict=False), start=1):
        size = level.below.size
        if len(level.stacked) * float(size.max(initial=0)) ** order <= _ROWS:  # quick, and nearly always true
            continue
        parent, child = level.stacked.parent, level.stacked.child
        first = level.twins(own)[parent] == parent
        rows = float((size[child[first]].astype(np.float64) ** order).sum())
        if rows > _ROWS:
            warnings.warn(
                f"level {number} adds up {rows:,.0f} rows of tensors of order {order}, which takes "
                f"{rows * _ROW_SECONDS:,.0f} s or more for a batch: lower the order, or give a scheme with "
                f"max_part (parts have up to {int(size.max()):,} atoms)",
                stacklevel=2,
            )
