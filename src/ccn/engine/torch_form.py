"""The engine in PyTorch's operations: for every device and dtype, differentiable any number of times.

A level is two operations over all nodes of the batch at once, each linear in two tensors,

    table  = (reduce F) W                          :class:`_Mixing`
    output = (gather + combine(A) others) table    :class:`_Gathering`

with the sparse maps of :mod:`ccn.engine.maps`. Both are gradients of trilinear forms, from which derivatives in F, W
and A of all orders follow (:mod:`ccn.engine.sparse`); the rest is ordinary PyTorch.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

import numpy as np
import torch
import torch.nn.functional as nnf
from torch import Tensor

from ccn.engine.backend import Job, plain_tensors, untraced
from ccn.engine.maps import Maps, build_maps, build_scalar_maps, invariant_map, quantity_places
from ccn.engine.matrices import Matrices
from ccn.engine.memory import keep_freed_memory
from ccn.engine.plan import Plan
from ccn.engine.sparse import SparseMap, gradient
from ccn.graphs.ragged import Int, starts
from ccn.schemes.packed import Level, Nodes

__all__ = [
    "aggregate",
    "invariants",
    "mixing",
    "mixing_gradient",
    "over_graphs",
    "prepare",
    "prepare_scalars",
    "run",
    "scalars",
    "serves",
    "stores_all",
]


def stores_all() -> bool:
    """See :class:`ccn.engine.backend.Backend`."""
    return True


def serves(like: Tensor, differentiable: bool) -> bool:
    """Always."""
    return True


def prepare(plan: Plan, level: Level, a: Matrices) -> int:
    """Build the maps of a plan and the quantities of A that their values are."""
    return _structure(plan, level, a).nbytes + _quantities(plan, level, a).nbytes


def _structure(plan: Plan, level: Level, a: Matrices) -> Maps:
    """The maps of a plan on a level, built once: they do not depend on the values of A."""
    device = a.batch.device

    def build() -> Maps:
        if device.type == "cpu":
            keep_freed_memory()
        return build_maps(plan, level, a.restrictions(plan, level), device)

    return a.once(level, ("maps", plan, device), build)


def _quantities(plan: Plan, level: Level, a: Matrices) -> Tensor:
    """The vector of quantities of A, kept until A changes, or made anew where gradients flow through it."""
    device = a.batch.device

    def places() -> tuple[Tensor, Tensor, int]:
        source, target, length = quantity_places(plan, level.nodes, a.restrictions(plan, level), a.value_places())
        return torch.from_numpy(source).to(device), torch.from_numpy(target).to(device), length

    def build() -> Tensor:
        source, target, length = a.once(level, ("quantity places", plan, device), places)
        values = a.values()
        one = torch.zeros(length, dtype=values.dtype, device=device)
        one[0] = 1
        return one.index_add(0, target, values.index_select(0, source))

    return a.current(level, ("quantities", plan), build)


@dataclass(frozen=True)
class _Mixing:
    """The form ``<g, (reduce F) W>``: children's tensors, reduced and mixed, stage after stage of the plan.

    ``rows[g]`` is the number of rows of order g. Only F is kept for the gradient: its reductions are made again. F has
    ``width`` channels and the table ``out`` for each slot; with a ``rank`` the latter's channel o is made
    of the former's at o, ``out + o``, .. alone.
    """

    plan: Plan
    reduce: SparseMap | None
    rows: tuple[int, ...]
    width: int
    out: int
    rank: int

    def gradient(self, i: int, u: Tensor, v: Tensor | None) -> Tensor:
        """The table, from F and W; the gradient of F, from that of the table and W; or that of W."""
        assert v is not None
        stages = self.plan.stages
        if i == 0:
            table = u.new_empty(sum(self.rows[s.order] * len(s.slots) for s in stages), self.out)
            for t, x, w in self._stages(table, self._reduced(u), v):
                t.copy_(torch.einsum("rkc,ksc->rsc", x, w)) if self.rank else torch.mm(x, w, out=t)
            return table
        if i == 1:
            counts = [n * len(of) for n, of in zip(self.rows, self.plan.reductions, strict=True)]
            g_x = u.new_zeros(sum(counts), self.width)
            for t, x, w in self._stages(u.contiguous(), g_x, v):
                x.add_(torch.einsum("rsc,ksc->rkc", t, w)) if self.rank else x.addmm_(t, w.t())
            return g_x if self.reduce is None else self.reduce.back(g_x)
        g_w = u.new_empty(sum((s.end - s.first) * len(s.slots) for s in stages) * self._deep * self.out)
        for t, x, w in self._stages(u.contiguous(), self._reduced(v), g_w):
            w.copy_(torch.einsum("rkc,rsc->ksc", x, t)) if self.rank else torch.mm(x.t(), t, out=w)
        return g_w

    @property
    def _deep(self) -> int:
        """The rows of a mixing matrix for each reduction."""
        return self.rank or self.width

    def _reduced(self, f: Tensor) -> Tensor:
        """The reductions of all orders, order after order: rows (row of order g, reduction)."""
        return f.contiguous() if self.reduce is None else self.reduce.product(f)

    def _stages(self, table: Tensor, x: Tensor, w: Tensor) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
        """The rows of the table, the reductions and the matrix of each stage, as views; with a rank the last axis of
        each are the channels.
        """
        width, out = self.width, self.out
        edge = starts([n * len(of) for n, of in zip(self.rows, self.plan.reductions, strict=True)])
        orders = [
            x[a:b].view(n, (b - a) // max(1, n) * width)
            for n, (a, b) in zip(self.rows, pairwise(edge.tolist()), strict=True)
        ]
        t = m = 0
        for s in self.plan.stages:
            rows, numbers = self.rows[s.order] * len(s.slots), (s.end - s.first) * len(s.slots) * self._deep * out
            of_stage = (
                table[t : t + rows].view(-1, len(s.slots) * out),
                orders[s.order][:, s.first * width : s.end * width],
                w[m : m + numbers].view((s.end - s.first) * self._deep, -1),
            )
            yield tuple(x.unflatten(1, (-1, out)) for x in of_stage) if self.rank else of_stage
            t, m = t + rows, m + numbers


@dataclass(frozen=True)
class _Gathering:
    """The form ``<g, (gather(q) + combine(q) others) table>``: over parent-child pairs, then within a node, with A."""

    maps: Maps

    def gradient(self, i: int, u: Tensor, v: Tensor | None) -> Tensor:
        """The output, from the table and q; the gradient of the table, from that of the output and q; or that of q."""
        gather, others, combine = self.maps.gather, self.maps.others, self.maps.combine
        if i == 2:
            assert v is not None
            result = gather.sums(u, v)
            return result if others is None or combine is None else result.add_(combine.sums(u, others.product(v)))
        if others is None or combine is None:
            return gather.product(u, v) if i == 0 else gather.back(u, v)
        if i == 0:
            return combine.product(others.product(u), v).add_(gather.product(u, v))
        return others.back(combine.back(u, v)).add_(gather.back(u, v))


def aggregate(f: Tensor, weight: Tensor, bias: Tensor, basis: Tensor | None, job: Job) -> tuple[Tensor, Tensor]:
    """One level: activations and invariants."""
    return run(f, weight, bias, basis, job, _quantities(job.plan, job.level, job.a))


def run(
    f: Tensor, weight: Tensor, bias: Tensor, basis: Tensor | None, job: Job, quantities: Tensor
) -> tuple[Tensor, Tensor]:
    """One level with these quantities of A."""
    if basis is not None:
        f = nnf.linear(f, basis.flatten(0, 1))
    maps = _structure(job.plan, job.level, job.a)
    plan, nodes = job.plan, job.level.nodes
    rows = tuple(job.level.below.rows(g) for g in range(plan.order_in + 1))
    if plan.stages:
        mixed = _Mixing(plan, maps.reduce, rows, f.shape[1], weight.shape[0], 0 if basis is None else len(basis))
        table = gradient(mixed, 0, f, mixing(plan, weight))
        y = gradient(_Gathering(maps), 0, table, quantities) + bias
    else:  # all contractions vanish
        y = bias.expand(nodes.rows(plan.order_out), -1).clone()
    if job.relu:
        y = y.relu_()
    read = invariants(y, nodes, plan.order_out)
    return y, read if job.graphs is None else over_graphs(read, nodes, job.graphs)


def _scalar_structure(plan: Plan, level: Level, a: Matrices) -> Maps:
    """The maps of :func:`build_scalar_maps`, built once."""
    device = a.batch.device
    return a.once(level, ("scalar maps", plan, device), lambda: build_scalar_maps(plan, level, device))


def prepare_scalars(plan: Plan, level: Level, a: Matrices) -> int:
    """Build what :func:`scalars` needs; returns its bytes."""
    return _scalar_structure(plan, level, a).nbytes + _quantities(plan, level, a).nbytes


@untraced
def scalars(f: Tensor, plan: Plan, level: Level, a: Matrices) -> Tensor:
    """(nodes, contractions, channels) the Q's of a plan to order 0, not yet mixed, in any form of the engine.

    Elsewhere mixing comes first, at the child, where entries are fewest. Here they are fewest at the end.
    """
    maps, nodes = _scalar_structure(plan, level, a), level.nodes
    x = f if maps.reduce is None else gradient(maps.reduce, 0, f, None)
    q = gradient(maps.gather, 0, x, _quantities(plan, level, a) if maps.gather.length else None)
    return q.view(len(nodes), len(plan.cells), f.shape[1])


def invariants(f: Tensor, nodes: Nodes, order: int) -> Tensor:
    """The invariants of every node's tensor."""
    device = f.device
    read = nodes.cached(("invariants", order, device), lambda: invariant_map(nodes, order, device))
    return gradient(read, 0, f, None).view(len(nodes), -1)


