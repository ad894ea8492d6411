"""Views of packed tensors: how rows in memory are addressed by the indices of P-tensors."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

__all__ = ["axes_view"]


def axes_view(
    x: Tensor, nodes: int, m: int, axes: Sequence[tuple[int, ...]], order: int, new: Sequence[int] = ()
) -> Tensor:
    """A view of packed tensors of one size with chosen indices: (nodes, m, .., m, channels), last index first.

    ``axes[i]`` are the tensor axes that index i runs along together (their diagonal); along an index in
    ``new`` the view repeats. ``x`` has ``nodes * m^order`` rows, axis 0 of each tensor fastest.
    """
    row = x.stride(0)
    strides = [0 if i in new else sum(m**a for a in group) * row for i, group in enumerate(axes)]
    shape = (nodes, *([m] * len(axes)), x.shape[1])
    return x.as_strided(shape, (m**order * row, *reversed(strides), x.stride(1)), x.storage_offset())
