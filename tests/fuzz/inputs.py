"""The inputs: of each kind, how one is made from a seed and random numbers, how many there are, and what is tried."""

from __future__ import annotations

import csv
import datetime
import decimal
import gzip
import io
import json
import re
import shutil
import struct
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import torch

from ccn import sealed
from ccn.learning import model_file
from ccn.training import checkpoint
from tests.fuzz import trials
from tests.fuzz.mutators import (
    CELLS,
    VALUES,
    VERTICES,
    archive_changed,
    cells_changed,
    damaged,
    several,
    tensors_changed,
    tree_changed,
)
from tests.fuzz.seeds import SEEDS


def delimited(rng: Random, folder: Path, name: str) -> Path:
    """A text table whose header is left alone, mostly."""
    content = (SEEDS / name).read_bytes()
    first = content.index(b"\n") + 1
    if (chance := rng.random()) < 0.15:
        made = damaged(rng, content)
    elif chance < 0.45:
        made = content[:first] + damaged(rng, content[first:], (b'"\n', b',"', b'",', b";", b"\t"))
    else:
        delimiter = {"german.csv": ";", "classes.tsv": "\t"}.get(name, ",")
        rows = list(csv.reader(io.StringIO(content[first:].decode()), delimiter=delimiter))
        changed = [delimiter.join(row) for row in cells_changed(rng, rows)]
        ends = rng.choice((["\n"], ["\r\n"], ["\r"], ["\n", "\r\n", "\r"]))
        head = content[:first].decode().rstrip("\r\n")
        text = "".join(line + rng.choice(ends) for line in [head, *changed])
        text = text[: -rng.randint(0, 1) or None]
        code = rng.choice(("utf-8",) * 6 + ("latin-1", "cp1252", "utf-16", "utf-16-be"))
        made = text.encode(code, "replace")
        made = b"\xfe\xff" + made if code == "utf-16-be" else made
    path = folder / name
    path.write_bytes(made)
    return path


def lines(rng: Random, folder: Path, names: tuple[str, ...]) -> Path:
    """A file of molecules or records, changed in its words, its lines or its bytes."""
    name = rng.choice(names)
    content = (SEEDS / name).read_bytes()
    if rng.random() < 0.5:
        rows = [line.split(" ") for line in content.decode().split("\n")]
        made = "\n".join(" ".join(row) for row in cells_changed(rng, rows)).encode()
    else:
        made = damaged(
            rng, content, (b"$$$$\n", b"M  END\n", b">  <y>\n", b"M  V30 COUNTS 99999999 1 0 0 0\n", b"V3000")
        )
    path = folder / name
    path.write_bytes(made)
    return path


_TYPED: tuple[Any, ...] = (
    b"\xff\x00", [[1], [2]], {"a": 1}, datetime.date(1, 1, 1), datetime.datetime(9999, 12, 31),
    decimal.Decimal("1e-9"), 10**18, True, "C" * 2000, float("nan"), datetime.timedelta(days=10**6), datetime.time(1),
    "\0", "\n", '"', "CCO\nCCN", "",
)  # fmt: skip


def parquet(rng: Random, folder: Path) -> Path:
    """A Parquet file with columns of other types, or with damaged bytes."""
    import pyarrow as arrow
    from pyarrow import parquet as files

    with (SEEDS / "plain.csv").open() as file:
        rows = list(csv.DictReader(file))
    columns: dict[str, list[Any]] = {name: [row[name] for row in rows] for name in rows[0]}
    columns["y"] = [float(y) for y in columns["y"]]
    path = folder / "typed.parquet"
    byte = rng.random() < 0.4

    def change() -> None:
        name = rng.choice(sorted(columns))
        values = columns[name]
        match rng.randrange(4):
            case 0:
                columns[name] = [rng.choice(_TYPED)] * len(values)
            case 1:
                columns[name] = [None if rng.random() < 0.5 else v for v in values]
            case 2:
                columns[rng.choice(("", "SMILES", "y ", "\0", "x" * 2000))] = values
            case 3:
                columns[name] = [rng.choice(CELLS)[:5000] if rng.random() < 0.3 else str(v) for v in values]

    if not byte:
        several(rng, change)
    how = {"compression": rng.choice(("none", "snappy", "gzip", "zstd")), "use_dictionary": rng.random() < 0.5}
    files.write_table(arrow.table({k: arrow.array(v) for k, v in columns.items()}), path, row_group_size=7, **how)
    if byte:
        path.write_bytes(damaged(rng, path.read_bytes()))
    return path


