"""How answers to rows are written: as tables, JSON lines, Parquet or a plain array.

Whatever the format, a file grows by whole pieces of bytes, one for each chunk of rows, so that one that was cut can
be cut back to the last piece and grow on.
"""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ccn.datasets.tables import Chunk, number
from ccn.errors import DependencyError

__all__ = ["Format", "array", "json_lines", "parquet", "table"]


def _rename(part: Path, path: Path) -> None:
    part.replace(path)


@dataclass(frozen=True)
class Format:
    """How a file is written.

    Attributes:
        head: its first bytes.
        body: the bytes of a chunk, from its rows, the values of each, and why there are none, or empty.
        finish: makes the output of the part file.

    """

    head: bytes
    body: Callable[[Chunk, Any, Sequence[str]], bytes]
    finish: Callable[[Path, Path], None] = _rename


def table(header: Sequence[str], delimiter: str = ",") -> Format:
    """All columns of the rows, then the values and the reason; numbers with the digits that 32 bit floats have."""

    def lines(rows: Sequence[Sequence[str]]) -> bytes:
        text = io.StringIO(newline="")
        csv.writer(text, delimiter=delimiter, lineterminator="\n").writerows(rows)
        return text.getvalue().encode("utf-8", "surrogatepass")

    def body(rows: Chunk, values: Any, why: Sequence[str]) -> bytes:
        if isinstance(values, np.ndarray):
            blank = [""] * values.shape[1]
            values = [blank if w else [f"{v:.7g}" for v in row] for row, w in zip(values.tolist(), why, strict=True)]
        return lines([[*row.cells, *own, w] for row, own, w in zip(rows, values, why, strict=True)])

    return Format(lines([header]), body)


def _plain(cell: str) -> float | str | None:
    value = number(cell)
    return (int(value) if cell.lstrip("-").isdigit() else value) if value is not None else cell or None


def json_lines(names: Sequence[str]) -> Format:
    """The object of each row with the values and the reason added, null where there is none.

    A row that is no object is kept as ``graph``.
    """

    def body(rows: Chunk, values: Any, why: Sequence[str]) -> bytes:
        made = []
        for row, own, w in zip(rows, values, why, strict=True):
            try:
                one = json.loads(row.cells[0])
            except ValueError:
                one = None
            given = one if isinstance(one, dict) else {"graph": row.cells[0]}
            found = dict(zip(names, (*map(_plain, own), w or None), strict=True))
            made.append(json.dumps(given | found, ensure_ascii=False) + "\n")
        return "".join(made).encode("utf-8", "surrogatepass")

    return Format(b"", body)


def array(width: int) -> Format:
    """The numbers alone, as numpy saves them; NaN where there are none."""

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
        part.replace(path)

    return Format(head(0), lambda rows, values, why: np.ascontiguousarray(values, dtype="<f4").tobytes(), finish)


def parquet(header: Sequence[str], width: int, path: Path) -> Format:
    """Text columns as they are, numbers as 32 bit floats, null where there are none.

    A Parquet file cannot grow once it was cut: the part file is a stream of Arrow, and is rewritten at the end.
    """
    try:
        import pyarrow as arrow
        from pyarrow import ipc
        from pyarrow import parquet as writer
    except ImportError:
        raise DependencyError(f"{path}: Parquet files need pyarrow: pip install 'ccn[parquet]'") from None
    carried = len(header) - width - 1
    types: list[Any] = [arrow.string()] * carried + [arrow.float32()] * width + [arrow.string()]
    schema = arrow.schema(list(zip(header, types, strict=True)))

    def body(rows: Chunk, values: Any, why: Sequence[str]) -> bytes:
        text = [arrow.array([row.cells[i] for row in rows], arrow.string()) for i in range(carried)]
        numbers = [arrow.array(column, from_pandas=True) for column in values.T.copy()]
        batch = arrow.record_batch([*text, *numbers, arrow.array(why, arrow.string())], schema=schema)
        return batch.serialize().to_pybytes()  # type: ignore[no-any-return]

    def finish(part: Path, path: Path) -> None:
        whole = part.with_name(f"{part.name}.whole")
        with arrow.memory_map(str(part)) as source, writer.ParquetWriter(whole, schema) as file:
            for batch in ipc.open_stream(source):
                file.write_batch(batch)
        whole.replace(path)
        part.unlink()

    return Format(schema.serialize().to_pybytes(), body, finish)
