"""The figures on the page about scale are those of the record; its parts run, at tiny sizes."""

from __future__ import annotations

import argparse
import gzip
import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch

from benchmarks import scale

linux = pytest.mark.skipif(sys.platform != "linux", reason="memory is read from /proc")


@pytest.fixture(autouse=True)
def _threads() -> Iterator[None]:
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


def test_page_and_tables_show_the_record() -> None:
    text = scale.rendered(json.loads(scale.RECORD.read_text(encoding="utf-8")))
    assert text in scale.PAGE.read_text(encoding="utf-8")
    assert text in scale.TABLES.read_text(encoding="utf-8")


def test_the_record_holds_the_projection_of_its_parts() -> None:
    record = json.loads(scale.RECORD.read_text(encoding="utf-8"))
    assert record["projection"] == scale.projection(record["screening"], record["chunks"])


def test_a_projection_follows_from_the_measured_parts() -> None:
    found = {
        "chunk": 100,
        "begin": {"rows": 1000, "client": 1.0, "workers": 5.0},
        "end": {"rows": 11000, "client": 1.5, "workers": 15.0},
        "answering_seconds": 3.0,
        "joined_seconds": 1.0,
    }
    each = {"rows": 100, "processor": 0.01, "there": 800, "back": 200}
    made = scale.projection(found, each, machines=2, cores=5, molecules=1_000_000)
    assert made["rows_per_core"] == 1000
    assert made["compute"] == 100  # 1,000,000 rows by 10 cores of 1,000 rows per second
    assert made["serial"] == {"client": 50, "scheduler": 100, "network": 1e7 / scale.NETWORK}
    assert (made["clients"], made["seconds"], made["one_client"]) == (1, 100, 100)
    assert made["core_seconds_per_death"] == pytest.approx(5 * (0.1 + 3))
    faster = scale.projection(found, each, machines=4, cores=5, molecules=1_000_000)
    assert (faster["compute"], faster["clients"], faster["seconds"], faster["one_client"]) == (50, 2, 50, 100)


def test_rows_that_are_missing_or_moved_are_not_counted(tmp_path: Path) -> None:
    table, out, here = (tmp_path / name for name in ("table.csv", "out.csv", "here.csv"))
    table.write_text("number,smiles\n0,C\n1,CC\n2,CO\n3,CN\n")
    here.write_text("number,smiles,y,reason\n2,CO,2.0,\n3,CN,3.0,\n")

    def compared(*rows: str) -> tuple[int, int, int]:
        out.write_text("\n".join(["number,smiles,y,reason", *rows]) + "\n")
        return scale._compared(table, out, here, [1], 2)

    right = ["0,C,0.0,", "1,CC,1.0,", "2,CO,2.0,", "3,CN,3.0,"]
    assert compared(*right) == (4, 2, 0)
    assert compared(*right[:3], "3,CN,3.5,") == (4, 2, 1)
    assert compared(right[0], right[2], right[1], right[3])[0] == 2
    assert compared(*right[:2])[0] == 2
    assert compared(right[0], *right)[0] == 1


def test_a_triangulated_grid() -> None:
    count, edges = scale.triangulated(12)
    assert (count, len(edges), len(np.unique(np.sort(edges, axis=1), axis=0))) == (12, 23, 23)
    assert np.bincount(edges.ravel()).max() == 6


@linux
def test_a_mesh_trains() -> None:
    found = scale._mesh(64, 6)
    assert (found["vertices"], found["largest_degree"], len(found["losses"])) == (64, 6, 6)
    assert found["losses"][-1] < found["losses"][0]


@linux
def test_one_batch_and_an_epoch_have_the_vertices_asked_for() -> None:
    found = scale._step(300)
    assert 300 <= found["vertices"] < 330
    found = scale._stream(1500, size=4)
    assert 1400 <= found["vertices"] <= 1600
    assert len(found["memory"]) == 10


@linux
def test_qm9_is_read_apart_from_training(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given = argparse.Namespace(qm9=3)
    monkeypatch.delenv("CCN_DATA", raising=False)
    assert scale.qm9(given) is None
    assert scale.screening(given) is None
    assert scale.chunks(given) is None
    (tmp_path / "qm9").mkdir()
    head = "index,smiles,mu,alpha,homo,lumo,gap,r2,zpve,u0,u,h,g,cv,omega1"
    rows = [f"{i},{smiles},{','.join(str(i + j) for j in range(13))}" for i, smiles in enumerate(["C", "N", "O", "CC"])]
    with gzip.open(tmp_path / "qm9" / "qm9.csv.gz", "wt") as file:
        file.write("\n".join([head, *rows]) + "\n")
    monkeypatch.setenv("CCN_DATA", str(tmp_path))
    monkeypatch.setenv("CCN_CACHE", os.environ.get("CCN_CACHE", ""))  # put back afterwards
    monkeypatch.setattr(scale, "alone", lambda work, *words: work(*words))
    found = scale.qm9(given)
    assert found is not None
    assert (found["reading"]["graphs"], found["reading"]["vertices"]) == (3, 5 + 4 + 3)
    assert found["epoch"]["steps"] == 1


@linux
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # Dask's servers complain about the connection to the worker that is killed
def test_a_screening_survives_a_killed_worker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("distributed")
    (tmp_path / "zinc").mkdir()
    with gzip.open(tmp_path / "zinc" / "zinc250k.smi.gz", "wt") as file:
        file.write("".join(f"{'C' * (1 + i % 19)}{'ON'[i % 2]}\n" for i in range(100)))
    monkeypatch.setenv("CCN_DATA", str(tmp_path))
    found = scale.screen(tmp_path, 3000, 10)
    assert (found["once"], found["different"]) == (3000, 0)
    assert found["killed_after"] >= 1500
    assert found["sampled"] > 0


@linux
@pytest.mark.slow
def test_the_command_writes_record_tables_and_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    record, tables, page = (tmp_path / name for name in ("scale.json", "scale.md", "page.md"))
    for name, path in (("RECORD", record), ("TABLES", tables), ("PAGE", page)):
        monkeypatch.setattr(scale, name, path)
    page.write_text(f"before\n{scale.BEGIN}\nold\n{scale.END}\nafter\n")
    monkeypatch.setattr(sys, "argv", ["scale", "growth", "mesh", "--vertices", "500", "--mesh", "36", "--steps", "2"])
    scale.main()
    made = json.loads(record.read_text())
    assert set(made) == {"growth", "mesh"}
    text = page.read_text()
    assert text.startswith("before\n")
    assert text.endswith("after\n")
    assert "old" not in text
    assert scale.rendered(made) in text
    assert scale.rendered(made) in tables.read_text()
