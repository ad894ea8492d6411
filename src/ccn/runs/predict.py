"""From a table of molecules, or lines of graphs, to the same with predictions or embeddings, in constant memory."""

from __future__ import annotations

import itertools
import os
import shutil
import sys
import tempfile
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ccn.chemistry.smiles import parses, why_unreadable
from ccn.datasets.molecule_tables import Schema, find_schema
from ccn.datasets.tables import TABLE_SUFFIXES, Chunk, Row, Table, lines_table, open_table, suffix_of
from ccn.engine.cpu.compiling import when_compiling
from ccn.errors import ConfigurationError, DataError
from ccn.files import file_digest
from ccn.learning import model_file
from ccn.learning.model import Model
from ccn.progress import log
from ccn.runs.answers import Question
from ccn.runs.output import Format, Output, array, excel, item_table, json_lines, page, parquet, sdf, table
from ccn.runs.workers import Mapper, Texts, cluster, processes
from ccn.training.execution import torch_device

__all__ = ["Done", "Options", "Source", "embed_file", "opened", "predict_file", "source_of"]

_GRAPHS = (".jsonl", ".ndjson")
_PAGES = (".html", ".htm")
_MOST_PROCESSES = 4096
_CHUNK, _CHUNK_SENT = 500, 1000  # rows: a task costs more where it is sent
Source = str | Sequence[str]
"""A file, ``-`` for standard input, or a sequence of SMILES."""


Ask = Callable[[Model, Path], Question]
"""What is asked of a model, once it has been read."""


@dataclass(frozen=True)
class Options:
    """How a file of molecules or graphs is processed.

    Attributes:
        smiles_column: by default that of training if the table has it, else detected.
        sheet: of an Excel file; by default the first.
        device: ``cpu``, ``cuda``, ..
        processes: on this machine; by default one per core.
        cluster: the address of a Dask scheduler, or ``local``.
        chunk: rows per task; by default 500, or 1000 on a cluster.
        resume: continue where an earlier run was interrupted.
        overwrite: start again where an earlier run was interrupted.
        spreadsheet_safe: put an apostrophe before text that a spreadsheet would run as a formula.
        tell: called with the number of rows done.
        say: called with a line that says what takes time before the first rows.
        every: seconds between records of progress.
    """

    smiles_column: str | None = None
    sheet: str | None = None
    device: str = "cpu"
    processes: int | None = None
    cluster: str | None = None
    chunk: int | None = None
    resume: bool = False
    overwrite: bool = False
    spreadsheet_safe: bool = False
    tell: Callable[[int], None] = lambda rows: None
    say: Callable[[str], None] = log
    every: float = 2.0

    @property
    def rows(self) -> int:
        """Rows per task."""
        return self.chunk or (_CHUNK if self.cluster is None else _CHUNK_SENT)


@dataclass(frozen=True)
class Done:
    """Rows of the table, those without an answer, those done by an earlier run, seconds, and columns added."""

    rows: int
    without: int
    before: int
    seconds: float
    width: int

    @property
    def rate(self) -> float:
        """Rows per second of this run."""
        return (self.rows - self.before) / max(self.seconds, 1e-9)


def source_of(words: Sequence[str]) -> Source:
    """What the arguments of a command mean: one file, or SMILES.

    A word is a file if there is one, or if it ends as one that can be read.
    """
    files = [w for w in words if w == "-" or suffix_of(Path(w)) in (*TABLE_SUFFIXES, *_GRAPHS) or os.path.isfile(w)]
    if not files:
        return tuple(words)
    if len(words) > 1:
        other = next((w for w in words if w not in files), None)
        what = f"{other!r} is not a file" if other is not None else f"{files[1]!r} is another one"
        raise ConfigurationError(f"{files[0]!r} is a file and {what}; give one file, or SMILES alone")
    return files[0]


def _smiles_table(smiles: Sequence[str]) -> Table:
    """SMILES as a table; an error if none of them is one, since then they may be meant as the names of files."""
    faults = ["" if parses(text) else f"no such file, and {why_unreadable(text)}" for text in smiles]
    if all(faults):
        what = f"{smiles[0]!r}: {faults[0]}" if faults else "no SMILES"
        raise DataError(f"{what}; give a SMILES, or a file ({', '.join((*TABLE_SUFFIXES, *_GRAPHS))})")
    rows = [Row(i, [text], fault) for i, (text, fault) in enumerate(zip(smiles, faults, strict=True), 1)]
    return Table(Path("SMILES"), ("smiles",), lambda: iter(rows))


