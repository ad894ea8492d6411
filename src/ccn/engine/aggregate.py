"""One level of a batch, without tensors of order k+1: what layers call, whatever the form.

``aggregate`` computes the same as :func:`ccn.reference.aggregate` at every node,

    reduce   F (rows, in) -> X_g (rows_g, reductions * in)
    mix      X_g W        -> table (.., slots * out)
    gather   table        -> targets
    combine  targets      -> output, with A; bias, nonlinearity

and, in the same pass, the invariants of the result: one scalar per set partition of the k axes and channel, the sum of
the entries whose equated indices agree. Order 1: the sum; order 2: the sum and the trace; order k: Bell(k) of them, the
plain sum first and the full diagonal last.
"""

from __future__ import annotations

import torch
from torch import Tensor

from ccn.algebra.partitions import bell
from ccn.engine.backend import Job, choose
from ccn.engine.matrices import Matrices
from ccn.engine.plan import Plan
from ccn.schemes.packed import Level, Nodes

__all__ = ["aggregate", "invariants", "over_graphs", "prepare"]


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
