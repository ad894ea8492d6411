"""The engine as compiled kernels, for CPUs in float32 and float64.

Forward and backward are one call of a kernel each, in as many threads as PyTorch has, which share the graphs of a
batch. The backward pass needs the input and the output only: the reductions are made again. Where a gradient is itself
to be differentiated, it is taken through PyTorch's operations instead (:mod:`ccn.engine.torch_form`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import count
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn import Parameter

from ccn.algebra.contractions import bell
from ccn.engine import torch_form
from ccn.engine.backend import Job, plain_tensors
from ccn.engine.cpu import kernels, steps
from ccn.engine.cpu.compiling import Structure, known
from ccn.engine.cpu.layout import QUANTITY_ORDERS, Layout, Lengths, build_layout, work, work_lengths
from ccn.engine.cpu.program import Program, invariant_masks, program
from ccn.engine.cpu.threads import together
from ccn.engine.cpu.translating import Known
from ccn.engine.cpu.workspace import workspace
from ccn.engine.matrices import Matrices
from ccn.engine.plan import Plan
from ccn.engine.torch_form import mixing, mixing_gradient
from ccn.graphs.ragged import starts
from ccn.schemes.packed import Level, Nodes

__all__ = ["aggregate", "invariants", "prepare", "serves", "stores_all"]


def stores_all() -> bool:
    """See :class:`ccn.engine.backend.Backend`."""
    return False


def serves(like: Tensor, differentiable: bool) -> bool:
    """Single and double precision, real memory, a fixed A."""
    plain = type(like) in (Tensor, Parameter)
    return plain and like.dtype in (torch.float32, torch.float64) and not differentiable


class _Prepared(NamedTuple):
    """A level, as kernels read it too, the values of all entries of all channels of A, the quantities of a plan, and
    where in the nodes the channels are not zero.
    """

    layout: Layout
    level: Structure
    values: Tensor
    quantities: Tensor
    live: Tensor


def prepare(plan: Plan, level: Level, a: Matrices) -> int:
    """Build the layout of a level and what a plan needs of A."""
    layout, _, *tensors = _prepared(plan, level, a)
    return sum(x.nbytes for x in (*layout, *tensors) if isinstance(x, np.ndarray | Tensor))


def _prepared(plan: Plan, level: Level, a: Matrices) -> _Prepared:
    """The layout, built once, and what a plan needs of A, kept until A changes."""

    def build() -> tuple[Layout, Structure]:
        made = build_layout(level, program(plan), a.restrictions(plan, level), a.value_places())
        return made, Structure(made)

    layout, read = a.once(level, ("layout", plan), build)
    return _Prepared(
        layout, read, *a.current(level, ("values", plan), lambda: _quantities(plan, layout, read, a.values()))
    )


@lru_cache(maxsize=256)
def _program(plan: Plan) -> Structure:
    """The program of a plan as kernels read it."""
    return Structure(program(plan))


@lru_cache(maxsize=256)
def _known_program(plan: Plan) -> Known:
    """The program of a plan, which kernels are compiled for."""
    return known(program(plan))


@lru_cache(maxsize=256)
def _known_number(n: int) -> Known:
    """A number of channels, or a rank."""
    return known(n)


@lru_cache(maxsize=16)
def _known_masks(order: int) -> Known:
    """The invariants of tensors of an order."""
    return known(invariant_masks(order, max(order, 2)))


def _quantities(plan: Plan, layout: Layout, level: Structure, values: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The values and the quantities of a level, and which channels are not zero in which nodes."""
    p = program(plan)
    orders = [QUANTITY_ORDERS[kind] for kind in p.sections[:, 0]]
    q = values.new_zeros(1 + sum(int(layout.quantity_rows[g, -1]) for g in orders))
    q[0] = 1
    live = torch.zeros(len(layout.matrix_of) * len(layout.size), dtype=torch.uint8)
    steps.quantities(_program(plan), level, values.data_ptr(), q.data_ptr(), live.data_ptr(), _ONE[values.dtype])
    return values, q, live


_ONE: dict[torch.dtype, Any] = {torch.float32: np.float32(1), torch.float64: np.float64(1)}
"""The number 1 of each kind: kernels take from it what numbers they work on."""


