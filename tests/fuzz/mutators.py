"""Seeded damage: bytes, cells of tables, trees of JSON, tensors, archives."""

from __future__ import annotations

import copy
import io
import json
import zipfile
from collections.abc import Callable, Mapping
from random import Random
from typing import Any

import numpy as np
import torch
from torch import Tensor

HUGE = ("9" * 400, "1e400", "-1e308", str(2**63), str(10**18), "0x10", "1_000", "1e-320", "-0")
CELLS = (
    "", " ", '"', '""', '"a', 'a"', '"a"b"', ",", ";", "\t", "\0", "\r", "\n", "\r\n", '"\n"', "nan", "inf", "-inf",
    "none", "=1+1", "\x1b[31m", "\ufeff", "\u202e", "é", "\U0001d518", "C" * 3000, "C" * 140_000, "(" * 500,
    "[" * 100, "C%(99999)", "[C@@@H]", "[999C]", "[C+99]", "C1CC", "c1cccc1", "*", "[H][H]", "CC.CC", "C>>C",
    "CCO |$a;b$|", *HUGE,
)  # fmt: skip
_NESTED: dict[str, Any] = {"kind": "histograms", "depth": 900}
VERTICES: tuple[Any, ...] = (
    {"kind": "given"}, {"kind": "given", "width": 10**9}, {"kind": "given", "columns": [10**9]}, {"kind": "constant"},
    {"kind": "histograms", "depth": 10**6}, {"kind": "histograms", "depth": 900},
    {**_NESTED, "of": {**_NESTED, "of": _NESTED}}, {"kind": "labels", "values": [0, 1, 2**62]}, {"kind": "labels"},
    {"kind": "degree", "cap": 10**9}, {"kind": "degree"}, {"kind": "auto"},
)  # fmt: skip
VALUES: tuple[Any, ...] = (
    None, True, False, 0, -1, 1, 2, 3.5, -0.0, 1e308, float("nan"), float("inf"), 10**6, 10**9, 10**18, 2**63,
    10**400, "", "x", "none", "nan", "\0", "\x1b[31m", "é" * 50, "9" * 5000, [], {}, [[]], [None], [0], ["x"],
    [1e999], {"": None}, *VERTICES, {"type": "Power", "exponent": 10**6}, {"type": "EdgeFeatures", "width": 10**9},
    {"type": "os.system"},
)  # fmt: skip


def several(rng: Random, change: Callable[[], None], most: int = 4) -> None:
    """Make a change once, or a few times."""
    for _ in range(1 if rng.random() < 0.5 else rng.randint(2, most)):
        change()


def place(rng: Random, size: int) -> tuple[int, int]:
    """A stretch of something of that size, mostly a short one."""
    start = rng.randrange(size + 1)
    return start, min(size, start + (rng.randint(0, 8) if rng.random() < 0.7 else rng.randint(0, size)))


def damaged(rng: Random, content: bytes, extra: tuple[bytes, ...] = ()) -> bytes:
    """Bytes flipped, cut, repeated, exchanged or inserted."""
    out = bytearray(content)

    def change() -> None:
        a, b = place(rng, len(out))
        c, d = place(rng, len(out))
        piece = bytes(out[c:d])[: 1 << 16]
        words = (b'"', b"\0", b"\r", b"\n", b"\xff\xfe", b"\xef\xbb\xbf", b"\x80", *(h.encode() for h in HUGE), *extra)
        match rng.randrange(7):
            case 0:
                for _ in range(rng.randint(1, 8) if out else 0):
                    out[rng.randrange(len(out))] ^= 1 << rng.randrange(8)
            case 1:
                del out[a:b]
            case 2:
                del out[a:]
            case 3:
                out[a:a] = piece
            case 4:
                out[a:b] = piece
            case 5:
                out[a:a] = rng.choice(words)
            case 6:
                out[a:b] = rng.randbytes(b - a)

    several(rng, change)
    return bytes(out)


