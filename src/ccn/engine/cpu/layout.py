"""A level as the compiled kernels read it, and the memory that they work in.

Everything in a :class:`Layout` is linear in the sum of part sizes; a :class:`Work` is as large as the largest graph
of a batch and lives in one buffer that is kept between calls.
"""

from __future__ import annotations

from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ccn.engine.cpu.program import KINDS, PAIR_SETS, Program
from ccn.engine.cpu.vectors import Address
from ccn.engine.plan import QUANTITY_ORDER
from ccn.graphs.ragged import Int, starts
from ccn.schemes.packed import Level, Nodes, Restriction

__all__ = ["QUANTITY_ORDERS", "Address", "Layout", "Lengths", "Work", "build_layout", "work", "work_lengths"]

CHUNK_ROWS = 1 << 18  # of a graph's children that are in working memory at a time, and up to one child more
TWIN_ROWS = 4000  # that a node reads and writes on average, from where on twins are looked for
LINE = 16  # numbers: a row of 16 channels then lies in one line of the cache
QUANTITY_ORDERS = tuple(QUANTITY_ORDER[kind] for kind in KINDS)
"""The order of each kind of quantity of A, by its number."""


class Layout(NamedTuple):
    """A level for the kernels; all places are counted within parts.

    Attributes:
        graph_groups, group_nodes, node_order: (graphs+1,), (groups+1,) and (nodes,) the nodes of each graph, in groups
            of twins, which have one result.
        group_first, group_last: (groups,) the first and the last chunk with children of each group.
        group_targets, target_rows: (groups,) first row of the targets of each group, and the rows that are held at a
            time. Groups whose children lie in one chunk share a place; the others have one each.
        graph_chunks, chunk_below, below_order: the nodes below of each graph, in chunks that are worked on together.
        chunk_of, chunk_rows: (below,) chunk of each node below, and (k+1, chunks) rows of every order up to k.
        most_rows: (k+1,) the most of these that a chunk has.
        size, rows: (nodes,) part sizes, and (nodes+1,) first rows of their tensors of order k'.
        below_size, below_rows: (below,) and (below+1,) the same of the nodes below, of order k.
        local: (k+1, below) first row of each node below among those of its chunk, for every order up to k.
        centre: (below,) place of a node's anchor in its own part, or -1.
        pair_start: (3, nodes+1) first pair of each node in each set of pairs; those of one node in order of chunks.
        child, stack, place_start: (pairs,) child, place of its anchor, first of its places.
        place: the parent's place of each of the child's atoms.
        entry_start: (matrices, nodes+1) first entry of each ``A|part``.
        entry_row, entry_column, entry: place of the row and of the column, and number in the matrix.
        matrix_of, value_start, value_stride: (channels,) where each channel of A has its entries and their values.
        section: (sections,) where each quantity of A that is needed begins, after a 1.
        quantity_rows: (3, nodes+1) first place of each node in a quantity of order 0, 1, 2.
    """

    graph_groups: Int
    group_nodes: Int
    node_order: Int
    group_first: Int
    group_last: Int
    group_targets: Int
    target_rows: int
    graph_chunks: Int
    chunk_below: Int
    below_order: Int
    chunk_of: Int
    chunk_rows: Int
    most_rows: Int
    size: Int
    rows: Int
    below_size: Int
    below_rows: Int
    local: Int
    centre: Int
    pair_start: Int
    child: Int
    stack: Int
    place_start: Int
    place: NDArray[np.int32]
    entry_start: Int
    entry_row: NDArray[np.int32]
    entry_column: NDArray[np.int32]
    entry: Int
    matrix_of: Int
    value_start: Int
    value_stride: Int
    section: Int
    quantity_rows: Int


def _by_graph(nodes: Nodes, graphs: int) -> tuple[Int, Int]:
    """First node of each graph in the order that follows it, and that order."""
    return starts(np.bincount(nodes.graph, minlength=graphs)), np.argsort(nodes.graph, kind="stable")


def _groups(level: Level, program: Program, first: Int, order: Int) -> tuple[Int, Int, Int]:
    """Groups of each graph, nodes of each group, the order of nodes: twins together, where looking for them pays."""
    gathered, written = level.below.size[level.stacked.child] ** program.order_in, level.nodes.rows(program.order_out)
    if int(gathered.sum()) + written < TWIN_ROWS * len(level.nodes):
        return first, np.arange(len(order) + 1), order
    twin = level.twins(own=bool((program.slots[:, 0] == PAIR_SETS.index("own")).any()))
    order = order[np.lexsort((twin[order], level.nodes.graph[order]))]
    edge = np.union1d(first, np.flatnonzero(np.diff(twin[order])) + 1)
    return np.searchsorted(edge, first), edge, order