_ODD: tuple[Any, ...] = (
    datetime.date(1999, 1, 1), datetime.datetime(9999, 12, 31), datetime.time(1), datetime.timedelta(days=10**6), True,
    10**18, 1e308, "C" * 2000, "=1+1", "=cmd|' /C calc'!A0", "#N/A", "CCO\nCCN", "_x0041_", " ",
)  # fmt: skip


def excel(rng: Random, folder: Path) -> Path:
    """An .xlsx file with other cells, with a wrong size of its sheet, or with damaged bytes."""
    import openpyxl
    from openpyxl.cell.cell import ILLEGAL_CHARACTERS_RE

    with (SEEDS / "plain.csv").open() as file:
        head, *rows = csv.reader(file)
    book = openpyxl.Workbook()
    sheet: Any = book.active
    sheet.append(head)
    for row in cells_changed(rng, rows):
        cells = [ILLEGAL_CHARACTERS_RE.sub("", cell)[:5000].encode("utf-8", "replace").decode() for cell in row[:50]]
        sheet.append([rng.choice(_ODD) if rng.random() < 0.1 else cell or None for cell in cells])
    made, written = io.BytesIO(), io.BytesIO()
    book.save(written)
    size = rng.choice((b"A1", b"A1:XFD1048576", b"B9:A1", b"x"))
    how = rng.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED))
    with zipfile.ZipFile(written) as source, zipfile.ZipFile(made, "w", how) as archive:
        for name in source.namelist():
            content = source.read(name)
            if name.startswith("docProps/"):  # has the time
                content = re.sub(rb"\d{4}-\d\d-\d\dT[\d:]+Z", b"2000-01-01T00:00:00Z", content)
            if "/worksheets/" in name and rng.random() < 0.3:
                content = re.sub(rb'(?<=<dimension ref=")[^"]*', lambda _: size, content)
            archive.writestr(zipfile.ZipInfo(name), content)
    byte = rng.random() < 0.4
    path = folder / ("damaged.xlsx" if byte else "typed.xlsx")
    path.write_bytes(damaged(rng, made.getvalue(), (b"PK\x03\x04", b"<f>", b"<row>")) if byte else made.getvalue())
    return path


def gz(rng: Random, folder: Path) -> Path:
    """A packed table: changed before it was packed, damaged afterwards, in pieces, or one that expands."""
    name = rng.choice(("plain.csv", "names.smi", "graphs.jsonl", "records.sdf"))
    content = (SEEDS / name).read_bytes()
    match rng.randrange(6):
        case 0 | 1:
            made = damaged(rng, gzip.compress(content, 1))
        case 2:
            made = gzip.compress(content) + gzip.compress(damaged(rng, content)) + rng.choice((b"", b"\0" * 9, b"x"))
        case 3 if rng.random() < 0.2:
            made = gzip.compress(
                content + rng.choice((b"\n" * (1 << 20), *(c * (20 << 20) for c in (b"C", b" ", b'"')))), 1
            )
        case 4:
            made = struct.pack("<I", rng.getrandbits(32)) + gzip.compress(content)
        case _:
            made = gzip.compress(content.split(b"\n")[0] + b"\n" + damaged(rng, content.split(b"\n", 1)[1]))
    path = folder / f"{name}.gz"
    path.write_bytes(made)
    return path


