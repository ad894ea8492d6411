"""The compiled kernels: a plan run graph by graph, with nothing of order k+1 and no index maps.

Nodes with the same part and the same children, twins, have the same result, which is computed once; their gradients
are added up before anything else is done with them. The children of a very large graph are worked on in chunks, each
of which adds to the targets of the nodes that have children in it: else the working memory would be several times the
children's activations. Only targets of nodes with children in several chunks outlive a chunk, which are few where
vertices with near numbers are near in the graph.

They read what is linear in the sum of part sizes (:class:`~ccn.engine.cpu.layout.Layout`). The
:class:`~ccn.engine.cpu.program.Program` and the numbers of channels are known when they are compiled, once for each:
else most of what a small part costs would be looking up what to do with it. Of each graph the children's reductions and
their mixed table, and of each node its targets, live in working memory that stays in cache
(:class:`~ccn.engine.cpu.layout.Work`). The kernels hold no lock of the interpreter, so that threads share a batch graph
by graph.

Arrays of numbers are given by address (:mod:`ccn.engine.cpu.vectors`), 0 for one that is not there.
"""

from __future__ import annotations

import numpy as np

from ccn.engine.cpu.compiling import compiled, woven
from ccn.engine.cpu.gather import gather, target_starts
from ccn.engine.cpu.layout import Layout, Work
from ccn.engine.cpu.program import Program
from ccn.engine.cpu.steps import combine, invariants, order_starts, reduce
from ccn.engine.cpu.vectors import (
    Address,
    add,
    copy,
    each,
    fill,
    finish,
    keep,
    multiply,
    multiply_transposed,
    total,
)
from ccn.graphs.ragged import Int

__all__ = ["backward", "forward", "read"]


@woven
def starts_of(program: Program, level: Layout, chunk: int) -> tuple[list[int], list[int]]:
    """Where the reductions of each order begin, and their table, in rows."""
    return order_starts(level, chunk, program.reduced_width), order_starts(level, chunk, program.table_width)


