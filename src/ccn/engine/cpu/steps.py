"""The other steps of the compiled kernels: reductions of the children, and what becomes of a node's targets.

What they read of a plan are the records of a :class:`~ccn.engine.cpu.tape.Tape`.
"""

from __future__ import annotations

from ccn.engine.cpu.compiling import compiled, woven
from ccn.engine.cpu.layout import QUANTITY_ORDERS, Layout, Work
from ccn.engine.cpu.program import BY_MATRIX, BY_ONE, COLUMN, DIAGONAL, ENTRY, ROW, TRACE, Program
from ccn.engine.cpu.strided import strided
from ccn.engine.cpu.tape import INTEGER_BYTES, Address, Records, Tape, of_size
from ccn.engine.cpu.vectors import fill, get, integer, multiply, multiply_transposed, put

__all__ = ["begin", "combine", "invariants", "quantities", "reduce", "reserve"]


@woven
def reserve(program: Program, level: Layout, chunk: int, n: int, c: int, w: Work, one: float) -> tuple[int, int]:
    """Note where the reductions of a chunk, all zero, and its table begin; returns their lengths."""
    x = table = 0
    for g in range(program.order_in + 1):
        put(w.x_start, g, x)
        put(w.table_start, g, table)
        x += level.chunk_rows[g, chunk] * program.reduced_width[g] * n
        table += level.chunk_rows[g, chunk] * program.table_width[g] * c
    fill(w.x, 0, x, one - one)
    return x, table


