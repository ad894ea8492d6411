"""The aggregation on CPUs, by compiled kernels; the same function as in :mod:`ccn.engine.aggregate`.

Forward and backward are one call of a kernel each, in as many threads as PyTorch has, which share the graphs of a
batch. The backward pass needs the input and the output only: the reductions are made again.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ccn.algebra.partitions import bell
from ccn.engine import kernels
from ccn.engine.kernels import Layout
from ccn.engine.maps import Restriction
from ccn.engine.plan import Plan
from ccn.engine.program import PAIR_SETS, Program, coefficients, program
from ccn.engine.scratch import scratch
from ccn.ragged import Int, starts
from ccn.schemes.packed import Level, Nodes

__all__ = ["Values", "aggregate_compiled", "build_layout", "quantities"]


def _by_graph(nodes: Nodes, graphs: int) -> tuple[Int, Int]:
    """First node of each graph in the order that follows it, and that order."""
    return starts(np.bincount(nodes.graph, minlength=graphs)), np.argsort(nodes.graph, kind="stable")


def _local(below: Nodes, first: Int, order: Int, k: int) -> tuple[Int, Int]:
    """Rows of the nodes below among those of their graph, and rows of each graph, for the orders 0 to k."""
    local = np.empty((k + 1, len(below)), dtype=np.int64)
    rows = np.empty((k + 1, len(first) - 1), dtype=np.int64)
    for g in range(k + 1):
        start = starts(below.size[order] ** g)
        rows[g] = np.diff(start[first])
        local[g, order] = start[:-1] - np.repeat(start[first[:-1]], np.diff(first))
    return local, rows


def build_layout(
    level: Level, program: Program, restrictions: dict[int, Restriction], value: dict[int, tuple[int, int]]
) -> Layout:
    """A level for the kernels; ``restrictions`` and ``value`` (start and stride) by channel of A."""
    nodes, below, order_in, order_out = level.nodes, level.below, program.order_in, program.order_out
    graphs = int(max(nodes.graph.max(initial=-1), below.graph.max(initial=-1))) + 1
    sets = [getattr(level, name) for name in PAIR_SETS]
    first = starts([len(p) for p in sets])
    first_place = starts([len(p.place) for p in sets])
    matrices = list({id(r): r for r in restrictions.values()}.values())
    first_entry = starts([len(r.entry) for r in matrices])
    number = {id(r): i for i, r in enumerate(matrices)}
    columns = np.zeros((3, 1 + max(restrictions, default=-1)), dtype=np.int64)
    for c, r in restrictions.items():
        columns[:, c] = number[id(r)], *value[c]
    largest = int(max(nodes.size.max(initial=1), below.size.max(initial=1)))
    coefficient = coefficients(largest, max(order_in, order_out, 2) + 1)
    section = 1 + starts([nodes.rows(kernels.QUANTITY_ORDER[kind]) for kind in program.sections[:, 0]])
    entry_start = [a + r.start for a, r in zip(first_entry, matrices, strict=False)]
    small: Any = np.empty(0, dtype=np.int32)
    graph_nodes, node_order = _by_graph(nodes, graphs)
    graph_below, below_order = _by_graph(below, graphs)
    local, graph_rows = _local(below, graph_below, below_order, order_in)
    every = np.arange(len(nodes) + 1)
    return Layout(
        graph_nodes=graph_nodes,
        node_order=node_order,
        graph_below=graph_below,
        below_order=below_order,
        size=nodes.size,
        rows=nodes.row_start(order_out),
        below_size=below.size,
        below_rows=below.row_start(order_in),
        local=local,
        graph_rows=graph_rows,
        centre=below.centre,
        pair_start=np.stack([a + np.searchsorted(p.parent, every) for a, p in zip(first, sets, strict=False)]),
        child=np.concatenate([p.child for p in sets]),
        stack=np.concatenate([p.stack for p in sets]),
        place_start=np.concatenate([a + p.start[:-1] for a, p in zip(first_place, sets, strict=False)]),
        place=np.concatenate([p.place for p in sets]).astype(np.int32),
        entry_start=np.stack(entry_start) if matrices else np.zeros((0, len(nodes) + 1), dtype=np.int64),
        entry_row=np.concatenate([small, *(r.row for r in matrices)]),
        entry_column=np.concatenate([small, *(r.column for r in matrices)]),
        entry=np.concatenate([np.empty(0, dtype=np.int64), *(r.entry for r in matrices)]),
        matrix_of=columns[0],
        value_start=columns[1],
        value_stride=columns[2],
        section=section[:-1],
        quantity_rows=np.stack([nodes.row_start(g) for g in range(3)]),
        coefficient=coefficient,
        moves=np.ascontiguousarray(coefficient[:, program.slot_moves]),
    )


Values = tuple[Tensor, Tensor]
"""The values of all entries of all channels of A, and the quantities that a plan needs of them."""


def quantities(plan: Plan, layout: Layout, values: Tensor) -> Values:
    """The values and the quantities of a level."""
    p = program(plan)
    orders = [kernels.QUANTITY_ORDER[kind] for kind in p.sections[:, 0]]
    q = values.new_zeros(1 + sum(int(layout.quantity_rows[g, -1]) for g in orders))
    q[0] = 1
    kernels.quantities(p, layout, values.data_ptr(), q.data_ptr(), np.ones(1, values.numpy().dtype)[0])
    return values, q


@lru_cache(maxsize=4)
def _pool(threads: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(threads, thread_name_prefix="ccn")


def _shares(level: Layout) -> list[tuple[int, int]]:
    """Graphs ``first:end`` for each thread, about equal in rows."""
    graphs, threads = len(level.graph_nodes) - 1, torch.get_num_threads()
    if threads == 1 or graphs < 2 * threads:
        return [(0, graphs)]
    rows = starts(np.diff(level.rows)[level.node_order])[level.graph_nodes]
    edge = np.searchsorted(rows, rows[-1] * np.arange(1, threads) // threads).tolist()
    return list(zip([0, *edge], [*edge, graphs], strict=True))


@dataclass(frozen=True)
class _Call:
    """What forward and backward of one call share.

    ``keep``: the activation is wanted, not only its invariants; ``graphs``: how many they are summed over, or None.
    """

    plan: Plan
    program: Program
    layout: Layout
    values: Tensor
    quantities: Tensor
    relu: bool
    keep: bool
    graphs: int | None

    def run(self, kernel: Any, n: int, c: int, *fixed: Any, own: Sequence[Tensor] = ()) -> None:
        """Run a kernel in threads on all graphs; ``own`` has a row for each thread. Tensors go by address."""
        one = np.ones(1, self.values.numpy().dtype)[0]
        calls = []
        shares = _shares(self.layout)
        held = scratch(len(shares), kernels.room(self.program, self.layout, n, c), self.values)
        for i, share in enumerate(shares):
            values = (self.values, self.quantities, *fixed, *(x[i] for x in own))
            address = (0 if v is None else v.data_ptr() if isinstance(v, Tensor) else v for v in values)
            work = kernels.work(self.program, self.layout, n, c, held[i].data_ptr(), one.itemsize)
            size = (one.itemsize,) if own else ()
            calls.append((self.program, self.layout, *share, *address, *size, self.graphs is not None, work, one))
        if len(calls) == 1:
            kernel(*calls[0])
            return
        for done in [_pool(len(calls)).submit(kernel, *call) for call in calls]:
            done.result()


@lru_cache(maxsize=256)
def _transposition(plan: Plan, n: int, c: int) -> Tensor:
    """The places of all mixing matrices, each transposed."""
    places, start = [np.empty(0, np.int64)], 0
    for _, a, b, left, right, _ in program(plan).stages.tolist():
        shape = (b - a) * n, (right - left) * c
        places.append(start + np.arange(shape[0] * shape[1]).reshape(shape).T.reshape(-1))
        start += shape[0] * shape[1]
    return torch.from_numpy(np.concatenate(places))


class _Aggregate(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, call: _Call, f: Tensor, bias: Tensor, mixing: Tensor) -> tuple[Tensor, Tensor]:
        ctx.call = call
        ctx.set_materialize_grads(False)
        n, c, rows = f.shape[1], len(bias), int(call.layout.rows[-1])
        f, bias, mixing = f.detach().contiguous(), bias.detach().contiguous(), mixing.detach()
        out = f.new_empty(rows if call.keep else 0, c)
        results = len(call.layout.size) if call.graphs is None else call.graphs
        result = f.new_zeros(results, bell(call.program.order_out) * c)
        later = call.relu and any(ctx.needs_input_grad)
        mask = torch.empty(rows, c, dtype=torch.uint8) if later and not call.keep else None
        call.run(kernels.forward, n, c, f, n, mixing, bias, c, call.relu, out if call.keep else None, mask, result)
        ctx.save_for_backward(f, bias, out if later and call.keep else None, mask, mixing)
        return out, result

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, g_out: Tensor | None, g_result: Tensor | None) -> tuple[Tensor | None, ...]:
        call: _Call = ctx.call
        f, bias, out, mask, mixing = ctx.saved_tensors
        g_out = g_out if call.keep else None
        if g_out is None and g_result is None:
            return None, None, None, None
        n, c = f.shape[1], len(bias)
        transposed = mixing.index_select(0, _transposition(call.plan, n, c))
        g_out, g_result = (None if g is None else g.contiguous() for g in (g_out, g_result))
        g_f = torch.empty_like(f) if ctx.needs_input_grad[1] else None
        shares = len(_shares(call.layout))
        g_mixing, g_bias = f.new_zeros(shares, len(mixing)), f.new_zeros(shares, c)
        call.run(kernels.backward, n, c, f, n, transposed, c, out, mask, g_out, g_result, g_f, own=(g_mixing, g_bias))
        return None, g_f, g_bias.sum(0), g_mixing.sum(0)


def aggregate_compiled(
    f: Tensor,
    bias: Tensor,
    mixing: Tensor,
    plan: Plan,
    layout: Layout,
    values: Values,
    relu: bool,
    keep: bool = True,
    graphs: int | None = None,
) -> tuple[Tensor, Tensor]:
    """One level: packed child activations (rows, in) to packed activations (rows, out) and invariants.

    Without ``keep`` the activations are not stored, and there are no rows of them. The invariants are those of the
    nodes, or their sums over so many graphs.
    """
    call = _Call(plan, program(plan), layout, *values, relu, keep, graphs)
    result: tuple[Tensor, Tensor] = _Aggregate.apply(call, f, bias, mixing)  # type: ignore[no-untyped-call]
    return result
