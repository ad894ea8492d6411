"""Spreadsheets: the rows of one sheet of an .xlsx file, read and written with openpyxl as streams."""

from __future__ import annotations

import itertools
import json
import re
import warnings
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from datetime import datetime, time
from pathlib import Path
from typing import IO, Any

from ccn.datasets.archives import check_zip
from ccn.errors import ConfigurationError, DataError, needs

__all__ = ["MOST_COLUMNS", "MOST_ROWS", "SHEET_SUFFIXES", "need_openpyxl", "sheet_names", "sheet_rows", "write_sheet"]

SHEET_SUFFIXES = (".xlsx", ".xlsm")
MOST_ROWS, MOST_COLUMNS, LONGEST_CELL = 1_048_576, 16_384, 32_767  # of a sheet, with its header; characters
_MOST_CELLS = 100_000_000  # empty ones too, of which a few bytes of a file can stand for very many
_TOGETHER = 1000  # rows
_FORMULA = re.compile(rb"<(\w+:)?f[\s>/]")
# Numbers that are the same when they are read back; 007 is not, nor 1E5, which may be the name of a well.
_NUMBER = re.compile(r"-?(0|[1-9]\d*)(\.\d+)?(e[+-]\d{1,2})?")


def need_openpyxl(path: str | Path) -> None:
    """An error that names the extra if openpyxl is not installed."""
    with needs(f"{path}: an .xlsx file", "excel"):
        import openpyxl  # noqa: F401


@contextmanager
def _reading(path: Path) -> Iterator[None]:
    """Any error of openpyxl, which checks little, as one that names the file."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about styles and extensions
            yield
    except (DataError, ConfigurationError):
        raise
    except Exception as error:
        raise DataError(f"{path}: cannot be read as .xlsx, it is damaged or of another kind ({error})") from None


@contextmanager
def _opened(path: Path, *, values: bool = True) -> Iterator[Any]:
    """The workbook, with the values of formulas or the formulas themselves."""
    need_openpyxl(path)
    import openpyxl

    with _reading(path):
        check_zip(path)
        book = openpyxl.load_workbook(path, read_only=True, data_only=values, keep_links=False)
    with closing(book):
        yield book


def sheet_names(path: Path, sheet: str | None = None) -> list[str]:
    """The sheets of a file, that which is read first: the one of this name, or else the first that is not hidden."""
    with _opened(path) as book:
        found = [s.title for s in book.worksheets]
        shown = [s.title for s in book.worksheets if s.sheet_state == "visible"]
    if not found:
        raise DataError(f"{path}: there is no sheet with cells")
    if sheet is not None and sheet not in found:
        raise ConfigurationError(f"{path}: there is no sheet {sheet!r} (--sheet); the sheets are {', '.join(found)}")
    chosen = sheet if sheet is not None else [*shown, *found][0]
    return [chosen, *(name for name in found if name != chosen)]


def sheet_rows(path: Path, sheet: str) -> Iterator[tuple[list[str], str]]:
    """The cells of each row as text, and its fault, if any; empty rows at the end are left out.

    A formula is read as the value that the spreadsheet program has stored; without one it is the fault of its row.
    """
    empty = cells = 0
    for count, (values, formulas) in enumerate(_both(path, sheet), 1):
        cells += len(values)
        if count > MOST_ROWS or len(values) > MOST_COLUMNS or cells > _MOST_CELLS:
            raise DataError(f"{path}: row {count:,} of the sheet: larger than a spreadsheet can be; export it as .csv")
        if values.count(None) + formulas.count(None) == len(values) + len(formulas):
            empty += 1
            continue
        yield from itertools.repeat(([], ""), empty)
        empty = 0
        lost = [i for i, f in enumerate(formulas) if f is not None and values[i] is None]
        fault = "formula without a value, save the file in a spreadsheet program: column {}"
        yield ["" if v is None else _text(v) for v in values], fault.format(lost[0] + 1) if lost else ""


def _both(path: Path, sheet: str) -> Iterator[tuple[Sequence[Any], Sequence[Any]]]:
    """The values of each row and, if the file has formulas, the same with these."""
    with ExitStack() as stack:

        def read(values: bool, plain: bool) -> Iterator[Sequence[Any]]:
            made = stack.enter_context(_opened(path, values=values))[sheet]
            made.reset_dimensions()  # what a file says about them may be wrong, and cells would be lost
            rows: Iterator[Sequence[Any]] = made.iter_rows(values_only=plain)
            return rows

        rows: Iterator[tuple[Sequence[Any], Sequence[Any]]]
        if _has_formulas(path):
            cells = ([_value(cell) for cell in row] for row in read(True, False))
            rows = zip(cells, read(False, True), strict=True)
        else:
            rows = ((row, ()) for row in read(True, True))
        while True:
            with _reading(path):
                together = list(itertools.islice(rows, _TOGETHER))
            if not together:
                return
            yield from together


def _value(cell: Any) -> Any:
    """The value of a cell; that of a formula may be an empty text, which openpyxl gives as None."""
    return "" if cell.value is None and cell.data_type == "str" else cell.value


def _has_formulas(path: Path) -> bool:
    with _reading(path), zipfile.ZipFile(path) as archive:
        for name in archive.namelist():
            if "/worksheets/" in name:
                with archive.open(name) as stream:
                    end = b""
                    while block := stream.read(1 << 20):
                        if _FORMULA.search(end + block):
                            return True
                        end = block[-64:]
    return False


def _text(value: Any) -> str:
    """A cell as spreadsheet programs write it to a CSV file, with dates as in ISO 8601."""
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, datetime) and value.time() == time():
        return str(value.date())
    return str(value)


def write_sheet(lines: Path, out: IO[bytes]) -> None:
    """Write rows, JSON lists of text, as a sheet; numbers become numbers, and text is never a formula."""
    from openpyxl import Workbook
    from openpyxl.cell import WriteOnlyCell
    from openpyxl.cell.cell import ILLEGAL_CHARACTERS_RE

    book = Workbook(write_only=True)
    sheet = book.create_sheet("ccn")

    def cell(text: str, plain: bool) -> Any:
        if not plain and _NUMBER.fullmatch(text) and sum(map(str.isdigit, text)) <= 15:
            return float(text) if not text.lstrip("-").isdigit() else int(text)
        clean = ILLEGAL_CHARACTERS_RE.sub("\ufffd", text).encode("utf-8", "replace").decode()
        if len(clean) > LONGEST_CELL:
            clean = f"{clean[: LONGEST_CELL - 10]}.. (cut)"
        made = WriteOnlyCell(sheet, clean)
        made.data_type = "s"
        return made

    with lines.open(encoding="utf-8") as file:
        for i, line in enumerate(file):
            sheet.append([cell(text, plain=i == 0) for text in json.loads(line)])
    book.save(out)
