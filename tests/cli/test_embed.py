"""`ccn embed`: files of each kind."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tests.reading import csv_rows

Call = Callable[..., None]


def test_an_array_and_a_table_hold_the_same_numbers(
    ccn: Call, run: Path, table: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ccn("embed", run, table, "-o", tmp_path / "e.npy", "--json")
    assert json.loads(capsys.readouterr().out)["width"] == 8
    ccn("embed", run, table, "-o", tmp_path / "e.csv", "--quiet")
    numbers = np.load(tmp_path / "e.npy", allow_pickle=False)
    written = csv_rows(tmp_path / "e.csv")
    assert numbers.shape == (40, 8)
    assert float(written[3]["e2"]) == pytest.approx(float(numbers[3, 2]), rel=1e-6)


def test_embeddings_as_parquet(ccn: Call, run: Path, table: Path, tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    ccn("embed", run, table, "-o", tmp_path / "e.parquet", "--quiet")
    found = parquet.read_table(tmp_path / "e.parquet")
    assert found.num_rows == 40
    assert found.column_names[:4] == ["id", "smiles", "size", "kind"]
