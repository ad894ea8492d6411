"""Tables as text."""

import csv
import io
from pathlib import Path

import pytest
from made_up import accuracies, hcep, qm9, task

from ccn.errors import DataError, FileError
from ccn.paper.cells import cells as made_of
from ccn.paper.comparison import Table
from ccn.paper.formats import as_csv, as_latex, as_markdown, draw, embed
from ccn.paper.tables import NAMES, table

RECORDS = [
    *accuracies("MUTAG", wl=[0.8, 0.9, 0.7] * 3 + [0.8, 0.2], ccn_2=[0.81, 0.9, 0.7] * 3 + [0.8], gin=[0.3] * 4),
    hcep("boosting", 1.0, rows=40_000),
    hcep("wl", 0.9, rows=5_000),
    qm9("ccn-2", 0.3),
    qm9("floor", 0.2),
]


def cells(line: str, between: str) -> list[str]:
    return [cell.strip() for cell in line.strip().strip(between).split(between)]


@pytest.fixture
def kernels() -> Table:
    return table("kernels", RECORDS)


def test_markdown_has_the_papers_figure_beside_ours(kernels: Table) -> None:
    lines = as_markdown(kernels).splitlines()
    head = next(i for i, line in enumerate(lines) if line.startswith("| method"))
    rows = {cells(line, "|")[0]: cells(line, "|") for line in lines[head + 2 : head + 2 + len(kernels.methods)]}
    assert cells(lines[head], "|")[:3] == ["method", "MUTAG", "paper"]
    assert {len(row) for row in rows.values()} == {11}
    assert rows["ccn-2"][1:3] == ["**80.30 ± 8.18**", "91.64 ± 7.24"]
    assert rows["wl"][1:3] == ["80.00 ± 8.16†", "84.50 ± 2.16"]
    assert rows["gin"][1:3] == ["30.00 ± 0.00 (4 of 10 splits)", "\N{EN DASH}"]


def test_published_figures_of_tasks_are_a_column() -> None:
    lines = as_markdown(table("admet", [task("dili", "forest", 0, 0.9)])).splitlines()
    assert cells(lines[2], "|") == ["task", "forest", "public best"]
    assert ["dili (ROC-AUC)", "**0.900 (1 of 5 splits)**", "0.956"] in [cells(line, "|") for line in lines]


@pytest.mark.parametrize("name", NAMES)
def test_latex_has_no_character_that_it_would_trip_over(name: str) -> None:
    text = as_latex(table(name, RECORDS))
    assert text.isascii()
    body = text[text.index(r"\toprule") : text.index(r"\bottomrule")]
    rows = [line for line in body.splitlines() if "&" in line]
    assert len({line.count("&") for line in rows}) == 1
    for special in "_^#%":
        left = text.replace(rf"\{special}", "").replace(r"$^\dagger$", "").replace(r"\textasciicircum{}", "")
        assert special not in left
    assert text.count("{") - text.count(r"\{") == text.count("}") - text.count(r"\}")


def test_latex_marks_the_best(kernels: Table) -> None:
    assert r"ccn-2 & \textbf{80.30 $\pm$ 8.18} & 91.64 $\pm$ 7.24 &" in as_latex(kernels)
    assert r"wl & 80.00 $\pm$ 8.16$^\dagger$ &" in as_latex(kernels)


def test_csv_has_a_line_per_figure() -> None:
    rows = list(csv.DictReader(io.StringIO(as_csv(table(n, RECORDS) for n in NAMES))))
    found = {(r["table"], r["item"], r["method"]): r for r in rows}
    assert len(found) == len(rows)
    mine = found["kernels", "MUTAG", "ccn-2"]
    assert float(mine["mean"]) == pytest.approx(80.3)
    assert (mine["splits"], mine["of"], mine["best"], mine["close"]) == ("10", "10", "1", "0")
    assert (float(mine["paper"]), float(mine["paper_deviation"])) == (91.64, 7.24)
    assert found["kernels", "NCI1", "random-walk"]["paper_text"] == "TIMED OUT"
    assert found["kernels", "NCI1", "random-walk"]["mean"] == ""


def test_tables_are_put_between_their_marks_and_only_there(kernels: Table) -> None:
    other = "<!-- ccn table hcep -->\n<!-- end of table -->\n"
    page = f"# A\n\n<!-- ccn table kernels -->\nan older table\n<!-- end of table -->\n\nB\n\n{other}"
    filled = embed(page, [kernels], "page")
    assert filled.startswith("# A\n\n<!-- ccn table kernels -->\n\nAccuracy")
    assert filled.endswith(f"<!-- end of table -->\n\nB\n\n{other}")
    assert "older" not in filled
    assert embed(filled, [kernels], "page") == filled


@pytest.mark.parametrize("after", ["<!-- ccn table hcep -->\n<!-- end of table -->\n", "text\n", ""])
def test_a_table_without_an_end_is_an_error(after: str, kernels: Table) -> None:
    complete = "<!-- ccn table kernels -->\n<!-- end of table -->\n"
    with pytest.raises(FileError, match=r"page\.md: .* qm9 "):
        embed(f"{complete}<!-- ccn table qm9 -->\nlost\n{after}", [kernels], "page.md")


def test_a_page_without_marks(kernels: Table) -> None:
    with pytest.raises(FileError, match=r"page\.md: .* kernels"):
        embed("# A\n", [kernels], "page.md")


@pytest.mark.parametrize("name", ["kernels", "hcep"])
def test_a_picture(name: str, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    path = draw(table(name, RECORDS), tmp_path / "table.png")
    assert path.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("name", "words"),
    [("kernels-more", "MUTAG --methods ridge,wl --splits 100")],
)
def test_there_is_no_picture_of_nothing(name: str, words: str, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    with pytest.raises(DataError, match=f"ccn reproduce {words} "):
        draw(table(name, []), tmp_path / "table.png")
    assert made_of(words.split()[0])