def cells_changed(rng: Random, rows: list[list[str]]) -> list[list[str]]:
    """Rows with cells exchanged, added, removed or replaced, and rows repeated, removed or emptied."""
    out = [list(row) for row in rows]

    def change() -> None:
        if not out:
            return
        row, other = rng.choice(out), rng.choice(out)
        i, j = (rng.randrange(len(r)) if r else 0 for r in (row, other))
        match rng.randrange(8):
            case 0 | 1 | 2 if row:
                row[i] = rng.choice(CELLS)
            case 3 if row:
                at = rng.randint(0, len(row[i]))
                row[i] = row[i][:at] + rng.choice(CELLS) + row[i][at:]
            case 4 if row and other:
                row[i], other[j] = other[j], row[i]
            case 5:
                row.insert(i, rng.choice(CELLS))
            case 6 if row:
                del row[i]
            case _:
                at = rng.randrange(len(out))
                out[at:at] = [rng.choice([[], [""], list(row)])] * rng.randint(1, 3)

    several(rng, change, 8)
    return out


def deep(rng: Random) -> Any:
    """Lists or objects within each other."""
    made: Any = 0
    for _ in range(rng.choice((20, 60, 900))):
        made = [made] if rng.random() < 0.5 else {"a": made}
    return made


def tree_changed(rng: Random, tree: Any, most: int = 4) -> Any:
    """Plain data with values replaced, removed, repeated, renamed or exchanged at random places."""
    tree = copy.deepcopy(tree)

    def change() -> None:
        at = [p for p in _places(tree) if p[0]]
        if not at:
            return
        # Places near the root are few and decide most: as likely as all others together.
        near = [p for p in at if p[2] < 3]
        where, key, _ = rng.choice(near if near and rng.random() < 0.5 else at)
        if key not in (where if isinstance(where, dict) else range(len(where))):
            return
        match rng.randrange(9):
            case 0:
                del where[key]
            case 1:
                where[key] = deep(rng)
            case 2 if isinstance(where[key], list):
                where[key] = where[key] * rng.choice((0, 2, 3, 200))
            case 3 if isinstance(where, dict):
                where[rng.choice(("", "x", "kind", "type", str(key) + "s"))] = where.pop(key)
            case 4:
                other, name, _ = rng.choice(at)
                if name in (other if isinstance(other, dict) else range(len(other))):
                    where[key] = copy.deepcopy(other[name])
            case 5 if isinstance(where[key], int | float) and not isinstance(where[key], bool):
                where[key] = rng.choice(
                    (-where[key], where[key] + 1, where[key] * 10**6, float(where[key]), str(where[key]))
                )
            case 6 if isinstance(where[key], str):
                at_ = rng.randint(0, len(where[key]))
                where[key] = where[key][:at_] + rng.choice(CELLS) + where[key][at_:]
            case _:
                where[key] = copy.deepcopy(rng.choice(VALUES))

    several(rng, change, most)
    return tree


def _places(tree: Any) -> list[tuple[Any, Any, int]]:
    """(container, key, depth) of everything in a tree that is not too deep."""
    found: list[tuple[Any, Any, int]] = []
    level: list[tuple[Any, int]] = [(tree, 0)]
    for part, depth in level:  # which grows meanwhile
        items = (
            list(part.items()) if isinstance(part, dict) else list(enumerate(part)) if isinstance(part, list) else []
        )
        for key, value in items:
            found.append((part, key, depth))
            if depth < 40:
                level.append((value, depth + 1))
    return found


_DTYPES = (torch.float32, torch.float64, torch.float16, torch.int64, torch.int32, torch.uint8, torch.bool, torch.int16)


