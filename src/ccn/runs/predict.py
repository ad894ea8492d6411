"""From a table of molecules, or lines of graphs, to the same with predictions or embeddings, in constant memory."""

from __future__ import annotations

import hashlib
import itertools
import shutil
import sys
import tempfile
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from ccn.chemistry.smiles import parses
from ccn.datasets.schema import find_schema
from ccn.datasets.tables import Chunk, Table, find_column, lines_table, open_table, suffix_of
from ccn.errors import ConfigurationError
from ccn.learning import model_file
from ccn.learning.model import Model
from ccn.runs import formats
from ccn.runs.answers import Question
from ccn.runs.formats import Format
from ccn.runs.output import Output
from ccn.runs.workers import Mapper, Texts, processes
from ccn.training.execution import torch_device

__all__ = ["Done", "Options", "embed_file", "predict_file"]


@dataclass(frozen=True)
class Options:
    """How a file of molecules or graphs is answered.

    Attributes:
        smiles_column: by default that of training if the table has it, else found.
        device: ``cpu``, ``cuda``, ..
        processes: on this machine; by default one per core.
        cluster: the address of a Dask scheduler, or ``local``.
        chunk: rows that are answered together.
        resume: continue where an earlier run was interrupted.
        overwrite: start again where an earlier run was interrupted.
        tell: is given the number of rows done.
        every: seconds between records of progress.

    """

    smiles_column: str | None = None
    device: str = "cpu"
    processes: int | None = None
    cluster: str | None = None
    chunk: int = 1000
    resume: bool = False
    overwrite: bool = False
    tell: Callable[[int], None] = lambda rows: None
    every: float = 2.0


@dataclass(frozen=True)
class Done:
    """What was done: rows of the table, those among them without an answer, those done by an earlier run, seconds."""

    rows: int
    without: int
    before: int
    seconds: float

    @property
    def rate(self) -> float:
        """Rows per second of this run."""
        return (self.rows - self.before) / max(self.seconds, 1e-9)


@contextmanager
def _source_table(source: str, graphs: bool) -> Iterator[Table]:
    """The table in a file, or with ``-`` on standard input, which is kept in a temporary file while it is read.

    On standard input a first line with a SMILES and no name of a column is taken for a row.
    """
    if source != "-":
        if graphs != (suffix_of(Path(source)) in (".jsonl", ".ndjson")):
            raise ConfigurationError(
                f"{source}: the model was trained on graphs; give it a .jsonl file, one graph a line"
                if graphs
                else f"{source}: a file of graphs, but the model was trained on molecules; give it a table of SMILES"
            )
        yield lines_table(source) if graphs else open_table(source)
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


def _place(table: Table, model: Model, named: str | None) -> int:
    """Which column holds the SMILES; graphs have one column."""
    if model.inputs.molecules is None:
        return 0
    trained = model.about.get("smiles_column")
    if named is None and trained in table.columns:
        named = trained
    return find_column(table, find_schema(table, smiles_column=named, target_columns=()).smiles, "smiles_column")


@contextmanager
def _mapper(path: Path, digest: str, model: Model, question: Question, options: Options) -> Iterator[Mapper]:
    """Whoever answers the chunks."""
    import joblib

    if options.chunk < 1:
        raise ConfigurationError(f"--chunk {options.chunk}: at least one row")
    count = options.processes or joblib.cpu_count()
    if options.cluster is not None:
        from ccn.runs.cluster import cluster

        with cluster(options.cluster, path, question, count) as run:
            yield run
    else:
        with processes(path, digest, model.to(torch_device(options.device)), question, count) as run:
            yield run