def _chunks(below: Nodes, first: Int, order: Int, k: int) -> dict[str, Int]:
    """What a layout says of the nodes below: chunks, one at least for a graph, and rows for the orders 0 to k."""
    start = np.stack([starts(below.size[order] ** g) for g in range(k + 1)])
    number = (start[k, :-1] - np.repeat(start[k, first[:-1]], np.diff(first))) // CHUNK_ROWS  # within a graph
    cuts = np.setdiff1d(np.flatnonzero(np.diff(number)) + 1, first) if number.any() else first[:0]
    edge = np.sort(np.concatenate([first, cuts])) if len(cuts) else first
    count, chunk_first = np.diff(edge), start.take(edge, 1)  # not an index, which would turn the axes around in memory
    local, chunk_of = np.empty((k + 1, len(below)), np.int64), np.empty(len(below), np.int64)
    local[:, order] = start[:, :-1] - np.repeat(chunk_first[:, :-1], count, axis=1)
    chunk_of[order] = np.repeat(np.arange(len(count)), count)
    return {
        "graph_chunks": np.arange(len(first)) + np.searchsorted(cuts, first),
        "chunk_below": edge,
        "chunk_of": chunk_of,
        "chunk_rows": np.diff(chunk_first),
        "most_rows": np.diff(chunk_first).max(1, initial=0),
        "local": local,
    }


def _span(chunk: Int, parent: Int, chosen: Int, nodes: int, opening: Int) -> tuple[Int, Int]:
    """The first and the last chunk of the children of the chosen nodes; of one without children, the ``opening``."""
    last = np.full(nodes, -1)
    np.maximum.at(last, parent, chunk)
    first = last.copy()  # which is no less
    np.minimum.at(first, parent, chunk)
    none = last[chosen] < 0
    return np.where(none, opening, first[chosen]), np.where(none, opening, last[chosen])


def _target_rows(size: Int, program: Program, graph_groups: Int, several: NDArray[np.bool_]) -> tuple[Int, int]:
    """First row of the targets of each group, of nodes of this size, and the rows of all that are there at a time: of
    one node, and of all nodes of a graph whose children come in ``several`` chunks.
    """
    rows = sum((size**order for order in program.target_order.tolist()), np.zeros_like(size))
    start = starts(np.where(several, rows, 0))
    own = start[:-1] - np.repeat(start[graph_groups[:-1]], np.diff(graph_groups))
    at = np.where(several, own + rows[~several].max(initial=0), 0)
    return at, int((at + rows).max(initial=0))


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
    section = 1 + starts([nodes.rows(QUANTITY_ORDERS[kind]) for kind in program.sections[:, 0]])
    entry_start = [a + r.start for a, r in zip(first_entry, matrices, strict=False)]
    small: Any = np.empty(0, dtype=np.int32)
    graph_nodes, node_order = _by_graph(nodes, graphs)
    graph_below, below_order = _by_graph(below, graphs)
    graph_groups, group_nodes, node_order = _groups(level, program, graph_nodes, node_order)
    chunks = _chunks(below, graph_below, below_order, order_in)
    group_size = nodes.size[node_order[group_nodes[:-1]]]
    child, stack = (np.concatenate([getattr(p, name) for p in sets]) for name in ("child", "stack"))
    place_start = np.concatenate([a + p.start[:-1] for a, p in zip(first_place, sets, strict=False)])
    group_first = group_last = np.repeat(chunks["graph_chunks"][:-1], np.diff(graph_groups))
    if len(chunks["chunk_below"]) > len(graph_below):
        leaders, parent = node_order[group_nodes[:-1]], np.concatenate([p.parent for p in sets])
        group_first, group_last = _span(chunks["chunk_of"][child], parent, leaders, len(nodes), group_first)
        parent = np.concatenate([p.parent + i * len(nodes) for i, p in enumerate(sets)])
        by_chunk = np.lexsort((chunks["chunk_of"][child], parent))
        child, stack, place_start = child[by_chunk], stack[by_chunk], place_start[by_chunk]
    group_targets, target_rows = _target_rows(group_size, program, graph_groups, group_first < group_last)
    every = np.arange(len(nodes) + 1)
    return Layout(
        graph_groups=graph_groups,
        group_nodes=group_nodes,
        node_order=node_order,
        group_first=group_first,
        group_last=group_last,
        group_targets=group_targets,
        target_rows=target_rows,
        below_order=below_order,
        **chunks,
        size=nodes.size,
        rows=nodes.row_start(order_out),
        below_size=below.size,
        below_rows=below.row_start(order_in),
        centre=below.centre,
        pair_start=np.stack([a + np.searchsorted(p.parent, every) for a, p in zip(first, sets, strict=False)]),
        child=child,
        stack=stack,
        place_start=place_start,
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
    )


class Work(NamedTuple):
    """Working memory of one thread: the kernels allocate nothing.

    Of a chunk of children the reductions ``x`` and their ``table``, of a node its ``targets``, the output first, and
    the mixed channels of one child, a ``part``.
    """

    x: Address
    table: Address
    targets: Address
    part: Address


Lengths = tuple[int, int, int, int]


def work_lengths(program: Program, level: Layout, n: int, c: int, mixed: bool) -> Lengths:
    """Numbers of the reductions, the table, the targets and, if it is ``mixed``, a child, from n to c channels, rounded
    up to lines of the cache.
    """
    x, table = (int(level.most_rows @ width) for width in (program.reduced_width, program.table_width))
    targets = level.target_rows
    part = int(np.diff(level.below_rows).max(initial=0)) if mixed else 0
    x, table, targets, part = (-(-length // LINE) * LINE for length in (x * n, table * c, targets * c, part * n))
    return x, table, targets, part


def work(lengths: Lengths, held: Address, itemsize: int) -> Work:
    """Working memory in memory for so many numbers (:func:`work_lengths`)."""
    return Work(*(held + start * itemsize for start in accumulate(lengths[:-1], initial=0)))