@woven
def reduce(
    back: bool,
    tape: Tape,
    level: Layout,
    chunk: int,
    f: Address,
    d: int,
    basis: Address,
    transposed: Address,
    g_f: Address,
    g_basis: Address,
    n: int,
    w: Work,
    one: float,
) -> None:
    """From F to the reductions of the children of a chunk, which are zero before; or back, to its gradient.

    The d channels of F are first mixed by the ``basis`` (d, n), unless that is 0; back, its gradient is added to.
    """
    width, every = tape.reductions.width, tape.reductions.every
    axes = (width // INTEGER_BYTES - 6) // 2
    for at in range(level.chunk_below[chunk], level.chunk_below[chunk + 1]):
        node = level.below_order[at]
        m, centre, first = level.below_size[node], level.centre[node], level.below_rows[node] * d
        rows, source, start = level.below_rows[node + 1] - level.below_rows[node], g_f if back else f, first
        if basis:
            source, start = w.part, 0
        if back:
            fill(source, start, rows * n, one - one)
        elif basis:
            multiply(False, source, start, n, f, first, d, rows, d, basis, 0, n, one)
        record = of_size(tape.reductions, m)
        for _ in range(every // width):
            if not (integer(record, 3) and centre < 0):
                g = integer(record, 0)
                i = integer(w.x_start, g) + level.local[g, node] * integer(record, 2) + integer(record, 1)
                j = start + centre * integer(record, 4)
                step, jump = record + 6 * INTEGER_BYTES, record + (6 + axes) * INTEGER_BYTES
                if back:
                    strided(source, j, jump, w.x, i, step, integer(record, 5), m, n, one, w.indices)
                else:
                    strided(w.x, i, step, source, j, jump, integer(record, 5), m, n, one, w.indices)
            record += width
        if back and basis:
            multiply_transposed(g_basis, 0, f, first, d, rows, d, source, 0, n, n, one)
            if g_f:
                multiply(False, g_f, first, d, source, 0, n, rows, n, transposed, 0, d, one)


@compiled
def quantities(program: Program, level: Layout, values: Address, q: Address, one: float) -> None:
    """What the plan needs of every ``A|part``, added to zeros: section after section, node after node."""
    for s in range(len(program.sections)):
        kind, c = program.sections[s, 0], program.sections[s, 1]
        matrix, start, stride = level.matrix_of[c], level.value_start[c], level.value_stride[c]
        for node in range(len(level.size)):
            m = level.size[node]
            at = level.section[s] + level.quantity_rows[QUANTITY_ORDERS[kind], node]
            for e in range(level.entry_start[matrix, node], level.entry_start[matrix, node + 1]):
                a, b = level.entry_row[e], level.entry_column[e]
                if kind in (TRACE, DIAGONAL) and a != b:
                    continue
                place = at
                if kind in (ROW, DIAGONAL):
                    place += a
                elif kind == COLUMN:
                    place += b
                elif kind == ENTRY:
                    place += a + m * b
                put(q, place, get(q, place, one) + get(values, start + stride * level.entry[e], one))


@woven
def begin(program: Program, level: Layout, node: int, values: Address, w: Work, one: float) -> None:
    """Note where the quantities of A of a node begin, and which A are not zero."""
    for s in range(len(program.sections)):
        order = QUANTITY_ORDERS[program.sections[s, 0]]
        put(w.section_start, s + 1, level.section[s] + level.quantity_rows[order, node])
    for channel in range(len(level.matrix_of)):
        matrix, start, stride = level.matrix_of[channel], level.value_start[channel], level.value_stride[channel]
        live = 0
        for e in range(level.entry_start[matrix, node], level.entry_start[matrix, node + 1]):
            if get(values, start + stride * level.entry[e], one) != one - one:
                live = 1
                break
        put(w.live, channel, live)


@woven
def combine(
    back: bool,
    tape: Tape,
    level: Layout,
    values: Address,
    node: int,
    q: Address,
    targets: Address,
    c: int,
    w: Work,
    one: float,
) -> None:
    """The targets other than the output into the output, which is the first, with A; or back."""
    m = level.size[node]
    width, every = tape.targets.width, tape.targets.every
    n = (width // INTEGER_BYTES - 8) // 3
    record = of_size(tape.targets, m)
    for _ in range(every // width - 1):
        record += width
        factor, channel = integer(record, 0), integer(record, 1)
        if factor != BY_ONE and not integer(w.live, channel):
            continue
        axes, base = integer(record, 4), integer(record, 5)
        step, jump, new = (
            record + 8 * INTEGER_BYTES,
            record + (8 + n) * INTEGER_BYTES,
            record + (8 + 2 * n) * INTEGER_BYTES,
        )
        if factor < BY_MATRIX:  # one, or row or column sums: spread along new axes
            news, at = integer(record, 6), integer(w.section_start, integer(record, 3))
            count = 1
            for _ in range(news):
                count *= m
            for x in range(count):
                i, rest = 0, x
                for a in range(news):
                    i += rest % m * integer(new, a)
                    rest //= m
                weight = one if factor == BY_ONE else get(q, at + x % m, one)
                if back:
                    strided(targets, base, jump, targets, i, step, axes, m, c, weight, w.indices)
                else:
                    strided(targets, i, step, targets, base, jump, axes, m, c, weight, w.indices)
            continue
        matrix, start, stride = level.matrix_of[channel], level.value_start[channel], level.value_stride[channel]
        if factor == BY_MATRIX:
            along, across, more, less = integer(new, 0), integer(new, 1), 0, 0
        elif integer(record, 2) == 1:
            along, across, more, less = integer(record, 7), 0, 0, integer(record, 7)
        else:
            along, across, more, less = 0, integer(record, 7), integer(record, 7), 0
        for e in range(level.entry_start[matrix, node], level.entry_start[matrix, node + 1]):
            u, v = level.entry_row[e], level.entry_column[e]
            weight = get(values, start + stride * level.entry[e], one)
            i, j = u * along + v * across, base + u * more + v * less
            if back:
                strided(targets, j, jump, targets, i, step, axes, m, c, weight, w.indices)
            else:
                strided(targets, i, step, targets, j, jump, axes, m, c, weight, w.indices)


@woven
def invariants(
    back: bool,
    records: Records,
    m: int,
    tensor: Address,
    o: int,
    result: Address,
    r: int,
    c: int,
    index: Address,
    one: float,
) -> None:
    """One row per set partition of the axes: the sum of the entries whose equated indices agree; or back."""
    record, axes = of_size(records, m), (records.width // INTEGER_BYTES - 1) // 2
    for _ in range(records.every // records.width):
        step, still = record + INTEGER_BYTES, record + (1 + axes) * INTEGER_BYTES
        if back:
            strided(tensor, o, step, result, r, still, integer(record, 0), m, c, one, index)
        else:
            strided(result, r, still, tensor, o, step, integer(record, 0), m, c, one, index)
        r += c
        record += records.width
