"""Long tables: the same rows however they are cut, killed and shared out."""

from __future__ import annotations

import csv
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from ccn.engine.cpu import compiling
from ccn.errors import ConfigurationError, DataError, FileError, TrainingError
from ccn.learning import model_file
from ccn.learning.model import Model
from ccn.runs.predict import Options, predict_file, source_of
from tests.reading import csv_rows


def _nothing(x: int) -> None:
    """Compiled anew where no code is kept."""


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("t") / "long.csv"
    rows = (f"{i},{'C' * (i % 17)}{('O', 'N', 'C1')[i % 3]}" for i in range(300))
    path.write_text("i,smiles\n" + "\n".join(rows) + "\n")
    return path


@pytest.fixture(scope="module")
def expected(model: Path, table: Path, tmp_path_factory: pytest.TempPathFactory) -> bytes:
    out = tmp_path_factory.mktemp("o") / "out.csv"
    done = predict_file(model, str(table), out, Options(processes=1, chunk=50, every=0.0))
    assert (done.rows, done.without, done.before) == (300, 100, 0)
    return out.read_bytes()


def test_a_killed_process_ends_the_run_which_goes_on(model: Path, table: Path, tmp_path: Path) -> None:
    out, options = tmp_path / "out.csv", Options(processes=2, chunk=5, every=0.0)
    predict_file(model, str(table), tmp_path / "whole.csv", replace(options, processes=1))

    def kill(rows: int) -> None:
        for child in psutil.Process().children():
            child.kill()

    with pytest.raises(TrainingError, match="killed"):
        predict_file(model, str(table), out, replace(options, tell=kill))
    assert not out.exists()
    done = predict_file(model, str(table), out, replace(options, resume=True))
    assert done.before > 0
    assert out.read_bytes() == (tmp_path / "whole.csv").read_bytes()


def test_processes_give_the_same_rows(model: Path, table: Path, expected: bytes, tmp_path: Path) -> None:
    predict_file(model, str(table), tmp_path / "out.csv", Options(processes=2, chunk=50))
    assert (tmp_path / "out.csv").read_bytes() == expected


def test_a_cut_prediction_goes_on(model: Path, table: Path, expected: bytes, tmp_path: Path) -> None:
    out, options = tmp_path / "out.csv", Options(processes=1, chunk=50, every=0.0)

    def stop(rows: int) -> None:
        if rows == 150:
            raise RuntimeError

    with pytest.raises(RuntimeError):
        predict_file(model, str(table), out, replace(options, tell=stop))
    with out.with_name("out.csv.part").open("a") as part:
        part.write("half a ro")  # which a kill may leave
    with pytest.raises(FileError, match="--resume"):
        predict_file(model, str(table), out, options)
    with pytest.raises(FileError):
        predict_file(model, str(table), out, Options(processes=1, resume=True), interval=0.1)
    done = predict_file(model, str(table), out, replace(options, resume=True))
    assert done.before == 150
    assert out.read_bytes() == expected
    assert sorted(p.name for p in tmp_path.iterdir()) == ["out.csv"]


@pytest.mark.slow
def test_killed_without_warning(model: Path, table: Path, expected: bytes, tmp_path: Path) -> None:
    out = tmp_path / "out.csv"
    script = (
        "import sys, time\nfrom ccn.runs.predict import Options, predict_file\n"
        "options = Options(processes=1, chunk=50, every=0.0, tell=lambda n: time.sleep(0.2))\n"
        "predict_file(*sys.argv[1:4], options)"
    )
    child = subprocess.Popen([sys.executable, "-c", script, str(model), str(table), str(out)])
    record = out.with_name("out.csv.progress")
    began = time.monotonic()
    while (not record.exists() or '"rows": 0' in record.read_text()) and time.monotonic() - began < 60:
        time.sleep(0.02)
    os.kill(child.pid, signal.SIGKILL)
    assert child.wait() == -signal.SIGKILL
    done = predict_file(model, str(table), out, Options(processes=1, chunk=70, resume=True))
    assert done.before > 0
    # Another number of rows at a time is another order of sums: the same to rounding.
    found, sought = (list(csv.DictReader(text.decode().splitlines())) for text in (out.read_bytes(), expected))
    for a, b in zip(found, sought, strict=True):
        values = [float(row.pop("y_pred") or "nan") for row in (a, b)]
        assert a == b
        assert values[0] == pytest.approx(values[1], rel=1e-6, nan_ok=True)


def test_what_cannot_be_is_refused_at_once(model: Path, table: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"as \.csv, \.tsv"):
        predict_file(model, str(table), tmp_path / "out.parquet")
    with pytest.raises(ConfigurationError, match="no such folder"):
        predict_file(model, str(table), tmp_path / "nowhere" / "out.csv")
    with pytest.raises(ConfigurationError, match="90"):
        predict_file(model, str(table), tmp_path / "out.csv", interval=90)


def test_words_are_one_file_or_smiles(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert source_of(["CCO"]) == ("CCO",)
    assert source_of(["CCO", "c1ccccc1O", "no/such"]) == ("CCO", "c1ccccc1O", "no/such")
    for name in ("-", "new.csv", "new.CSV.gz", "new.xlsx", "new.sdf", "new.jsonl"):
        assert source_of([name]) == name
    assert source_of(["C" * 300]) == ("C" * 300,)  # longer than the name of a file may be
    Path("CCN").mkdir()
    assert source_of(["CCN"]) == ("CCN",)
    Path("CCO").write_text("smiles\n")
    assert source_of(["CCO"]) == "CCO"
    for words in (["CCO", "CCN"], ["CCN", "new.csv"], ["a.csv", "b.csv"], ["CCN", "-"]):
        with pytest.raises(ConfigurationError, match="is a file"):
            source_of(words)


def test_smiles_instead_of_a_file(model: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.csv"
    done = predict_file(model, ["CCO", "molecules", "CCN"], out, Options(processes=1))
    assert (done.rows, done.without) == (3, 1)
    found = csv_rows(out)
    assert [row["smiles"] for row in found] == ["CCO", "molecules", "CCN"]
    assert [bool(row["reason"]) for row in found] == [False, True, False]
    for fact in ("no such file", "not a SMILES"):
        assert fact in found[1]["reason"]
        with pytest.raises(DataError, match=f"molecules.*{fact}"):
            predict_file(model, ["molecules"], out)
    with pytest.raises(ConfigurationError, match="--resume"):
        predict_file(model, ["CCO"], out, Options(resume=True))


def test_kernels_that_are_compiled_are_said_once(model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiling, "kernel_folder", lambda: str(tmp_path))
    said: list[str] = []
    options, load = Options(processes=1, say=said.append), model_file.load
    predict_file(model, ["CCO"], tmp_path / "warm.csv", options)
    said.clear()
    predict_file(model, ["CCO"], tmp_path / "out.csv", options)
    assert said == []

    def compiles(path: str | Path) -> Model:
        for _ in range(2):
            compiling.compiled(_nothing)(1)
        return load(path)

    monkeypatch.setattr("ccn.runs.predict.model_file.load", compiles)
    predict_file(model, ["CCO"], tmp_path / "out.csv", options)
    assert said == ["compiling kernels (once)"]
