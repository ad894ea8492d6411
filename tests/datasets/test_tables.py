"""Tables of every spelling: the same rows come out."""

import gzip
from pathlib import Path

import pytest

from ccn.datasets.tables import open_table
from ccn.errors import DataError

ROWS = [["ethanol", "CCO", "1.5"], ["caffeine, pure", "Cn1cnc2c1c(=O)n(C)c(=O)n2C", "-2e3"], ["é", "C", ""]]
HEADER = ["name", "smiles", "y"]


def text(delimiter: str, end: str = "\n") -> str:
    return "".join(delimiter.join(f'"{c}"' if delimiter in c else c for c in row) + end for row in [HEADER, *ROWS])


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_delimiter_encoding_and_line_ends_do_not_matter(
    tmp_path: Path, delimiter: str, encoding: str, end: str
) -> None:
    (tmp_path / "t.csv").write_bytes(text(delimiter, end).encode(encoding))
    table = open_table(tmp_path / "t.csv")
    assert table.columns == tuple(HEADER)
    assert [list(row.cells) for row in table.rows()] == ROWS
    assert [row.number for row in table.rows()] == [1, 2, 3]
    assert not any(row.fault or row.note for row in table.rows())


def test_gzip_parquet_and_tsv_give_the_same(tmp_path: Path) -> None:
    arrow = pytest.importorskip("pyarrow")
    import pyarrow.parquet as parquet

    (tmp_path / "t.tsv.gz").write_bytes(gzip.compress(text("\t").encode()))
    columns = {h: [row[i] or None for row in ROWS] for i, h in enumerate(HEADER)}
    parquet.write_table(arrow.table(columns), tmp_path / "t.parquet")
    for name in ("t.tsv.gz", "t.parquet"):
        table = open_table(tmp_path / name)
        assert table.columns == tuple(HEADER)
        assert [list(row.cells) for row in table.rows()] == ROWS
    (tmp_path / "bad.parquet").write_text("no")
    with pytest.raises(DataError, match="Parquet"):
        open_table(tmp_path / "bad.parquet")


def test_damaged_parquet_pages_are_an_error(tmp_path: Path) -> None:
    arrow = pytest.importorskip("pyarrow")
    import numpy as np
    import pyarrow.parquet as parquet

    path = tmp_path / "t.parquet"
    parquet.write_table(arrow.table({"smiles": [f"{'C' * (i % 50 + 1)}O" for i in range(5000)]}), path)
    intact = np.frombuffer(path.read_bytes(), dtype=np.uint8)
    failed = 0
    for seed in range(40):
        random = np.random.default_rng(seed)
        damaged = intact.copy()
        damaged[random.integers(4, len(intact) - 8, 30)] = random.integers(0, 256, 30)
        path.write_bytes(damaged.tobytes())
        try:
            list(open_table(path).rows())
        except DataError:
            failed += 1
    assert failed