def json_lines(rng: Random, folder: Path) -> Path:
    """Lines of graphs, some of them changed as trees, or the file as bytes."""
    name = rng.choice(("graphs.jsonl", "graphs.jsonl", "labels.jsonl", "weights.jsonl"))
    content = (SEEDS / name).read_bytes()
    if rng.random() < 0.3:
        made = damaged(rng, content, (b"[" * 5000, b'{"a":' * 5000, b"NaN", b"1e999", b"\\ud800", b"{}\n", b"null\n"))
    else:
        rows = content.decode().splitlines()

        def change() -> None:
            i = rng.randrange(len(rows))
            try:
                rows[i] = json.dumps(tree_changed(rng, json.loads(rows[i])), ensure_ascii=rng.random() < 0.5)
            except (ValueError, RecursionError):
                rows[i] = rng.choice(CELLS)

        several(rng, change, 6)
        made = "\n".join(rows).encode("utf-8", "surrogatepass")
    path = folder / name
    path.write_bytes(made)
    return path


def _tu_files(rng: Random) -> dict[str, bytes]:
    files = {p.name: p.read_bytes() for p in sorted((SEEDS / "tu").iterdir())}

    def change() -> None:
        name = rng.choice(sorted(files))
        match rng.randrange(5):
            case 0:
                files.pop(name) if len(files) > 2 else None
            case 1:
                files[name] = damaged(rng, files[name], (b"#", b"1 2\n", b"-1\n", b"0\n", b", "))
            case 2 | 3:
                rows = [line.split(",") for line in files[name].decode("latin-1").split("\n")]
                files[name] = "\n".join(",".join(row) for row in cells_changed(rng, rows)).encode()
            case 4:
                files[name.replace("TINY", rng.choice(("X", "", "TINY_A")))] = files.pop(name)

    several(rng, change)
    return files


def tu(rng: Random, folder: Path) -> Path:
    """A TU folder with changed files."""
    path = folder / "TINY"
    path.mkdir()
    for name, content in _tu_files(rng).items():
        (path / name).write_bytes(content)
    return path


def zipped(rng: Random, folder: Path) -> Path:
    """The zip of a TU folder: changed before it was packed, damaged afterwards, with odd names, or one that expands."""
    files = _tu_files(rng) if rng.random() < 0.5 else {p.name: p.read_bytes() for p in (SEEDS / "tu").iterdir()}
    odd = rng.random()
    path = folder / "TINY.zip"
    with zipfile.ZipFile(
        path, "w", rng.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2))
    ) as archive:
        for name, content in files.items():
            archive.writestr(f"TINY/{name}", content)
        if odd < 0.15:
            name = rng.choice(
                ("../x.txt", "/etc/x.txt", "C:\\x.txt", "..\\x.txt", "\0.txt", "TINY/TINY_A.txt/x.txt", "a" * 3000)
            )
            entry = zipfile.ZipInfo("x")
            entry.filename, entry.external_attr = name, rng.choice((0, 0o120777 << 16))
            archive.writestr(entry, b"1, 2\n")
        elif odd < 0.18:
            archive.writestr("TINY/TINY_node_attributes.txt", b"1.0\n" * (6 << 20))
    if odd > 0.5:
        path.write_bytes(damaged(rng, path.read_bytes(), (b"PK\x03\x04", b"PK\x05\x06", b"\xff\xff\xff\xff")))
    return path


def networkx(rng: Random, folder: Path) -> Path:
    """A folder of GraphML or GML."""
    path = folder / "drawn"
    path.mkdir()
    for i in range(3):
        name = rng.choice(("graph.gml", "graph.graphml"))
        content, extra = (
            (SEEDS / name).read_bytes(),
            (b"<!ENTITY a 'b'>", b"&a;", b"node [ id 0 ]\n", b"edge [", b"<node id='a'/>"),
        )
        (path / f"{i}{name[5:]}").write_bytes(damaged(rng, content, extra) if i else content)
    return path


# Models and checkpoints


@cache
def _model(name: str) -> sealed.Sealed:
    return sealed.read(SEEDS / "models" / name, {model_file.FORM: model_file.VERSION})


@cache
def model_names() -> tuple[str, ...]:
    return tuple(sorted(p.name for p in (SEEDS / "models").iterdir()))


