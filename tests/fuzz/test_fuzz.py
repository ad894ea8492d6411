"""A short part of ``make fuzz``, the inputs that once failed, and what the documentation says of the whole."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from ccn import sealed
from tests.fuzz import atheris_readers, mutators, trials
from tests.fuzz.inputs import KINDS, make, numbered
from tests.fuzz.page import ATHERIS, REPORT, TABLES, between
from tests.fuzz.seeds import SEEDS

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="time and memory are read from /proc")
ROOT = Path(__file__).parents[2]
FOUND = sorted((Path(__file__).parent / "regressions").glob("*/*"))


@pytest.mark.slow
def test_three_hundred_inputs(tmp_path: Path) -> None:
    path = os.pathsep.join([str(ROOT / "src"), str(ROOT)])
    words = ["--inputs", "300", "--seed", "7", "--report", str(tmp_path / "r.json"), "--failures", str(tmp_path / "f")]
    done = subprocess.run(
        [sys.executable, "-m", "tests.fuzz", *words],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    report = json.loads((tmp_path / "r.json").read_text())
    assert report["inputs"] >= 290
    assert not any(report["failures"].values())
    assert all(of["inputs"] for of in report["kinds"].values())
    assert sum(of["rows"] for of in report["kinds"].values()) > 1000


@pytest.mark.parametrize("path", FOUND, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_what_once_failed(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    getattr(trials, f"try_{path.parent.name}")(path)


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_the_same_seed_makes_the_same_input(kind: str, tmp_path: Path) -> None:
    if kind in ("checkpoint", "member of a stack", "search"):
        pytest.skip("made by training")
    first, second = (make(3, kind, 5, tmp_path / name) for name in "ab")
    for path in first.rglob("*") if first.is_dir() else [first]:
        assert path.read_bytes() == (second / path.relative_to(first)).read_bytes()


def test_all_kinds_have_their_share() -> None:
    jobs = numbered(10_000)
    assert len(jobs) == len(set(jobs)) == 10_000
    assert sum(kind == "model" for kind, _ in jobs) == 1000


def test_lost_rows_are_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    out = tmp_path / "out.csv"
    for text in ("id,y_pred,reason\na,,\n", "id,y_pred,reason\na,1\n", "id,y_pred,reason\na,1,but\n"):
        out.write_text(text)
        with pytest.raises(trials.Fault, match="rows"):
            trials._answered(out)
    monkeypatch.setattr(trials, "independent", lambda path: 17)
    with pytest.raises(trials.Fault, match="17 lines"):
        trials.try_table(SEEDS / "plain.csv")


def test_an_internal_error_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(words: list[str]) -> None:
        sys.exit(3)

    monkeypatch.setattr(trials, "main", fail)
    with pytest.raises(trials.Fault, match="exit 3"):
        trials.command("info", "x")


def test_lines_are_counted_as_text_editors_do() -> None:
    assert [len(trials.lines(text)) for text in ("", "a", "a\n", "a\r\nb", "a\r\rb\n", "\n\n")] == [0, 1, 1, 2, 3, 2]


@pytest.mark.parametrize("suffix", atheris_readers.SUFFIXES)
def test_the_readers_for_atheris_read(suffix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sealed, "_digest", sealed._digest)  # put back what the reader of models takes away
    one, seeds = atheris_readers.reader(suffix, tmp_path), atheris_readers.corpus(suffix)
    assert seeds
    for content in (b"", b"x", b"id,smiles,y\na,C,1\n", seeds[0], seeds[0][:-9]):
        one(content)


def test_values_can_be_written() -> None:
    assert len(json.dumps(mutators.VALUES)) > 1000


def test_the_page_has_the_counts_of_the_reports() -> None:
    page = (ROOT / "docs" / "reliability.md").read_text(encoding="utf-8")
    for name, path, made in TABLES:
        assert between(page, name)[1] == made(json.loads(path.read_text(encoding="utf-8")))
    report = json.loads(REPORT.read_text(encoding="utf-8"))
    assert report["inputs"] == 10_000
    assert not any(report["failures"].values())
    readers = json.loads(ATHERIS.read_text(encoding="utf-8"))["readers"]
    assert [one["reader"] for one in readers] == list(atheris_readers.SUFFIXES)
    assert all(one["inputs"] and not one["failures"] for one in readers)