def test_chunks_keep_order_and_all_columns(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a,b\n" + "".join(f"{i},x{i}\n" for i in range(10)))
    chunks = list(open_table(tmp_path / "t.csv").chunks(4))
    assert [len(c) for c in chunks] == [4, 4, 2]
    assert [row.cells for c in chunks for row in c] == [[str(i), f"x{i}"] for i in range(10)]


def test_mixed_encodings_empty_and_ragged_rows_are_said(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_bytes(b"smiles,y\n\xe9,1\n\xc3\xa9,2\n\n , \nCC\nCC,1,2\nCC,1,,\n")
    rows = list(open_table(tmp_path / "t.csv").rows())
    assert [row.cells[0] for row in rows[:2]] == ["é", "é"]
    assert [bool(row.note) for row in rows] == [True, False, False, False, False, False, False]
    assert [row.fault.split(":")[0] for row in rows] == [
        "", "", "empty row", "empty row", "wrong number of cells", "wrong number of cells", "",
    ]  # fmt: skip


STRAY = {
    "never closed": '1,"CCO',
    "in the first cell": '"1,CCO',
    "escaped quotes": '1,"CC""O',
    "two cells": '"1","CCO',
}


@pytest.mark.parametrize("line", STRAY.values(), ids=STRAY)
@pytest.mark.parametrize(
    "later", ["2,CC", '2,"CC"', '"2",CC', '2,""', '2,CC"', '2,"C,C"', '2,",C"', '2,"C"",C"', '2,"C\nC"']
)
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_a_stray_quote_costs_one_row(tmp_path: Path, line: str, later: str, end: str) -> None:
    lines = ["y,smiles", "0,C", line, "5,N", later, "3,CCC", later, "4,CCCC"]
    (tmp_path / "t.csv").write_bytes(end.join([*lines, ""]).encode())
    rows = list(open_table(tmp_path / "t.csv").rows())
    assert [row.number for row in rows] == list(range(1, 8))
    assert [bool(row.fault) for row in rows] == [False, True, *[False] * 5]
    assert "line 3" in rows[1].fault
    assert not any(line_end in cell for cell in rows[1].cells for line_end in "\r\n")
    assert [row.cells for row in rows if row.number in (1, 3, 5, 7)] == [
        ["0", "C"],
        ["5", "N"],
        ["3", "CCC"],
        ["4", "CCCC"],
    ]
    assert rows[3].cells[0] == "2"
    assert rows[3].cells == rows[5].cells


@pytest.mark.parametrize("lines", ['1,C,"\n"', '"\n",', ',"\n"'])
def test_lines_are_not_joined_by_a_blank_cell_that_is_lost(tmp_path: Path, lines: str) -> None:
    (tmp_path / "t.csv").write_text(f"y,smiles\n{lines}\n2,CC\n")
    rows = list(open_table(tmp_path / "t.csv").rows())
    assert [bool(row.fault) for row in rows] == [True, True, False]
    assert rows[-1].cells == ["2", "CC"]


def test_quoted_cells_may_hold_delimiters_quotes_and_line_breaks(tmp_path: Path) -> None:
    import csv

    cells = ["a, b", 'say "x"', '"', '""', "one\ntwo", 'one, "two"\r\n\r\n"three",\n', "\n", "", " x "]
    rows = [[cell, "C", other] for cell in cells for other in cells if cell.strip() or other.strip()]
    for delimiter in ",;\t":
        with (tmp_path / "t.csv").open("w", newline="") as file:
            csv.writer(file, delimiter=delimiter).writerows([["note\n(free text)", "smiles", "other"], *rows])
        table = open_table(tmp_path / "t.csv")
        assert table.columns == ("note\n(free text)", "smiles", "other")
        assert [row.cells for row in table.rows()] == rows
        assert not any(row.fault for row in table.rows())


@pytest.mark.parametrize("note", ["soluble\nmaybe, not sure", "a, b\nc, d, 1\n2, e", "one\n\ntwo"])
def test_a_cell_with_line_breaks_is_one_whatever_its_lines_are(tmp_path: Path, note: str) -> None:
    (tmp_path / "t.csv").write_text(f'y,smiles,note\n1,C,"{note}"\n2,CC,-\n')
    assert [row.cells for row in open_table(tmp_path / "t.csv").rows()] == [["1", "C", note], ["2", "CC", "-"]]
    (tmp_path / "t.csv").write_text(f'smiles,note\nC,"{note}"\nCC,-\n')
    assert [row.cells for row in open_table(tmp_path / "t.csv").rows()] == [["C", note], ["CC", "-"]]


def test_a_stray_quote_in_the_header_is_an_error_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text('\ny,"smiles\n1,C\n')
    with pytest.raises(DataError, match="line 2"):
        open_table(tmp_path / "t.csv")


def test_lines_are_as_long_as_memory_allows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    long = "x" * 200_000
    (tmp_path / "t.csv").write_text(f'{long},"{long}"\n{long},"{long}, "\n')
    table = open_table(tmp_path / "t.csv")
    assert table.columns == (long, f"{long}.2")
    assert [row.cells for row in table.rows()] == [[long, f"{long}, "]]
    monkeypatch.setattr("ccn.datasets.tables._LONGEST_LINE", 1000)
    with pytest.raises(DataError, match="line 1"):
        open_table(tmp_path / "t.csv")


def test_a_large_sdf_record_is_refused(tmp_path: Path) -> None:
    from rdkit import Chem

    good = Chem.MolToMolBlock(Chem.MolFromSmiles("CCO")) + "$$$$\n"
    large = Chem.RWMol()
    for i in range(20_000):
        large.AddAtom(Chem.Atom(6))
        if i:
            large.AddBond(i - 1, i, Chem.BondType.SINGLE)
    block = Chem.MolToV3KMolBlock(large, kekulize=False, includeStereo=False)
    (tmp_path / "t.sdf").write_text(f"{good}{block}$$$$\n{good}")
    rows = list(open_table(tmp_path / "t.sdf").rows())
    assert [bool(row.fault) for row in rows] == [False, True, False]
    assert "20,000 atoms" in rows[1].fault


def test_without_a_header_columns_are_numbered_and_repeated_names_told_apart(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("CCO,1.5\nC,2\n")
    table = open_table(tmp_path / "a.csv")
    assert table.columns == ("column 1", "column 2")
    assert len(list(table.rows())) == 2
    (tmp_path / "b.csv").write_text("x,x, ,x\n")
    assert open_table(tmp_path / "b.csv").columns == ("x", "x.2", "column 3", "x.3")


def test_smiles_files_have_a_molecule_a_line(tmp_path: Path) -> None:
    (tmp_path / "a.smi").write_text("CCO ethanol pure\nC\tmethane\n\nN\n")
    table = open_table(tmp_path / "a.smi")
    assert [list(r.cells) for r in table.rows()] == [["CCO", "ethanol pure"], ["C", "methane"], ["", ""], ["N", ""]]
    (tmp_path / "b.smi").write_text("smiles\nCCO\n")
    assert [list(r.cells) for r in open_table(tmp_path / "b.smi").rows()] == [["CCO"]]


def test_sdf_records_are_molecules_with_fields(tmp_path: Path) -> None:
    from rdkit import Chem

    path = tmp_path / "t.sdf"
    with Chem.SDWriter(str(path)) as writer:
        for i, smiles in enumerate(["CCO", "c1ccccc1"]):
            mol = Chem.MolFromSmiles(smiles)
            mol.SetProp("_Name", f"mol {i}")
            mol.SetProp("activity", str(i + 0.5))
            writer.write(mol)
    with path.open("a") as file:
        file.write("broken\n\n\n  1  0\nnonsense\n$$$$\n")
    table = open_table(path)
    assert table.columns == ("smiles", "title", "activity")
    rows = list(table.rows())
    assert [list(r.cells[1:]) for r in rows[:2]] == [["mol 0", "0.5"], ["mol 1", "1.5"]]
    assert Chem.MolToSmiles(Chem.MolFromSmiles(rows[1].cells[0])) == "c1ccccc1"
    assert rows[2].fault.startswith("not a molecule")


def test_a_bad_sdf_record_costs_no_other_and_keeps_its_fields(tmp_path: Path) -> None:
    from rdkit import Chem

    good = Chem.MolToMolBlock(Chem.MolFromSmiles("CCO")) + "> <y>\n1.5\n\n$$$$\n"
    lines = good.splitlines(keepends=True)
    crowded = Chem.MolToMolBlock(Chem.MolFromSmiles("C(C)(C)(C)(C)C", sanitize=False), kekulize=False)
    bad = ["$$$$\n", "title\n$$$$\n", "".join([*lines[:5], "$$$$\n"]), crowded + "".join(lines[-4:])]
    for record in bad:
        (tmp_path / "t.sdf").write_text(good + record + good + good.removesuffix("$$$$\n"))
        rows = list(open_table(tmp_path / "t.sdf").rows())
        assert [bool(row.fault) for row in rows] == [False, True, False, False]
        assert [row.cells[2] for row in rows] == ["1.5", "1.5" if record is bad[-1] else "", "1.5", "1.5"]


def test_what_is_no_table_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("\n\n")
    for name, message in (("t.csv", r"t\.csv"), ("no.csv", r"no\.csv"), ("t.xyz", r"t\.xyz")):
        with pytest.raises(DataError, match=message):
            open_table(tmp_path / name)
    (tmp_path / "t.xls").write_text("x")
    with pytest.raises(DataError, match=r"t\.xls: .*\.csv"):
        open_table(tmp_path / "t.xls")
