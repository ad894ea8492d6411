"""Remarks: counted by kind, and written as a table."""

import csv
from pathlib import Path

from ccn.datasets.remarks import Remark, shorten, summary, write_remarks

DROPPED = [Remark(3, "C1CC", "not a SMILES: its spelling is wrong"), Remark(5, "xx", "not a SMILES: it has no atom")]
NOTED = [Remark(4, "C", "single atom")]


def test_a_summary_counts_rows_and_kinds() -> None:
    assert summary(DROPPED, NOTED) == "2 rows dropped: 2 not a SMILES; kept but noted: 1 single atom"
    assert summary([]) == "no row dropped"
    assert str(DROPPED[0]).startswith("row 3: not a SMILES")


def test_they_are_written_in_the_order_of_the_rows(tmp_path: Path) -> None:
    with write_remarks(tmp_path / "r.csv", DROPPED, NOTED).open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [(r["row"], r["action"]) for r in rows] == [("3", "dropped"), ("4", "kept"), ("5", "dropped")]
    assert len(shorten("C" * 1000)) < 300
