"""Vector code for the compiled kernels: numbers at addresses, added, scaled and multiplied in registers.

An array is given as the address of its first number, and places in it are counted in numbers. The compiler cannot
know that two arrays do not overlap and would not use vector registers by itself; addresses also cost nothing to
pass on. The kind of number is that of an argument ``like`` or of a weight.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from llvmlite import ir

from ccn.engine.cpu.compiling import compiled, emitted, inlined, processor, shared
from ccn.engine.cpu.translating import FUSED

__all__ = [
    "Address",
    "add",
    "add_rows",
    "constant",
    "copy",
    "each",
    "fill",
    "finish",
    "get",
    "is_live",
    "keep",
    "multiply",
    "multiply_transposed",
    "put",
    "total",
]


Address = int


def _pointer(builder: Any, kind: Any, address: Any, place: Any, lanes: int = 1) -> Any:
    """Pointer to one number, or to a vector of them, at a place of an array."""
    first = builder.gep(builder.inttoptr(address, kind.as_pointer()), [place])
    return first if lanes == 1 else builder.bitcast(first, ir.VectorType(kind, lanes).as_pointer())


def _spread(builder: Any, number: Any, lanes: int) -> Any:
    """A vector of equal numbers."""
    none = ir.Constant(ir.VectorType(number.type, lanes), ir.Undefined)
    first = builder.insert_element(none, number, ir.Constant(ir.IntType(32), 0))
    return builder.shuffle_vector(first, none, ir.Constant(ir.VectorType(ir.IntType(32), lanes), [0] * lanes))


def _fused(builder: Any, a: Any, b: Any, c: Any) -> Any:
    """``a + b * c``."""
    return builder.fadd(a, builder.fmul(b, c, flags=FUSED), flags=FUSED)


def _bytes(like: Any) -> int:
    """How many bytes a number of LLVM's has."""
    sizes = {"float": 4, "double": 8}
    return sizes.get(str(like.type)) or int(like.type.width) // 8


_WORD = ir.IntType(64)


def _variable(builder: Any, kind: Any) -> Any:
    """Place for a value of the function, which LLVM turns into a register."""
    with builder.goto_entry_block():
        return builder.alloca(kind)


@contextmanager
def _times(builder: Any, count: Any) -> Iterator[Any]:
    """A loop for 0, 1, .. count - 1."""
    held = _variable(builder, _WORD)
    builder.store(_WORD(0), held)
    head, body, after = (builder.append_basic_block() for _ in range(3))
    builder.branch(head)
    builder.position_at_end(head)
    index = builder.load(held)
    builder.cbranch(builder.icmp_signed("<", index, count), body, after)
    builder.position_at_end(body)
    yield index
    builder.store(builder.add(index, _WORD(1)), held)
    builder.branch(head)
    builder.position_at_end(after)


def _is_set(builder: Any, number: Any) -> Any:
    return builder.icmp_signed("!=", number, number.type(0))


@emitted
def get(builder: Any, address: Any, place: Any, like: Any) -> Any:
    """The number at a place."""
    return builder.load(_pointer(builder, like.type, address, place))


@emitted
def put(builder: Any, address: Any, place: Any, value: Any) -> None:
    """Write a number to a place."""
    builder.store(value, _pointer(builder, value.type, address, place))


@inlined
def is_live(live: int, place: int) -> int:
    """Whether the byte at a place is not 0; always if the place is negative."""
    found = 1
    if place >= 0:
        found = byte(live, place)
    return found


@emitted
def byte(builder: Any, address: Any, place: Any) -> Any:
    """The byte at a place where nothing is written while kernels run."""
    found = builder.load(_pointer(builder, ir.IntType(8), address, place))
    found.set_metadata("invariant.load", builder.module.add_metadata([]))
    return found


@emitted
def constant(builder: Any, address: Any, place: Any, like: Any) -> Any:
    """The number at a place where nothing is written while kernels run."""
    found = builder.load(_pointer(builder, like.type, address, place))
    found.set_metadata("invariant.load", builder.module.add_metadata([]))
    return found


