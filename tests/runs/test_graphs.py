"""A model of graphs with labels reads those of other files as it read those of training."""

from __future__ import annotations

import csv
import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from ccn.errors import ConfigurationError
from ccn.learning.model_file import load
from ccn.reports.report import write_report
from ccn.runs.config import resolve
from ccn.runs.evaluate import evaluate_on
from ccn.runs.predict import Options, predict_file
from ccn.runs.train import train_run
from tests.reading import csv_rows

ONE = Options(processes=1, chunk=4)


def path_graph(labels: str, **more: Any) -> dict[str, Any]:
    return {"edges": [[i, i + 1] for i in range(len(labels) - 1)], "labels": list(labels), **more}


def write(path: Path, *lines: Any) -> Path:
    path.write_text("".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines))
    return path


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("graphs")
    words = ["a" * (1 + i % 5) + "b" * (1 + i % 3) + "c" * (i % 2) for i in range(30)]
    train = write(folder / "train.jsonl", *(path_graph(w, target=len(w) + 0.5) for w in words))
    given = {
        "network": {"order": 1, "levels": 1, "channels": 4, "hidden": 8},
        "training": {"epochs": 1, "batch_size": 16},
    }
    return train_run(resolve(str(train), given, threads=1), folder / "run").folder


def test_json_lines_keep_what_they_hold_and_labels_their_columns(run: Path, tmp_path: Path) -> None:
    first = path_graph("aabc", id="x")
    all_labels = [first, path_graph("bb"), "nonsense", path_graph("c"), {"n": 2}]
    few = [path_graph("bb"), path_graph("bbz")]
    predict_file(run, str(write(tmp_path / "a.jsonl", *all_labels)), tmp_path / "out.jsonl", ONE)
    found = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert found[0] == {**first, "target_pred": found[0]["target_pred"], "reason": None}
    assert [type(one["target_pred"]) for one in found] == [float, float, type(None), float, type(None)]
    assert found[2]["graph"] == "nonsense"
    assert "not JSON" in found[2]["reason"]
    assert "'edges'" in found[4]["reason"]
    # In a file with fewer labels b is the first of them, and z one that training has not seen.
    predict_file(run, str(write(tmp_path / "b.jsonl", *few)), tmp_path / "out.csv", ONE)
    rows = csv_rows(tmp_path / "out.csv")
    assert json.loads(rows[0]["graph"]) == few[0]
    assert float(rows[0]["target_pred"]) == pytest.approx(found[1]["target_pred"], rel=1e-6)
    assert rows[1]["target_pred"]
    assert load(run).inputs.vertex_names == ("label=a", "label=b", "label=c")


def test_evaluation_finds_the_columns_too(run: Path, tmp_path: Path) -> None:
    lines = [path_graph(w, target=len(w) + 0.5) for w in ("bc", "bcc", "bbc")]
    _, found = evaluate_on(load(run), str(write(tmp_path / "t.jsonl", *lines)))
    predict_file(run, str(tmp_path / "t.jsonl"), tmp_path / "out.jsonl", ONE)
    rows = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    away = [abs(r["target_pred"] - r["target"]) for r in rows]
    assert found["metrics"]["mae"] == pytest.approx(sum(away) / 3, rel=1e-5)


def test_a_few_integers_are_numbers_to_a_model_of_numbers(run: Path, tmp_path: Path) -> None:
    graphs = [path_graph("aab" + "c" * (i % 2), target=[100, 200, 300][i % 3]) for i in range(12)]
    data, found = evaluate_on(load(run), str(write(tmp_path / "new.jsonl", *graphs)))
    assert data.task == "regression"
    assert found["metrics"]["mae"] > 150  # not of the numbers of three classes


def test_a_pipe_of_graphs(run: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(json.dumps(path_graph("ab")).encode())))
    predict_file(run, "-", "-", ONE)
    assert json.loads(capsys.readouterr().out)["target_pred"]


def test_molecules_are_not_graphs_with_features_of_their_own(run: Path, tmp_path: Path) -> None:
    (tmp_path / "m.csv").write_text("smiles\nCCO\n")
    with pytest.raises(ConfigurationError, match=r"\.jsonl"):
        predict_file(run, str(tmp_path / "m.csv"), tmp_path / "out.csv")


@pytest.mark.parametrize("per", ["vertex", "edge"])
def test_targets_of_vertices_and_edges_from_a_file_to_predictions(per: str, tmp_path: Path) -> None:
    words = ["a" * (1 + i % 5) + "b" * (1 + i % 3) for i in range(24)]
    counts = [len(w) - (per == "edge") for w in words]
    lines = [
        path_graph(w, **{f"{per}_target": [i + 0.5 for i in range(n)]}) for w, n in zip(words, counts, strict=True)
    ]
    lines[3][f"{per}_target"][0] = None
    bad = [path_graph("ab", **{f"{per}_target": [1.0] * 9}), path_graph("ab", target=1.5)]
    train = write(tmp_path / "train.jsonl", *lines, *bad)
    given = {
        "network": {"order": 1, "levels": 1, "channels": 4, "hidden": 8},
        "training": {"epochs": 1, "batch_size": 16},
    }
    result = train_run(resolve(str(train), given, method="ccn", threads=1), tmp_path / "run")
    assert (result.model.task.per, load(tmp_path / "run").task.per) == (per, per)
    assert sum(json.loads((tmp_path / "run" / "data.json").read_text())["dropped"].values()) == 2
    assert "target" in write_report(tmp_path / "run").read_text()
    with (tmp_path / "run" / "predictions.csv").open(newline="") as file:
        assert {"row", per, "target", "target_pred"} <= set(next(csv.reader(file)))
    predict_file(tmp_path / "run", str(write(tmp_path / "new.jsonl", *lines, "nonsense")), tmp_path / "out.jsonl", ONE)
    found = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert [len(one["target_pred"]) for one in found] == [*counts, 0]
    predict_file(tmp_path / "run", str(tmp_path / "new.jsonl"), tmp_path / "out.csv", ONE)
    rows = csv_rows(tmp_path / "out.csv")
    assert [(int(r["row"]), r[per]) for r in rows[: counts[0]]] == [(1, str(i)) for i in range(counts[0])]
    assert len(rows) == sum(counts) + 1
    assert rows[-1]["reason"]
    _, measured = evaluate_on(result.model, str(train))
    assert measured["metrics"]["mae"] > 0
    with pytest.raises(ConfigurationError, match="method ccn"):
        train_run(resolve(str(train), method="wl", threads=1), tmp_path / "other")
    with pytest.raises(ConfigurationError, match="csv"):
        predict_file(tmp_path / "run", str(tmp_path / "new.jsonl"), tmp_path / "out.xlsx", ONE)
