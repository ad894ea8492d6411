"""Forms that are linear in each of three tensors, differentiable any number of times.

The engine's operations are gradients of such forms ``t(g, x, w)``: ``<g, S(w) x>`` for a sparse map S whose values are
linear in w, and ``<g, x w>`` for a product of matrices. Each of the three gradients is made of the other two arguments
and linear in them, so that its gradients are the other two: no derivative is ever written down.
"""

from __future__ import annotations

from typing import Any, Protocol

import torch
from torch import Tensor

__all__ = ["Trilinear", "gradient"]


class Trilinear(Protocol):
    """A form of three tensors, given by its gradients."""

    def gradient(self, i: int, u: Tensor, v: Tensor | None) -> Tensor:
        """The gradient in argument i from the other two arguments, in their order."""
        ...


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
        """The derivative in a direction."""
        u, v = ctx.saved_tensors
        parts = [gradient(ctx.t, ctx.i, *x) for x, d in (((du, v), du), ((u, dv), dv)) if d is not None]
        return sum(parts[1:], start=parts[0])

    @staticmethod
    def vmap(info: Any, in_dims: Any, t: Trilinear, i: int, u: Tensor, v: Tensor | None) -> tuple[Tensor, int]:
        """One after another."""

        def each(x: Any, dim: int | None) -> Any:
            return [x] * info.batch_size if dim is None else x.unbind(dim)

        pairs = zip(each(u, in_dims[2]), each(v, in_dims[3]), strict=True)
        return torch.stack([gradient(t, i, a, b) for a, b in pairs]), 0
