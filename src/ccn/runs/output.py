"""The output of predictions and embeddings: formats, and a file that is written over hours and survives a kill.

Rows are appended to ``out.csv.part``; ``out.csv.progress`` records how many rows of the input are complete, how many
bytes they take, and of which input and model they are. It is replaced atomically after the rows are on disk, so that a
resumed run truncates the part file to those bytes and continues. At the end the part file becomes the output.
"""

from __future__ import annotations

import csv
import io
import json
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

import numpy as np

from ccn.chemistry.smiles import mol_block
from ccn.datasets.sheets import MOST_COLUMNS, MOST_ROWS, need_openpyxl, write_sheet
from ccn.datasets.tables import Chunk, number
from ccn.errors import ConfigurationError, FileError, needs
from ccn.files import write_atomically

__all__ = ["Format", "Output", "array", "excel", "item_table", "json_lines", "page", "parquet", "plain", "sdf", "table"]


@dataclass(frozen=True)
class Format:
    """How answers are written: a file grows by the bytes of one chunk of rows at a time.

    Attributes:
        head: the first bytes.
        body: the bytes of a chunk, from its rows, their values and their reasons.
        finish: makes the output from the part file.
    """

    head: bytes
    body: Callable[[Chunk, Any, Sequence[str]], bytes]
    finish: Callable[[Path, Path], Any] = Path.replace


def _not_a_formula(cell: str) -> str:
    """The cell with an apostrophe before it if a spreadsheet would run it as a formula."""
    return f"'{cell}" if cell.startswith(("=", "+", "-", "@", "\t", "\r")) and number(cell) is None else cell


def _csv_lines(rows: Sequence[Sequence[str]], delimiter: str) -> bytes:
    text = io.StringIO(newline="")
    plain, quoted = (
        csv.writer(text, delimiter=delimiter, lineterminator="\n", quoting=quoting)
        for quoting in (csv.QUOTE_MINIMAL, csv.QUOTE_ALL)
    )
    # Before Python 3.13, the writer does not quote a carriage return, which ends a row for readers.
    for row in rows:
        (quoted if any("\r" in cell for cell in row) else plain).writerow(row)
    return text.getvalue().encode("utf-8", "surrogatepass")


def _json_lines(rows: Sequence[Sequence[str]]) -> bytes:
    """Rows of a part file from which the output is made at the end."""
    return "".join(json.dumps(list(row)) + "\n" for row in rows).encode()


def table(header: Sequence[str], delimiter: str = ",", *, spreadsheet_safe: bool = False) -> Format:
    """All columns of the rows, then the values and the reason; if wanted, without cells that are formulas."""

    def lines(rows: Sequence[Sequence[str]]) -> bytes:
        if spreadsheet_safe:
            rows = [[_not_a_formula(cell) for cell in row] for row in rows]
        return _csv_lines(rows, delimiter)

    return Format(lines([header]), lambda rows, values, why: lines(_texts(rows, values, why)))


def _texts(rows: Chunk, values: Any, why: Sequence[str]) -> list[list[str]]:
    """The cells of each row, its values and its reason."""
    if isinstance(values, np.ndarray):
        blank = [""] * values.shape[1]
        values = [blank if w else [f"{v:.7g}" for v in row] for row, w in zip(values.tolist(), why, strict=True)]
    return [[*row.cells, *added, w] for row, added, w in zip(rows, values, why, strict=True)]


def excel(header: Sequence[str], path: Path) -> Format:
    """The same as a table on the sheet of an .xlsx file, which is made at the end."""
    need_openpyxl(path)
    if len(header) > MOST_COLUMNS:
        raise ConfigurationError(f"{path}: a sheet has at most {MOST_COLUMNS:,} columns; write a .csv file instead")

    def body(rows: Chunk, values: Any, why: Sequence[str]) -> bytes:
        if rows[-1].number >= MOST_ROWS:
            raise ConfigurationError(f"{path}: a sheet has at most {MOST_ROWS:,} rows; write a .csv file instead")
        return _json_lines(_texts(rows, values, why))

    def finish(part: Path, path: Path) -> None:
        write_atomically(path, partial(write_sheet, part))
        part.unlink()

    return Format(_json_lines([header]), body, finish)