def tensors_changed(rng: Random, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Tensors removed, renamed, exchanged, or with other shapes, types and values."""
    out = dict(tensors)

    def change() -> None:
        if not out:
            return
        name, other = rng.choice(sorted(out)), rng.choice(sorted(out))
        t = out[name]
        match rng.randrange(11):
            case 0:
                del out[name]
            case 1:
                out[rng.choice(("x", name + "s", other, "graphs.edge_features", "graphs.weights", "0.rows"))] = out.pop(
                    name
                )
            case 2:
                out[name], out[other] = out[other], t
            case 3:
                out[name] = t.to(rng.choice(_DTYPES))
            case 4:
                out[name] = t[: rng.randint(0, len(t))].clone() if t.ndim else t[None]
            case 5:
                out[name] = rng.choice(
                    (t[None], t.reshape(-1), torch.cat([t, t]) if t.ndim else t, t.T if t.ndim == 2 else t)
                )
            case 6:
                out[name] = torch.zeros(rng.choice(((0,), (1, 0), (0, 3), (), (2, 2, 2), (5,))), dtype=t.dtype)
            case 7 | 8 | 9 if t.numel():
                flat = t.clone().reshape(-1)
                for _ in range(rng.randint(1, 3)):
                    i = rng.randrange(len(flat))
                    flat[i] = _number(rng, flat)
                out[name] = flat.reshape(t.shape)
            case _:
                out[name] = ~t if t.dtype == torch.bool else (t.double() + 1).to(t.dtype)

    several(rng, change)
    return out


def _number(rng: Random, like: Tensor) -> Any:
    if like.dtype == torch.bool:
        return rng.random() < 0.5
    if like.is_floating_point():
        return rng.choice((float("nan"), float("inf"), -float("inf"), 1e30, -1.0, 0.0, 1e-40))
    info = torch.iinfo(like.dtype)
    near = int(like[rng.randrange(len(like))]) + rng.choice((-1, 1, 0))
    return min(info.max, max(info.min, rng.choice((info.max, info.min, -1, 0, 255, 10**6, near))))


def archive_changed(rng: Random, content: bytes) -> bytes:
    """A zip, such as that of skops, with entries changed: JSON as a tree, arrays as arrays, others as bytes."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        entries = {name: archive.read(name) for name in archive.namelist()}
    several(rng, lambda: _entry_changed(rng, entries), 3)
    made = io.BytesIO()
    packed = zipfile.ZIP_DEFLATED if rng.random() < 0.1 else zipfile.ZIP_STORED
    with zipfile.ZipFile(made, "w", packed) as archive:
        for name, part in entries.items():
            archive.writestr(name, part)
    return made.getvalue()


def _entry_changed(rng: Random, entries: dict[str, bytes]) -> None:
    name = rng.choice(sorted(entries))
    if rng.random() < 0.1:
        entries[rng.choice(("../x", "/x", "x" * 300, "schema.json", name))] = entries.pop(name)
    elif name.endswith(".json") and rng.random() < 0.9:
        try:
            entries[name] = json.dumps(tree_changed(rng, json.loads(entries[name]))).encode()
        except (ValueError, RecursionError):
            entries[name] = damaged(rng, entries[name])
    elif name.endswith(".npy") and rng.random() < 0.9:
        try:
            array = np.load(io.BytesIO(entries[name]))
            held = io.BytesIO()
            np.save(held, _array_changed(rng, array), allow_pickle=False)
            entries[name] = held.getvalue()
        except (ValueError, TypeError, OSError, EOFError):
            entries[name] = damaged(rng, entries[name])
    else:
        entries[name] = damaged(rng, entries[name])


def _array_changed(rng: Random, array: Any) -> Any:
    if array.dtype.names is not None:  # the nodes of a tree
        out = array.copy()
        if len(out):
            field = rng.choice(array.dtype.names)
            number = rng.choice((-2, -1, 0, 1, 2**31, 10**6, len(out)))
            out[field][rng.randrange(len(out))] = out[field].dtype.type(0) if out[field].dtype.itemsize == 1 else number
        return out if rng.random() < 0.8 else out[: rng.randint(0, len(out))]
    held = tensors_changed(rng, {"x": torch.from_numpy(np.array(array))})
    return next(iter(held.values())).numpy() if held else np.zeros(0)
