"""Tables of rows from files: CSV and TSV of any dialect, Excel, Parquet, SDF, SMILES files, with or without gzip.

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
import os
import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from ccn.chemistry.smiles import MAX_ATOMS
from ccn.datasets.archives import open_binary
from ccn.datasets.sheets import SHEET_SUFFIXES, sheet_names, sheet_rows
from ccn.errors import ConfigurationError, DataError, needs

__all__ = [
    "TABLE_SUFFIXES",
    "Chunk",
    "Row",
    "Table",
    "blank_words",
    "find_column",
    "has_decimal_commas",
    "is_missing",
    "lines_table",
    "name_of",
    "number",
    "number_or_bounds",
    "open_table",
    "suffix_of",
]

DELIMITED = (".csv", ".tsv", ".tab", ".txt")
SMILES_FILES = (".smi", ".smiles", ".ism", ".can")
TABLE_SUFFIXES = (*DELIMITED, *SMILES_FILES, *SHEET_SUFFIXES, ".parquet", ".pq", ".sdf", ".sd")

_DELIMITERS = ",\t;|"
_MISSING = frozenset({"", "na", "n/a", "#n/a", "nan", "null", "none", "-", "?"})
_BLANK_WORDS = _MISSING - {"none", "-"}  # which are grades of severity, and the opposite of +, among words
_LONGEST_LINE = 1 << 26  # characters, also of the lines that a quoted cell joins
_MOST_LINES = 10_000  # that a quoted cell joins
_MINUS = "\u2212"
_BOUND = re.compile(r"(>=?|>>|<=?|<<|[≥≤=~≈])\s*(?=[\d.,+\u2212-])")
_THOUSANDS = re.compile(r"[+\u2212-]?[1-9]\d{0,2}(,\d{3})+")
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
Raw = tuple[list[str], bool, str]
"""The cells of a row, whether it is in another encoding, and its fault, if any."""


@dataclass(frozen=True)
class Table:
    """A file of rows; ``rows()`` starts reading from the beginning every time. A note says what was chosen in it."""

    path: Path
    columns: tuple[str, ...]
    rows: Callable[[], Iterator[Row]] = field(repr=False)
    note: str = ""

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


def blank_words(words: Iterable[str]) -> frozenset[str]:
    """The cells, in lower case, that mean a missing value in a column of these words.

    There ``none`` is a word like others, as ``-`` is where ``+`` occurs.

    Example:
        >>> [cell in blank_words(["mild", "none"]) for cell in ("none", "-", "na")]
        [False, True, True]
    """
    return _BLANK_WORDS if any(word.strip() == "+" for word in words) else _BLANK_WORDS | {"-"}


def number(cell: str, decimal_comma: bool = False) -> float | None:
    """The finite number in a cell, or None; with a decimal comma, a point would separate thousands and is refused.

    The minus may be that of typesetting, U+2212.

    Example:
        >>> number("-0.77"), number("-0,77"), number("-0,77", decimal_comma=True), number("0.77", decimal_comma=True)
        (-0.77, None, -0.77, None)
    """
    if decimal_comma:
        if "." in cell:
            return None
        cell = cell.replace(",", ".")
    try:
        value = float(cell)
    except ValueError:
        return number(cell.replace(_MINUS, "-")) if _MINUS in cell else None
    # float() also accepts 1_000.
    return value if abs(value) != float("inf") and value == value and "_" not in cell else None


def number_or_bounds(cell: str, decimal_comma: bool = False) -> float | tuple[float, float] | None:
    """The number in a cell, or for a censored one the least and the largest value that it may have; ~ is exact.

    Example:
        >>> number_or_bounds("> 10"), number_or_bounds("<=0.1"), number_or_bounds("~5"), number_or_bounds("high")
        ((10.0, inf), (-inf, 0.1), 5.0, None)
    """
    found = _BOUND.match(cell.strip())
    if found is None:
        return number(cell, decimal_comma)
    value = number(cell.strip()[found.end() :], decimal_comma)
    if value is None or found[1] in "=~≈":
        return value
    return (value, float("inf")) if found[1][0] in ">≥" else (-float("inf"), value)


def has_decimal_commas(column: Iterable[str]) -> bool:
    """Whether numbers of a column have decimal commas and allow no other reading.

    At least half of the cells must be numbers that way, none with a point, and one must not be readable as thousands:
    1,234 alone could be either.
    """
    given = [_BOUND.sub("", cell.strip()) for cell in column if not is_missing(cell)]
    read = [cell for cell in given if number(cell, decimal_comma=True) is not None]
    return (
        2 * len(read) >= len(given)
        and not any("." in cell and number(cell) is not None for cell in given)
        and any("," in cell and not _THOUSANDS.fullmatch(cell) for cell in read)
    )


def find_column(table: Table, name: str, what: str) -> int:
    """The index of the column of this name; case and outer blanks are ignored where that is unambiguous."""
    if name in table.columns:
        return table.columns.index(name)
    alike = [i for i, c in enumerate(table.columns) if c.strip().lower() == name.strip().lower()]
    if len(alike) == 1:
        return alike[0]
    close = difflib.get_close_matches(name, table.columns, 1, 0.5)
    hint = f"; did you mean {close[0]!r}?" if close else ""
    listed = ", ".join(table.columns[:20]) + ", .." * (len(table.columns) > 20)
    raise ConfigurationError(f"{table.path}: there is no column {name!r} ({what}); the columns are {listed}{hint}")


def open_table(
    path: str | Path, *, delimiter: str | None = None, header: bool | None = None, sheet: str | None = None
) -> Table:
    """The table in a file, by its name: CSV, TSV, Excel, Parquet, SDF or SMILES, also with ``.gz`` (but for Excel).

    Args:
        path: the file.
        delimiter: of a text table; by default detected in its first line.
        header: whether the first line names the columns; by default it does unless it holds a number.
        sheet: the name of a sheet of an Excel file; by default the first.
    """
    path = _existing(path)
    suffix = suffix_of(path)
    if delimiter is not None and (len(delimiter) != 1 or delimiter in '"\r\n'):
        raise ConfigurationError(f"delimiter={delimiter!r} must be one character, and no quote or line end")
    if path.suffix.lower() in SHEET_SUFFIXES:
        return _excel(path, header, sheet)
    if sheet is not None:
        raise ConfigurationError(f"{path}: --sheet {sheet} is for {' and '.join(SHEET_SUFFIXES)} files")
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
    return Table(path, ("graph",), lambda: (_row(i, [text.strip()], 1) for i, (text, _) in enumerate(_lines(path), 1)))


def _existing(path: str | Path) -> Path:
    if not os.path.isfile(path):
        raise DataError(f"{path}: no such file")
    return Path(path)


# Text


def _lines(path: Path) -> Iterator[tuple[str, bool]]:
    """The lines of a text file with their ends (LF, CRLF or CR), and whether a line is in another encoding.

    A line that is not UTF-8 is read as Windows-1252.
    """
    with open_binary(path) as stream:
        head = stream.peek(4)[:4] if hasattr(stream, "peek") else b""
        wide = head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
        # Latin-1 maps bytes to characters one to one: lines end where they do in UTF-8, and nothing is lost.
        with io.TextIOWrapper(stream, "utf-16" if wide else "latin-1", "replace", newline="") as text:
            for i, line in enumerate(iter(partial(text.readline, _LONGEST_LINE), "")):
                if len(line) == _LONGEST_LINE:
                    raise DataError(f"{path}: line {i + 1} has {_LONGEST_LINE:,} characters or more; is it a table?")
                if wide or line.isascii():
                    yield line, False
                    continue
                raw = line.encode("latin-1")
                try:
                    yield (raw.removeprefix(codecs.BOM_UTF8) if i == 0 else raw).decode("utf-8"), False
                except UnicodeDecodeError:
                    yield raw.decode("cp1252", "replace"), True


def _in_quotes(line: str, delimiter: str, quoted: bool) -> bool | None:
    """Whether a quoted cell is open at the end of a line that starts inside of one or not.

    None if the line starts inside of one, and a quote is not followed by the end of a cell.
    """
    continued, at = quoted, 0
    while True:
        if quoted or line.startswith('"', at):
            at = line.find('"', at if quoted else at + 1)
            while at >= 0 and line.startswith('"', at + 1):
                at = line.find('"', at + 2)
            if at < 0:
                return True
            at, quoted = at + 1, False
            if continued and line[at : at + 1] not in ("", "\r", "\n", delimiter):
                return None
        at = line.find(delimiter, at) + 1
        if not at:
            return False


def _cells(line: str, delimiter: str) -> list[str]:
    """The cells of one row, which may have line breaks in quoted cells; none of an empty line."""
    plain = line.rstrip("\r\n")
    if '"' not in plain:
        return plain.split(delimiter) if plain else []
    csv.field_size_limit(max(csv.field_size_limit(), 2 * _LONGEST_LINE))
    return next(csv.reader([line], delimiter=delimiter))


def _look_like_rows(lines: Sequence[str], delimiter: str, width: int) -> bool:
    """Whether each line has the cells of a row, with numbers in the same columns, of which there is one at least."""
    columns: list[set[bool]] = [set() for _ in range(width)]
    for line in lines:
        cells = line.split(delimiter)
        if len(cells) != width and len(cells := _cells(line, delimiter)) != width:
            return False
        for kinds, cell in zip(columns, (cell.strip('" \r\n') for cell in cells), strict=True):
            if not is_missing(cell):
                kinds.add(number(cell, decimal_comma="," in cell) is not None)
    return {True} in columns and all(len(kinds) < 2 for kinds in columns)


def _is_row(lines: Sequence[str], delimiter: str, width: int) -> bool:
    """Whether lines that a quoted cell joins are one row of a table of so many columns (0: not known yet).

    Otherwise the quote is stray, and another one has closed it: there are too few or too many cells, all of them are
    blank, or every line looks like a row.
    """
    cells = _cells("".join(lines), delimiter)
    width = width or len(cells)
    fits = len(cells) >= width and not any(cells[width:]) and any(cell.strip() for cell in cells)
    return fits and not _look_like_rows(lines, delimiter, width)


def _split(path: Path, delimiter: str) -> Iterator[Raw]:
    """The rows of a delimited file.

    A stray quote, or one that is never closed, is the fault of its line; the line after it is the next row.
    """
    lines, ahead = _lines(path), deque[tuple[str, bool]]()
    at, width = 1, 0

    def following() -> Iterator[tuple[str, bool]]:
        """The lines that are left; those that were read in search of a closing quote come once more."""
        while line := ahead.popleft() if ahead else next(lines, None):
            yield line

    def joined(first: str) -> list[tuple[str, bool]] | None:
        """The other lines of a row whose first line ends in a quoted cell; None if the quote is stray."""
        more: list[tuple[str, bool]] = []
        size = len(first)
        quoted: bool | None = True
        for line in following():
            more.append(line)
            size += len(line[0])
            quoted = _in_quotes(line[0], delimiter, True)
            if not quoted or len(more) == _MOST_LINES or size > _LONGEST_LINE:
                break
        if quoted is False and _is_row([first, *(text for text, _ in more)], delimiter, width):
            return more
        ahead.extendleft(reversed(more))
        return None

    for text, odd in following():
        fault, count = "", 1
        if '"' in text and _in_quotes(text, delimiter, False):
            more = joined(text)
            if more is None:
                text, fault = text.rstrip("\r\n"), f"quote that is not closed: line {at}"
            else:
                text = "".join([text, *(part for part, _ in more)])
                odd = odd or any(other for _, other in more)
                count += len(more)
        cells = _cells(text, delimiter)
        width = width or len(cells)
        yield cells, odd, fault
        at += count


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
    if all(not line.strip() for line, _ in _lines(path)):
        raise DataError(f"{path}: the file is empty")
    if delimiter is None:
        # A quoted name may hold a delimiter, so that the row is split as it will be read.
        delimiter = max(_DELIMITERS, key=lambda d: len(next(cells for cells, *_ in _split(path, d) if cells)))
    return _headed(path, partial(_split, path, delimiter), header)


def _headed(
    path: Path,
    read: Callable[[], Iterator[Raw]],
    header: bool | None,
    pad: bool = False,
    empty: str = "the file is empty",
) -> Table:
    """The table of rows of which the first that is not empty may name the columns; short rows are faults or padded."""
    start = next(((i, row) for i, row in enumerate(read()) if row[0]), None)
    if start is None:
        raise DataError(f"{path}: {empty}")
    place, (first, _, fault) = start
    if fault:
        raise DataError(f"{path}: the first row, which names the columns, has a {fault}")
    if header is None:
        header = not any(number(cell) is not None for cell in first)
    columns = _unique(first if header else [""] * len(first))

    def rows() -> Iterator[Row]:
        body = (row for i, row in enumerate(read()) if not header or i != place)
        for count, (cells, odd, fault) in enumerate(body, 1):
            missing = len(columns) - len(cells) if pad else 0
            yield _row(count, [*cells, *[""] * missing] if missing > 0 else cells, len(columns), odd, fault)

    return Table(path, columns, rows)


def _row(number: int, cells: list[str], width: int, odd: bool = False, fault: str = "") -> Row:
    if not fault and not any(map(str.strip, cells)):
        return Row(number, [""] * width, EMPTY)
    if len(cells) != width:
        if not fault and (len(cells) < width or any(map(str.strip, cells[width:]))):
            fault = f"wrong number of cells: {len(cells)} where the header has {width}"
        cells = [*cells, *[""] * width][:width]
    return Row(number, cells, fault, "not UTF-8: read as Windows-1252" if odd else "")


def _smiles_file(path: Path) -> Table:
    """One molecule a line: SMILES, then, after blanks, its name."""
    start = [line.split(maxsplit=1) for line, _ in itertools.islice(_lines(path), 50)]
    named = any(len(words) > 1 for words in start)
    header = bool(start and start[0]) and start[0][0].lower() in ("smiles", "canonical_smiles")

    def rows() -> Iterator[Row]:
        for count, (line, odd) in enumerate(itertools.islice(_lines(path), int(header), None), 1):
            words = [*line.split(maxsplit=1), "", ""]
            yield _row(count, [word.strip() for word in words[: 1 + named]], 1 + named, odd)

    return Table(path, ("smiles", "name") if named else ("smiles",), rows)


# Other formats


def _excel(path: Path, header: bool | None, sheet: str | None) -> Table:
    name, *others = sheet_names(path, sheet)
    empty = f"the sheet {name!r} is empty" + (f"; --sheet reads {others[0]!r}" if others else "")

    def read() -> Iterator[Raw]:
        return ((cells, False, fault) for cells, fault in sheet_rows(path, name))

    table = _headed(path, read, header, pad=True, empty=empty)  # a row ends with its last cell that is not empty
    return replace(table, note=f"sheet {name!r}" if others and sheet is None else "")


def _parquet(path: Path) -> Table:
    with needs(f"{path}: a Parquet file", "parquet"):
        import pyarrow as arrow
        import pyarrow.parquet as parquet
    source: Any = path
    if path.suffix.lower() == ".gz":
        with open_binary(path) as stream:
            source = arrow.py_buffer(stream.read())
    try:
        columns = _unique(parquet.read_schema(source).names)
    except (OSError, ValueError, arrow.ArrowException) as error:
        raise DataError(f"{path}: cannot be read as Parquet ({error})") from None

    def body() -> Iterator[Sequence[Any]]:
        try:
            with parquet.ParquetFile(source) as file:
                for batch in file.iter_batches(4096):
                    yield from zip(*(column.to_pylist() for column in batch.columns), strict=True)
        # Errors of pyarrow, also those about dates and texts that Python cannot hold.
        except (OSError, ValueError, ArithmeticError, MemoryError, arrow.ArrowException) as error:
            raise DataError(f"{path}: a page of this Parquet file cannot be read, it is damaged ({error})") from None

    def rows() -> Iterator[Row]:
        for count, cells in enumerate(body(), 1):
            yield _row(count, ["" if c is None else str(c) for c in cells], len(columns))

    return Table(path, columns, rows)


_FIELD = re.compile(r"^>.*<([^<>]+)>")
_ATOMS = re.compile(r"^M  V30 COUNTS +(\d{1,18})\b", re.MULTILINE)  # a V2000 record has at most 999


def _records(path: Path) -> Iterator[str]:
    """The records of an SDF file.

    RDKit's supplier would read all of them, but loses the record after one that ends too early.
    """
    record: list[str] = []
    for line, _ in _lines(path):
        record.append(line.rstrip("\r\n") + "\n")
        if line.startswith("$$$$"):
            yield "".join(record)
            record = []
    if any(line.strip() for line in record):
        yield "".join(record)


def _sdf(path: Path) -> Table:
    """One molecule a record, as SMILES, with its title and data fields as further columns."""
    names = dict.fromkeys(found[1] for line, _ in _lines(path) if (found := _FIELD.match(line)))
    fields = [name for name in names if name.lower() not in ("smiles", "title")]

    def rows() -> Iterator[Row]:
        from rdkit import Chem, rdBase

        def read(record: str, sanitize: bool) -> Any:
            with rdBase.BlockLogs():
                return next(Chem.ForwardSDMolSupplier(io.BytesIO(record.encode()), sanitize=sanitize), None)

        for count, record in enumerate(_records(path), 1):
            title = record.split("\n", 1)[0].strip()
            if (atoms := max(map(int, _ATOMS.findall(record)), default=0)) > MAX_ATOMS:
                fault = f"too large: {atoms:,} atoms, a molecule may have {MAX_ATOMS:,}"
                yield Row(count, ["", title, *[""] * len(fields)], fault=fault)
                continue
            mol = read(record, sanitize=True)
            held = read(record, sanitize=False) if mol is None else mol  # its fields
            rest = [title, *(held.GetProp(f) if held is not None and held.HasProp(f) else "" for f in fields)]
            if mol is None or not mol.GetNumAtoms():
                yield Row(count, ["", *rest], fault=f"not a molecule that RDKit can read: SDF record {title!r}")
            else:
                yield Row(count, [Chem.MolToSmiles(mol, canonical=False), *rest])

    return Table(path, ("smiles", "title", *fields), rows)
