"""One level of a batch, without tensors of order k+1: what layers call, whatever the form.

``aggregate`` computes the same as :func:`ccn.reference.aggregate` at every node,

    reduce   F (rows, in) -> X_g (rows_g, reductions * in)
    mix      X_g W        -> table (.., slots * out)
    gather   table        -> targets
    combine  targets      -> output, with A; bias, nonlinearity

and, in the same pass, the invariants of the result: one scalar per set partition of the k axes and channel, the sum of
the entries whose equated indices agree. Order 1: the sum; order 2: the sum and the trace; order k: Bell(k) of them, the
plain sum first and the full diagonal last.

``dense_maps`` are the elaborations that no plan has: T (x) T, the stacked tensor multiplied by itself, channel by
channel, alone or with A, and equivariant maps of T (x) A such as elementwise products. They are offered for orders 0
to 2 and exempt from the rule that nothing of order k+1 is stored: T is built packed, by the plan whose one contraction
is the identity, and each Q is one einsum per part size.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from string import ascii_lowercase

import numpy as np
import torch
from torch import Tensor

from ccn.algebra.contractions import Contraction, MatrixClass, Source, bell, unstacked
from ccn.engine.backend import Job, choose, untraced
from ccn.engine.maps import cut_map
from ccn.engine.matrices import Matrices
from ccn.engine.plan import Map, Plan, index_groups, plan
from ccn.engine.sparse import SparseMap, gradient
from ccn.schemes.packed import Level, Nodes

__all__ = [
    "aggregate",
    "children_of",
    "dense_maps",
    "invariants",
    "prepare",
    "prepare_children",
]


def prepare(plan: Plan, level: Level, a: Matrices) -> int:
    """Build what a plan needs on a level, which keeps it; returns its bytes."""
    like = torch.empty(0, dtype=a.dtype, device=a.batch.device)
    return choose(like, a.needs_grad).prepare(plan, level, a)


@untraced
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
    basis: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """One level: packed child activations (rows, in) to packed activations (rows, out) and invariants.

    Without ``keep`` only the invariants are wanted, and the activations may be left out. The invariants are those of
    the nodes, (nodes, Bell(k') * out), or their sums over so many ``graphs``. Under autocast the work is done in the
    dtype of the weights.

    The weight is (out, contractions, in), or with a ``basis`` (rank, out, in), by which F is mixed first, (out,
    contractions, rank): then W[o, j, i] is the sum of ``weight[o, j, r] basis[r, o, i]`` over r.

    Example:
        >>> import ccn
        >>> b = ccn.batch([ccn.Graph([(0, 1), (1, 2)], n=3)])
        >>> level = ccn.schemes.composition(b, ccn.schemes.Balls(radii=(0, 1))).levels[0]
        >>> layer = ccn.layers.Aggregation(4, 8, order=1)
        >>> a = ccn.engine.Matrices(b, [ccn.adjacency.Weights()], torch.float32)
        >>> out, _ = aggregate(torch.rand(3, 4), layer.weight, layer.bias, layer.plan(level), level, a)
        >>> out.shape == (level.nodes.size.sum(), 8)  # one row for each place of each part
        True
    """
    job, kind = Job(plan, level, a, relu, keep, graphs), f.device.type
    if not (torch.amp.is_autocast_available(kind) and torch.is_autocast_enabled(kind)):
        return choose(f, a.needs_grad).aggregate(f, weight, bias, basis, job)
    with torch.autocast(kind, enabled=False):
        f = f.to(weight.dtype)
        return choose(f, a.needs_grad).aggregate(f, weight, bias, basis, job)


@untraced
def invariants(f: Tensor, nodes: Nodes, order: int) -> Tensor:
    """The invariants of every node's tensor, (nodes, Bell(order) * channels), in storage order.

    Example:
        >>> import ccn
        >>> b = ccn.batch([ccn.Graph([(0, 1)], n=2)])
        >>> nodes = ccn.schemes.composition(b, ccn.schemes.Balls(radii=(0, 1))).levels[0].nodes
        >>> invariants(torch.ones(8, 1), nodes, 2).tolist()  # two parts of two atoms: the sum, and that of the diagonal
        [[4.0, 2.0], [4.0, 2.0]]
    """
    if len(f) == len(nodes):  # scalars, or parts of one atom: all invariants are the entry itself
        return f if order == 0 else f.repeat(1, bell(order))
    return choose(f).invariants(f, nodes, order)


def children_of(level: Level, f: Tensor, order: int) -> Tensor:
    """The tensors of the nodes below a level, as its plan reads them: f, and behind it what parents hold of children
    that reach beyond their parts.
    """
    made = _cutting(level, order, f.device)
    return f if made is None else gradient(made, 0, f, None)


def prepare_children(level: Level, order: int, device: torch.device) -> int:
    """Build what :func:`children_of` needs; returns its bytes."""
    made = _cutting(level, order, device)
    return 0 if made is None else made.nbytes


def _cutting(level: Level, order: int, device: torch.device) -> SparseMap | None:
    cut = level.cut
    if cut is None:
        return None
    return level.cached(("cut", order, device), lambda: cut_map(cut, level.below, order, device))


def _sum(f: Tensor, maps: tuple[Map, ...], k: int, k_out: int, level: Level, matrices: Matrices) -> Tensor:
    """The sum of some Q's of a layer, packed and unmixed: (rows, channels)."""
    eye = torch.eye(f.shape[1], dtype=f.dtype, device=f.device)[:, None].expand(-1, len(maps), -1)
    p = plan(maps, k, k_out, (MatrixClass(),))
    return aggregate(f, eye, f.new_zeros(f.shape[1]), p, level, matrices)[0]


def _einsum(factors: Sequence[tuple[Tensor, Sequence[int]]], c: Map, nodes: Nodes) -> Tensor:
    """A map of a product of packed tensors, each with the numbers of its axes, or of matrices that are dense by node:
    (rows, channels).

    Indices that are new are spread along ones, and output axes that are equal lie on the diagonal of an identity.
    """
    letters = iter(ascii_lowercase)
    axis: dict[int, str] = {}
    out: dict[int, str] = {}
    equal: list[str] = []  # pairs of letters of an identity, and single ones of ones
    for inside, outside in index_groups(c):
        first = next(letters)
        axis |= dict.fromkeys(inside, first)
        for i, o in enumerate(outside):
            out[o] = first if i == 0 else next(letters)
            equal += [first + out[o]] if i else []
        equal += [] if inside else [first]
    kept = "".join(out[o] for o in reversed(range(c.order_out)))  # the last axis is stored first
    result, like = [], factors[0][0]
    for run in nodes.runs:
        words, tensors = [], []
        for tensor, axes in factors:
            rows = nodes.row_start(len(axes))
            of_run = tensor[rows[run.first] : rows[run.end]]
            words.append("N" + "".join(axis[a] for a in reversed(axes)) + "Z")
            tensors.append(of_run.reshape(run.end - run.first, *[run.m] * len(axes), *of_run.shape[1:]))
        words += equal
        for letters_of in equal:
            ones = like.new_ones(run.m)
            tensors.append(ones if len(letters_of) == 1 else torch.diag(ones))
        product = torch.einsum(f"{','.join(words)}->N{kept}Z", *tensors)
        result.append(product.reshape(-1, like.shape[1]))
    return torch.cat(result) if result else like.new_zeros(0, like.shape[1])


def _matrix(level: Level, matrices: Matrices, channel: int) -> Tensor:
    """(sum of m^2,) a channel of A within every part, row place fastest."""
    inside, values, nodes = matrices.restriction(channel, level), matrices.channel_values(channel), level.nodes
    node = np.repeat(np.arange(len(nodes)), np.diff(inside.start))
    # Packed tensors store the last axis slowest, so that the first axis of A, its row, is the fastest.
    at = nodes.row_start(2)[node] + inside.row + nodes.size[node] * inside.column
    index, entry = (torch.from_numpy(x).to(values.device) for x in (at, inside.entry))
    return values.new_zeros(nodes.rows(2)).index_add(0, index, values[entry])


def dense_maps(
    f: Tensor, maps: tuple[Map, ...], k: int, k_out: int, level: Level, matrices: Matrices, shared: bool = False
) -> Tensor:
    """All Q's of T (x) T, T (x) T (x) A, or equivariant maps of T (x) A, and the same of U.

    Their shape is (rows, contractions, channels).

    If ``shared``, U is added to each factor whose stacking axis is a block of its own.
    """

    @cache
    def factor(source: Source, n: int) -> Tensor:
        return _sum(f, (Contraction(tuple(range(n)), (), source),), k, n, level, matrices)

    @cache
    def summed() -> Tensor:
        every = tuple(range(k))
        return _sum(f, (Contraction(every, ((k,),), "T"), Contraction(every, (), "U")), k, k, level, matrices)

    @cache
    def matrix(channel: int) -> Tensor:
        return _matrix(level, matrices, channel)[:, None].expand(-1, f.shape[1])

    out = []
    for c in maps:
        if c.source in ("T", "U", "own"):
            u = unstacked(c, k) if shared else None
            out.append(_sum(f, (c,) if u is None else (c, u), k, k_out, level, matrices))
            continue
        copies, with_a = c.source.count(c.source[0]), c.source.endswith("A")
        n = (c.order_in - 2 * with_a) // copies
        factors: list[tuple[Tensor, Sequence[int]]] = []
        for first in range(0, n * copies, n):
            axes = tuple(range(first, first + n))
            if shared and c.source[0] == "T" and (first + k,) in c.blocks:
                factors.append((summed(), axes[:-1]))
            else:
                factors.append((factor("T" if c.source[0] == "T" else "U", n), axes))
        if with_a:
            factors.append((matrix(c.channel), (c.order_in - 2, c.order_in - 1)))
        out.append(_einsum(factors, c, level.nodes))
    return torch.stack(out, dim=1)
