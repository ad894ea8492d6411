"""Whether a level fits into memory, before anything large is allocated; and memory that is used again."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Sequence
from functools import cache

import numpy as np
import psutil
import torch

from ccn.errors import ConfigurationError
from ccn.graphs.ragged import Int

__all__ = ["available_bytes", "check_memory", "keep_freed_memory", "level_bytes"]

_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3  # of glibc's mallopt
_KEPT_BYTES, _HEAP_BYTES = 1 << 29, 1 << 25  # free memory that a process keeps; allocations that it may serve
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


def level_bytes(sizes: Int, order: int, channels: int, itemsize: int) -> float:
    """About what a level with parts of these sizes takes while it is computed: its activation, working memory of twice
    that, index maps.
    """
    return float((sizes.astype(np.float64) ** order).sum()) * (3 * channels * itemsize + 128)


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
) -> None:
    """Raise an error that states the bytes needed and what would fit, if a level is too large for memory.

    Args:
        levels: the sizes of the parts of the levels 1, 2, ..
        orders, channels: of these levels.
        numbers: that the scheme of the last of them needs besides: the places of the children's atoms, A in its parts.
    """
    free = available_bytes(device)
    if free is None:
        return
    size = dtype.itemsize
    for level, (sizes, order, width) in enumerate(zip(levels, orders, channels, strict=True), start=1):
        scheme = _NUMBER_BYTES * numbers if level == len(levels) else 0
        need = level_bytes(sizes, order, width, size) + scheme
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
