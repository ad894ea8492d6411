"""Excel files: every row and cell accounted for, whoever wrote them."""

from __future__ import annotations

import datetime
import json
import sys
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from ccn.datasets import load, sheets
from ccn.datasets.sheets import sheet_names, write_sheet
from ccn.datasets.tables import open_table
from ccn.errors import ConfigurationError, DataError, DependencyError

openpyxl = pytest.importorskip("openpyxl")


def book(path: Path, **named: Sequence[Any]) -> Path:
    made = openpyxl.Workbook()
    made.remove(made.active)
    for name, rows in named.items():
        sheet = made.create_sheet(name)
        for row in rows:
            sheet.append(row)
    made.save(path)
    return path


def edit(path: Path, change: Callable[[str], str]) -> Path:
    """Change the text of the first sheet."""
    with zipfile.ZipFile(path) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    first = "xl/worksheets/sheet1.xml"
    files[first] = change(files[first].decode()).encode()
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return path


def test_cells_of_every_kind_become_text(tmp_path: Path) -> None:
    day = datetime.datetime(2024, 5, 1)
    row = ["CCO", 0.1, 3, -2e-7, day, day.replace(hour=9), True, None, "007", "a\nb"]
    path = book(tmp_path / "t.xlsx", data=[[f"c{i}" for i in range(len(row))], row])
    (found,) = open_table(path).rows()
    kinds = ["2024-05-01", "2024-05-01 09:00:00", "TRUE", "", "007", "a\nb"]
    assert list(found.cells) == ["CCO", "0.1", "3", "-2e-07", *kinds]
    assert not found.fault


def test_rows_are_accounted_for(tmp_path: Path) -> None:
    rows = [[], ["smiles", "y"], ["CCO", 1], [], ["CC"], ["C", 2, "more"], ["CN", 3, " "], [" "]]
    path = book(tmp_path / "t.xlsx", data=rows)
    # A format for cells far below is no row, and what a file says about its size may be wrong.
    edit(path, lambda text: text.replace("</sheetData>", '<row r="5000"><c r="A5000" s="0"/></row></sheetData>'))
    edit(path, lambda text: text.replace('ref="A2:C8"', 'ref="A2:A3"'))
    table = open_table(path)
    found = [(list(row.cells), bool(row.fault)) for row in table.rows()]
    empty = (["", ""], True)
    assert table.columns == ("smiles", "y")
    assert found == [
        empty,
        (["CCO", "1"], False),
        empty,
        (["CC", ""], False),
        (["C", "2"], True),
        (["CN", "3"], False),
        empty,
    ]


def test_a_formula_is_its_value_or_a_fault(tmp_path: Path) -> None:
    rows = [["smiles", "y"], ["CCO", "=1+1"], ["CC", "=2+2"], ["C", '=""'], ["CN", 5]]
    path = book(tmp_path / "t.xlsx", data=rows)
    edit(
        path,
        lambda text: text.replace("<f>1+1</f><v />", "<f>1+1</f><v>2</v>").replace(
            "<f>1+1</f><v/>", "<f>1+1</f><v>2</v>"
        ),
    )
    edit(path, lambda text: text.replace('<c r="B4">', '<c r="B4" t="str">'))
    found = [(row.cells[1], row.fault) for row in open_table(path).rows()]
    assert [cell for cell, _ in found] == ["2", "", "", "5"]
    assert [bool(fault) for _, fault in found] == [False, True, False, False]
    assert "column 2" in found[1][1]


def test_the_first_sheet_that_is_shown_or_the_one_named(tmp_path: Path) -> None:
    rows = {name: [["smiles", name], ["CCO", 1.5], ["CCN", 2.5]] for name in ("hidden", "a", "b")}
    path = book(tmp_path / "t.xlsx", **rows)
    made = openpyxl.load_workbook(path)
    made["hidden"].sheet_state = "hidden"
    made.save(path)
    assert sheet_names(path)[0] == "a"
    data = load(path)
    assert (data.target_names, data.note) == (("a",), "sheet 'a'")
    assert load(path, sheet="hidden").target_names == ("hidden",)
    with pytest.raises(ConfigurationError, match="hidden, a, b"):
        load(path, sheet="c")
    (tmp_path / "t.csv").write_text("smiles,y\nCCO,1\n")
    with pytest.raises(ConfigurationError, match="--sheet"):
        load(tmp_path / "t.csv", sheet="a")


def test_without_openpyxl_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = book(tmp_path / "t.xlsx", data=[["smiles"], ["CCO"]])
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    with pytest.raises(DependencyError, match=r"ccn\[excel\]"):
        open_table(path)


def test_what_is_forged_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def forged(name: str, old: str, new: str) -> Path:
        path = book(tmp_path / name, data=[["smiles", "y"], ["CCO", 1]])
        return edit(path, lambda text: text.replace(old, new))

    bomb = forged("bomb.xlsx", "</sheetData>", "</sheetData>" + " " * (20 << 20))
    with pytest.raises(DataError, match="decompression bomb"):
        open_table(bomb)
    monkeypatch.setattr(sheets, "MOST_ROWS", 1000)
    far = forged("far.xlsx", '<row r="2"', '<row r="2000000000"')
    with pytest.raises(DataError, match="row 1,001"):
        list(open_table(far).rows())
    monkeypatch.setattr(sheets, "_MOST_CELLS", 500)
    wide = forged("wide.xlsx", 'r="B2"', 'r="ABC2"')
    with pytest.raises(DataError, match="row 2"):
        list(open_table(wide).rows())
    number = forged("number.xlsx", "<v>1</v>", f"<v>{'9' * 5000}</v>")
    cut = tmp_path / "cut.xlsx"
    cut.write_bytes(wide.read_bytes()[:2000])
    (tmp_path / "text.xlsx").write_text("smiles\nCCO\n")
    for path in (number, cut, tmp_path / "text.xlsx", book(tmp_path / "empty.xlsx", data=[])):
        with pytest.raises(DataError, match=path.name):
            list(open_table(path).rows())


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    row = ["007", "1E5", "=cmd|' /C calc'!A0", "-1.5", "1.25e-05", "12", "12345678901234567890", "", "a\nb", "é"]
    odd = ["\x00", "\ud800", "x" * 40_000, *[""] * 7]
    head = [*(f"c{i}" for i in range(9)), "=c9"]
    lines = tmp_path / "t.jsonl"
    lines.write_text("".join(json.dumps(r) + "\n" for r in (head, row, odd)))
    with (tmp_path / "t.xlsx").open("wb") as file:
        write_sheet(lines, file)
    table = open_table(tmp_path / "t.xlsx")
    first, second = table.rows()
    assert table.columns == tuple(head)
    assert list(first.cells) == row
    assert second.cells[2].startswith("x" * 32_000)
    assert len(second.cells[2]) <= 32_767
    sheet = openpyxl.load_workbook(tmp_path / "t.xlsx").active
    assert [cell.data_type for cell in sheet[2]][:7] == ["s", "s", "s", "n", "n", "n", "s"]
