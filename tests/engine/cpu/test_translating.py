"""What the functions that are compiled may be made of: each gives what Python gives."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from ccn.engine.cpu import compiling
from ccn.engine.cpu.compiling import compiled, inlined, known, shared, woven
from ccn.engine.cpu.vectors import get, put

FOUR, SOME = 4, (7, 11, 13)


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiling, "kernel_folder", lambda: str(tmp_path))


def _integers(x: Any, out: Any) -> None:
    out[0] = x[0] + x[1] * x[2] - FOUR
    out[1] = x[3] // x[2] + x[3] % x[2]
    out[2] = x[3] >> 1 & 3 | x[2] << 2
    out[3] = max(x[0], x[1]) - min(x[0], x[1])
    out[4] = -x[0]
    out[5] = len(x) + x.shape[0]
    out[6] = SOME[x[4]] + SOME[1]


def _branches(x: Any, out: Any) -> None:
    for i in range(len(x)):
        a = x[i]
        if a < 0:
            out[i] = 1
            continue
        if a in (2, FOUR):
            out[i] = 2
        elif 5 < a <= 7 and not (a == 6 or a > 90):
            out[i] = 3 if a != 7 else 4
        elif a and a < 2:
            out[i] += True
        else:
            out[i] = 5
        if a == 9:
            break


def _loops(x: Any, out: Any) -> None:
    count = total = 0
    while True:
        count += 1
        if count > 20:
            break
        if count & 1:
            continue
        for i in range(3, x[0] * 2, 2):
            if i == 9:
                break
            total += i * count
        for i in range(2):
            i += 5
            total += i
    left, right = total, count
    left, right = right, left
    out[0], out[1] = left, right


def _guarded(x: Any, out: Any) -> None:
    i = 0
    while i < len(x) and x[i] >= 0:  # the last would be read outside of the array
        i += 1
    out[0] = i


@inlined
def _square(a: int) -> int:
    if a < 0:
        return 0
    return a * a


@woven
def _both(a: int, b: int) -> tuple[int, int]:
    c = a + b
    return c, a - b


@compiled
def _write(out: Any, i: int, back: bool) -> None:
    if back:
        return
    out[i] += 1


def _calls(x: Any, out: Any) -> None:
    c = 100
    total, less = _both(_square(x[0]), _square(x[1]))
    out[0], out[1], out[2] = total, less, c
    for back in range(2):
        _write(out, 3, back == 1)
    _write(out, 4, False)


CASES: list[tuple[Callable[..., None], list[int]]] = [
    (_integers, [3, 5, 2, 13, 2]),
    (_integers, [-3, -5, 7, 100, 0]),
    (_branches, [-1, 2, 4, 6, 7, 1, 0, 95, 8, 9, 3]),
    (_loops, [7]),
    (_guarded, [0, 1, 2]),
    (_calls, [3, -2]),
]


@pytest.mark.parametrize(("function", "given"), CASES)
@pytest.mark.parametrize("kind", [np.int64, np.int32])
def test_functions_of_integers(function: Callable[..., None], given: list[int], kind: type, monkeypatch: Any) -> None:
    x: Any = np.array(given, kind)
    expected, found = np.zeros(12, np.int64), np.zeros(12, np.int64)
    compiled(function)(x, found)
    for of in (_square, _both, _write):
        monkeypatch.setitem(function.__globals__, of.__name__, of.python)
    function(x, expected)
    np.testing.assert_array_equal(found, expected)


def _numbers(x: Any, one: float, out: Any) -> None:
    total = one - one
    for i in range(len(x)):
        total += (x[i] / 3 if x[i] != 0 else 2 * one) * i
        out[i] = total if x[i] < total else -x[i]
    out[0] = 1


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_functions_of_floating_point_numbers(kind: type) -> None:
    x: Any = np.random.default_rng(0).normal(size=9).astype(kind)
    x[3] = 0
    found: Any = np.zeros(9, kind)
    expected = found.copy()
    compiled(_numbers)(x, kind(1), found)
    _numbers(x, kind(1), expected)
    np.testing.assert_allclose(found, expected, rtol=1e-5 if kind is np.float32 else 1e-13)


class _Table(NamedTuple):
    rows: Any
    depth: int


class _Held(NamedTuple):
    each: list[int]
    step: int


def _larger(table: _Table, than: int) -> list[int]:
    return [int(i) for i in np.flatnonzero(table.rows[:, 0] > than)]


@woven
def _nested(table: _Table, depth: int, of: _Held, x: Any, out: Any) -> None:
    if depth > 0:
        for i in range(len(x)):
            if x[i] >= 0:
                _nested(table, depth - 1, _Held([a + of.step * x[i] for a in of.each], of.step), x, out)
    else:
        for i in range(len(of.each)):
            out[i] += of.each[i]


def _partly_known(table: _Table, scale: int, x: Any, out: Any) -> None:
    chosen = _larger(table, 1)
    if len(chosen) > 100:
        out[0] = undefined  # type: ignore[name-defined]  # noqa: F821  # what is not taken is not translated
    for k in range(len(table.rows)):
        if k == 1:
            continue
        if x[k] > 100:
            break
        out[table.rows[k, 1]] += table.rows[k, 0] * scale if table.rows[k, 1] != 4 and scale > 1 else x[k]
    several = [*[x[0] + i for i in chosen], scale][1:]
    _nested(table, table.depth, _Held(several, scale), x, out)
    out[7] = 1 if scale in (2, 3) and x[0] > 0 else 2
    out[8] = several[-1] + len(several) + (-scale if not table.depth else scale)


@pytest.mark.parametrize("depth", [0, 2])
def test_what_is_known_is_worked_out_when_code_is_made(depth: int, monkeypatch: pytest.MonkeyPatch) -> None:
    table = _Table(np.array([[1, 5], [9, 6], [2, 4], [7, 5], [3, 6]]), depth)
    run, results = compiled(_partly_known), []
    for scale in (1, 3):
        for x in ([3, -2, 1, 101, 4], [0, 1, 2, 3, -4]):
            found, expected = np.zeros(12, np.int64), np.zeros(12, np.int64)
            run(known(table), known(scale), np.array(x), found)
            with monkeypatch.context() as plain:
                plain.setitem(globals(), "_nested", _nested.python)
                _partly_known(table, scale, np.array(x), expected)
            np.testing.assert_array_equal(found, expected)
            results.append(found.tolist())
    assert len(run.made) == 2  # one for each scale
    assert results[0] != results[2]


@shared
def _apart(out: int, n: int, more: bool, w: float) -> None:
    for i in range(n):
        put(out, i, get(out, i, w) + (w if more else w + w))


def _calls_apart(x: Any, out: int, w: float) -> None:
    _apart(out, len(x), x[0] > 0, w)
    _apart(out, 1, True, w)


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_a_shared_function_is_code_of_its_own_that_is_found_again(kind: type, tmp_path: Path) -> None:
    _apart.linked.clear()
    for _ in range(2):  # made, and read from disk
        out: Any = np.zeros(3, kind)
        compiled(_calls_apart)(np.array([-1, 5]), out.ctypes.data, kind(1))
        assert out.tolist() == [3, 2, 0]
    assert sorted(path.name.split("-")[0] for path in tmp_path.iterdir()) == ["_apart", "_calls_apart"]


def _lists(x: Any) -> None:
    x[0] = {1: 2}[1] + sum(x)


def _unknown(x: Any) -> None:
    x[0] = undefined  # type: ignore[name-defined]  # noqa: F821


def _early(x: Any) -> None:
    if x[0]:
        return
    x[0] = 1


def _weaves(x: Any) -> None:
    _woven_early(x)


_woven_early = woven(_early)


def _fraction(x: Any) -> None:
    n = 1
    n = 0.5  # type: ignore[assignment]
    x[0] = n


def _returns(x: Any) -> int:
    return int(x[0])


@pytest.mark.parametrize(
    ("function", "fact"),
    [(_lists, "Dict"), (_unknown, "undefined"), (_weaves, "return"), (_fraction, "integer"), (_returns, "_returns")],
)
def test_what_is_not_translated_is_refused_with_its_place(function: Any, fact: str) -> None:
    with pytest.raises(NotImplementedError, match=fact):
        compiled(function)(np.ones(2, np.int64))
