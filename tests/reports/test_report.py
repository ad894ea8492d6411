"""Reports of all tasks: every section is there, whatever comes from data is text, and nothing comes from outside."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

from ccn.errors import FileError
from ccn.reports import report as reports
from ccn.reports.report import write_report
from ccn.reports.run import Run
from ccn.reports.sections import SECTIONS
from ccn.reports.sections.data import faults
from ccn.reports.sections.performance import measured
from ccn.reports.sections.substructures import informative

Make = Callable[..., Run]
KINDS = [("regression", 2), ("binary", 1), ("multilabel", 3)]


class Page(HTMLParser):
    """The tags of a page, and what its attributes point to."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.addresses: list[str] = []
        self.ids: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        for name, value in attrs:
            if name in ("src", "href", "xlink:href", "data", "action"):
                self.addresses.append(value or "")
            if name == "id":
                self.ids.append(value or "")


@pytest.mark.parametrize(("kind", "targets"), KINDS)
def test_a_report_is_one_page_that_needs_nothing_else(
    kind: str, targets: int, run_of: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reports, "read_run", lambda folder: run_of(kind, targets, folder=folder))
    path = write_report(tmp_path)
    text = path.read_text()
    page = Page(text)
    assert path.stat().st_size < 5_000_000
    assert "script" not in page.tags
    assert all(a.startswith(("#", "data:")) for a in page.addresses)
    assert len(page.ids) == len(set(page.ids))
    assert {a[1:] for a in page.addresses if a.startswith("#")} <= set(page.ids)
    assert not re.search(r"url\((?!#)", text.split("<body>")[1])
    assert "some/where" not in text
    files = {p.name for p in (tmp_path / "figures").iterdir()}
    assert {Path(name).stem for name in files if name.endswith(".svg")} == {
        Path(name).stem for name in files if name.endswith(".png")
    }
    drawn = {"regression": "parity-1", "multilabel": "calibration"}.get(kind, "confusion")
    assert any(name.startswith(drawn) for name in files)


@pytest.mark.parametrize("molecules", [True, False])
def test_sections_are_of_what_the_run_has(molecules: bool, run_of: Make) -> None:
    run = run_of("regression", 1, molecules)
    made = {build.__name__ for build in SECTIONS if build(run) is not None}
    every = {build.__name__ for build in SECTIONS}
    assert made == (every if molecules else every - {"worst", "distances", "substructures"})


def test_a_run_without_a_test_part_has_a_report(run_of: Make) -> None:
    run = run_of("regression", 1)
    nothing = np.zeros((0, 1))
    metrics = {**run.metrics, "metrics": {"validation": run.metrics["metrics"]["validation"]}}
    run = replace(
        run, metrics=metrics, rows=[], names=[], smiles=[], known=nothing, predicted=nothing, low=None, high=None
    )
    assert {build.__name__ for build in SECTIONS if build(run) is not None} >= {"learned", "measured", "settings"}


def test_several_classes(run_of: Make) -> None:
    run = run_of("multiclass")
    pictures = [p.name for build in SECTIONS if (section := build(run)) is not None for p in section.pictures]
    assert {"roc", "precision-recall", "calibration", "confusion"} <= set(pictures)


def test_an_error_says_what_a_folder_lacks(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="nowhere"):
        write_report(tmp_path / "nowhere")


def test_planted_parts_are_the_most_informative() -> None:
    rng = np.random.default_rng(0)
    chain = ["C" * (2 + i % 9) for i in range(120)]
    ends = ["O", "N", "F", "Cl"]
    which = rng.integers(4, size=120)
    smiles = [c + ends[k] for c, k in zip(chain, which, strict=True)]
    values = np.array([3.0 * (k == 0) - 2.0 * (k == 3) for k in which]) + 0.01 * rng.normal(size=120)
    parts, share = informative(smiles, values)
    assert share > 0.99
    assert parts[0].effect == pytest.approx(3.0, abs=0.3)
    assert parts[-1].effect == pytest.approx(-2.0, abs=0.3)
    marked = {parts[0].smiles[a] for a in parts[0].atoms}
    assert "O" in marked
    assert informative(smiles, np.ones(120)) == ([], 0.0)
    assert informative(smiles[:10], values[:10]) == ([], 0.0)


def test_means_over_several_units_are_left_out(run_of: Make) -> None:
    blocks = [str(b) for b in measured(run_of("regression", 8)).blocks]
    (parts,) = [b for b in blocks if "<table" in b and ">validation" in b]
    assert "R2" in parts
    assert "MAE" not in parts


def test_a_cliff_marks_what_differs_and_names_the_targets_that_do(run_of: Make) -> None:
    run = run_of("regression", 3)
    pair = [
        {"row": 1, "smiles": "CCCCCO", "values": [0.0, 0.0, 0.0]},
        {"row": 2, "smiles": "CCCCCN", "values": [1.0, 2.0, 3.0]},
    ]
    spread = [{**one, "deviation": d} for one, d in zip(run.data["distributions"], (1.0, 0.1, 10.0), strict=True)]
    found = {"count": 1, "compared": {"rows": 2, "of": 2}, "pairs": [{"similarity": 0.8, "pair": pair}]}
    blocks = faults(replace(run, data={**run.data, "distributions": spread, "cliffs": found})).blocks
    drawn = str(blocks[-1])
    assert drawn.count("fill:#FFC66B") == 2  # one atom of each
    assert "target 1 (mg/kg): 2" in drawn
    assert "target 2" not in drawn  # a third of a standard deviation