def _adder(lanes: int) -> Any:
    @emitted
    def step(builder: Any, to: Any, i: Any, source: Any, j: Any, w: Any) -> None:
        into = _pointer(builder, w.type, to, i, lanes)
        a = builder.load(into, align=_bytes(w))
        b = builder.load(_pointer(builder, w.type, source, j, lanes), align=_bytes(w))
        builder.store(_fused(builder, a, _spread(builder, w, lanes), b), into, align=_bytes(w))

    return step


_add16, _add8, _add4 = _adder(16), _adder(8), _adder(4)


@shared
def _add(to: int, i: int, source: int, j: int, w: float, n: int) -> None:
    at = 0
    while at + 64 <= n:
        _add16(to, i + at, source, j + at, w)
        _add16(to, i + at + 16, source, j + at + 16, w)
        _add16(to, i + at + 32, source, j + at + 32, w)
        _add16(to, i + at + 48, source, j + at + 48, w)
        at += 64
    while at + 16 <= n:
        _add16(to, i + at, source, j + at, w)
        at += 16
    while at + 4 <= n:
        _add4(to, i + at, source, j + at, w)
        at += 4
    while at < n:
        put(to, i + at, get(to, i + at, w) + w * get(source, j + at, w))
        at += 1


@inlined
def add(to: int, i: int, source: int, j: int, w: float, n: int) -> None:
    """``to[i : i + n] += w * source[j : j + n]``; rows of 8, 16 and 32 channels, the most frequent, without a loop."""
    if n == 16:
        _add16(to, i, source, j, w)
    elif n == 8:
        _add8(to, i, source, j, w)
    elif n == 32:
        _add16(to, i, source, j, w)
        _add16(to, i + 16, source, j + 16, w)
    else:
        _add(to, i, source, j, w, n)


@inlined
def add_rows(to: int, i: int, source: int, j: int, w: float, rows: int, n: int) -> None:
    """:func:`add` for rows that follow each other."""
    if n & 15:
        _add(to, i, source, j, w, rows * n)
    else:
        for at in range(0, rows * n, 16):
            _add16(to, i + at, source, j + at, w)


@shared
def fill(to: int, i: int, n: int, value: float) -> None:
    """``to[i : i + n] = value``."""
    for at in range(i, i + n):
        put(to, at, value)


@emitted
def copy(builder: Any, to: Any, i: Any, source: Any, j: Any, n: Any, like: Any) -> None:
    """``to[i : i + n] = source[j : j + n]``."""
    byte = ir.IntType(8).as_pointer()
    into, origin = (builder.bitcast(_pointer(builder, like.type, *at), byte) for at in ((to, i), (source, j)))
    move = builder.module.declare_intrinsic("llvm.memcpy", [byte, byte, _WORD])
    builder.call(move, [into, origin, builder.mul(n, _WORD(_bytes(like))), ir.IntType(1)(0)])


def _totaller(lanes: int) -> Any:
    """``to[i : i + lanes] += w sum_x source[j + x jump ..]``, in two running sums that stay in registers."""

    @emitted
    def step(builder: Any, to: Any, i: Any, source: Any, j: Any, jump: Any, count: Any, w: Any) -> None:
        vector = ir.VectorType(w.type, lanes)
        held = [_variable(builder, vector) for _ in range(2)]
        place = _variable(builder, _WORD)

        def take(into: Any) -> None:
            at = builder.load(place)
            found = builder.load(_pointer(builder, w.type, source, at, lanes), align=_bytes(w))
            builder.store(builder.fadd(builder.load(into), found, flags=FUSED), into)
            builder.store(builder.add(at, jump), place)

        builder.store(j, place)
        for into in held:
            builder.store(ir.Constant(vector, None), into)
        with _times(builder, builder.ashr(count, _WORD(1))):
            for into in held:
                take(into)
        with builder.if_then(_is_set(builder, builder.and_(count, _WORD(1)))):
            take(held[0])
        into = _pointer(builder, w.type, to, i, lanes)
        summed = builder.fadd(*(builder.load(h) for h in held), flags=FUSED)
        summed = _fused(builder, builder.load(into, align=_bytes(w)), _spread(builder, w, lanes), summed)
        builder.store(summed, into, align=_bytes(w))

    return step


