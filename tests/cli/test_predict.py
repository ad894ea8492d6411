"""`ccn predict`, `evaluate`, `embed` and `info` on the model of a small run."""

from __future__ import annotations

import csv
import io
import json
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

Call = Callable[..., None]
Capture = pytest.CaptureFixture[str]


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def test_columns_and_order_are_kept_and_a_bad_row_says_why(ccn: Call, run: Path, tmp_path: Path) -> None:
    table = tmp_path / "new.csv"
    table.write_text('note,smiles,n\n"a, b",CCO,1\n,C1CC,2\nlast,,\n\ntoo,CC,3,4\nx,CCCN,5\n')
    ccn("predict", run, table, "-o", tmp_path / "out.csv", "--interval", "0.5", "--quiet")
    found = rows(tmp_path / "out.csv")
    assert list(found[0]) == ["note", "smiles", "n", "size_pred", "size_low", "size_high", "reason"]
    assert [r["note"] for r in found] == ["a, b", "", "last", "", "too", "x"]
    assert [bool(r["size_pred"]) for r in found] == [True, False, False, False, False, True]
    assert found[1]["reason"] == "not a SMILES: its spelling is wrong"
    assert [r["reason"] for r in found[2:5]] == [
        "no SMILES", "empty row", "wrong number of cells: 4 where the header has 3",
    ]  # fmt: skip
    assert float(found[0]["size_low"]) < float(found[0]["size_pred"]) < float(found[0]["size_high"])
    assert not (tmp_path / "out.csv.part").exists()


def test_predictions_are_those_of_the_run(ccn: Call, run: Path, table: Path, tmp_path: Path) -> None:
    ccn(
        "predict",
        run / "model.safetensors",
        table,
        "-o",
        tmp_path / "out.tsv",
        "--quiet",
        "--chunk",
        "7",
        "--threads",
        "1",
    )
    with (tmp_path / "out.tsv").open(newline="") as file:
        found = {r["smiles"]: float(r["size_pred"]) for r in csv.DictReader(file, delimiter="\t")}
    for row in rows(run / "predictions.csv"):
        assert found[row["smiles"]] == pytest.approx(float(row["size_pred"]), rel=1e-5)


@pytest.mark.parametrize("text", ["smiles\nCCO\nCCN\n", "CCO\nCCN\n"])
def test_a_pipe(ccn: Call, run: Path, text: str, monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
    ccn("predict", run, "-", "--quiet")
    found = list(csv.reader(io.StringIO(capsys.readouterr().out)))
    assert found[0][1:] == ["size_pred", "reason"]
    assert [r[0] for r in found[1:]] == ["CCO", "CCN"]


def test_evaluate_embed_and_info(ccn: Call, run: Path, table: Path, tmp_path: Path, capsys: Capture) -> None:
    ccn("evaluate", run, table, "--json")
    found = json.loads(capsys.readouterr().out)
    assert found["rows"] == 40
    assert found["metrics"]["mae"] > 0
    ccn("evaluate", run, table)
    assert "MAE" in capsys.readouterr().out
    for name in ("e.npy", "e.csv"):
        ccn("embed", run, table, "-o", tmp_path / name, "--quiet")
    numbers = np.load(tmp_path / "e.npy", allow_pickle=False)
    written = rows(tmp_path / "e.csv")
    assert numbers.shape == (40, 8)
    assert float(written[3]["e2"]) == pytest.approx(float(numbers[3, 2]), rel=1e-6)
    ccn("info", run)
    assert "size (regression)" in capsys.readouterr().out
    ccn("info", run, "--json")
    assert json.loads(capsys.readouterr().out)["about"]["smiles_column"] == "smiles"


def test_embeddings_as_parquet(ccn: Call, run: Path, table: Path, tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    ccn("embed", run, table, "-o", tmp_path / "e.parquet", "--quiet")
    found = parquet.read_table(tmp_path / "e.parquet")
    assert found.num_rows == 40
    assert found.column_names[:4] == ["id", "smiles", "size", "kind"]
