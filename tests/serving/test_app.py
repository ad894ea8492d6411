"""The API as a client sees it."""

from __future__ import annotations

import csv
import io
import json
import shutil
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ccn.runs.predict import Options, predict_file
from tests.reading import csv_rows

NASTY = [
    "<script>alert(1)</script>",
    "=cmd|' /C calc'!A0",
    "../../etc/passwd",
    "a\x00b",
    "\u202egnp",
    "'\"><img src=x>",
]


def ask(client: Any, path: str, **asked: Any) -> Any:
    return client.post(path, json={"model": "network", **asked})


def test_predictions_are_those_of_the_command(client: Any, runs: dict[str, Path], table: Path, tmp_path: Path) -> None:
    predict_file(runs["network"], str(table), tmp_path / "out.csv", Options(processes=1), interval=0.5, domain=True)
    expected = csv_rows(tmp_path / "out.csv")[:40]
    rows = ask(client, "/predict", molecules=[r["smiles"] for r in expected], interval=0.5, domain=True).json()["rows"]
    for row, line in zip(rows, expected, strict=True):
        for name in ("size_pred", "size_low", "oxygens_high", "distance"):
            assert row["values"][name] == pytest.approx(float(line[name]), rel=1e-5, abs=1e-5)
        assert row["values"]["domain"] == line["domain"]


def test_a_bad_molecule_costs_itself_alone(client: Any) -> None:
    rows = ask(client, "/predict", molecules=["CCO", "CC(C", "C" * 61, "", "CCN"]).json()["rows"]
    assert [row["values"] is None for row in rows] == [False, True, True, True, False]
    assert rows[1]["where"] == [2, 3]
    assert "60" in rows[2]["reason"]


def test_extra_columns_are_fields(client: Any) -> None:
    given = [
        {"smiles": "CCO", "columns": {"warmth": 3}},
        {"smiles": "CCO"},
        {"smiles": "CCO", "columns": {"warmth": 1e60}},
    ]
    answer = ask(client, "/predict", model="warm", molecules=given)
    assert [row["reason"] is None for row in answer.json()["rows"]] == [True, False, False]
    wrong = ask(client, "/predict", model="warm", molecules=[{"smiles": "C", "columns": {"wamth": 1}}])
    assert wrong.status_code == 422
    assert "wamth" in wrong.json()["detail"]


def test_the_terms_of_an_explanation_add_up(client: Any) -> None:
    row, bad = ask(client, "/explain", molecules=["CCCO", "C1CC"], target="oxygens", pairs=True, fields=True).json()[
        "rows"
    ]
    terms = [row["baseline"], *row["atoms"], *row["bonds"], *row["whole"].values(), row["residual"]]
    np.testing.assert_allclose(sum(terms), row["prediction"], rtol=1e-9)
    assert (row["target"], len(row["pairs"]), row.get("drawing")) == ("oxygens", 4, None)
    assert row["fields"][3] == [[3], [2, 3], [1, 2, 3]]
    assert bad["where"] == [1, 2]


def test_drawings_have_the_places_of_their_atoms(client: Any) -> None:
    (row,) = ask(client, "/explain", molecules=["CCCO"], drawings=True, pairs=True).json()["rows"]
    for name in ("drawing", "full", "legend", "arcs"):
        assert row[name].startswith("<svg")
        assert "script" not in row[name]
    places = np.array(row["places"])
    assert places.shape == (4, 2)
    assert (places > 0).all()
    assert (places < [420, 300]).all()


def test_neighbours_are_training_molecules(client: Any, table: Path) -> None:
    known = table.read_text()
    (row,) = ask(client, "/nearest", molecules=["CCCCO"], count=2).json()["rows"]
    assert len(row["nearest"]) == 2
    assert all(f",{near['smiles']}," in known for near in row["nearest"])
    assert set(row["nearest"][0]["measured"]) == {"size", "oxygens"}
    assert row["nearest"][0]["similarity"] >= row["nearest"][1]["similarity"]


def test_models_say_what_can_be_asked(client: Any, runs: dict[str, Path]) -> None:
    network, warm = client.get("/models").json()
    assert network["targets"] == ["size", "oxygens"]
    assert warm["columns"] == ["warmth"]
    assert [network[k] for k in ("pairs", "fields", "nearest")] == [True] * 3
    assert network["intervals"] == 0.5
    assert str(runs["network"]) not in json.dumps([network, warm])


@pytest.mark.parametrize("name", NASTY)
def test_names_are_text(name: str, client: Any) -> None:
    answer = ask(client, "/predict", molecules=[{"smiles": "CCO", "name": name}, {"smiles": name}], drawings=True)
    assert answer.headers["content-type"] == "application/json"
    first, second = answer.json()["rows"]
    assert first["name"] == name
    assert second["smiles"] == name
    assert "<script" not in first["drawing"]


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"", 422),
        (b"{", 422),
        (b"\xff\xfe", 422),
        (b"[" * 5_000, 400),
        (b'{"molecules": ["CCO"], "model": "nothing"}', 404),
        (b'{"molecules": []}', 422),
        (b'{"molecules": ["CCO"]}', 404),  # which of two models?
        (b'{"model": "network", "molecules": ["CCO"], "intervall": 0.9}', 422),
        (b'{"model": "network", "molecules": ["CCO"], "interval": NaN}', 422),
        (b'{"model": "network", "molecules": ["\\ud800"]}', 422),
        (b'{"model": "network", "molecules": ["CCO"], "interval": 0.9999}', 422),
        (b'{"model": "../../etc/passwd", "molecules": ["CCO"]}', 404),
        (json.dumps({"model": "network", "molecules": ["C"] * 51}).encode(), 413),
        (b" " * 30_000, 413),
    ],
)
def test_what_cannot_be_answered_is_refused_with_a_reason(body: bytes, status: int, client: Any) -> None:
    answer = client.post("/predict", content=body, headers={"content-type": "application/json"})
    assert answer.status_code == status
    assert set(answer.json()) == {"detail"}