_total16, _total8, _total4 = _totaller(16), _totaller(8), _totaller(4)


@inlined
def total(to: int, i: int, source: int, j: int, jump: int, count: int, w: float, n: int) -> None:
    """``to[i : i + n] += w * sum_x source[j + x jump : .. + n]`` for x < count."""
    if n == 16:
        _total16(to, i, source, j, jump, count, w)
    elif n == 8:
        _total8(to, i, source, j, jump, count, w)
    else:
        _total(to, i, source, j, jump, count, w, n)


@shared
def _total(to: int, i: int, source: int, j: int, jump: int, count: int, w: float, n: int) -> None:
    at = 0
    while at + 16 <= n:
        _total16(to, i + at, source, j + at, jump, count, w)
        at += 16
    while at + 4 <= n:
        _total4(to, i + at, source, j + at, jump, count, w)
        at += 4
    while at < n:
        summed = w - w
        for x in range(count):
            summed += get(source, j + at + x * jump, w)
        put(to, i + at, get(to, i + at, w) + w * summed)
        at += 1


def _finisher(lanes: int) -> Any:
    """One vector of :func:`finish`."""

    @emitted
    def step(builder: Any, to: Any, i: Any, bias: Any, j: Any, mask: Any, positive: Any, like: Any) -> None:
        kind, size, byte = like.type, _bytes(like), ir.IntType(8)
        into = _pointer(builder, kind, to, i, lanes)
        more = builder.load(_pointer(builder, kind, bias, j, lanes), align=size)
        a = builder.fadd(builder.load(into, align=size), more, flags=FUSED)
        zero = ir.Constant(a.type, None)
        above = builder.fcmp_ordered(">", a, zero)
        passed = builder.select(above, a, zero)
        builder.store(builder.select(positive, passed, a), into, align=size)
        with builder.if_then(_is_set(builder, mask)):
            flags = builder.zext(above, byte if lanes == 1 else ir.VectorType(byte, lanes))
            builder.store(flags, _pointer(builder, byte, mask, i, lanes), align=1)

    return step


_finish16, _finish4, _finish1 = _finisher(16), _finisher(4), _finisher(1)


@shared
def finish(to: int, rows: int, c: int, bias: int, mask: int, positive: bool, one: float) -> None:
    """Add the bias to each row and, if ``positive``, keep what is above zero.

    At ``mask``, unless it is 0, a byte for each number says whether it is.
    """
    for i in range(0, rows * c, c):
        at = 0
        while at + 16 <= c:
            _finish16(to, i + at, bias, at, mask, positive, one)
            at += 16
        while at + 4 <= c:
            _finish4(to, i + at, bias, at, mask, positive, one)
            at += 4
        while at < c:
            _finish1(to, i + at, bias, at, mask, positive, one)
            at += 1


def _keeper(lanes: int) -> Any:
    """Some columns of :func:`keep`."""

    @emitted
    def step(
        builder: Any, to: Any, i: Any, source: Any, rows: Any, c: Any, sums: Any, j: Any, like: Any, flag: Any
    ) -> None:
        held, into = _variable(builder, ir.VectorType(like.type, lanes)), _pointer(builder, like.type, sums, j, lanes)
        builder.store(builder.load(into, align=_bytes(like)), held)
        with _times(builder, rows) as row:
            at = builder.add(i, builder.mul(row, c))
            here = _pointer(builder, like.type, to, at, lanes)
            a = builder.load(here, align=_bytes(like))
            b = builder.load(_pointer(builder, flag.type, source, at, lanes), align=_bytes(flag))
            zero = ir.Constant(b.type, [0] * lanes)
            compare = builder.icmp_unsigned if isinstance(flag.type, ir.IntType) else builder.fcmp_ordered
            kept = builder.select(compare(">", b, zero), a, ir.Constant(a.type, [0.0] * lanes))
            builder.store(kept, here, align=_bytes(like))
            builder.store(builder.fadd(builder.load(held), kept, flags=FUSED), held)
        builder.store(builder.load(held), into, align=_bytes(like))

    return step


