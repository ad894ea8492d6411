"""Working memory of the kernels, which is kept between calls.

The first touch of every page of fresh memory is a fault, which costs more than the arithmetic. Each thread therefore
keeps one buffer per dtype, which grows to the largest that was needed, unless that is very large.
"""

from __future__ import annotations

import threading

import torch
from torch import Tensor

from ccn.engine.memory import available_bytes
from ccn.errors import ConfigurationError

__all__ = ["release", "workspace"]

KEEP_BYTES = 1 << 29  # larger buffers are not kept
_local = threading.local()


def workspace(rows: int, width: int, dtype: torch.dtype) -> Tensor:
    """An uninitialised (rows, width) tensor, valid until the next call on this thread."""
    need = rows * width
    if need * dtype.itemsize > KEEP_BYTES:
        free = available_bytes(torch.device("cpu"))
        if free is not None and need * dtype.itemsize > free:
            raise ConfigurationError(
                f"a graph needs {need * dtype.itemsize / 1e9:,.1f} GB of working memory, and {free / 1e9:,.1f} GB are "
                "free: number its vertices so that neighbours have near numbers, as by "
                "scipy.sparse.csgraph.reverse_cuthill_mckee, or choose a lower order or fewer levels, channels, threads"
            )
        return torch.empty(rows, width, dtype=dtype)
    buffers: dict[torch.dtype, Tensor] = _local.__dict__.setdefault("buffers", {})
    if dtype not in buffers or buffers[dtype].numel() < need:
        buffers.pop(dtype, None)  # free the old one before there is a new one
        with torch.inference_mode(False):  # what a prediction leaves behind serves training later
            buffers[dtype] = torch.empty(need, dtype=dtype)
    return buffers[dtype][:need].view(rows, width)


def release() -> None:
    """Free this thread's working memory."""
    _local.__dict__.pop("buffers", None)