def _forged(rng: Random, held: sealed.Sealed, form: str, path: Path) -> None:
    """The content of a sealed file, changed and sealed again, or the file damaged."""
    data, tensors = held.data, dict(held.tensors)
    chance = rng.random()
    if chance < 0.5:
        data = tree_changed(rng, data, 2)
        if rng.random() < 0.1 and "inputs" in held.data:
            data = {**held.data, "inputs": {**held.data["inputs"], "vertices": rng.choice(VERTICES)}}
    if 0.35 < chance < 0.8:
        objects = [name for name, t in tensors.items() if t.dtype == torch.uint8 and t.ndim == 1 and len(t) > 1000]
        if objects and rng.random() < 0.6:
            name = rng.choice(objects)
            content = tensors[name].numpy().tobytes()
            content = archive_changed(rng, content) if rng.random() < 0.9 else damaged(rng, content)
            tensors[name] = torch.frombuffer(bytearray(content or b"x"), dtype=torch.uint8)
        else:
            tensors = tensors_changed(rng, tensors)
    try:
        sealed.write(path, form, held.version, tensors, data)
    except Exception:  # what cannot be written as it is
        sealed.write(path, form, held.version, held.tensors, {"x": repr(data)[:100]})
    content = path.read_bytes()  # the keys of whose header are in no order
    size = int.from_bytes(content[:8], "little")
    head = json.dumps(json.loads(content[8 : 8 + size]), sort_keys=True).encode()
    content = len(head).to_bytes(8, "little") + head + content[8 + size :]
    path.write_bytes(content)
    if chance > 0.8:
        if rng.random() < 0.6:  # the header alone
            size = len(head)
            rest = content[8 + size :]
            head = damaged(rng, head, (b"[", b"{" * 3000, b"\\u0000", b"-1", b"F64", b"I64"))
            size = len(head) if rng.random() < 0.7 else rng.choice((0, 2**63, 2**64 - 1, size))
            content = size.to_bytes(8, "little") + head + rest
        path.write_bytes(damaged(rng, content) if rng.random() < 0.5 else content)


def model(rng: Random, folder: Path) -> Path:
    """A forged model file."""
    name = rng.choice(model_names())
    _forged(rng, _model(name), model_file.FORM, folder / name)
    return folder / name


def checkpoints(rng: Random, folder: Path) -> Path:
    """A forged checkpoint."""
    path = folder / "checkpoint.safetensors"
    _forged(rng, trials.checkpoint_seed()[2], checkpoint.FORM, path)
    return path


def member(rng: Random, folder: Path) -> Path:
    """A forged member of a stack, in the folder of its run."""
    path = folder / "trees-0.safetensors"
    _forged(rng, trials.stack_seed()[2], model_file.FORM, path)
    return path


def journal(rng: Random, folder: Path) -> Path:
    """The journal of a search with changed lines or bytes."""
    lines = trials.search_seed()[1].splitlines()
    path = folder / "study.log"
    if rng.random() < 0.5:
        path.write_bytes(damaged(rng, b"\n".join(lines) + b"\n", (b"{}\n", b"[" * 5000, b"null\n", b"\n")))
        return path

    def change() -> None:
        i = rng.randrange(len(lines))
        lines[i] = json.dumps(tree_changed(rng, json.loads(lines[i]))).encode()

    several(rng, change)
    path.write_bytes(b"\n".join(lines) + b"\n")
    return path


def config(rng: Random, folder: Path) -> Path:
    """A configuration with other values, keys, sections or bytes."""
    import tomllib

    text = (SEEDS / "run.toml").read_text()
    path = folder / "run.toml"
    if rng.random() < 0.3:
        path.write_bytes(damaged(rng, text.encode(), (b"[" * 2000, b"[x]\n", b"= 1e999\n", b"= nan\n", b"= -1\n")))
        return path
    tree = tomllib.loads(text)
    if rng.random() < 0.3:
        tree = tree_changed(rng, tree, 2)
    else:
        section = rng.choice([tree, *(s for s in tree.values() if isinstance(s, dict))])
        section[rng.choice(sorted(section))] = rng.choice(VALUES if rng.random() < 0.5 else _PLAUSIBLE)
    try:
        made = "\n".join(_toml(tree))
    except RecursionError:
        made = f"seed = {'[' * 900}{']' * 900}"
    path.write_text(made, encoding="utf-8", errors="replace")
    return path