_keep16, _keep8 = _keeper(16), _keeper(8)


@compiled
def keep(to: int, source: int, rows: int, c: int, sums: int, one: float, flag: float) -> None:
    """Set rows of c numbers to 0 where ``source``, numbers of the kind of ``flag``, is not above 0; add them up."""
    at = 0
    while at + 16 <= c:
        _keep16(to, at, source, rows, c, sums, at, one, flag)
        at += 16
    while at + 8 <= c:
        _keep8(to, at, source, rows, c, sums, at, one, flag)
        at += 8
    while at < c:
        for i in range(at, at + rows * c, c):
            if get(source, i, flag) > flag - flag:
                put(sums, at, get(sums, at, one) + get(to, i, one))
            else:
                put(to, i, one - one)
        at += 1


def _multiplier(rows: int, lanes: int, each: bool = False) -> Any:
    """``to[r, :lanes] = sum_k x[r, k] w[k, :lanes]``, or added, for ``rows`` rows, which stay in registers.

    Rows of ``to`` are ``along`` numbers apart, those of w ``row``; x[r, k] is at ``r pace + k stride``. With ``each``
    it stands for as many numbers as there are lanes, one for each.
    """

    @emitted
    def step(
        builder: Any,
        adds: Any,
        to: Any,
        i: Any,
        along: Any,
        x: Any,
        j: Any,
        pace: Any,
        stride: Any,
        k: Any,
        w: Any,
        m: Any,
        row: Any,
        like: Any,
    ) -> None:
        kind, size = like.type, _bytes(like)
        into = [_pointer(builder, kind, to, builder.add(i, builder.mul(_WORD(r), along)), lanes) for r in range(rows)]
        first = [builder.add(j, builder.mul(_WORD(r), pace)) for r in range(rows)]
        vector = kind if lanes == 1 else ir.VectorType(kind, lanes)
        zero = ir.Constant(vector, 0.0 if lanes == 1 else None)
        held = [_variable(builder, vector) for _ in into]
        for p, total in zip(into, held, strict=True):
            builder.store(builder.select(adds, builder.load(p, align=size), zero), total)
        with _times(builder, k) as index:
            place = builder.add(m, builder.mul(index, row))
            weights = builder.load(_pointer(builder, kind, w, place, lanes), align=size)
            step = builder.mul(index, stride)
            for start, total in zip(first, held, strict=True):
                number = _pointer(builder, kind, x, builder.add(start, step), lanes if each else 1)
                number = builder.load(number, align=size)
                spread = number if lanes == 1 or each else _spread(builder, number, lanes)
                builder.store(_fused(builder, builder.load(total), spread, weights), total)
        for p, total in zip(into, held, strict=True):
            builder.store(builder.load(total), p, align=size)

    return step


# Six rows of 16 numbers fill twelve registers of the sixteen that there are with AVX2, and leave four for what is
# multiplied. With AVX-512 one register holds a row, and eight sums are needed to keep both units busy, which take four
# cycles to add a product.
_EIGHT = "+avx512f" in processor()[1].split(",")
_multiply8 = _multiplier(8, 16)
_multiply6, _multiply5, _multiply4, _multiply3, _multiply2, _multiply1 = (_multiplier(r, 16) for r in range(6, 0, -1))
_multiply4x4, _multiply1x4, _multiply1x1 = _multiplier(4, 4), _multiplier(1, 4), _multiplier(1, 1)
_each4, _each2, _each1 = (_multiplier(r, 16, each=True) for r in (4, 2, 1))
_each1x4 = _multiplier(1, 4, each=True)


