"""Working memory that is kept between calls.

Fresh memory is expensive: the first touch of every page is a fault, which on large temporaries costs
more than the arithmetic. The engine's temporaries therefore live in one buffer per thread and kind of
number, which grows to the largest that was needed and is let go only when it is very large.
"""

from __future__ import annotations

import threading

import torch
from torch import Tensor

__all__ = ["release", "scratch"]

KEEP_BYTES = 1 << 29  # larger buffers are not kept
_local = threading.local()


def scratch(rows: int, width: int, like: Tensor, soon: int = 0) -> Tensor:
    """An uninitialised (rows, width) tensor, valid until the next call on this thread.

    ``soon`` rows will be asked for later: a buffer that has to grow leaves a hole in memory behind.
    """
    need = rows * width
    # What PyTorch follows to export it must neither write to what is kept nor leave behind what has no values.
    if torch.compiler.is_compiling() or like.device.type != "cpu" or need * like.element_size() > KEEP_BYTES:
        return like.new_empty(rows, width)
    buffers: dict[torch.dtype, Tensor] = _local.__dict__.setdefault("buffers", {})
    if like.dtype not in buffers or buffers[like.dtype].numel() < need:
        buffers.pop(like.dtype, None)  # let go of the old one before there is a new one
        with torch.inference_mode(False):  # what a prediction leaves behind serves training later
            buffers[like.dtype] = torch.empty(max(need, soon * width), dtype=like.dtype)
    return buffers[like.dtype][:need].view(rows, width)


def release() -> None:
    """Let go of this thread's working memory."""
    _local.__dict__.pop("buffers", None)
