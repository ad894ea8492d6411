"""P-tensors, one at a time: the permutation action, the paper's operations, promotion, stacking.

A P-tensor of order k over an ordered part of m atoms is an array of shape ``(m, ..., m, c)``: k
axes of length m, then c channels. A reordering ``pi`` of the part (the atom at place a moves to
place ``pi[a]``) permutes every axis and leaves the channels alone. Everything here is the
definition written down, for clarity; the packed engine computes the same without these objects.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from ccn.algebra.contractions import Contraction, EquivariantMap, index_letters
from ccn.errors import ConfigurationError

__all__ = [
    "adjacency_product",
    "contract",
    "elementwise_product",
    "equivariant_map",
    "linear_combination",
    "permutation_matrix",
    "permute",
    "project",
    "promote",
    "stack",
    "tensor_product",
]


def _order(f: Tensor) -> int:
    return f.ndim - 1


def permutation_matrix(pi: Sequence[int], dtype: torch.dtype = torch.float64) -> Tensor:
    """The defining representation: ``[P_pi]_{i,j} = 1 if pi(j) = i else 0``."""
    m = len(pi)
    p = torch.zeros(m, m, dtype=dtype)
    p[torch.as_tensor(pi, dtype=torch.long), torch.arange(m)] = 1
    return p


def permute(f: Tensor, pi: Sequence[int]) -> Tensor:
    """The action on a P-tensor: ``F'[pi(a), pi(b), ..] = F[a, b, ..]``.

    The same as applying ``P_pi`` along each of its k axes.
    """
    inverse = torch.argsort(torch.as_tensor(pi, dtype=torch.long)).to(f.device)
    for axis in range(_order(f)):
        f = f.index_select(axis, inverse)
    return f


def tensor_product(f: Tensor, g: Tensor) -> Tensor:
    """``C[i_1..i_{k+p}] = F[i_1..i_k] G[i_{k+1}..i_{k+p}]``, channel by channel (orders k, p to k+p)."""
    k, p = _order(f), _order(g)
    return f.reshape(*f.shape[:-1], *[1] * p, f.shape[-1]) * g.reshape(*[1] * k, *g.shape)


def elementwise_product(f: Tensor, g: Tensor, axes: Sequence[int]) -> Tensor:
    """``C[i_1..i_k] = F[i_1..i_k] G[i_{a_1}..i_{a_p}]`` along the axes ``a`` of F (order k)."""
    letters = index_letters(_order(f))
    return torch.einsum(f"{letters}...,{''.join(letters[a] for a in axes)}...->{letters}...", f, g)


def project(f: Tensor, axes: Sequence[int]) -> Tensor:
    """The projection: the sum over the given axes (order k to k-p)."""
    return f.sum(tuple(axes)) if axes else f


def contract(f: Tensor, c: Contraction) -> Tensor:
    """A generalised contraction: the axes of each block set equal and summed, the others kept in order."""
    if _order(f) != c.order_in:
        raise ConfigurationError(f"contraction {c} takes order {c.order_in}, got a tensor of order {_order(f)}")
    # The channel axis is the ellipsis, so that no letter is taken from the indices.
    return torch.einsum(f"{c.letters}...->{index_letters(c.order_out)}...", f)


def equivariant_map(f: Tensor, e: EquivariantMap, m: int | None = None) -> Tensor:
    """One map of the complete basis, ``C[out] = sum_in F[in] prod_blocks delta(axes of the block all equal)``.

    ``m`` is the size of the part. It is needed from order 0, where F does not show it.
    """
    if _order(f) != e.order_in:
        raise ConfigurationError(f"map {e} takes order {e.order_in}, got a tensor of order {_order(f)}")
    size = f.shape[0] if e.order_in else m
    if size is None:
        raise ConfigurationError(f"map {e} starts at order 0, where no axis shows the size of the part: pass m=")
    if m is not None and m != size:
        raise ConfigurationError(f"m={m}, but the axes of the tensor have length {size}")

    def delta(order: int) -> Tensor:
        d = torch.zeros([size] * order, dtype=f.dtype, device=f.device)
        d[(torch.arange(size),) * order] = 1
        return d

    letters = index_letters(e.order_in + e.order_out)
    words = ["".join(letters[a] for a in block) for block in e.blocks]
    factors = ",".join([f"{letters[: e.order_in]}...", *words])
    return torch.einsum(f"{factors}->{letters[e.order_in :]}...", f, *(delta(len(block)) for block in e.blocks))


def linear_combination(tensors: Sequence[Tensor], coefficients: Sequence[float]) -> Tensor:
    """``sum_j alpha_j F_j`` of P-tensors of one order."""
    return torch.stack([a * f for a, f in zip(coefficients, tensors, strict=True)]).sum(0)


def promote(f: Tensor, part: Sequence[int], to: Sequence[int]) -> Tensor:
    """Promotion: the P-tensor of a child over ``part`` as a P-tensor over the parent's part ``to``.

    ``F~[a, b, ..] = F[a', b', ..]`` where the atom at place a of ``to`` stands at place a' of
    ``part``, and 0 where it does not: along each axis a product with ``chi[a, a'] = 1 if
    to[a] == part[a'] else 0`` (parent places by child places).
    """
    chi = torch.tensor([[float(q == p) for p in part] for q in to], dtype=f.dtype, device=f.device)
    chi = chi.reshape(len(to), len(part))
    for axis in range(_order(f)):
        f = torch.tensordot(chi, f, dims=([1], [axis])).movedim(0, axis)
    return f


def stack(promoted: Sequence[Tensor], anchors: Sequence[int], part: Sequence[int]) -> Tensor:
    """Stacking: ``T[a, b, .., j]`` sums the promotions whose anchor stands at place j (order k to k+1)."""
    first = promoted[0]
    slices = [torch.zeros_like(first) for _ in part]
    for f, anchor in zip(promoted, anchors, strict=True):
        j = list(part).index(anchor)
        slices[j] = slices[j] + f
    return torch.stack(slices, dim=_order(first))


def adjacency_product(f: Tensor, a: Tensor) -> Tensor:
    """``F (x) A|part``: order k to k+2; ``a`` has shape (m, m) and meets every channel of F."""
    return tensor_product(f, a[..., None].expand(*a.shape, f.shape[-1]))
