"""`ccn predict` on the model of a small run."""

from __future__ import annotations

import csv
import io
import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from cyclopts import CycloptsError

from ccn.errors import CCNError
from ccn.learning.measured import FILE, Measured
from ccn.learning.model_file import describe
from tests.reading import csv_rows

Call = Callable[..., None]
Capture = pytest.CaptureFixture[str]


def test_columns_and_order_are_kept_and_a_bad_row_says_why(ccn: Call, run: Path, tmp_path: Path) -> None:
    table = tmp_path / "new.csv"
    table.write_text('note,smiles,n\n"a, b",CCO,1\n,C1CC,2\nlast,,\n\ntoo,CC,3,4\nx,CCCN,5\n')
    ccn("predict", run, table, "-o", tmp_path / "out.csv", "--interval", "0.5", "--quiet")
    found = csv_rows(tmp_path / "out.csv")
    assert list(found[0]) == ["note", "smiles", "n", "size_pred", "size_low", "size_high", "reason"]
    assert [r["note"] for r in found] == ["a, b", "", "last", "", "too", "x"]
    assert [bool(r["size_pred"]) for r in found] == [True, False, False, False, False, True]
    facts = ("", "not a SMILES", "no SMILES", "empty", "4", "")
    assert all(fact in r["reason"] and bool(fact) == bool(r["reason"]) for fact, r in zip(facts, found, strict=True))
    assert float(found[0]["size_low"]) < float(found[0]["size_pred"]) < float(found[0]["size_high"])
    assert not (tmp_path / "out.csv.part").exists()


def test_predictions_are_those_of_the_run(ccn: Call, run: Path, table: Path, tmp_path: Path) -> None:
    words = ("-o", tmp_path / "out.tsv", "--quiet", "--chunk", "7", "--processes", "1")
    ccn("predict", run / "model.safetensors", table, *words)
    found = {r["smiles"]: float(r["size_pred"]) for r in csv_rows(tmp_path / "out.tsv", "\t")}
    for row in csv_rows(run / "predictions.csv"):
        assert found[row["smiles"]] == pytest.approx(float(row["size_pred"]), rel=1e-5)