@untraced
def over_graphs(rows: Tensor, nodes: Nodes, graphs: int) -> Tensor:
    """(graphs, width) the rows of the nodes of each graph, added up."""
    index = nodes.cached.on(rows.device, "graph", lambda: nodes.graph)
    return rows.new_zeros(graphs, rows.shape[1]).index_add(0, index, rows)


@lru_cache(maxsize=256)
@plain_tensors()
def _places(plan: Plan, out: int, width: int, device: torch.device) -> tuple[Tensor, Tensor, int]:
    """For each number of W that counts: its place in W, its place among all mixing matrices, and how long these are."""
    o, w = np.arange(out), np.arange(width)[:, None]
    start = starts([(stage.end - stage.first) * len(stage.slots) for stage in plan.stages]) * width * out
    source, place = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    for i, cell in enumerate(plan.cells):
        if cell is not None:
            s, r, slot = cell
            source.append((o * len(plan.cells) + i) * width + w)
            place.append(start[s] + ((r * width + w) * len(plan.stages[s].slots) + slot) * out + o)

    def joined(numbers: list[Int]) -> Tensor:
        return torch.from_numpy(np.concatenate([x.reshape(-1) for x in numbers])).to(device)

    return joined(source), joined(place), int(start[-1])


def mixing(plan: Plan, weight: Tensor) -> Tensor:
    """W (out, contractions, in) as the matrices of all stages, (reductions * in, slots * out) each, one after another.

    The same for a weight (out, contractions, rank).
    Contractions that are equal for the class of A add up in one cell, those that are zero in none. Differentiable.
    """
    source, place, length = _places(plan, weight.shape[0], weight.shape[2], weight.device)
    return weight.new_zeros(length).index_add(0, place, weight.reshape(-1).index_select(0, source))


def mixing_gradient(plan: Plan, g: Tensor, weight: Tensor) -> Tensor:
    """The gradient of W from that of the matrices of all stages."""
    source, place, _ = _places(plan, weight.shape[0], weight.shape[2], weight.device)
    return g.new_zeros(weight.numel()).index_add(0, source, g.index_select(0, place)).view(weight.shape)
