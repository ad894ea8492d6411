"""Tables of rows from files: CSV and TSV of any dialect, Parquet, SDF, SMILES files, with or without gzip.

A :class:`Table` knows its columns; its rows are read in chunks, in order, with all columns as text and in
constant memory. A row carries its faults (empty, wrong number of cells, another encoding); what its cells mean is up
to the reader of the table.
"""

from __future__ import annotations

import codecs
import csv
import difflib
import io
import itertools
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ccn.datasets.archives import open_binary
from ccn.errors import ConfigurationError, DataError, DependencyError

__all__ = [
    "TABLE_SUFFIXES",
    "Chunk",
    "Row",
    "Table",
    "find_column",
    "is_missing",
    "lines_table",
    "name_of",
    "number",
    "open_table",
    "suffix_of",
]

DELIMITED = (".csv", ".tsv", ".tab", ".txt")
SMILES_FILES = (".smi", ".smiles", ".ism", ".can")
TABLE_SUFFIXES = (*DELIMITED, *SMILES_FILES, ".parquet", ".pq", ".sdf", ".sd")

_DELIMITERS = ",\t;|"
_MISSING = frozenset({"", "na", "n/a", "nan", "null", "none", "-", "?"})
_LONGEST_CELL = 1 << 24  # characters; the standard library's limit is 131,072
EMPTY = "empty row"


@dataclass(frozen=True)
class Row:
    """One row: its number from 1, its cells in the order of the columns, and its faults, if any.

    A ``fault`` makes the row unusable, a ``note`` does not.
    """

    number: int
    cells: Sequence[str]
    fault: str = ""
    note: str = ""


Chunk = list[Row]


@dataclass(frozen=True)
class Table:
    """A file of rows; ``rows()`` starts reading from the beginning every time."""

    path: Path
    columns: tuple[str, ...]
    rows: Callable[[], Iterator[Row]] = field(repr=False)

    def chunks(self, size: int = 4096) -> Iterator[Chunk]:
        """All rows, so many at a time."""
        rows = self.rows()
        while chunk := list(itertools.islice(rows, size)):
            yield chunk

    def sample(self, size: int = 1000) -> list[Row]:
        """The first rows that have no fault."""
        return list(itertools.islice((row for row in self.rows() if not row.fault), size))


def suffix_of(path: Path) -> str:
    """The suffix in lower case, ``.gz`` aside."""
    return Path(path.name.lower().removesuffix(".gz")).suffix


def name_of(path: str | Path) -> str:
    """The name of a file without its suffix, and without ``.gz``."""
    return Path(path).name.removesuffix(".gz").rsplit(".", 1)[0]


def is_missing(cell: str) -> bool:
    """Whether a cell means a missing value."""
    return cell.strip().lower() in _MISSING


def number(cell: str) -> float | None:
    """The finite number in a cell, or None."""
    try:
        value = float(cell)
    except ValueError:
        return None
    # float() also accepts 1_000.
    return value if abs(value) != float("inf") and value == value and "_" not in cell else None


def find_column(table: Table, name: str, what: str) -> int:
    """The index of the column of this name; case and outer blanks are ignored where that is unambiguous."""
    if name in table.columns:
        return table.columns.index(name)
    alike = [i for i, c in enumerate(table.columns) if c.strip().lower() == name.strip().lower()]
    if len(alike) == 1:
        return alike[0]
    close = difflib.get_close_matches(name, table.columns, 1, 0.5)
    hint = f"did you mean {close[0]!r}? " if close else ""
    listed = ", ".join(table.columns[:20]) + ", .." * (len(table.columns) > 20)
    raise ConfigurationError(f"{table.path}: there is no column {name!r} ({what}); {hint}The columns are {listed}")