@pytest.mark.parametrize(
    "path",
    ["/static/../app.py", "/static/..%2fapp.py", "/static/%2e%2e/app.py", "/editor/x.js", "/etc/passwd",
     "/static/page.js/..", "/jobs/..%2f..", "/jobs/" + "A" * 22 + "/result"],
)  # fmt: skip
def test_no_path_reaches_a_file(path: str, client: Any) -> None:
    assert client.get(path).status_code in (404, 405)


def test_the_page_is_complete_and_loads_nothing_from_elsewhere(client: Any) -> None:
    page = client.get("/")
    assert "'unsafe" not in page.headers["content-security-policy"]
    assert "default-src 'none'" in page.headers["content-security-policy"]
    assert "<script>" not in page.text
    assert " style=" not in page.text
    for part in page.text.split('"'):
        if part.startswith("/static/"):
            assert client.get(part).status_code == 200
        assert not part.startswith(("http:", "https:", "//"))


def test_headers_are_safe(client: Any) -> None:
    for path in ("/", "/models", "/nothing", "/static/page.js"):
        headers = client.get(path).headers
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["x-frame-options"] == "DENY"
        assert "server" not in headers


def test_the_description_has_every_path(client: Any) -> None:
    described = client.get("/openapi.json").json()
    assert {"/predict", "/explain", "/nearest", "/models", "/jobs", "/health", "/metrics"} <= set(described["paths"])


def test_metrics_count_requests(client: Any) -> None:
    ask(client, "/predict", molecules=["CCO"])
    text = client.get("/metrics").text
    assert 'ccn_requests_total{path="/predict",status="200"}' in text
    assert "\nccn_workers 1\n" in text


def wait(client: Any, job: dict[str, Any]) -> dict[str, Any]:
    for _ in range(600):
        found: dict[str, Any] = client.get(f"/jobs/{job['id']}").json()
        if found["state"] in ("done", "failed"):
            return found
        time.sleep(0.1)
    raise AssertionError(f"{found} has no end")


def test_a_table_is_answered_in_the_background(client: Any) -> None:
    lines = ["name,smiles", *(f"{name!r},CCO" for name in ("=1+1", "b")), "c,CC("]
    sent = client.post("/jobs", params={"model": "network", "interval": 0.5}, content="\n".join(lines))
    assert sent.status_code == 202
    job = wait(client, sent.json())
    assert (job["state"], job["rows"], job["without"]) == ("done", 3, 1)
    result = client.get(f"/jobs/{job['id']}/result")
    assert "attachment" in result.headers["content-disposition"]
    rows = list(csv.DictReader(io.StringIO(result.text)))
    assert [bool(row["size_pred"]) for row in rows] == [True, True, False]
    assert client.delete(f"/jobs/{job['id']}").status_code == 204
    assert client.get(f"/jobs/{job['id']}").status_code == 404


def test_a_table_that_cannot_be_read_says_so_without_a_path(client: Any) -> None:
    sent = client.post("/jobs", params={"model": "network"}, content=b"\x00\x01\x02,\n\xff")
    job = wait(client, sent.json())
    assert job["state"] == "failed"
    assert job["error"]
    assert "/" not in job["error"].split("input.csv")[0]


@pytest.mark.parametrize(("content", "status"), [(b"x" * 100_001, 413), (b"smiles\n" + b"C\n" * 3_000, 413)])
def test_tables_have_limits(content: bytes, status: int, client: Any) -> None:
    assert client.post("/jobs", params={"model": "network"}, content=content).status_code == status


def test_a_replaced_model_answers_without_a_dropped_request(client: Any, runs: dict[str, Path], tmp_path: Path) -> None:
    file, kept = runs["network"] / "model.safetensors", tmp_path / "kept"
    shutil.copy(file, kept)
    before = client.get("/health").json()

    def until(good: Any) -> dict[str, Any]:
        for _ in range(300):
            assert ask(client, "/predict", molecules=["CCO"]).status_code == 200
            if good(found := client.get("/health").json()):
                return dict(found)
            time.sleep(0.05)
        raise AssertionError(found)

    file.write_bytes(kept.read_bytes()[:1000])  # as while it is written
    broken = until(lambda found: found["status"] == "degraded")
    assert broken["models"] == before["models"]
    (fault,) = (model["fault"] for model in client.get("/models").json() if model["name"] == "network")
    assert fault.startswith("model.safetensors: ")
    shutil.copy(runs["warm"] / "model.safetensors", tmp_path / "new")
    training = runs["network"] / "training.csv.gz"
    shutil.move(training, tmp_path / "training")
    (tmp_path / "new").replace(file)
    new = until(lambda found: found["status"] == "ok" and found["models"] != before["models"])
    assert new["models"]["network"] == new["models"]["warm"]
    shutil.move(tmp_path / "training", training)
    kept.replace(file)
    until(lambda found: found["status"] == "ok" and found["models"] == before["models"])