@contextmanager
def _source_table(source: Source, graphs: bool, sheet: str | None) -> Iterator[Table]:
    """The table in a file or, with ``-``, of standard input, which is copied to a temporary file; or that of SMILES.

    On standard input, a first line that has a SMILES and no column named so is a row, not a header.
    """
    if not isinstance(source, str):
        made = _smiles_table(source)
        if graphs:
            raise ConfigurationError("the model was trained on graphs; give it a .jsonl file instead of SMILES")
        yield made
        return
    if source != "-":
        if graphs and suffix_of(Path(source)) not in _GRAPHS:
            raise ConfigurationError(
                f"{source}: the model was trained on graphs; give it a .jsonl file, one graph a line"
            )
        if not graphs and suffix_of(Path(source)) in _GRAPHS:
            raise ConfigurationError(
                f"{source}: a file of graphs, but the model was trained on molecules; give it a table of SMILES"
            )
        yield lines_table(source) if graphs else open_table(source, sheet=sheet)
        return
    with tempfile.TemporaryDirectory(prefix="ccn-") as folder:
        path = Path(folder) / "standard input.csv"
        with path.open("wb") as file:
            shutil.copyfileobj(sys.stdin.buffer, file)
        if graphs:
            yield lines_table(path)
            return
        table = open_table(path)
        if not any("smiles" in name.lower() for name in table.columns) and any(map(parses, table.columns)):
            table = open_table(path, header=False)
        yield table


@dataclass(frozen=True)
class _Opened:
    """A table and the numbers of its columns that a model reads.

    Attributes:
        smiles: of SMILES, or of graphs as JSON.
        id: of the names of molecules.
        extra: of what the model reads beside the molecule.
    """

    table: Table
    schema: Schema
    smiles: int
    id: int | None
    extra: tuple[int, ...]

    def texts(self, rows: Chunk) -> Texts:
        """What the model reads of some rows; those with a fault have an empty text."""
        texts = ["" if row.fault else row.cells[self.smiles].strip() for row in rows]
        if not self.extra:
            return texts, None
        numbers = [self.schema.extra_numbers([row.cells[i] for i in self.extra]) for row in rows]
        return texts, np.array(numbers, dtype=np.float32)


@contextmanager
def opened(source: Source, model: Model, *, smiles_column: str | None, sheet: str | None) -> Iterator[_Opened]:
    """The table of a source; the column of SMILES is by default that of training, if the table has it, or detected."""
    with _source_table(source, model.inputs.molecules is None, sheet) as table:
        if model.inputs.columns and not isinstance(source, str):
            raise model.inputs.without_columns()
        if model.inputs.molecules is None:
            yield _Opened(table, Schema(table.columns[0]), 0, None, ())
            return
        trained = model.about.get("smiles_column")
        named = trained if smiles_column is None and trained in table.columns else smiles_column
        schema = find_schema(table, smiles_column=named, target_columns=(), extra_columns=model.inputs.columns)
        place = table.columns.index
        called = None if schema.id is None else place(schema.id)
        yield _Opened(table, schema, place(schema.smiles), called, tuple(map(place, schema.extra)))


def _workers(
    path: Path, digest: str, model: Model, question: Question, options: Options
) -> AbstractContextManager[Mapper]:
    import joblib

    if options.chunk is not None and options.chunk < 1:
        raise ConfigurationError(f"--chunk {options.chunk}: at least one row")
    count = joblib.cpu_count() if options.processes is None else options.processes
    if not 1 <= count <= _MOST_PROCESSES:
        raise ConfigurationError(f"--processes {count}: give 1 to {_MOST_PROCESSES}")
    if options.cluster is not None:
        return cluster(options.cluster, path, question, count)
    return processes(path, digest, model.to(torch_device(options.device)), question, count)


def predict_file(
    model: str | Path,
    source: Source,
    output: str | Path,
    options: Options = Options(),
    *,
    interval: float | None = None,
    domain: bool = False,
    neighbours: int | None = None,
) -> Done:
    """Write the table of ``source`` with predictions added to each row, in its order.

    A row that is not a molecule has empty cells and the reason in the column ``reason``. JSON lines of graphs become
    JSON lines with the predictions added, or a table with the lines as its first column.

    Args:
        model: a model file or the folder of a run.
        source: a table of molecules, or JSON lines for a model of graphs; ``-`` for standard input; or SMILES.
        output: a CSV, TSV, Excel or SDF file, an HTML page, or JSON lines; ``-`` for standard output.
        options: how.
        interval: also write prediction intervals with this coverage.
        domain: also write how far each row is from what the model has learned from.
        neighbours: also write so many of the nearest training rows, with their measured values. A page shows all three
            as far as the model has them: 90 % intervals, and one neighbour where the training rows are at hand, unless
            this is 0.
    """

    def ask(fitted: Model, path: Path) -> Question:
        asked = Question(interval, domain=domain, neighbours=neighbours or 0)
        if Path(output).suffix.lower() not in _PAGES:
            return asked
        return asked.on_page(fitted, path, neighbour=neighbours is None)

    return _answer_file(model, source, output, ask, options)


