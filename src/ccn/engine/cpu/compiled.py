"""The aggregation on CPUs, by compiled kernels; the same function as in :mod:`ccn.engine.aggregate`.

Forward and backward are one call of a kernel each, in as many threads as PyTorch has, which share the graphs of a
batch. The backward pass needs the input and the output only: the reductions are made again.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from itertools import count
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ccn.algebra.partitions import bell
from ccn.engine.cpu import kernels, steps
from ccn.engine.cpu.layout import QUANTITY_ORDER, Layout, room, work
from ccn.engine.cpu.program import Program, program
from ccn.engine.cpu.tape import tape
from ccn.engine.plan import Plan
from ccn.engine.scratch import scratch
from ccn.graphs.ragged import starts

__all__ = ["Values", "aggregate_compiled", "quantities"]


Values = tuple[Tensor, Tensor]
"""The values of all entries of all channels of A, and the quantities that a plan needs of them."""


def quantities(plan: Plan, layout: Layout, values: Tensor) -> Values:
    """The values and the quantities of a level."""
    p = program(plan)
    orders = [QUANTITY_ORDER[kind] for kind in p.sections[:, 0]]
    q = values.new_zeros(1 + sum(int(layout.quantity_rows[g, -1]) for g in orders))
    q[0] = 1
    steps.quantities(p, layout, values.data_ptr(), q.data_ptr(), np.ones(1, values.numpy().dtype)[0])
    return values, q


SHARES = 4  # for each thread: what one that is held up has not begun is taken by the others
SHARE_GRAPHS = 8  # at least, in a share


@lru_cache(maxsize=4)
def _pool(threads: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(threads, thread_name_prefix="ccn")


def _shares(level: Layout) -> list[tuple[int, int]]:
    """Graphs ``first:end`` of each share of the work, about equal in rows: a few for each thread."""
    graphs, threads = len(level.graph_nodes) - 1, torch.get_num_threads()
    parts = min(threads * SHARES, graphs // SHARE_GRAPHS)
    if threads == 1 or parts < 2:
        return [(0, graphs)]
    rows = starts(np.diff(level.rows)[level.node_order])[level.graph_nodes]
    edge = np.searchsorted(rows, rows[-1] * np.arange(1, parts) // parts).tolist()
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
        """Run a kernel in threads on all graphs; ``own`` has a row for each share. Tensors go by address."""
        one = np.ones(1, self.values.numpy().dtype)[0]
        shares = _shares(self.layout)
        threads = min(len(shares), torch.get_num_threads())
        lengths = room(self.program, self.layout, n, c)
        held = scratch(threads, sum(lengths), self.values)
        records = tape(self.plan, self.layout.sizes, n, c)
        left = count()

        def take(thread: int) -> None:
            memory = work(self.program, self.layout, lengths, held[thread].data_ptr(), one.itemsize)
            while (i := next(left)) < len(shares):
                values = (self.values, self.quantities, *fixed, *(x[i] for x in own))
                address = (0 if v is None else v.data_ptr() if isinstance(v, Tensor) else v for v in values)
                size = (one.itemsize,) if own else ()
                level = (self.program, records, self.layout)
                kernel(*level, *shares[i], *address, *size, self.graphs is not None, memory, one)

        # This thread works too: one that only waits would be woken beside one that works.
        others = [_pool(threads - 1).submit(take, thread) for thread in range(1, threads)]
        take(0)
        for other in others:
            other.result()


@lru_cache(maxsize=256)
@torch.inference_mode(False)
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