def open_table(path: str | Path, *, delimiter: str | None = None, header: bool | None = None) -> Table:
    """The table in a file, by its name: CSV, TSV, Parquet, SDF or SMILES, also with ``.gz``.

    Args:
        path: the file.
        delimiter: of a text table; by default detected in its first line.
        header: whether the first line names the columns; by default it does unless it holds a number.

    """
    path = _existing(path)
    suffix = suffix_of(path)
    if suffix in (".parquet", ".pq"):
        return _parquet(path)
    if suffix in (".sdf", ".sd"):
        return _sdf(path)
    if suffix in SMILES_FILES:
        return _smiles_file(path)
    if suffix in DELIMITED:
        return _delimited(path, delimiter or ("\t" if suffix in (".tsv", ".tab") else None), header)
    raise DataError(f"{path}: not a supported kind of table; ccn reads {', '.join(TABLE_SUFFIXES)}, also with .gz")


def lines_table(path: str | Path) -> Table:
    """The lines of a text file as a table of one column, ``graph``."""
    path = _existing(path)
    return Table(path, ("graph",), lambda: (_row(i, [text.strip()], 1) for i, text in enumerate(_lines(path), 1)))


def _existing(path: str | Path) -> Path:
    if not Path(path).is_file():
        raise DataError(f"{path}: no such file")
    return Path(path)


# Text


def _lines(path: Path, odd: list[int] | None = None) -> Iterator[str]:
    """The lines of a text file, with their ends. A line that is not UTF-8 is read as Windows-1252 and counted in
    ``odd``.
    """
    with open_binary(path) as stream:
        head = stream.peek(4)[:4] if hasattr(stream, "peek") else b""
        if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
            with io.TextIOWrapper(stream, encoding="utf-16", errors="replace", newline="") as wide:
                yield from wide
            return
        for i, raw in enumerate(stream):
            if i == 0:
                raw = raw.removeprefix(codecs.BOM_UTF8)
            try:
                yield raw.decode("utf-8")
            except UnicodeDecodeError:
                if odd is not None:
                    odd.append(i)
                yield raw.decode("cp1252", "replace")


def _cells(path: Path, delimiter: str) -> Iterator[tuple[list[str], bool]]:
    """The rows of a delimited file, and whether a line of the row was in another encoding."""
    odd: list[int] = []
    csv.field_size_limit(max(csv.field_size_limit(), _LONGEST_CELL))
    reader = csv.reader(_lines(path, odd), delimiter=delimiter)
    try:
        for cells in reader:
            yield cells, bool(odd)
            odd.clear()
    except csv.Error as error:
        raise DataError(f"{path}: line {reader.line_num} cannot be read ({error}); is a quote not closed?") from None


def _unique(names: Iterable[str]) -> tuple[str, ...]:
    """Column names without repetition: the second ``x`` is called ``x.2``."""
    seen: dict[str, int] = {}
    out = []
    for i, name in enumerate(names):
        plain = name.strip() or f"column {i + 1}"
        seen[plain] = seen.get(plain, 0) + 1
        out.append(plain if seen[plain] == 1 else f"{plain}.{seen[plain]}")
    return tuple(out)


def _delimited(path: Path, delimiter: str | None, header: bool | None) -> Table:
    first_line = next((line for line in _lines(path) if line.strip()), None)
    if first_line is None:
        raise DataError(f"{path}: the file is empty")
    if delimiter is None:
        # A quoted name may hold a delimiter, so that the line is split as it will be read.
        delimiter = max(_DELIMITERS, key=lambda d: len(next(csv.reader([first_line], delimiter=d))))
    place, first = next((i, cells) for i, (cells, _) in enumerate(_cells(path, delimiter)) if cells)
    if header is None:
        header = not any(number(cell) is not None for cell in first)
    columns = _unique(first if header else [""] * len(first))

    def rows() -> Iterator[Row]:
        body = (row for i, row in enumerate(_cells(path, delimiter)) if not header or i != place)
        for count, (cells, odd) in enumerate(body, 1):
            yield _row(count, cells, len(columns), odd)

    return Table(path, columns, rows)