def predict_file(
    model: str | Path, source: str, output: str | Path, options: Options = Options(), *, interval: float | None = None
) -> Done:
    """Write the table of ``source`` with predictions added to each row, in its order.

    A row that is no molecule has empty cells and the reason in the column ``reason``. JSON lines of graphs become JSON
    lines with the predictions added, or a table with the lines as its first column.

    Args:
        model: a model file or the folder of a run.
        source: a table of molecules, or JSON lines for a model of graphs; ``-`` for standard input.
        output: a CSV or TSV file, or one of JSON lines; ``-`` for standard output.
        options: how.
        interval: also write prediction intervals with this coverage.

    """
    path = model_file.model_path(model)
    loaded, question = model_file.load(path), Question(interval)
    graphs = loaded.inputs.molecules is None

    def form(columns: tuple[str, ...]) -> Format:
        names = question.names(loaded)
        suffix = Path(output).suffix.lower() if str(output) != "-" else ".jsonl" if graphs else ".csv"
        if graphs and suffix in (".jsonl", ".ndjson"):
            return formats.json_lines(names)
        if suffix not in (".csv", ".tsv", ".txt"):
            raise ConfigurationError(f"{output}: predictions are written as .csv or .tsv; name the output so, or -")
        return formats.table(unique(columns, names), "\t" if suffix == ".tsv" else ",")

    return _answer_file(path, loaded, source, output, question, form, options)


def embed_file(model: str | Path, source: str, output: str | Path, options: Options = Options()) -> tuple[Done, int]:
    """Write the embedding of every row; what was done, and how many numbers a row has.

    The arguments are those of :func:`predict_file`; the output is .csv, .tsv, .parquet or .npy.
    """
    path = model_file.model_path(model)
    loaded, question = model_file.load(path), Question(embedding=True)
    width = loaded.fitted.embedding_width

    def form(columns: tuple[str, ...]) -> Format:
        header = unique(columns, question.names(loaded))
        suffix = ".csv" if str(output) == "-" else Path(output).suffix.lower()
        if suffix == ".parquet":
            return formats.parquet(header, width, Path(output))
        if suffix == ".npy":
            return formats.array(width)
        if suffix not in (".csv", ".tsv", ".txt"):
            raise ConfigurationError(f"{output}: embeddings are written as .parquet, .csv, .tsv or .npy; name it so")
        return formats.table(header, "\t" if suffix == ".tsv" else ",")

    return _answer_file(path, loaded, source, output, question, form, options), width


def _answer_file(
    path: Path,
    model: Model,
    source: str,
    output: str | Path,
    question: Question,
    form: Callable[[tuple[str, ...]], Format],
    options: Options,
) -> Done:
    """Write the answers to all rows of ``source``; ``form`` is how, given the columns of the table."""
    question.check(model)
    if options.resume and source == "-":
        raise ConfigurationError("--resume needs an input file, not standard input")
    began, without, digest = time.monotonic(), 0, _sha256(path)
    with ExitStack() as stack:
        table = stack.enter_context(_source_table(source, model.inputs.molecules is None))
        place = _place(table, model, options.smiles_column)
        key = {"model": digest, "input": _stamp(source), "question": asdict(question), "column": table.columns[place]}
        made = form(table.columns)
        # First: a refused option leaves no output behind.
        run = stack.enter_context(_mapper(path, digest, model, question, options))
        out = stack.enter_context(
            Output(output, made, key, resume=options.resume, overwrite=options.overwrite, every=options.every)
        )
        before = out.done
        waiting: deque[Chunk] = deque()

        def ask() -> Iterator[Texts]:
            """Chunks of the rows that are not done yet; rows with a fault ask for nothing."""
            rows = itertools.islice(itertools.chain.from_iterable(table.chunks()), before, None)
            while together := list(itertools.islice(rows, options.chunk)):
                waiting.append(together)
                yield ["" if row.fault else row.cells[place].strip() for row in together]

        for values, found in run(ask()):
            rows = waiting.popleft()
            why = [row.fault or reason for row, reason in zip(rows, found, strict=True)]
            without += sum(map(bool, why))
            out.write(out.form.body(rows, values, why), len(rows))
            options.tell(out.done)
    return Done(out.done, without, before, time.monotonic() - began)


def unique(columns: tuple[str, ...], more: tuple[str, ...]) -> list[str]:
    """The columns and some more, none of which has the name of another."""
    out = list(columns)
    for name in more:
        number = 2
        free = name
        while free in out:
            free, number = f"{name}.{number}", number + 1
        out.append(free)
    return out


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _stamp(source: str) -> list[int]:
    if source == "-":
        return []
    found = Path(source).stat()
    return [found.st_size, found.st_mtime_ns]