@shared
def _product(
    adds: bool,
    to: int,
    i: int,
    along: int,
    x: int,
    j: int,
    pace: int,
    stride: int,
    rows: int,
    k: int,
    w: int,
    m: int,
    row: int,
    n: int,
    like: float,
) -> None:
    """``to = x w``, or added to it, for any strides of x (rows, k)."""
    column = 0
    while column + 16 <= n:
        a, b, d, left = i + column, j, m + column, rows
        while _EIGHT and (left >= 12 or left == 8):  # of 9, 10, 11 rows too few would be left over
            _multiply8(adds, to, a, along, x, b, pace, stride, k, w, d, row, like)
            a += 8 * along
            b += 8 * pace
            left -= 8
        while left >= 6:
            _multiply6(adds, to, a, along, x, b, pace, stride, k, w, d, row, like)
            a += 6 * along
            b += 6 * pace
            left -= 6
        if left == 5:
            _multiply5(adds, to, a, along, x, b, pace, stride, k, w, d, row, like)
        elif left == 4:
            _multiply4(adds, to, a, along, x, b, pace, stride, k, w, d, row, like)
        elif left == 3:
            _multiply3(adds, to, a, along, x, b, pace, stride, k, w, d, row, like)
        elif left == 2:
            _multiply2(adds, to, a, along, x, b, pace, stride, k, w, d, row, like)
        elif left == 1:
            _multiply1(adds, to, a, along, x, b, pace, stride, k, w, d, row, like)
        column += 16
    while column + 4 <= n:
        r = 0
        while r + 4 <= rows:
            a, b = i + r * along + column, j + r * pace
            _multiply4x4(adds, to, a, along, x, b, pace, stride, k, w, m + column, row, like)
            r += 4
        while r < rows:
            a, b = i + r * along + column, j + r * pace
            _multiply1x4(adds, to, a, along, x, b, pace, stride, k, w, m + column, row, like)
            r += 1
        column += 4
    while column < n:
        for r in range(rows):
            a, b = i + r * along + column, j + r * pace
            _multiply1x1(adds, to, a, along, x, b, pace, stride, k, w, m + column, row, like)
        column += 1


@inlined
def multiply(
    adds: bool,
    to: int,
    i: int,
    along: int,
    x: int,
    j: int,
    pace: int,
    rows: int,
    k: int,
    w: int,
    m: int,
    n: int,
    like: float,
) -> None:
    """``to = x w``, or added to it, with x (rows, k), w (k, n) and ``to`` (rows, n).

    Rows are ``along`` and ``pace`` numbers apart.
    """
    _product(adds, to, i, along, x, j, pace, 1, rows, k, w, m, n, n, like)


@inlined
def multiply_transposed(
    w: int, m: int, x: int, j: int, pace: int, rows: int, k: int, g: int, i: int, along: int, n: int, like: float
) -> None:
    """``w += x^T g`` with x (rows, k), g (rows, n) and w (k, n); rows are ``pace`` and ``along`` numbers apart."""
    _product(True, w, m, n, x, j, 1, pace, k, rows, g, i, along, n, like)


@shared
def each(
    adds: bool,
    to: int,
    i: int,
    along: int,
    x: int,
    j: int,
    pace: int,
    stride: int,
    rows: int,
    k: int,
    w: int,
    m: int,
    row: int,
    n: int,
    like: float,
) -> None:
    """``to[r, a] = sum_k x[r, k, a] w[k, a]`` for a < n, or added to it: every channel by itself.

    Rows of ``to`` are ``along`` numbers apart and those of w ``row``, and x[r, k, 0] is at ``r pace + k stride``.
    """
    column = 0
    while column + 16 <= n:
        a, b, left = i + column, j + column, rows
        while left >= 4:
            _each4(adds, to, a, along, x, b, pace, stride, k, w, m + column, row, like)
            a += 4 * along
            b += 4 * pace
            left -= 4
        if left >= 2:
            _each2(adds, to, a, along, x, b, pace, stride, k, w, m + column, row, like)
            a += 2 * along
            b += 2 * pace
            left -= 2
        if left == 1:
            _each1(adds, to, a, along, x, b, pace, stride, k, w, m + column, row, like)
        column += 16
    while column + 4 <= n:
        for r in range(rows):
            a, b = i + r * along + column, j + r * pace + column
            _each1x4(adds, to, a, along, x, b, pace, stride, k, w, m + column, row, like)
        column += 4
    while column < n:
        for r in range(rows):
            a, b = i + r * along + column, j + r * pace + column
            _multiply1x1(adds, to, a, along, x, b, pace, stride, k, w, m + column, row, like)
        column += 1
