"""The elaboration T (x) T: the stacked tensor multiplied by itself, channel by channel.

Offered for orders 0 to 2 and exempt from the rule that nothing of order k+1 is stored: T is built
packed, by the plan whose one contraction is the identity, and each Q is one einsum per part size.
"""

from __future__ import annotations

from string import ascii_lowercase

import torch
from torch import Tensor

from ccn.algebra.contractions import Contraction, MatrixClass
from ccn.engine.aggregate import aggregate
from ccn.engine.matrices import Matrices
from ccn.engine.plan import Map, plan
from ccn.schemes.packed import Level, Nodes

__all__ = ["linear_map", "square_maps"]


def linear_map(f: Tensor, c: Map, k: int, k_out: int, level: Level, matrices: Matrices) -> Tensor:
    """A single Q of a layer, packed and unmixed: (rows, channels)."""
    p = plan((c,), k, k_out, (MatrixClass(),))
    eye = torch.eye(f.shape[1], dtype=f.dtype, device=f.device)[:, None]
    zero = f.new_zeros(f.shape[1])
    return aggregate(f, eye, zero, p, level, matrices)[0]


def _square(t: Tensor, nodes: Nodes, c: Contraction) -> Tensor:
    """A contraction of X (x) X for packed X: (rows, channels)."""
    n = c.order_in // 2
    word = c.letters
    out = []
    for run in nodes.runs:
        x = t[nodes.rows_of(run, n)].view(run.nodes, *[run.m] * n, -1)  # last axis first
        left, right = word[:n][::-1], word[n:][::-1]
        survivors = ascii_lowercase[: c.order_out][::-1]
        out.append(torch.einsum(f"N{left}Z,N{right}Z->N{survivors}Z", x, x).reshape(-1, t.shape[1]))
    return torch.cat(out)


def square_maps(f: Tensor, maps: tuple[Map, ...], k: int, k_out: int, level: Level, matrices: Matrices) -> Tensor:
    """All Q's of T (x) T (or U (x) U, or of the node itself): (rows, contractions, channels)."""
    stacked: dict[str, Tensor] = {}
    out = []
    for c in maps:
        if c.source == "own" or not isinstance(c, Contraction):
            out.append(linear_map(f, c, k, k_out, level, matrices))
            continue
        source = c.source[:1]
        if source not in stacked:
            n = c.order_in // 2
            identity = Contraction(tuple(range(n)), (), "T" if source == "T" else "U")
            stacked[source] = linear_map(f, identity, k, n, level, matrices)
        out.append(_square(stacked[source], level.nodes, c))
    return torch.stack(out, dim=1)
