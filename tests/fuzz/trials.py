"""What is tried with one input: the real commands and readers, and an independent count of its rows.

Every function takes a file or folder, returns how it went, and raises :class:`Fault` if something is wrong. Files that
were found so are in ``regressions/``, by the name of the function that tries them.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import re
import tempfile
import time
import tomllib
import traceback
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from ccn.cli import main
from ccn.errors import CCNError
from tests.fuzz.seeds import SEEDS

MODELS = SEEDS / "models"
_BREAK = re.compile(r"\r\n|\r|\n")


class Fault(Exception):  # noqa: N818
    """Something that must not happen: a traceback, exit 3, or rows that are lost. The first argument is its kind."""


@dataclass(frozen=True)
class Went:
    """Whether the input was read, and how many of its rows were counted both by ccn and independently."""

    read: bool
    rows: int = 0


SPENT: list[tuple[float, int]] = []
"""Seconds of processor time and largest memory in bytes of each command; the counting around it is not its own."""


@contextmanager
def measured() -> Iterator[None]:
    """Add what a command takes to :data:`SPENT`."""
    Path("/proc/self/clear_refs").write_text("5")  # forget the largest memory so far
    began = time.process_time()
    try:
        yield
    finally:
        SPENT.append((time.process_time() - began, occupied(what="VmHWM")))


def occupied(pid: int | str = "self", what: str = "VmRSS") -> int:
    """Bytes of memory of a process, now or (VmHWM) at most since it was last asked to forget."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(what + ":"):
            return int(line.split()[1]) << 10
    return 0


def command(*words: str | Path) -> tuple[int, str]:
    """The exit code of a command and its standard output; a fault if it is an internal error."""
    given, code, err = list(map(str, words)), 0, io.StringIO()
    with tempfile.TemporaryFile("w+", encoding="utf-8") as out:  # as strict as a terminal, and not in memory
        try:
            with redirect_stdout(out), redirect_stderr(err), measured():
                main(given)
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else 1 if end.code else 0
        except BaseException:
            raise Fault("traceback", traceback.format_exc()) from None
        if code not in (0, 1) or "Traceback" in err.getvalue():
            kind = "exit 3" if code == 3 else "traceback"
            raise Fault(kind, f"{given}: exit {code}: {err.getvalue()}{_trace(given)}")
        if code and not err.getvalue().strip():
            raise Fault("traceback", f"{given}: refused without a word")
        out.seek(0)
        return code, out.read()


def _trace(words: Sequence[str]) -> str:
    """Where an internal error comes from."""
    with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
        try:
            main([*words, "--debug"])
        except BaseException:
            return traceback.format_exc()
    return ""


# Rows, counted without ccn


def _text(path: Path) -> str | None:
    """The text of a file, its bytes as characters unless it is UTF-16; None if it cannot be unpacked."""
    content = path.read_bytes()
    if path.suffix == ".gz":
        try:
            content = gzip.decompress(content)
        except (OSError, EOFError, zlib.error):
            return None
        if len(content) > 16 << 20:  # may be refused as a bomb
            return None
    wide = content.startswith((b"\xff\xfe", b"\xfe\xff"))
    return content.decode("utf-16", "replace") if wide else content.decode("latin-1")


def lines(text: str) -> list[str]:
    """The lines of a text; what follows the last line end counts if it is not empty."""
    found = _BREAK.split(text)
    return found if found[-1] else found[:-1]


def kind_of(path: Path) -> str:
    return Path(path.name.removesuffix(".gz")).suffix


@cache
def _headers() -> frozenset[str]:
    return frozenset(lines(str(_text(p)))[0] for p in SEEDS.iterdir() if p.suffix in (".csv", ".tsv"))


def independent(path: Path) -> int | None:
    """The lines of a table below its header, its records or its rows; None where that is not defined.

    If it is defined, no damage is such that a row could not be told from others: the file must not be refused.
    """
    if kind_of(path) == ".parquet":
        return _parquet_rows(path)
    if kind_of(path) == ".xlsx":
        return None if path.name == "damaged.xlsx" else _sheet_rows(path)
    text = _text(path)
    if text is None:
        return None
    found = lines(text)
    match kind_of(path):
        case ".sdf":
            ends = [i for i, line in enumerate(found) if line.startswith("$$$$")]
            rest = found[ends[-1] + 1 if ends else 0 :]
            return len(ends) + any(line.strip() for line in rest)
        case ".smi":
            named = found and (found[0].split() or [""])[0].lower() in ("smiles", "canonical_smiles")
            return None if named else len(found)
        case ".jsonl":
            return len(found)
    return len(found) - 1 if found and found[0] in _headers() else None