def _row(number: int, cells: list[str], width: int, odd: bool = False) -> Row:
    note = "not UTF-8: read as Windows-1252" if odd else ""
    if not any(cell.strip() for cell in cells):
        return Row(number, [""] * width, fault=EMPTY)
    if len(cells) > width and not any(cell.strip() for cell in cells[width:]):
        cells = cells[:width]
    if len(cells) == width:
        return Row(number, cells, note=note)
    fault = f"wrong number of cells: {len(cells)} where the header has {width}"
    return Row(number, [*cells, *[""] * width][:width], fault=fault, note=note)


def _smiles_file(path: Path) -> Table:
    """One molecule a line: SMILES, then, after blanks, its name."""
    start = [line.split(maxsplit=1) for line in itertools.islice(_lines(path), 50)]
    named = any(len(words) > 1 for words in start)
    header = bool(start and start[0]) and start[0][0].lower() in ("smiles", "canonical_smiles")

    def rows() -> Iterator[Row]:
        odd: list[int] = []
        lines = _lines(path, odd)
        if header:
            next(lines)
        for count, line in enumerate(lines, 1):
            words = [*line.split(maxsplit=1), "", ""]
            yield _row(count, [word.strip() for word in words[: 1 + named]], 1 + named, bool(odd))
            odd.clear()

    return Table(path, ("smiles", "name") if named else ("smiles",), rows)


# Other formats


def _parquet(path: Path) -> Table:
    try:
        import pyarrow as arrow
        import pyarrow.parquet as parquet
    except ImportError:
        raise DependencyError(f"{path}: Parquet files need pyarrow: pip install 'ccn[parquet]'") from None
    source: Any = path
    if path.suffix.lower() == ".gz":
        with open_binary(path) as stream:
            source = arrow.py_buffer(stream.read())
    try:
        columns = _unique(parquet.read_schema(source).names)
    except (OSError, arrow.ArrowInvalid) as error:
        raise DataError(f"{path}: cannot be read as Parquet ({error})") from None

    def rows() -> Iterator[Row]:
        with parquet.ParquetFile(source) as file:
            batches = ([column.to_pylist() for column in batch.columns] for batch in file.iter_batches(4096))
            body = itertools.chain.from_iterable(zip(*batch, strict=True) for batch in batches)
            for count, cells in enumerate(body, 1):
                yield _row(count, ["" if c is None else str(c) for c in cells], len(columns))

    return Table(path, columns, rows)


_FIELD = re.compile(r"^>.*<([^<>]+)>")


def _records(path: Path) -> Iterator[str]:
    """The records of an SDF file.

    RDKit's supplier would read all of them, but loses the record after one that ends too early.
    """
    record: list[str] = []
    for line in _lines(path):
        record.append(line.rstrip("\r\n") + "\n")
        if line.startswith("$$$$"):
            yield "".join(record)
            record = []
    if any(line.strip() for line in record):
        yield "".join(record)


def _sdf(path: Path) -> Table:
    """One molecule a record, as SMILES, with its title and data fields as further columns."""
    names = dict.fromkeys(found[1] for line in _lines(path) if (found := _FIELD.match(line)))
    fields = [name for name in names if name.lower() not in ("smiles", "title")]

    def rows() -> Iterator[Row]:
        from rdkit import Chem, rdBase

        def read(record: str, sanitize: bool) -> Any:
            with rdBase.BlockLogs():
                return next(Chem.ForwardSDMolSupplier(io.BytesIO(record.encode()), sanitize=sanitize), None)

        for count, record in enumerate(_records(path), 1):
            mol = read(record, sanitize=True)
            held = read(record, sanitize=False) if mol is None else mol  # its fields
            title = record.split("\n", 1)[0].strip()
            rest = [title, *(held.GetProp(f) if held is not None and held.HasProp(f) else "" for f in fields)]
            if mol is None or not mol.GetNumAtoms():
                yield Row(count, ["", *rest], fault=f"not a molecule that RDKit can read: SDF record {title!r}")
            else:
                yield Row(count, [Chem.MolToSmiles(mol, canonical=False), *rest])

    return Table(path, ("smiles", "title", *fields), rows)
