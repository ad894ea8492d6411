"""`ccn contractions`: the table for people and for machines."""

import json
from typing import Any

import pytest

import ccn
from ccn.algebra import MatrixClass, contractions, distinct
from ccn.cli import app


def _run(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    app(list(words), result_action="return_value")
    return capsys.readouterr().out


def test_the_fifty_are_printed_with_class_einsum_and_what_they_reduce_to(capsys: pytest.CaptureFixture[str]) -> None:
    lines = _run(capsys, "contractions", "--order", "2", "--adjacency").splitlines()
    rows = [line.split(maxsplit=3) for line in lines[1:51]]
    everything = contractions(5, 2, "TA")
    assert [row[:3] for row in rows] == [[str(i), c.kind, c.einsum] for i, c in enumerate(everything)]
    kept = {int(row[0]) for row in rows if row[3] == "itself"}
    assert [everything[i] for i in sorted(kept)] == list(distinct(everything))
    for *_, to in rows:
        if to not in ("itself", "zero"):
            number, einsum = to.split()
            assert int(number) in kept
            assert einsum == f"({everything[int(number)].einsum})"
    assert all(fact in lines[-1] for fact in ("50", "T (x) A", "order 5 to 2", "26 distinct", str(MatrixClass())))


@pytest.mark.parametrize(
    ("flags", "matrix", "count"),
    [
        ([], MatrixClass(), 26),
        (["--self-loops"], MatrixClass(self_loops=True), 32),
        (["--directed"], MatrixClass(directed=True), 44),
        (["--directed", "--self-loops"], MatrixClass(True, True), 50),
    ],
)
def test_json_holds_the_same_for_each_class_of_a(
    capsys: pytest.CaptureFixture[str], flags: list[str], matrix: MatrixClass, count: int
) -> None:
    out: dict[str, Any] = json.loads(_run(capsys, "contractions", "--order", "2", "--adjacency", "--json", *flags))
    assert (out["order"], out["order_out"], out["adjacency"], out["matrix"]) == (2, 2, True, str(matrix))
    assert (out["all"], out["distinct"]) == (50, count)
    rows = out["contractions"]
    assert [(row["number"], row["class"], row["einsum"]) for row in rows] == [
        (i, c.kind, c.einsum) for i, c in enumerate(contractions(5, 2, "TA"))
    ]
    assert len({row["reduces_to"] for row in rows} - {None}) == count
    assert rows[0]["survivors"] == [0, 1]
    assert rows[0]["blocks"] == [[2, 3, 4]]
    assert rows[0]["reduces_to"] == (0 if matrix.self_loops else None)


def test_without_adjacency_and_to_another_order(capsys: pytest.CaptureFixture[str]) -> None:
    lines = _run(capsys, "contractions", "--order", "1").splitlines()
    assert [line.split() for line in lines[1:3]] == [["0", "1", "ax->a", "itself"], ["1", "1", "xa->a", "itself"]]
    assert all(fact in lines[-1] for fact in ("2 contractions of T", "order 2 to 1", "2 distinct"))
    out = json.loads(_run(capsys, "contractions", "--order", "2", "--order-out", "0", "--json"))
    assert (out["all"], out["order_out"]) == (5, 0)


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert _run(capsys, "--version").strip() == ccn.__version__
