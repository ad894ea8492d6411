"""Embeddings of a table of molecules, written chunk by chunk as CSV, Parquet or a plain array."""

from __future__ import annotations

import csv
import os
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ccn.datasets.tables import Chunk
from ccn.errors import ConfigurationError, DependencyError
from ccn.prediction import answers
from ccn.prediction.stream import Done, Options, Tell, answered, mapper, model_path, smiles_place, source_table, unique
from ccn.prediction.workers import Job
from ccn.training import model_file

__all__ = ["embed_file"]


class _Write(Protocol):
    def __call__(self, rows: Chunk, numbers: NDArray[np.float32], why: list[str], /) -> None: ...


def embed_file(
    model: str | Path,
    source: str,
    output: Path,
    options: Options = Options(),  # noqa: B008 (frozen)
    *,
    tell: Tell = lambda rows: None,
) -> tuple[Done, int]:
    """Write the embedding of every row; what was done, and how many numbers a row has."""
    writers = {".csv": _csv, ".tsv": _csv, ".parquet": _parquet, ".npy": _npy}
    if output.suffix.lower() not in writers:
        raise ConfigurationError(f"{output}: embeddings are written as .parquet, .csv, .tsv or .npy; name it so")
    path = model_path(model)
    loaded = model_file.load(path)
    if not loaded.members:
        raise ConfigurationError(
            f"{model}: the method {loaded.about['method']} has no embedding; a network of ccn has one"
        )
    width, count, without, began = answers.width(loaded), 0, 0, time.monotonic()
    part = output.with_name(f"{output.name}.part")
    with ExitStack() as stack:
        stack.callback(part.unlink, missing_ok=True)
        table = stack.enter_context(source_table(source))
        place = smiles_place(table, loaded, options.smiles_column)
        header = unique(table.columns, (*(f"e{i}" for i in range(width)), answers.REASON))
        run = stack.enter_context(mapper(path, loaded, Job(embedding=True), options))
        with writers[output.suffix.lower()](part, header, width, output.suffix.lower()) as write:
            for rows, (numbers, why) in answered(table, place, run, options.chunk):
                reasons = [row.fault or reason for row, reason in zip(rows, why, strict=True)]
                write(rows, numbers, reasons)
                count, without = count + len(rows), without + sum(map(bool, reasons))
                tell(count)
        part.replace(output)
    return Done(count, without, 0, time.monotonic() - began), width


@contextmanager
def _csv(path: Path, header: list[str], width: int, suffix: str) -> Iterator[_Write]:
    with path.open("w", encoding="utf-8", newline="") as file:
        table = csv.writer(file, delimiter="\t" if suffix == ".tsv" else ",", lineterminator="\n")
        table.writerow(header)

        def write(rows: Chunk, numbers: NDArray[np.float32], why: list[str], /) -> None:
            for row, values, reason in zip(rows, numbers.tolist(), why, strict=True):
                shown = [""] * width if reason else [f"{v:.7g}" for v in values]
                table.writerow([*row.cells, *shown, reason])

        yield write


@contextmanager
def _parquet(path: Path, header: list[str], width: int, suffix: str) -> Iterator[_Write]:
    try:
        import pyarrow as arrow
        import pyarrow.parquet as parquet
    except ImportError:
        raise DependencyError(f"{path}: Parquet files need pyarrow: pip install 'ccn[parquet]'") from None
    carried = len(header) - width - 1
    types: list[Any] = [arrow.string()] * carried + [arrow.float32()] * width + [arrow.string()]
    schema = arrow.schema(list(zip(header, types, strict=True)))
    with parquet.ParquetWriter(path, schema) as file:

        def write(rows: Chunk, numbers: NDArray[np.float32], why: list[str], /) -> None:
            text = [[row.cells[i] for row in rows] for i in range(carried)]
            # A row without an embedding has nulls, not NaN.
            made = [arrow.array(column, from_pandas=True) for column in numbers.T.copy()]
            columns = [*(arrow.array(c, arrow.string()) for c in text), *made, arrow.array(why, arrow.string())]
            file.write_table(arrow.Table.from_arrays(columns, schema=schema))

        yield write


@contextmanager
def _npy(path: Path, header: list[str], width: int, suffix: str) -> Iterator[_Write]:
    """The array as numpy saves it; its length, which the head of the file says, is known at the end."""
    count = 0
    with path.open("wb") as file:

        def head() -> None:
            about = {"descr": "<f4", "fortran_order": False, "shape": (count, width)}
            np.lib.format.write_array_header_1_0(file, about)

        def write(rows: Chunk, numbers: NDArray[np.float32], why: list[str], /) -> None:
            nonlocal count
            count += len(rows)
            file.write(np.ascontiguousarray(numbers, dtype="<f4").tobytes())

        head()
        size = file.tell()
        yield write
        file.seek(0, os.SEEK_SET)
        head()
        # numpy leaves room for the length to grow.
        assert file.tell() == size