def _parquet_rows(path: Path) -> int | None:
    import pyarrow.parquet as parquet

    try:
        table = parquet.read_table(path)
        [column.to_pylist() for column in table.columns]
    except Exception:
        return None
    return table.num_rows if "smiles" in table.column_names else None


def _sheet_rows(path: Path) -> int | None:
    """The number of the last row of the first sheet that has a cell with anything in it, without the header."""
    with zipfile.ZipFile(path) as archive:
        rows = ElementTree.fromstring(archive.read("xl/worksheets/sheet1.xml")).findall(".//{*}row")
        return max(int(row.attrib["r"]) for row in rows if any(len(cell) for cell in row)) - 1


# Tables and lines of graphs


def try_table(path: Path) -> Went:
    """A table of molecules, or lines of graphs, is described and predicted."""
    known = independent(path)
    graphs = kind_of(path) == ".jsonl"
    model = MODELS / f"ccn-{'graphs' if graphs else 'regression'}.safetensors"
    code, _ = command("predict", model, path, "-o", "out.csv", "--processes", "1", "--quiet", "--overwrite")
    if code and known is not None:
        raise Fault("rows", f"{path.name}: refused, though it has {known} rows")
    rows = None if code else _answered(Path("out.csv"))
    # A row of a text table has as many lines as its quoted cells have line breaks, and one more.
    breaks = sum(rows or ()) if kind_of(path) in (".csv", ".tsv") else 0
    if rows is not None and known not in (None, len(rows) + breaks):
        raise Fault("rows", f"{path.name}: {known} lines or records, {len(rows)} rows answered, with {breaks} breaks")
    described, text = command("data", "info", path, "--json")
    if described == 0:
        found = json.loads(text)
        counted = found["graphs"] + len({one["row"] for one in found["dropped"]})
        if rows is not None and counted != len(rows):
            raise Fault("rows", f"{path.name}: {len(rows)} rows, of which {counted} were read or reported")
    return Went(not (code and described), 0 if rows is None or known is None else len(rows))


def _answered(path: Path, added: int = 2) -> list[int]:
    """The line breaks in the cells of each row of an output; a fault if a row has no answer and no reason, or both."""
    csv.field_size_limit(1 << 30)
    with path.open(encoding="utf-8", newline="") as file:
        head, *rows = csv.reader(file)
    for number, row in enumerate(rows, 1):
        if len(row) != len(head):
            raise Fault(
                "rows", f"row {number} of the output has {len(row)} cells, its header {len(head)}: {row!r:.300}"
            )
        answer, reason = row[len(head) - added : -1], row[-1]
        if answer and bool(reason) == any(answer):
            raise Fault("rows", f"row {number} of the output: answer {answer}, reason {reason!r}")
    return [sum(len(_BREAK.findall(cell)) for cell in row[:-added]) for row in rows]


# Graphs in folders and archives


def try_graphs(path: Path) -> Went:
    """A TU folder, the zip of one, or a folder of GraphML or GML."""
    code, text = command("data", "info", path, "--json")
    if code:
        return Went(False)
    found = json.loads(text)
    counted = found["graphs"] + len({one["row"] for one in found["dropped"]})
    known = None
    if path.is_dir():
        labels = [p for p in path.iterdir() if p.name.endswith("_graph_labels.txt")]
        files = [p for p in path.iterdir() if p.suffix in (".gml", ".graphml")]
        if labels:
            # Blank lines and comments are no rows in this format.
            text = labels[0].read_text("utf-8", "replace")
            known = sum(bool(line.split("#")[0].strip()) for line in lines(text))
        else:
            known = len(files)
        if known != counted:
            raise Fault("rows", f"{path.name}: {known} graphs, of which {counted} were read or reported")
    return Went(True, known or 0)


# Models, checkpoints, configurations


def try_model(path: Path) -> Went:
    """A model file is described, and asked for predictions."""
    code, text = command("info", path, "--json")
    command("info", path)
    graphs = code == 0 and json.loads(text)["inputs"]["molecules"] is None
    rows = SEEDS / ("graphs.jsonl" if graphs else "plain.csv")
    words = ("predict", path, rows, "-o", "out.csv", "--processes", "1", "--quiet", "--overwrite")
    code, _ = command(*words)
    if code:
        return Went(False)
    with Path("out.csv").open(encoding="utf-8", newline="") as file:
        width = len(next(csv.reader(file)))
    found, known = _answered(Path("out.csv"), width - (1 if graphs else 3)), independent(rows)
    if len(found) != known:
        raise Fault("rows", f"{known} rows, {len(found)} in the output")
    return Went(True, len(found))