_PLAUSIBLE: tuple[Any, ...] = (
    "all", "y", "smiles", ["id", "y"], ["y", "y"], [1.0, 0.0, 0.0], [0.5, 0.5], [0.0, 0.0, 1.0], [-1, 1, 1],
    ["a", "b", "c"], "stratified", "scaffold", "column", "classification", "balanced", "atoms", "element+morgan",
    "degree", "auto", "wl", "gin", "forest", "paper", [2, 2], [1e308, 1e308, 1e308], "plain.csv", "MUTAG",
)  # fmt: skip


def _toml(tree: dict[Any, Any]) -> list[str]:
    single = [f"{_key(k)} = {_value(v)}" for k, v in tree.items() if not isinstance(v, dict)]
    sections = [(k, v) for k, v in tree.items() if isinstance(v, dict)]
    return single + [
        line for k, v in sections for line in (f"[{_key(k)}]", *(f"{_key(a)} = {_value(b)}" for a, b in v.items()))
    ]


def _key(key: Any) -> str:
    return str(key) if re.fullmatch("[A-Za-z0-9_-]+", str(key)) else json.dumps(str(key))


def _value(value: Any) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(_value, value))}]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_key(k)} = {_value(v)}" for k, v in value.items()) + "}"
    text = json.dumps(value)
    return {"NaN": "nan", "Infinity": "inf", "-Infinity": "-inf", "null": '"none"'}.get(text, text)


@dataclass(frozen=True)
class Kind:
    """Inputs of one kind: their share of 10,000, how one is made in a folder, and what is tried with it."""

    share: int
    make: Callable[[Random, Path], Path]
    trial: Callable[[Path], trials.Went]


KINDS = {
    "CSV": Kind(
        1300, lambda r, f: delimited(r, f, r.choice(("plain.csv", "quoted.csv", "several.csv"))), trials.try_table
    ),
    "semicolon": Kind(500, lambda r, f: delimited(r, f, "german.csv"), trials.try_table),
    "TSV": Kind(500, lambda r, f: delimited(r, f, "classes.tsv"), trials.try_table),
    "SMILES": Kind(500, lambda r, f: lines(r, f, ("names.smi", "bare.smi")), trials.try_table),
    "SDF": Kind(700, lambda r, f: lines(r, f, ("records.sdf",)), trials.try_table),
    "Parquet": Kind(700, parquet, trials.try_table),
    "gzip": Kind(400, gz, trials.try_table),
    "Excel": Kind(400, excel, trials.try_table),
    "JSON lines": Kind(1200, json_lines, trials.try_table),
    "TU folder": Kind(600, tu, trials.try_graphs),
    "TU zip": Kind(600, zipped, trials.try_graphs),
    "GraphML, GML": Kind(300, networkx, trials.try_graphs),
    "model": Kind(1000, model, trials.try_model),
    "checkpoint": Kind(200, checkpoints, trials.try_checkpoint),
    "member of a stack": Kind(100, member, trials.try_member),
    "search": Kind(100, journal, trials.try_search),
    "configuration": Kind(900, config, trials.try_config),
}


def numbered(inputs: int) -> list[tuple[str, int]]:
    """So many inputs, each kind by its share and at least one of each, in an order that mixes kinds."""
    whole = sum(kind.share for kind in KINDS.values())
    each = {name: max(1, round(inputs * kind.share / whole)) for name, kind in KINDS.items()}
    return sorted(((k, i) for k, n in each.items() for i in range(n)), key=lambda job: (job[1] + 1) / each[job[0]])


def make(seed: int, kind: str, number: int, folder: Path) -> Path:
    """An input, in a folder that is made anew."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return KINDS[kind].make(Random(f"{seed} {kind} {number}"), folder)
