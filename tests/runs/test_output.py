"""Embeddings in every format: those of the model, and the same after a cut."""

from __future__ import annotations

import csv
import io
import itertools
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ccn
from ccn.datasets.tables import Row, open_table
from ccn.errors import ConfigurationError, FileError
from ccn.runs import output
from ccn.runs.predict import Options, embed_file
from tests.reading import csv_rows

SMILES = [f"{'C' * (1 + i % 7)}{'ON'[i % 2]}" for i in range(30)]
ONE = Options(processes=1, chunk=7, every=0.0)
NAMES = ["e.csv", "e.npy", "e.parquet", "e.sdf", "e.xlsx"]


def need(name: str) -> None:
    if needed := {".parquet": "pyarrow", ".xlsx": "openpyxl"}.get(Path(name).suffix):
        pytest.importorskip(needed)


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("t") / "t.csv"
    path.write_text("i,smiles\n" + "".join(f"{i},{s}\n" for i, s in enumerate([*SMILES, "C1"])))
    return path


def numbers(path: Path) -> Any:
    if path.suffix == ".npy":
        return np.load(path, allow_pickle=False)
    if path.suffix == ".parquet":
        import pyarrow.parquet as parquet

        found = parquet.read_table(path).to_pydict()
        assert found["i"] == [str(i) for i in range(31)]
        assert found["reason"][-1].startswith("not a SMILES")
        columns = [found[name] for name in found if name.startswith("e")]
        assert all(column[-1] is None for column in columns)
        return np.array(columns, dtype=np.float32).T
    if path.suffix == ".csv":
        rows = csv_rows(path)
    else:
        table = open_table(path)
        rows = [dict(zip(table.columns, row.cells, strict=True)) for row in table.rows()]
    return np.array([[float(v or "nan") for k, v in r.items() if k.startswith("e")] for r in rows], dtype=np.float32)


@pytest.mark.parametrize("name", NAMES)
def test_a_cut_file_of_any_format_goes_on(name: str, model: Path, table: Path, tmp_path: Path) -> None:
    need(name)
    out = tmp_path / name

    def stop(rows: int) -> None:
        if rows == 14:
            raise RuntimeError

    with pytest.raises(RuntimeError):
        embed_file(model, str(table), out, replace(ONE, tell=stop))
    with (tmp_path / f"{name}.part").open("ab") as part:
        part.write(b"half")
    done = embed_file(model, str(table), out, replace(ONE, resume=True))
    assert (done.rows, done.before, done.without) == (31, 14, 1)
    assert [p.name for p in tmp_path.iterdir()] == [name]
    found = numbers(out)
    assert found.shape == (31, done.width)
    assert np.isnan(found[-1]).all()
    np.testing.assert_allclose(found[:-1], ccn.CCNRegressor.load(model).transform(SMILES), rtol=1e-5)


def test_other_formats_are_refused(model: Path, table: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"as \.csv.* \.npy"):
        embed_file(model, str(table), tmp_path / "e.xyz")


def test_every_beginning_of_a_formula_is_disarmed() -> None:
    form = output.table(["=a"], spreadsheet_safe=True)
    assert form.head == b"'=a\n"
    cells = ["=1", "+a", "-a", "@a", "\ta", "\ra", "-1", "a"]
    rows = [Row(i, [cell]) for i, cell in enumerate(cells)]
    found = list(csv.reader(io.StringIO(form.body(rows, [[]] * len(rows), cells).decode(), newline="")))
    assert found == [[cell, cell] for cell in [*(f"'{cell}" for cell in cells[:-2]), "-1", "a"]]


class Disk:
    """Fails when a file is flushed to disk for the n-th time."""

    def __init__(self, n: int) -> None:
        self.left = n

    def __call__(self, handle: int) -> None:
        self.left -= 1
        if self.left == 0:
            raise OSError(28, "No space left on device")


@pytest.mark.parametrize("name", NAMES)
def test_a_full_disk_is_an_error_that_names_the_file(
    name: str, model: Path, table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    need(name)
    out, said = tmp_path / name, []
    for n in itertools.count(1):
        out.write_bytes(b"older")
        disk = Disk(n)
        monkeypatch.setattr(os, "fsync", disk)
        try:
            embed_file(model, str(table), out, replace(ONE, overwrite=True))
        except FileError as error:
            said.append((str(error), out.read_bytes()))
        if disk.left > 0:
            break
    assert len(said) > 5
    assert all(name in text and kept == b"older" for text, kept in said)
    assert numbers(out).shape[0] == 31


def test_an_output_killed_at_its_end_is_complete_and_can_be_made_again(
    model: Path, table: Path, tmp_path: Path
) -> None:
    out = tmp_path / "e.csv"
    embed_file(model, str(table), out, ONE)
    whole = out.read_bytes()
    out.with_name("e.csv.progress").write_text("{}")
    assert embed_file(model, str(table), out, ONE).before == 0
    assert out.read_bytes() == whole
    assert [p.name for p in tmp_path.iterdir()] == ["e.csv"]


@pytest.mark.parametrize("name", NAMES)
def test_an_output_is_on_disk_before_it_has_its_name(
    name: str, model: Path, table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    need(name)
    flushed = []
    monkeypatch.setattr(os, "fsync", lambda handle: flushed.append(os.fstat(handle)))
    embed_file(model, str(table), tmp_path / name, ONE)
    end = (tmp_path / name).stat()
    assert (end.st_ino, end.st_size, end.st_mtime_ns) in [(f.st_ino, f.st_size, f.st_mtime_ns) for f in flushed]


def test_an_sdf_has_a_record_for_every_row(tmp_path: Path) -> None:
    from rdkit import Chem

    cells = [
        ["CCO", "ethanol", "$$$$"],
        ["C1CC", "bad", ">  <x>"],
        ["c1ccccc1 |$a;;;;;$|", "two\nlines", "\n\n"],
        ["", "", "\ud800"],
    ]
    form = output.sdf(["smiles", "name", "<note>", "y_pred", "reason"], 0, 1)
    values = [["1.5"], [""], ["2.5"], [""]]
    rows = [Row(i, row) for i, row in enumerate(cells, 1)]
    path = tmp_path / "t.sdf"
    path.write_bytes(form.head + form.body(rows, values, ["", "not a SMILES", "", "no SMILES"]))
    table = open_table(path)
    assert table.columns == ("smiles", "title", "name", "(note)", "y_pred", "reason")
    found = list(table.rows())
    assert [bool(row.fault) for row in found] == [False, True, False, True]
    assert [row.cells[1] for row in found] == ["ethanol", "bad", "two lines", ""]
    assert [row.cells[4:] for row in found] == [["1.5", ""], ["", "not a SMILES"], ["2.5", ""], ["", "no SMILES"]]
    assert [row.cells[3].strip() for row in found] == ["$$$$", ">  <x>".replace("  ", " "), "", "?"]
    mols = list(Chem.SDMolSupplier(str(path)))
    assert [mol.GetNumAtoms() for mol in mols] == [3, 0, 6, 0]
    assert mols[0].GetProp("smiles") == "CCO"
    assert np.ptp(mols[0].GetConformer().GetPositions()[:, 0]) > 1


def test_a_sheet_holds_so_many_rows(tmp_path: Path) -> None:
    pytest.importorskip("openpyxl")
    form = output.excel(["smiles", "reason"], tmp_path / "t.xlsx")
    form.body([Row(1_048_575, ["C"])], [[]], [""])
    with pytest.raises(ConfigurationError, match="1,048,576"):
        form.body([Row(1_048_576, ["C"])], [[]], [""])