@lru_cache(maxsize=256)
def _memory(lengths: Lengths, held: int, itemsize: int) -> Structure:
    """Working memory at an address, as kernels read it."""
    return Structure(work(lengths, held, itemsize))


SHARES = 4  # for each thread: what one that is held up has not begun is taken by the others
SHARE_GRAPHS = 8  # at least, in a share


def _shares(level: Layout) -> list[tuple[int, int]]:
    """Graphs ``first:end`` of each share of the work, about equal in rows: a few for each thread."""
    graphs, threads = len(level.graph_groups) - 1, torch.get_num_threads()
    parts = min(threads * SHARES, graphs // SHARE_GRAPHS)
    if threads == 1 or parts < 2:
        return [(0, graphs)]
    rows = starts(np.diff(level.rows)[level.node_order])[level.group_nodes[level.graph_groups]]
    edge = np.searchsorted(rows, rows[-1] * np.arange(1, parts) // parts).tolist()
    return list(zip([0, *edge], [*edge, graphs], strict=True))


@dataclass(frozen=True)
class _Call:
    """What forward and backward of one call share."""

    job: Job
    program: Program
    prepared: _Prepared

    @property
    def layout(self) -> Layout:
        return self.prepared.layout

    def in_torch(self, f: Tensor, weight: Tensor, bias: Tensor, basis: Tensor | None) -> tuple[Tensor, Tensor]:
        """The same call by PyTorch's operations."""
        return torch_form.run(f, weight, bias, basis, self.job, self.prepared.quantities)

    def run(self, kernel: Any, n: int, c: int, mixed: bool, *fixed: Any, per_share: Sequence[Tensor] = ()) -> None:
        """Run a kernel in threads on all graphs; tensors ``per_share`` have a row for each share of them."""
        one = _ONE[self.prepared.values.dtype]
        shares = _shares(self.layout)
        threads = min(len(shares), torch.get_num_threads())
        lengths = work_lengths(self.program, self.layout, n, c, mixed)
        held = workspace(threads, sum(lengths), self.prepared.values.dtype)
        left = count()

        def take(thread: int) -> None:
            memory = _memory(lengths, held[thread].data_ptr(), one.itemsize)
            while (i := next(left)) < len(shares):
                values = (*self.prepared[2:], *fixed, *(x[i] for x in per_share))
                address = (0 if v is None else v.data_ptr() if isinstance(v, Tensor) else v for v in values)
                level = (_known_program(self.job.plan), self.prepared.level)
                kernel(*level, *shares[i], *address, one.itemsize, self.job.graphs is not None, memory, one)

        together(threads, take)


@lru_cache(maxsize=256)
@plain_tensors()
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
    def forward(
        ctx: Any, call: _Call, f: Tensor, weight: Tensor, bias: Tensor, basis: Tensor | None
    ) -> tuple[Tensor, Tensor]:
        ctx.call = call
        ctx.set_materialize_grads(False)
        c, rows = len(bias), int(call.layout.rows[-1])
        rank, n, into, _ = _factor(f, basis)
        given, mixed = f.detach().contiguous(), mixing(call.job.plan, weight.detach())
        out = f.new_empty(rows if call.job.keep else 0, c)
        results = len(call.layout.size) if call.job.graphs is None else call.job.graphs
        result = f.new_zeros(results, bell(call.program.order_out) * c)
        later = call.job.relu and any(ctx.needs_input_grad)
        mask = torch.empty(rows, c, dtype=torch.uint8) if later and not call.job.keep else None
        kept = out if call.job.keep else None
        of_f, plain = (given, f.shape[1], into, _known_number(rank)), bias.detach().contiguous()
        shape = _known_number(n), mixed, plain, _known_number(c)
        call.run(kernels.forward, n, c, rank > 0, *of_f, *shape, call.job.relu, kept, mask, result)
        ctx.save_for_backward(f, weight, bias, basis, mixed, kept if later else None, mask)
        return out, result

    @staticmethod
    def backward(ctx: Any, g_out: Tensor | None, g_result: Tensor | None) -> tuple[Tensor | None, ...]:
        call: _Call = ctx.call
        f, weight, bias, basis, mixed, out, mask = ctx.saved_tensors
        g_out = g_out if call.job.keep else None
        if g_out is None and g_result is None:
            return None, None, None, None, None
        if torch.is_grad_enabled():
            return None, *_differentiable(call.in_torch, (f, weight, bias, basis), (g_out, g_result))
        c = len(bias)
        rank, n, into, back = _factor(f, basis)
        used = mixed if rank else mixed.index_select(0, _transposition(call.job.plan, n, c))
        g_out, g_result = (None if g is None else g.contiguous() for g in (g_out, g_result))
        given = f.contiguous()
        g_f = torch.empty_like(given) if ctx.needs_input_grad[1] else None
        shares = len(_shares(call.layout))
        lengths = len(mixed), c, 0 if into is None else into.numel()
        sums = [f.new_zeros(shares, length) for length in lengths]
        of_f, gradients = (given, f.shape[1], into, back, _known_number(rank)), (g_out, g_result, g_f)
        call.run(
            kernels.backward,
            n,
            c,
            rank > 0,
            *of_f,
            _known_number(n),
            used,
            _known_number(c),
            out,
            mask,
            *gradients,
            per_share=sums,
        )
        g_mixed, g_bias, g_basis = (x.sum(0) for x in sums)
        g_weight = mixing_gradient(call.job.plan, g_mixed, weight)
        return None, g_f, g_weight, g_bias, None if basis is None else g_basis.view(-1, n).t().reshape(basis.shape)


def _factor(f: Tensor, basis: Tensor | None) -> tuple[int, int, Tensor | None, Tensor | None]:
    """The rank, the channels of F after mixing by the basis (rank, out, in), and it as (in, rank * out) and back."""
    if basis is None:
        return 0, f.shape[1], None, None
    flat = basis.detach().flatten(0, 1).contiguous()
    return len(basis), len(flat), flat.t().contiguous(), flat


def _differentiable(
    function: Callable[..., tuple[Tensor, ...]], given: Sequence[Tensor | None], gradients: Sequence[Tensor | None]
) -> list[Tensor | None]:
    """The gradients of what is given, from those of a function's results, so that they can be differentiated again."""
    results = function(*given)
    pairs = [(y, g) for y, g in zip(results, gradients, strict=True) if g is not None]
    wanted = [x for x in given if x is not None and x.requires_grad]
    outputs, seeds = zip(*pairs, strict=True)
    found = iter(torch.autograd.grad(outputs, wanted, seeds, create_graph=True, allow_unused=True))
    return [next(found) if x is not None and x.requires_grad else None for x in given]


def aggregate(f: Tensor, weight: Tensor, bias: Tensor, basis: Tensor | None, job: Job) -> tuple[Tensor, Tensor]:
    """One level: activations, which have no rows unless they are wanted, and invariants."""
    call = _Call(job, program(job.plan), _prepared(job.plan, job.level, job.a))
    result: tuple[Tensor, Tensor] = _Aggregate.apply(call, f, weight, bias, basis)  # type: ignore[no-untyped-call]
    return result


class _Invariants(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, f: Tensor, nodes: Nodes, order: int) -> Tensor:
        ctx.nodes, ctx.order = nodes, order
        ctx.save_for_backward(f)
        result = f.new_zeros(len(nodes), bell(order) * f.shape[1])
        _read(False, f.detach().contiguous(), result, nodes, order)
        return result

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> tuple[Tensor | None, None, None]:
        (f,) = ctx.saved_tensors
        if torch.is_grad_enabled():
            again = _differentiable(lambda x: (torch_form.invariants(x, ctx.nodes, ctx.order),), (f,), (g,))
            return again[0], None, None
        g_f = f.new_zeros(f.shape)
        _read(True, g_f, g.contiguous(), ctx.nodes, ctx.order)
        return g_f, None, None


def _read(back: bool, f: Tensor, result: Tensor, nodes: Nodes, order: int) -> None:
    """The invariants by the compiled kernel, or back; what is written is zero before."""
    channels = f.shape[1]
    address = f.data_ptr(), result.data_ptr()
    kernels.read(back, _known_masks(order), nodes.size, nodes.row_start(order), *address, channels, _ONE[f.dtype])


def invariants(f: Tensor, nodes: Nodes, order: int) -> Tensor:
    """The invariants of every node's tensor."""
    result: Tensor = _Invariants.apply(f, nodes, order)  # type: ignore[no-untyped-call]
    return result
