"""`ccn table`: what is printed, written and put into pages."""

import csv
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from made_up import accuracies, hcep, write

from ccn.errors import CCNError
from ccn.paper.formats import embed
from ccn.paper.records import history
from ccn.paper.tables import NAMES, table

ROOT = Path(__file__).parents[2]


@pytest.fixture
def results(tmp_path: Path) -> Path:
    return write(tmp_path / "results", [*accuracies("MUTAG", wl=[0.8, 0.9]), hcep("boosting", 1.0)])


def test_markdown_of_one_table_and_of_all_from_the_usual_folder(
    ccn: Callable[..., None], results: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(results.parent)
    ccn("table", "kernels")
    one = capsys.readouterr().out
    assert "| wl | **85.00 ± 7.07 (2 of 10 splits)** | 84.50 ± 2.16 |" in one
    ccn("table", "all")
    out = capsys.readouterr().out
    assert out.startswith(one)
    assert out.count("\n| --- |") == len(NAMES)


def test_files(ccn: Callable[..., None], results: Path, tmp_path: Path) -> None:
    for kind in ("latex", "csv", "markdown"):
        ccn("table", "all", "--results", results, "--format", kind, "--output", tmp_path / kind)
    assert (tmp_path / "latex").read_text().count(r"\begin{tabular}") == len(NAMES)
    with (tmp_path / "csv").open(newline="") as file:
        published = {
            "kernels",
            "hcep",
            "qm9",
            "qm9-rmse",
            "qm9-units",
            "expressivity",
            "folds",
            "zinc",
            "admet",
            "cliffs",
            "cliffs-only",
        }
        assert {row["table"] for row in csv.DictReader(file)} == published
    pytest.importorskip("matplotlib")
    ccn("table", "kernels", "--results", results, "--format", "png", "--output", tmp_path / "k.png")
    assert (tmp_path / "k.png").stat().st_size > 10_000


def test_the_ending_of_the_file_says_the_format_where_no_other_is_given(
    ccn: Callable[..., None], results: Path, tmp_path: Path
) -> None:
    def written(name: str, *more: str) -> bytes:
        ccn("table", "kernels", "--results", results, "--output", tmp_path / name, *more)
        return (tmp_path / name).read_bytes()

    assert written("k.tex").startswith(rb"\begin{table}")
    assert written("k.CSV").startswith(b"table,item,method")
    assert written("k.md") == written("k") == written("k.txt") == written("other.tex", "--format", "markdown")
    pytest.importorskip("matplotlib")
    assert written("k.png").startswith(b"\x89PNG")


def test_a_page_is_made_anew(ccn: Callable[..., None], results: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("before\n<!-- ccn table kernels -->\n<!-- end of table -->\nafter\n")
    ccn("table", "ALL", "--results", results, "--update", page)
    assert "**85.00 ± 7.07" in page.read_text(encoding="utf-8")
    assert page.read_text(encoding="utf-8").startswith("before\n")


def test_a_page_with_a_table_that_has_no_end_is_left_as_it_was(
    ccn: Callable[..., None], results: Path, tmp_path: Path
) -> None:
    page = tmp_path / "page.md"
    text = "<!-- ccn table kernels -->\nwords\n<!-- ccn table hcep -->\n<!-- end of table -->\n"
    page.write_text(text)
    with pytest.raises(CCNError, match="ccn table kernels"):
        ccn("table", "all", "--results", results, "--update", page)
    assert page.read_text() == text


def test_a_page_is_as_it_was_when_the_disk_is_full(
    ccn: Callable[..., None], results: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(handle: int) -> None:
        raise OSError(28, "No space left on device")

    page = tmp_path / "page.md"
    page.write_text("<!-- ccn table kernels -->\n<!-- end of table -->\n")
    monkeypatch.setattr(os, "fsync", fail)
    for words in (("all", "--update"), ("kernels", "--output")):
        with pytest.raises(CCNError, match=r"page\.md"):
            ccn("table", words[0], "--results", results, words[1], page)
    assert page.read_text() == "<!-- ccn table kernels -->\n<!-- end of table -->\n"


def test_pictures_without_a_name_have_that_of_their_table(
    ccn: Callable[..., None], results: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("matplotlib")
    monkeypatch.chdir(results.parent)
    ccn("table", "Kernels", "--format", "png")
    assert Path("kernels.png").read_bytes().startswith(b"\x89PNG")
    assert "kernels.png" in capsys.readouterr().err


def test_a_table_without_records_says_what_makes_some(
    ccn: Callable[..., None], results: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ccn("table", "expressivity", "--results", results)
    assert "ccn reproduce expressivity" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["nothing"], "nothing.* kernels"),
        (["kernels", "--results", "elsewhere"], "elsewhere"),
        (["all", "-o", "all.png"], "kernels.png"),
        (["kernels", "--update", "x.md", "--format", "csv"], "--format"),
    ],
)
def test_what_cannot_be(
    ccn: Callable[..., None], results: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], message: str
) -> None:
    monkeypatch.chdir(results.parent)
    with pytest.raises(CCNError, match=message):
        ccn("table", *words)


@pytest.mark.slow
def test_the_page_of_results_is_what_the_records_say() -> None:
    if not (ROOT / "results").is_dir():
        pytest.skip("there are no records")
    page = (ROOT / "docs" / "results.md").read_text(encoding="utf-8")
    records = history(ROOT / "results")
    assert embed(page, [table(name, records) for name in NAMES], "results.md") == page
