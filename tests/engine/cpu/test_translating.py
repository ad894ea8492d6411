"""What the functions that are compiled may be made of: each gives what Python gives."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ccn.engine.cpu import compiling
from ccn.engine.cpu.compiling import compiled, inlined, woven

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


def _lists(x: Any) -> None:
    x[0] = [1][0] + sum(x)


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
    [(_lists, "List"), (_unknown, "undefined"), (_weaves, "return"), (_fraction, "integer"), (_returns, "_returns")],
)
def test_what_is_not_translated_is_refused_with_its_place(function: Any, fact: str) -> None:
    with pytest.raises(NotImplementedError, match=fact):
        compiled(function)(np.ones(2, np.int64))
