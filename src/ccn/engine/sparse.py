"""Sparse maps between packed rows, and what makes them differentiable any number of times.

The engine's operations are gradients of forms ``t(g, x, w)`` that are linear in each of three tensors: ``<g, S(w) x>``
for a sparse map S whose values are linear in w, and ``<g, x w>`` for a product of matrices. Each of the three gradients
is made of the other two arguments and linear in them, so that its gradients are the other two: no derivative is ever
written down.

A :class:`SparseMap` S says which rows are added up; the value of each of its entries is 1 or a component of a vector q
(quantities of A). It is the trilinear form

    <g, S(q) x> = sum over entries e of q[number_e] <g[row_e], x[column_e]>,

whose gradient in g is the product ``S(q) x``, that in x the product ``S(q)^T g`` with the transposed map, and that in q
the sums of ``<g[row_e], x[column_e]>``. On CPUs and GPUs alike each is one kernel of PyTorch's ``embedding_bag`` over
int32 indices, and nothing but the values is as long as the entries.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np
import scipy.sparse as sp
import torch
import torch.nn.functional as nnf
from torch import Tensor

__all__ = ["SparseMap", "Trilinear", "gradient"]


class Trilinear(Protocol):
    """A form of three tensors, given by its gradients."""

    def gradient(self, i: int, u: Tensor, v: Tensor | None) -> Tensor:
        """The gradient in argument i from the other two arguments, in their order."""


def gradient(t: Trilinear, i: int, u: Tensor, v: Tensor | None) -> Tensor:
    """The gradient in argument i, as a differentiable function of the other two."""
    result: Tensor = _Gradient.apply(t, i, u, v)  # type: ignore[no-untyped-call]
    return result


class _Gradient(torch.autograd.Function):
    @staticmethod
    def forward(t: Trilinear, i: int, u: Tensor, v: Tensor | None) -> Tensor:
        return t.gradient(i, u.detach(), None if v is None else v.detach())

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Trilinear, int, Tensor, Tensor | None], output: Tensor) -> None:
        ctx.t, ctx.i, u, v = inputs
        _, _, ctx.u_needed, ctx.v_needed = ctx.needs_input_grad
        ctx.save_for_backward(u if ctx.v_needed else None, v)
        ctx.save_for_forward(u, v)

    @staticmethod
    def backward(ctx: Any, h: Tensor) -> tuple[None, None, Tensor | None, Tensor | None]:
        u, v = ctx.saved_tensors
        j, k = (a for a in range(3) if a != ctx.i)

        def found(of: int, other: int, x: Tensor) -> Tensor:
            return gradient(ctx.t, of, *((h, x) if ctx.i < other else (x, h)))

        return None, None, found(j, k, v) if ctx.u_needed else None, found(k, j, u) if ctx.v_needed else None

    @staticmethod
    def jvp(ctx: Any, _t: None, _i: None, du: Tensor | None, dv: Tensor | None) -> Any:
        u, v = ctx.saved_tensors
        parts = [gradient(ctx.t, ctx.i, *x) for x, d in (((du, v), du), ((u, dv), dv)) if d is not None]
        return sum(parts[1:], start=parts[0])

    @staticmethod
    def vmap(info: Any, in_dims: Any, t: Trilinear, i: int, u: Tensor, v: Tensor | None) -> tuple[Tensor, int]:

        def each(x: Any, dim: int | None) -> Any:
            return [x] * info.batch_size if dim is None else x.unbind(dim)

        pairs = zip(each(u, in_dims[2]), each(v, in_dims[3]), strict=True)
        return torch.stack([gradient(t, i, a, b) for a, b in pairs]), 0


_SUM = 0  # how a bag is reduced, in the number that the kernels of embedding_bag take


class _Entries(NamedTuple):
    """Entries row by row.

    Attributes:
        column: (entries,) the row that each entry reads.
        start: (rows+1,) first entry of each row.
        number: (entries,) where the value of each entry stands in q; None if all values are 1.
    """

    column: Tensor
    start: Tensor
    number: Tensor | None

    def product(self, x: Tensor, q: Tensor | None) -> Tensor:
        if not len(self.column):
            return x.new_zeros(len(self.start) - 1, x.shape[1])
        values = None if self.number is None or q is None else q.index_select(0, self.number)
        return nnf.embedding_bag(
            self.column, x.contiguous(), self.start, mode="sum", per_sample_weights=values, include_last_offset=True
        )


class SparseMap(NamedTuple):
    """A sparse map and its transpose, both by rows; ``length`` is that of q, 0 where the map does not depend on it."""

    entries: _Entries
    transposed: _Entries
    length: int

    @classmethod
    def of(cls, matrix: sp.csr_array, device: torch.device, length: int = 0) -> SparseMap:
        """From a compressed matrix, whose data are numbers of a q of this length; if that is 0, they are ignored."""

        def entries(x: Any) -> _Entries:
            arrays = (torch.from_numpy(a.astype(np.int32, copy=False)) for a in (x.indices, x.indptr, x.data))
            column, start, number = (a.to(device) for a in arrays)
            return _Entries(column, start, number if length else None)

        return cls(entries(matrix), entries(matrix.tocsc()), length)

    @property
    def nbytes(self) -> int:
        return sum(x.nbytes for x in (*self.entries, *self.transposed) if x is not None)

    def product(self, x: Tensor, q: Tensor | None = None) -> Tensor:
        """``S(q) x``; q may be left out where S does not depend on it."""
        return self.entries.product(x, q)

    def back(self, g: Tensor, q: Tensor | None = None) -> Tensor:
        """``S(q)^T g``."""
        return self.transposed.product(g, q)

    def sums(self, g: Tensor, x: Tensor) -> Tensor:
        """For each number of q the sum of ``<g[row_e], x[column_e]>`` over the entries e that have it."""
        column, start, number = self.entries
        if number is None or not len(column):
            return g.new_zeros(self.length)
        row = torch.repeat_interleave(torch.diff(start)).to(column.dtype)
        dot = torch.ops.aten._embedding_bag_per_sample_weights_backward(
            g.contiguous(), x.contiguous(), column, start[:-1], row, _SUM
        )
        return g.new_zeros(self.length).index_add(0, number, dot)

    def gradient(self, i: int, u: Tensor, v: Tensor | None) -> Tensor:
        """The gradient of ``<g, S(q) x>`` in g, x or q."""
        if i == 2:
            assert v is not None
            return self.sums(u, v)
        return self.product(u, v) if i == 0 else self.back(u, v)