@pytest.mark.parametrize("text", ["smiles\nCCO\nCCN\n", "CCO\nCCN\n"])
def test_a_pipe(ccn: Call, run: Path, text: str, monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
    ccn("predict", run, "-", "--quiet")
    found = list(csv.reader(io.StringIO(capsys.readouterr().out)))
    assert found[0][1:] == ["size_pred", "reason"]
    assert [r[0] for r in found[1:]] == ["CCO", "CCN"]


@pytest.mark.parametrize("words", [("-o", "-"), ("--output", "-"), ("--output=-",)])
@pytest.mark.parametrize("verb", ["predict", "embed"])
def test_a_hyphen_is_standard_output(
    ccn: Call, run: Path, table: Path, verb: str, words: tuple[str, ...], capsys: Capture, tmp_path: Path
) -> None:
    ccn(verb, run, table, "--quiet", "--processes", "1", *words)
    found = capsys.readouterr().out
    assert len(found.splitlines()) == 41
    ccn(verb, run, table, "-o", tmp_path / "out.csv", "--quiet", "--processes", "1")
    assert (tmp_path / "out.csv").read_text() == found
    with pytest.raises(CycloptsError):
        ccn(verb, run, table, "-o", "--quiet")


@pytest.mark.parametrize("verb", ["predict", "embed"])
def test_formulas_are_disarmed_for_spreadsheets(ccn: Call, run: Path, tmp_path: Path, verb: str) -> None:
    evil = ["=cmd|' /C calc'!A0", "+1+1", "-2+3", "@SUM(A1)", "\t=1"]
    harmless = ["-1.5", "+3", "-2e-5", "a=b", "", "'x"]
    source, out = tmp_path / "t.csv", tmp_path / "out.csv"
    with source.open("w", newline="") as file:
        csv.writer(file).writerows([["smiles", "=note"], *(["CCO", cell] for cell in [*evil, *harmless])])
    ccn(verb, run, source, "-o", out, "--quiet")
    kept = [list(row.values())[1] for row in csv_rows(out)]
    assert [cell.strip() for cell in kept] == [cell.strip() for cell in [*evil, *harmless]]
    ccn(verb, run, source, "-o", out, "--quiet", "--spreadsheet-safe")
    found = csv_rows(out)
    assert list(found[0])[1] == "'=note"
    assert [row["'=note"] for row in found] == [*(f"'{cell}" for cell in kept[: len(evil)]), *harmless]
    with pytest.raises(CCNError, match="--spreadsheet-safe"):
        ccn(verb, run, source, "-o", tmp_path / "out.npy", "--quiet", "--spreadsheet-safe")


def test_json_goes_where_the_table_is_not(ccn: Call, run: Path, table: Path, tmp_path: Path, capsys: Capture) -> None:
    ccn("predict", run, table, "-o", tmp_path / "out.csv", "--json", "--processes", "1")
    found = json.loads(capsys.readouterr().out)
    assert (found["rows"], found["without"], found["output"]) == (40, 0, str(tmp_path / "out.csv"))
    ccn("predict", run, table, "--json", "--processes", "1")
    said = capsys.readouterr()
    assert json.loads(said.err.splitlines()[-1])["output"] == "-"
    assert len(said.out.splitlines()) == 41


def test_smiles_are_answered_on_the_screen(ccn: Call, run: Path, capsys: Capture) -> None:
    ccn("predict", run, "CCO", "CCCN", "--quiet")
    shown = capsys.readouterr().out
    assert all(word in shown for word in ("CCO", "CCCN", "size_pred"))
    assert "reason" not in shown
    ccn("predict", run, "CCO", "C1CC", "--json")
    good, bad = json.loads(capsys.readouterr().out)
    assert (good["smiles"], good["reason"], bad["size_pred"]) == ("CCO", None, None)
    assert f"{good['size_pred']:.7g}" in shown
    assert "not a SMILES" in bad["reason"]
    ccn("predict", run, "CCO", "-o", "-", "--quiet")
    assert capsys.readouterr().out.splitlines()[0] == "smiles,size_pred,reason"


def test_many_columns_of_smiles_are_shown_as_rows(ccn: Call, run: Path, capsys: Capture) -> None:
    ccn("embed", run, "CCO", "CCCN", "--quiet")
    lines = capsys.readouterr().out.splitlines()
    assert all(word in lines[1] for word in ("smiles", "CCO", "CCCN"))
    assert sum(" e" in line for line in lines) == 8


@pytest.mark.parametrize("verb", ["predict", "embed"])
def test_what_is_no_file_and_no_smiles_is_an_error(ccn: Call, run: Path, table: Path, verb: str) -> None:
    with pytest.raises(CCNError, match=r"molekules.*no such file.*not a SMILES"):
        ccn(verb, run, "molekules")
    with pytest.raises(CCNError, match="CCO"):
        ccn(verb, run, "CCO", table)
    with pytest.raises(CycloptsError):
        ccn(verb, run, "CCO", "--typo")


def test_excel_in_and_out(ccn: Call, run: Path, tiny: list[str], tmp_path: Path, capsys: Capture) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    book.active.append(["nothing"])
    sheet = book.create_sheet("molecules")
    sheet.append(["id", "smiles", "size"])
    for i in range(1, 21):
        sheet.append([f"m{i}", "C" * i + "O", i + 0.5])
    source, out = tmp_path / "t.xlsx", tmp_path / "out.xlsx"
    book.save(source)
    named = ("--sheet", "molecules", "--quiet")
    ccn("predict", run, source, "-o", out, *named, "--spreadsheet-safe")
    found = list(openpyxl.load_workbook(out).active.values)
    assert found[0] == ("id", "smiles", "size", "size_pred", "reason")
    assert [row[2] for row in found[1:]] == [i + 0.5 for i in range(1, 21)]
    assert all(isinstance(row[3], float) for row in found[1:])
    ccn("train", source, "--target", "size", "--output", tmp_path / "run", *named, *tiny)
    capsys.readouterr()
    ccn("evaluate", tmp_path / "run", source, "--sheet", "molecules", "--json")
    assert json.loads(capsys.readouterr().out)["rows"] == 20
    ccn("data", "info", source, "--sheet", "molecules", "--json")
    assert json.loads(capsys.readouterr().out)["graphs"] == 20


def test_predictions_as_sdf_keep_names(ccn: Call, run: Path, table: Path, tmp_path: Path) -> None:
    from rdkit import Chem

    ccn("predict", run, table, "-o", tmp_path / "out.sdf", "--quiet", "--processes", "1")
    mols = list(Chem.SDMolSupplier(str(tmp_path / "out.sdf")))
    assert [mol.GetProp("_Name") for mol in mols] == [f"m{i}" for i in range(40)]
    assert all(float(mol.GetProp("size_pred")) for mol in mols)
    ccn("predict", run, tmp_path / "out.sdf", "-o", tmp_path / "again.csv", "--quiet", "--processes", "1")
    again = csv_rows(tmp_path / "again.csv")
    assert [row["title"] for row in again] == [f"m{i}" for i in range(40)]
    for row in again:
        assert float(row["size_pred.2"]) == pytest.approx(float(row["size_pred"]), rel=1e-4)


def test_a_page_has_every_row_and_no_part_file(ccn: Callable[..., None], run: Path, tmp_path: Path) -> None:
    (tmp_path / "new.csv").write_text("id,smiles\n<b>a</b>,CCO\nb,not a molecule\n")
    ccn("predict", run, tmp_path / "new.csv", "-o", tmp_path / "out.html", "--processes", "1", "--quiet")
    page = (tmp_path / "out.html").read_text()
    assert "&lt;b&gt;a&lt;/b&gt;" in page
    assert "size_pred" in page
    assert page.count("<tr>") == 3
    assert {p.name for p in tmp_path.iterdir()} == {"new.csv", "out.html"}


def test_a_page_says_whether_the_model_has_seen_anything_like_it(ccn: Call, run: Path, tmp_path: Path) -> None:
    (tmp_path / "new.csv").write_text("smiles\nCCO\n")
    shown = ("domain", "distance", "unseen", "neighbour_1_size")
    for words, there in (((), shown), (("--neighbours", "0"), shown[:-1])):
        ccn("predict", run, tmp_path / "new.csv", "-o", tmp_path / "out.html", "--quiet", "--overwrite", *words)
        page = (tmp_path / "out.html").read_text()
        assert [name for name in shown if f">{name}</button>" in page] == list(there)
        assert page.split("</script>")[0].count("<svg") == 1 + (there == shown)
    ccn("predict", run, tmp_path / "new.csv", "-o", tmp_path / "out.csv", "--quiet")
    assert list(csv_rows(tmp_path / "out.csv")[0]) == ["smiles", "size_pred", "reason"]


def test_domain_and_neighbours(ccn: Call, run: Path, tmp_path: Path) -> None:
    trained = Measured.read(run / FILE, ["size"], describe(run)["about"]["training"])
    table, out = tmp_path / "new.csv", tmp_path / "out.csv"
    table.write_text(f"smiles\n{trained.smiles[0]}\nOB(O)c1ccccc1\nC1CC\n")
    ccn("predict", run, table, "-o", out, "--domain", "--neighbours", "2", "--quiet")
    first, strange, bad = csv_rows(out)
    added = ["domain", "distance", "nearest_similarity", "unseen"]
    assert [name for name in first if name in added] == added
    assert (first["domain"], first["distance"], first["nearest_similarity"], first["unseen"]) == (
        "inside",
        "0",
        "1",
        "",
    )
    assert (first["neighbour_1"], first["neighbour_1_size"]) == (trained.smiles[0], trained.values[0][0])
    assert 0 < float(first["neighbour_2_similarity"]) <= 1
    assert strange["domain"] == "outside"
    assert "element B" in strange["unseen"]
    assert bad["reason"]
    assert not any(bad[name] for name in added)


def test_neighbours_lie_in_the_folder_and_not_in_the_file(ccn: Call, run: Path, tmp_path: Path) -> None:
    alone = tmp_path / "model.safetensors"
    alone.write_bytes((run / "model.safetensors").read_bytes())
    ccn("predict", alone, "CCO", "-o", tmp_path / "out.csv", "--domain", "--quiet")
    with pytest.raises(CCNError, match=FILE):
        ccn("predict", alone, "CCO", "-o", tmp_path / "out.csv", "--neighbours", "1", "--quiet")
    (tmp_path / FILE).write_bytes((run / FILE).read_bytes()[:-9])
    with pytest.raises(CCNError, match=FILE):
        ccn("predict", alone, "CCO", "-o", tmp_path / "out.csv", "--neighbours", "1", "--quiet")
    with pytest.raises(CCNError, match="-1"):
        ccn("predict", run, "CCO", "-o", tmp_path / "out.csv", "--neighbours", "-1", "--quiet")


def test_a_resumed_command_asks_for_the_same(ccn: Call, run: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.csv"
    ccn("predict", run, "CCO", "-o", out, "--domain", "--processes", "1", "--quiet")
    record = out.with_name("out.csv.progress")
    table = tmp_path / "new.csv"
    table.write_text("smiles\nCCO\n")
    out.with_name("out.csv.part").write_text("smiles\n")
    record.write_text(json.dumps({"rows": 0, "bytes": 7, "key": {}}))
    with pytest.raises(CCNError, match="--overwrite"):
        ccn("predict", run, table, "-o", out, "--domain", "--resume", "--quiet")