@cache
def checkpoint_seed() -> Any:
    """A method, examples, and the checkpoint of an unfinished run of them."""
    from ccn import sealed
    from ccn.methods.method import fit
    from ccn.methods.registry import make_method
    from ccn.training import checkpoint
    from ccn.training.execution import Execution
    from tests.fuzz.seeds import examples

    settings = {"epochs": 2, "least_steps": 0, "channels": 2, "hidden": 4, "batch_size": 8, "levels": 1}
    method, rows = make_method("ccn", classification=False, settings=settings), examples("regression")
    with tempfile.TemporaryDirectory() as folder:
        fit(method, rows, Execution(folder=Path(folder), every=0.0))
        oldest = checkpoint.files(Path(folder) / "member0")[-1]
        return method, rows, sealed.read(oldest, {checkpoint.FORM: checkpoint.VERSION})


def try_checkpoint(path: Path) -> Went:
    """A run is resumed from a checkpoint."""
    from ccn.methods.method import fit
    from ccn.training.execution import Execution

    method, rows, _ = checkpoint_seed()
    folder = Path("run") / "member0"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "checkpoint-000001-00000000.safetensors").write_bytes(path.read_bytes())
    return _guarded(lambda: fit(method, rows, Execution(folder=Path("run"), resume=True, every=1e9)))


@cache
def stack_seed() -> tuple[Any, Any, Any, dict[str, bytes]]:
    """A stack, rows, and the members of a run of it: the first, and all as files."""
    from ccn import sealed
    from ccn.learning import model_file
    from ccn.methods.method import fit
    from ccn.methods.registry import make_method
    from ccn.training.execution import Execution
    from tests.fuzz.seeds import examples

    method = make_method("auto", classification=False, methods=("trees",), folds=2)
    rows = examples("regression", method.reads().molecules)
    with tempfile.TemporaryDirectory() as folder:
        fit(method, rows, Execution(folder=Path(folder)))
        first = sealed.read(Path(folder) / "trees-0.safetensors", {model_file.FORM: model_file.VERSION})
        return method, rows, first, {p.name: p.read_bytes() for p in Path(folder).glob("*.safetensors")}


def try_member(path: Path) -> Went:
    """The run of a stack is resumed with a member from a file."""
    from ccn.methods.method import fit
    from ccn.training.execution import Execution

    method, rows, _, files = stack_seed()
    Path("run").mkdir(exist_ok=True)
    for name, content in {**files, "trees-0.safetensors": path.read_bytes()}.items():
        (Path("run") / name).write_bytes(content)
    return _guarded(lambda: fit(method, rows, Execution(folder=Path("run"), resume=True)))


@cache
def search_seed() -> tuple[Any, bytes]:
    """The configuration of a search, and its journal."""
    from ccn.runs.config import resolve
    from ccn.runs.tune import search

    network = {"channels": 2, "hidden": 4, "levels": 1, "order": 1}
    training = {"epochs": 2, "least_steps": 0, "batch_size": 8}
    given = {"source": str(SEEDS / "plain.csv"), "method": "ccn", "network": network, "training": training}
    config = resolve(file=given)
    with tempfile.TemporaryDirectory() as folder:
        search(config, Path(folder), 2, kept=("network.channels", "network.levels", "network.hidden"))
        return config, (Path(folder) / "study.log").read_bytes()


def try_search(path: Path) -> Went:
    """A search is resumed from a journal."""
    from ccn.runs.tune import search

    config, _ = search_seed()
    folder = Path("search")
    folder.mkdir(exist_ok=True)
    (folder / "study.log").write_bytes(path.read_bytes())
    return _guarded(lambda: search(config, folder, 2, resume=True))


def try_config(path: Path) -> Went:
    """A configuration is read, and the data are read and split as it says."""
    from ccn.runs.config import read_config, resolve, to_dict, to_toml
    from ccn.runs.data import divide, read_data

    def use() -> None:
        config = resolve(file=read_config(path))
        if to_toml(resolve(file=tomllib.loads(to_toml(config)))) != to_toml(config):
            raise Fault("rows", "the configuration that is written is not the one that was read")
        config = resolve(file={**to_dict(config), "source": str(SEEDS / "plain.csv")})
        data = read_data(config)
        divide(data, config)
        config.make(classification=data.task == "classification")

    return _guarded(use)


def _guarded(call: Callable[[], object]) -> Went:
    try:
        with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()), measured():
            call()
    except (CCNError, OSError):  # which the command line shows in one line, with exit code 1
        return Went(False)
    except Fault:
        raise
    except BaseException:
        raise Fault("traceback", traceback.format_exc()) from None
    return Went(True)