def sdf(header: Sequence[str], smiles: int, title: int | None) -> Format:
    """A record for each row: its molecule, without atoms if it cannot be read, and all columns as properties.

    Args:
        header: the names of the columns, those of the values and the reason.
        smiles: the number of the column of SMILES.
        title: that of the column that names the molecules.
    """
    # The name of a property stands between < and >.
    names = [" ".join(name.split()).translate({ord("<"): "(", ord(">"): ")"}) for name in header]

    def one(text: str) -> str:
        """The text in a line that does not begin or end a record."""
        line = " ".join(text.split())
        return f" {line}" if line.startswith((">", "$$$$")) else line

    def record(cells: Sequence[str]) -> str:
        block = mol_block(cells[smiles].strip(), "" if title is None else one(cells[title]))
        fields = (f">  <{name}>\n{one(cell)}\n\n" for name, cell in zip(names, cells, strict=True))
        return f"{block}{''.join(fields)}$$$$\n"

    def body(rows: Chunk, values: Any, why: Sequence[str]) -> bytes:
        return "".join(map(record, _texts(rows, values, why))).encode("utf-8", "replace")

    return Format(b"", body)


def page(header: Sequence[str], smiles: Sequence[int], model: str) -> Format:
    """A page of drawn molecules, which is made at the end (:mod:`ccn.reports.gallery`)."""

    def finish(part: Path, path: Path) -> None:
        from ccn.reports.gallery import gallery

        with part.open(encoding="utf-8") as file:
            total = sum(1 for _ in file) - 1
        with part.open(encoding="utf-8") as file:
            next(file)
            lead = f"{total:,} rows, predicted by {model}."
            made = gallery(path.stem, header, map(json.loads, file), smiles, total, lead)
        write_atomically(path, made.encode("utf-8", "replace"))
        part.unlink()

    return Format(_json_lines([header]), lambda rows, values, why: _json_lines(_texts(rows, values, why)), finish)


def plain(cell: str) -> float | str | None:
    """The value of a cell for JSON: a number, a text, or None if it is empty."""
    value = number(cell)
    return (int(value) if cell.lstrip("-").isdigit() else value) if value is not None else cell or None


def json_lines(names: Sequence[str], *, items: bool = False) -> Format:
    """The object of each row with values and reason added, or null; a row that is not an object as ``graph``.

    Of ``items``, the vertices or edges of a graph, every name has a list of values, one for each.
    """

    def answer(added: Any) -> list[Any]:
        if not items:
            return [plain(cell) for cell in added]
        return [[plain(row[i]) for row in added] for i in range(len(names) - 1)]

    def body(rows: Chunk, values: Any, why: Sequence[str]) -> bytes:
        made = []
        for row, added, w in zip(rows, values, why, strict=True):
            try:
                one = json.loads(row.cells[0])
            except ValueError:
                one = None
            given = one if isinstance(one, dict) else {"graph": row.cells[0]}
            found = dict(zip(names, (*answer(added), w or None), strict=True))
            made.append(json.dumps(given | found, ensure_ascii=False) + "\n")
        return "".join(made).encode("utf-8", "surrogatepass")

    return Format(b"", body)


def item_table(names: Sequence[str], per: str, delimiter: str = ",") -> Format:
    """A line for each vertex or edge: the number of the row, from 1, its own in the graph, from 0, and the values.

    A row without an answer has one line, with the reason.
    """
    blank = [""] * len(names)

    def body(rows: Chunk, values: Any, why: Sequence[str]) -> bytes:
        lines: list[list[str]] = []
        for row, items, reason in zip(rows, values, why, strict=True):
            if reason:
                lines.append([str(row.number), *blank, reason])
            else:
                lines += [[str(row.number), str(i), *cells, ""] for i, cells in enumerate(items)]
        return _csv_lines(lines, delimiter)

    return Format(_csv_lines([["row", per, *names]], delimiter), body)


def array(width: int) -> Format:
    """The numbers alone in numpy's format, NaN for rows without."""

    def head(count: int) -> bytes:
        out = io.BytesIO()
        np.lib.format.write_array_header_1_0(out, {"descr": "<f4", "fortran_order": False, "shape": (count, width)})
        return out.getvalue()

    def finish(part: Path, path: Path) -> None:
        size = len(head(0))  # numpy leaves room for the number of rows to grow
        with part.open("r+b") as file:
            count = (file.seek(0, os.SEEK_END) - size) // (4 * width)
            file.seek(0)
            file.write(head(count))
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)

    return Format(head(0), lambda rows, values, why: np.ascontiguousarray(values, dtype="<f4").tobytes(), finish)


