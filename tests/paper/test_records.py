from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
from made_up import hcep, pairs, qm9, task

from ccn.errors import FileError
from ccn.paper.records import Record, append, history, read

ONE = Record("MUTAG", "wl", 0, "done", "accuracy", 0.8, 0.9, 1.5, 0, "0.1.0", {"rows": 150}, {"error": float("nan")})


def test_the_newest_record_of_a_cell_counts(tmp_path: Path) -> None:
    path = tmp_path / "kernels" / "MUTAG.jsonl"
    append(path, replace(ONE, status="failed", test=None))
    append(path, replace(ONE, split=1))
    append(path, ONE)
    found = read(tmp_path)
    assert [(r.split, r.status) for r in found] == [(1, "done"), (0, "done")]
    assert found[1] == replace(ONE, details={"error": None})


def test_a_line_is_json_with_the_fields_of_a_record(tmp_path: Path) -> None:
    append(tmp_path / "a.jsonl", ONE)
    assert list(json.loads((tmp_path / "a.jsonl").read_text())) == list(asdict(ONE))


def test_half_a_line_is_passed_over_and_spoils_no_other(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    append(path, ONE)
    whole = path.read_bytes()
    path.write_bytes(whole + whole[: len(whole) // 2])
    assert len(read(tmp_path)) == 1
    append(path, replace(ONE, split=2))
    assert [r.split for r in read(tmp_path)] == [0, 2]


def test_many_may_write_at_once(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda i: append(tmp_path / "a.jsonl", replace(ONE, split=i)), range(64)))
    assert sorted(r.split for r in read(tmp_path)) == list(range(64))


def test_what_is_no_record_is_said_to_be_none(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"some": "thing"}\n')
    with pytest.raises(FileError, match=r"a\.jsonl, line 1"):
        read(tmp_path)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("dataset", None),
        ("split", "1"),
        ("split", True),
        ("split", -1),
        ("seed", 1.5),
        ("status", "over"),
        ("status", ["done"]),
        ("metric", "f1"),
        ("metric", {}),
        ("validation", "0.8"),
        ("test", "0.9"),
        ("test", float("nan")),
        ("test", 10**400),
        ("seconds", None),
        ("seconds", float("inf")),
        ("config", None),
        ("config", {"rows": "many"}),
        ("config", {"options": {"settings": [1]}}),
        ("config", {"recipe": {"training": None}}),
        ("details", None),
    ],
)
def test_a_value_of_the_wrong_kind_is_named_with_its_line(tmp_path: Path, field: str, value: Any) -> None:
    append(tmp_path / "a.jsonl", ONE)
    with (tmp_path / "a.jsonl").open("a") as file:
        file.write(json.dumps(asdict(ONE) | {field: value}) + "\n")
    with pytest.raises(FileError, match=rf"a\.jsonl, line 2: .*: {field} "):
        read(tmp_path)


@pytest.mark.parametrize("made", [hcep("wl", 0.5), qm9("wl", 0.5), pairs("BREC basic", "1-WL", 1, 2)])
def test_figures_of_targets_and_pairs_must_be_right_where_they_are_there(tmp_path: Path, made: Record) -> None:
    append(tmp_path / "a.jsonl", made)
    append(tmp_path / "a.jsonl", replace(made, split=1, status="failed", test=None, details={"error": "some"}))
    assert len(read(tmp_path)) == 2
    bad: list[Any] = [None, "some", [], [[]]]
    append(tmp_path / "none" / "b.jsonl", replace(made, details={}))
    assert len(read(tmp_path / "none")) == 1
    for name in made.details:
        for value in bad:
            path = tmp_path / "bad" / "b.jsonl"
            path.unlink(missing_ok=True)
            append(path, replace(made, details={**made.details, name: value}))
            with pytest.raises(FileError, match=r"b\.jsonl, line 1: .* details"):
                read(tmp_path / "bad")


@pytest.mark.parametrize(
    "change",
    [
        {"metrics": None},
        {"metrics": {"rmse": 0.5}},
        {"metrics": {"rmse": "0.5", "cliff_rmse": 0.6}},
        {"processor_seconds": None},
        {"date": 20300102},
    ],
)
def test_a_task_on_molecules_has_its_metrics_its_time_and_its_day(tmp_path: Path, change: dict[str, Any]) -> None:
    made = task("CHEMBL204_Ki", "forest")
    append(tmp_path / "a.jsonl", made)
    append(tmp_path / "a.jsonl", made)
    assert (len(history(tmp_path)), read(tmp_path)) == (2, [made])
    append(tmp_path / "a.jsonl", replace(made, details={**made.details, **change}))
    with pytest.raises(FileError, match=r"a\.jsonl, line 3: .* details"):
        read(tmp_path)
    append(tmp_path / "other" / "b.jsonl", replace(made, metric="mae"))
    with pytest.raises(FileError, match="metric"):
        read(tmp_path / "other")


def test_no_folder_has_no_records(tmp_path: Path) -> None:
    assert read(tmp_path / "none") == []