def embed_file(model: str | Path, source: Source, output: str | Path, options: Options = Options()) -> Done:
    """Write the embedding of every row.

    The arguments are those of :func:`predict_file`; the output may also be .parquet or .npy.
    """
    return _answer_file(model, source, output, lambda fitted, path: Question(embedding=True), options)


def _format(model: Model, question: Question, read: _Opened, output: str | Path, safe: bool) -> Format:
    """How the answers are written, by the suffix of the output."""
    names, columns = question.names(model), read.table.columns
    header, width = _unique(columns, names), len(names) - 1
    lines = model.inputs.molecules is None and not question.embedding
    suffix = Path(output).suffix.lower() if str(output) != "-" else ".jsonl" if lines else ".csv"
    if model.task.per != "graph" and not question.embedding:
        if lines and suffix in _GRAPHS:
            return json_lines(names, items=True)
        if suffix in (".csv", ".tsv", ".txt"):
            return item_table(names, model.task.per, "\t" if suffix == ".tsv" else ",")
        raise ConfigurationError(
            f"{output}: predictions of each {model.task.per} are written as .csv or .tsv, a line for each, or for "
            "graphs as .jsonl; rename the output"
        )
    if suffix in (".csv", ".tsv", ".txt"):
        return table(header, "\t" if suffix == ".tsv" else ",", spreadsheet_safe=safe)
    if suffix == ".xlsx":  # text in it is never run
        return excel(header, Path(output))
    if safe:
        raise ConfigurationError(
            f"{output}: --spreadsheet-safe is for .csv, .tsv and .xlsx; leave it out, or rename the output"
        )
    if lines and suffix in (".jsonl", ".ndjson"):
        return json_lines(names)
    if model.inputs.molecules is not None and suffix in (".sdf", ".sd"):
        return sdf(header, read.smiles, read.id)
    if model.inputs.molecules is not None and suffix in _PAGES:
        drawn = [len(columns) + i for i in question.drawn(model)]
        return page(header, [read.smiles, *drawn], model.method)
    if question.embedding and suffix == ".npy":
        return array(width)
    if question.embedding and suffix == ".parquet":
        return parquet(header, width, Path(output))
    what = "embeddings" if question.embedding else "predictions"
    kinds = ".csv, .tsv, .xlsx, " + (".jsonl" if lines else ".sdf, .html") + ", .parquet, .npy" * question.embedding
    raise ConfigurationError(f"{output}: {what} are written as {kinds}; rename the output")


def _answer_file(model_at: str | Path, source: Source, output: str | Path, ask: Ask, options: Options) -> Done:
    with ExitStack() as stack:
        stack.enter_context(when_compiling(lambda: options.say("compiling kernels (once)")))
        path = model_file.model_path(model_at)
        model, digest = model_file.load(path), file_digest(path)
        question = ask(model, path)
        question.check(model)
        question = question.about(model, path)
        if options.resume and (source == "-" or not isinstance(source, str)):
            raise ConfigurationError("--resume needs an input file, not standard input or SMILES")
        began, without = time.monotonic(), 0
        read = stack.enter_context(opened(source, model, smiles_column=options.smiles_column, sheet=options.sheet))
        column = read.table.columns[read.smiles]
        key: dict[str, Any] = {"model": digest, "input": _stamp(source), "question": question.key(), "column": column}
        if options.spreadsheet_safe:
            key["spreadsheet_safe"] = True
        if options.sheet is not None:
            key["sheet"] = options.sheet
        form = _format(model, question, read, output, options.spreadsheet_safe)
        # Before the output, so that a refused option leaves none behind.
        run = stack.enter_context(_workers(path, digest, model, question, options))
        out = stack.enter_context(
            Output(output, form, key, resume=options.resume, overwrite=options.overwrite, every=options.every)
        )
        before = out.done
        waiting: deque[Chunk] = deque()

        def chunks() -> Iterator[Texts]:
            rows = itertools.islice(itertools.chain.from_iterable(read.table.chunks()), before, None)
            while chunk := list(itertools.islice(rows, options.rows)):
                waiting.append(chunk)
                yield read.texts(chunk)

        for values, reasons in run(chunks()):
            rows = waiting.popleft()
            why = [row.fault or reason for row, reason in zip(rows, reasons, strict=True)]
            without += sum(map(bool, why))
            out.write(form.body(rows, values, why), len(rows))
            options.tell(out.done)
    return Done(out.done, without, before, time.monotonic() - began, len(question.names(model)) - 1)


def _unique(columns: tuple[str, ...], more: tuple[str, ...]) -> list[str]:
    """The columns and some more, which get a number if their name is taken."""
    out = list(columns)
    for name in more:
        candidates = (name, *(f"{name}.{i}" for i in range(2, len(out) + 3)))
        out.append(next(c for c in candidates if c not in out))
    return out


def _stamp(source: Source) -> list[Any]:
    if not isinstance(source, str):
        return list(source)
    if source == "-":
        return []
    found = Path(source).stat()
    return [found.st_size, found.st_mtime_ns]