@woven
def _mix(
    what: int,
    program: Program,
    level: Layout,
    chunk: int,
    weights: Address,
    g_weights: Address,
    n: int,
    c: int,
    rank: int,
    x_start: list[int],
    table_start: list[int],
    w: Work,
    one: float,
) -> None:
    """The products of all stages: the table (0), or the gradients of the weights (1) or of the reductions (2)."""
    width = rank if rank > 0 else n
    for s in range(len(program.stages)):
        g, a, b = program.stages[s, 0], program.stages[s, 1], program.stages[s, 2]
        left, right, start = program.stages[s, 3], program.stages[s, 4], program.stages[s, 5] * width * c
        along, pace = program.table_width[g] * c, program.reduced_width[g] * n
        i, j = (table_start[g] + left) * c, (x_start[g] + a) * n
        rows, wide, deep = level.chunk_rows[g, chunk], (right - left) * c, (b - a) * width
        if what == 0 and not rank:
            multiply(False, w.table, i, along, w.x, j, pace, rows, deep, weights, start, wide, one)
        elif what == 1 and not rank:
            multiply_transposed(g_weights, start, w.x, j, pace, rows, deep, w.table, i, along, wide, one)
        elif not rank:
            multiply(True, w.x, j, pace, w.table, i, along, rows, wide, weights, start, deep, one)
        elif what == 2:
            for at in range(deep):
                to, weight = j + at * c, start + at * wide
                each(True, w.x, to, pace, w.table, i, along, c, rows, wide // c, weights, weight, c, c, one)
        else:
            for at in range(0, wide, c):
                if what == 0:
                    each(False, w.table, i + at, along, w.x, j, pace, c, rows, deep, weights, start + at, wide, c, one)
                else:
                    table = i + at
                    each(True, g_weights, start + at, wide, w.x, j, c, pace, deep, rows, w.table, table, along, c, one)


@compiled
def forward(
    program: Program,
    level: Layout,
    first: int,
    end: int,
    values: Address,
    q: Address,
    live: Address,
    f: Address,
    d: int,
    basis: Address,
    rank: int,
    n: int,
    weights: Address,
    bias: Address,
    c: int,
    positive: bool,
    output: Address,
    mask: Address,
    result: Address,
    itemsize: int,
    summed: bool,
    w: Work,
    one: float,
) -> None:
    """The six steps, with a ReLU if ``positive``, and the invariants, added to ``result``, for graphs ``first:end``.

    The result has a row for each node, or for each graph if they are ``summed``.

    With a ``rank`` the d channels of F are mixed by the ``basis`` (d, n) first, with n = rank c, and channel o of the
    output is made of those at o, c + o, 2 c + o, .. alone.

    Of a result that nobody wants but for its gradient only the ``mask`` is written: where the ReLU passes.
    """
    bells = len(program.invariants)
    zero = one - one
    for graph in range(first, end):
        opening, closing = level.graph_chunks[graph], level.graph_chunks[graph + 1] - 1
        for chunk in range(opening, closing + 1):
            x_start, table_start = starts_of(program, level, chunk)
            fill(w.x, 0, x_start[-1] * n, zero)
            reduce(False, program, level, chunk, f, d, basis, 0, 0, 0, x_start, n, w, one)
            _mix(0, program, level, chunk, weights, weights, n, c, rank, x_start, table_start, w, one)
            for group in range(level.graph_groups[graph], level.graph_groups[graph + 1]):
                if chunk < level.group_first[group] or chunk > level.group_last[group]:
                    continue
                node = level.node_order[level.group_nodes[group]]
                targets = w.targets + level.group_targets[group] * c * itemsize
                o, length = level.rows[node] * c, (level.rows[node + 1] - level.rows[node]) * c
                if chunk == level.group_first[group]:
                    fill(targets, 0, target_starts(program, level.size[node], c)[-1], zero)
                gather(False, program, level, node, chunk, q, live, targets, table_start, c, w, one)
                if chunk < level.group_last[group]:
                    continue
                combine(False, program, level, values, node, q, live, targets, c, one)
                finish(targets, length // c, c, bias, mask + o if mask else 0, positive, one)
                for at in range(level.group_nodes[group], level.group_nodes[group + 1]):
                    twin = level.node_order[at]
                    if output:
                        copy(output, level.rows[twin] * c, targets, 0, length, one)
                    r = (graph if summed else twin) * bells * c
                    invariants(False, program.invariants, level.size[twin], targets, 0, result, r, c, one)


@compiled
def backward(
    program: Program,
    level: Layout,
    first: int,
    end: int,
    values: Address,
    q: Address,
    live: Address,
    f: Address,
    d: int,
    basis: Address,
    transposed: Address,
    rank: int,
    n: int,
    weights: Address,
    c: int,
    output: Address,
    mask: Address,
    g_output: Address,
    g_result: Address,
    g_f: Address,
    g_weights: Address,
    g_bias: Address,
    g_basis: Address,
    itemsize: int,
    summed: bool,
    w: Work,
    one: float,
) -> None:
    """The gradients for graphs ``first:end``: of F, written unless ``g_f`` is 0; of weights, bias, basis, added to.

    ``weights`` are the mixing matrices, without a ``rank`` their transposes, ``transposed`` is that of the basis. The
    output or the mask is that after a ReLU; without one both are 0. ``g_output`` or ``g_result`` may be 0.
    """
    zero = one - one
    bells = len(program.invariants)
    for graph in range(first, end):
        opening, closing = level.graph_chunks[graph], level.graph_chunks[graph + 1] - 1
        for chunk in range(opening, closing + 1):
            x_start, table_start = starts_of(program, level, chunk)
            fill(w.table, 0, table_start[-1] * c, zero)
            for group in range(level.graph_groups[graph], level.graph_groups[graph + 1]):
                if chunk < level.group_first[group] or chunk > level.group_last[group]:
                    continue
                node = level.node_order[level.group_nodes[group]]
                targets = w.targets + level.group_targets[group] * c * itemsize
                o, length = level.rows[node] * c, (level.rows[node + 1] - level.rows[node]) * c
                if chunk == level.group_first[group]:
                    fill(targets, 0, target_starts(program, level.size[node], c)[-1], zero)
                    for at in range(level.group_nodes[group], level.group_nodes[group + 1]):
                        twin = level.node_order[at]
                        if g_output:
                            add(targets, 0, g_output, level.rows[twin] * c, one, length)
                        if g_result:
                            r = (graph if summed else twin) * bells * c
                            invariants(True, program.invariants, level.size[twin], targets, 0, g_result, r, c, one)
                    if output:
                        keep(targets, output + o * itemsize, length // c, c, g_bias, one, one)
                    elif mask:
                        keep(targets, mask + o, length // c, c, g_bias, one, np.uint8(1))
                    else:
                        total(g_bias, 0, targets, 0, c, length // c, one, c)
                    combine(True, program, level, values, node, q, live, targets, c, one)
                gather(True, program, level, node, chunk, q, live, targets, table_start, c, w, one)
            fill(w.x, 0, x_start[-1] * n, zero)
            reduce(False, program, level, chunk, f, d, basis, 0, 0, 0, x_start, n, w, one)
            _mix(1, program, level, chunk, weights, g_weights, n, c, rank, x_start, table_start, w, one)
            if not g_f and not basis:
                continue
            fill(w.x, 0, x_start[-1] * n, zero)
            _mix(2, program, level, chunk, weights, weights, n, c, rank, x_start, table_start, w, one)
            reduce(True, program, level, chunk, f, d, basis, transposed, g_f, g_basis, x_start, n, w, one)


@compiled
def read(back: bool, masks: Int, size: Int, rows: Int, tensor: Address, result: Address, c: int, one: float) -> None:
    """The invariants of all nodes, or back; what is written is zero before."""
    width = len(masks) * c
    for node in range(len(size)):
        invariants(back, masks, size[node], tensor, rows[node] * c, result, node * width, c, one)