def parquet(header: Sequence[str], width: int, path: Path) -> Format:
    """Text columns unchanged, numbers as float32, null for rows without.

    A Parquet file cannot be appended to: the part file is an Arrow stream, which is converted at the end.
    """
    with needs(f"{path}: a Parquet file", "parquet"):
        import pyarrow as arrow
        from pyarrow import ipc
        from pyarrow import parquet as writer
    carried = len(header) - width - 1
    types: list[Any] = [arrow.string()] * carried + [arrow.float32()] * width + [arrow.string()]
    schema = arrow.schema(list(zip(header, types, strict=True)))

    def body(rows: Chunk, values: Any, why: Sequence[str]) -> bytes:
        text = [arrow.array([row.cells[i] for row in rows], arrow.string()) for i in range(carried)]
        numbers = [arrow.array(column, from_pandas=True) for column in values.T.copy()]
        batch = arrow.record_batch([*text, *numbers, arrow.array(why, arrow.string())], schema=schema)
        return batch.serialize().to_pybytes()  # type: ignore[no-any-return]

    def finish(part: Path, path: Path) -> None:
        def convert(file: IO[bytes]) -> None:
            with arrow.memory_map(str(part)) as source, writer.ParquetWriter(file, schema) as rows:
                for batch in ipc.open_stream(source):
                    rows.write_batch(batch)

        write_atomically(path, convert)
        part.unlink()

    return Format(schema.serialize().to_pybytes(), body, finish)


class Output:
    """The rows of a file or, with the path ``-``, of standard output.

    Args:
        path: of the file.
        form: how rows are written.
        key: what the rows depend on; a run is resumed only if it is the same.
        resume: continue where an earlier run was interrupted.
        overwrite: discard what an earlier run has left unfinished.
        every: seconds between records of progress.

    Attributes:
        done: rows of the input that are complete.
    """

    def __init__(
        self,
        path: str | Path,
        form: Format,
        key: Mapping[str, Any],
        *,
        resume: bool = False,
        overwrite: bool = False,
        every: float = 2.0,
    ) -> None:
        self.every = every
        self.pipe = str(path) == "-"
        self.path, self.form, self.key = Path(path), form, json.loads(json.dumps(key))
        self.part = self.path.with_name(f"{self.path.name}.part")
        self.record = self.path.with_name(f"{self.path.name}.progress")
        self.done, self.bytes, self.saved = 0, 0, time.monotonic()
        if self.pipe:
            if resume:
                raise ConfigurationError("--resume needs an output file: name one with -o")
            return
        if not self.path.parent.is_dir():
            raise ConfigurationError(f"{self.path.parent}: there is no such folder for the output")
        ended = self.path.exists() and not self.part.exists()  # killed before the record was removed
        if self.record.exists() and not (overwrite or ended):
            if not resume:
                raise FileError(
                    f"{self.path}: an interrupted run left {self.part.name}; add --resume to continue it, "
                    "or --overwrite to start again"
                )
            self._resume()

    def _resume(self) -> None:
        try:
            found = json.loads(self.record.read_text(encoding="utf-8"))
            done, size, same = int(found["rows"]), int(found["bytes"]), found["key"] == self.key
            intact = self.part.stat().st_size >= size
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise FileError(f"{self.record}: cannot be resumed ({error}); add --overwrite to start again") from None
        if not (same and intact):
            what = "is of another input, model or set of options" if not same else f"has lost rows of {self.part.name}"
            raise FileError(f"{self.record}: {what}; resume with the same, or add --overwrite to start again")
        self.done, self.bytes = done, size

    def __enter__(self) -> Self:
        with self._written(), ExitStack() as failed:
            if not self.pipe:
                self.file = self.part.open("ab" if self.done else "wb")
                failed.callback(self.file.close)
            if self.done:
                self.file.truncate(self.bytes)
            else:
                self._write(self.form.head)
                self._save()
            failed.pop_all()
        return self

    @contextmanager
    def _written(self) -> Iterator[None]:
        """Name the output in errors of the system."""
        try:
            yield
        except BrokenPipeError:
            raise
        except OSError as error:
            raise FileError(
                f"{self.path}: cannot be written ({error.strerror or error}); the rows so far are kept, continue with "
                "--resume"
            ) from None

    def _write(self, content: bytes) -> None:
        with self._written():
            if self.pipe:
                sys.stdout.write(content.decode("utf-8", "surrogatepass"))
                sys.stdout.flush()
            else:
                self.file.write(content)
                self.file.flush()
        self.bytes += len(content)

    def write(self, content: bytes, count: int) -> None:
        """Append the answers to ``count`` rows of the input."""
        self._write(content)
        self.done += count
        if not self.pipe and time.monotonic() - self.saved > self.every:
            self._save()

    def _save(self) -> None:
        if self.pipe:
            return
        with self._written():
            os.fsync(self.file.fileno())
        data = {"rows": self.done, "bytes": self.bytes, "key": self.key}
        write_atomically(self.record, json.dumps(data).encode())
        self.saved = time.monotonic()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.pipe:
            return
        with self._written():
            try:
                if kind is None or issubclass(kind, KeyboardInterrupt):
                    self._save()
            finally:
                self.file.close()
            if kind is None:
                self.form.finish(self.part, self.path)
                self.record.unlink(missing_ok=True)
