"""One level of a batch, without tensors of order k+1: what layers call, whatever the form.

``aggregate`` computes the same as :func:`ccn.reference.aggregate` at every node,

    reduce   F (rows, in) -> X_g (rows_g, reductions * in)
    mix      X_g W        -> table (.., slots * out)
    gather   table        -> targets
    combine  targets      -> output, with A; bias, nonlinearity

and, in the same pass, the invariants of the result: one scalar per set partition of the k axes and channel, the sum of
the entries whose equated indices agree. Order 1: the sum; order 2: the sum and the trace; order k: Bell(k) of them, the
plain sum first and the full diagonal last.

``square_maps`` is the elaboration T (x) T, the stacked tensor multiplied by itself, channel by channel. It is offered
for orders 0 to 2 and exempt from the rule that nothing of order k+1 is stored: T is built packed, by the plan whose one
contraction is the identity, and each Q is one einsum per part size.
"""

from __future__ import annotations

from functools import cache
from string import ascii_lowercase

import torch
from torch import Tensor

from ccn.algebra.contractions import Contraction, MatrixClass, Source, bell
from ccn.engine.backend import Job, choose
from ccn.engine.matrices import Matrices
from ccn.engine.plan import Map, Plan, plan
from ccn.schemes.packed import Level, Nodes

__all__ = ["aggregate", "invariants", "over_graphs", "prepare", "square_maps"]


def prepare(plan: Plan, level: Level, a: Matrices) -> int:
    """Build what a plan needs on a level, which keeps it; returns its bytes."""
    like = torch.empty(0, dtype=a.dtype, device=a.batch.device)
    return choose(like, a.needs_grad).prepare(plan, level, a)


def aggregate(
    f: Tensor,
    weight: Tensor,
    bias: Tensor,
    plan: Plan,
    level: Level,
    a: Matrices,
    relu: bool = False,
    keep: bool = True,
    graphs: int | None = None,
) -> tuple[Tensor, Tensor]:
    """One level: packed child activations (rows, in) to packed activations (rows, out) and invariants.

    Without ``keep`` only the invariants are wanted, and the activations may be left out. The invariants are those of
    the nodes, (nodes, Bell(k') * out), or their sums over so many ``graphs``. Under autocast the work is done in the
    dtype of the weights.
    """
    job, kind = Job(plan, level, a, relu, keep, graphs), f.device.type
    if not (torch.amp.is_autocast_available(kind) and torch.is_autocast_enabled(kind)):
        return choose(f, a.needs_grad).aggregate(f, weight, bias, job)
    with torch.autocast(kind, enabled=False):
        f = f.to(weight.dtype)
        return choose(f, a.needs_grad).aggregate(f, weight, bias, job)


def invariants(f: Tensor, nodes: Nodes, order: int) -> Tensor:
    """The invariants of every node's tensor, (nodes, Bell(order) * channels), in storage order."""
    if len(f) == len(nodes):  # scalars, or parts of one atom: all invariants are the entry itself
        return f if order == 0 else f.repeat(1, bell(order))
    return choose(f).invariants(f, nodes, order)


def over_graphs(rows: Tensor, nodes: Nodes, graphs: int) -> Tensor:
    """(graphs, width) the rows of the nodes of each graph, added up."""
    index = torch.from_numpy(nodes.graph).to(rows.device)
    return rows.new_zeros(graphs, rows.shape[1]).index_add(0, index, rows)


def _single(f: Tensor, c: Map, k: int, k_out: int, level: Level, matrices: Matrices) -> Tensor:
    """A single Q of a layer, packed and unmixed: (rows, channels)."""
    eye = torch.eye(f.shape[1], dtype=f.dtype, device=f.device)[:, None]
    p = plan((c,), k, k_out, (MatrixClass(),))
    return aggregate(f, eye, f.new_zeros(f.shape[1]), p, level, matrices)[0]


def _square(t: Tensor, nodes: Nodes, c: Contraction) -> Tensor:
    """A contraction of X (x) X for packed X: (rows, channels)."""
    n, width = c.order_in // 2, t.shape[1]
    left, right, survivors = (x[::-1] for x in (c.letters[:n], c.letters[n:], ascii_lowercase[: c.order_out]))
    out, rows = [], nodes.row_start(n)
    for run in nodes.runs:
        x = t[rows[run.first] : rows[run.end]].view(-1, *[run.m] * n, width)  # last axis first
        out.append(torch.einsum(f"N{left}Z,N{right}Z->N{survivors}Z", x, x).reshape(-1, width))
    return torch.cat(out)


def square_maps(f: Tensor, maps: tuple[Map, ...], k: int, k_out: int, level: Level, matrices: Matrices) -> Tensor:
    """All Q's of T (x) T (or U (x) U, or of the node itself): (rows, contractions, channels)."""

    @cache
    def factor(source: Source, n: int) -> Tensor:
        return _single(f, Contraction(tuple(range(n)), (), source), k, n, level, matrices)

    out = []
    for c in maps:
        if isinstance(c, Contraction) and c.source != "own":
            t = factor("T" if c.source == "TT" else "U", c.order_in // 2)
            out.append(_square(t, level.nodes, c))
        else:
            out.append(_single(f, c, k, k_out, level, matrices))
    return torch.stack(out, dim=1)
