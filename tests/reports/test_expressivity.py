"""Tables, pages and files of what looks alike."""

import csv
import io
from pathlib import Path

import numpy as np
import pytest
from markupsafe import Markup

import ccn
from ccn.datasets import load
from ccn.datasets.dataset import Dataset
from ccn.expressivity import alike
from ccn.reports.expressivity import as_csv, counts, expressivity_section, floors, plain
from ccn.reports.figures import Picture
from ccn.reports.page import Block
from ccn.reports.report import write_data_page, write_expressivity_page

TABLE = """smiles,name,pce
C1CCC2CCCCC2C1,decalin,5.0
C1CCC(C1)C1CCCC1,bicyclopentyl,3.0
OCC,ethanol,1.0
CCO,again,2.0
CCN,ethylamine,
"""
TRIANGLES = ccn.Graph([(0, 1), (1, 2), (2, 0), (3, 4), (4, 5), (5, 3)], n=6)
HEXAGON = ccn.Graph([(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (5, 0)], n=6)


@pytest.fixture
def molecules(tmp_path: Path) -> Dataset:
    path = tmp_path / "molecules.csv"
    path.write_text(TABLE, encoding="utf-8")
    return load(path, target_columns=["pce"])


def _flat(blocks: list[Block]) -> list[Markup | Picture]:
    return [one for block in blocks for one in ([block] if isinstance(block, Markup | Picture) else block)]


def test_tables(molecules: Dataset) -> None:
    found = alike(molecules.pack)
    assert [row[1:] for row in counts(found)[1]] == [["2", "1"], ["0", "0"], ["0", "0"], ["0", "0"]]
    head, rows = floors(found, molecules)
    assert head[2:] == list(found.views)
    assert [row[:2] for row in rows] == [["pce", "MAE at least"], ["pce", "RMSE at least"]]
    assert [float(x) for x in rows[0][2:]] == [0.75, 0.25, 0.25, 0.25, 0.25]
    numbers = plain(found, molecules)
    assert (numbers["graphs"], numbers["repeated"], numbers["alike"]["1-WL"]["pairs"]) == (5, 1, 1)


def test_a_line_for_every_row_that_looks_like_another(molecules: Dataset) -> None:
    lines = list(csv.DictReader(io.StringIO(as_csv(alike(molecules.pack), molecules))))
    assert [(x["row"], x["id"], x["pce"]) for x in lines] == [
        ("1", "decalin", "5.0"), ("2", "bicyclopentyl", "3.0"), ("3", "ethanol", "1.0"), ("4", "again", "2.0"),
    ]  # fmt: skip
    assert lines[0]["1-WL"] == lines[1]["1-WL"]
    assert lines[0]["order 1"] != lines[1]["order 1"]
    assert lines[2]["same graph"] == lines[3]["same graph"]


def test_pairs_of_molecules_are_drawn(molecules: Dataset, tmp_path: Path) -> None:
    section = expressivity_section(alike(molecules.pack), molecules)
    (tiles,) = (b for b in section.blocks if isinstance(b, Markup) and "<svg" in b)
    assert tiles.count("<svg") == 2
    assert "decalin" in tiles
    page = write_expressivity_page(alike(molecules.pack), molecules, tmp_path / "page.html", 3).read_text("utf-8")
    assert "bicyclopentyl" in page
    assert section.title in write_data_page(molecules, tmp_path / "data.html").read_text("utf-8")


def test_pairs_whose_targets_differ_most_come_first(tmp_path: Path) -> None:
    path = tmp_path / "pairs.csv"
    rows = "C1CCC2CCCCC2C1,1\nC1CCC(C1)C1CCCC1,2\nC1C2CCC3CC2C13,1\nC1C2CCC3CC3C12,9\n"
    path.write_text(f"smiles,y\n{rows}", encoding="utf-8")
    data = load(path)
    found = alike(data.pack)
    assert len(list(found.pairs())) == 2
    (drawn,) = (b for b in expressivity_section(found, data, most=1).blocks if isinstance(b, Markup) and "<svg" in b)
    assert drawn.count("<svg") == 2
    assert "y: 9" in drawn


def test_graphs_are_drawn_as_figures(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    data = load([TRIANGLES, HEXAGON, HEXAGON], targets=np.array([0, 1, 1]))
    found = alike(data.pack)
    blocks = _flat(list(expressivity_section(found, data).blocks))
    assert [type(b) for b in blocks].count(Picture) == 1
    assert write_expressivity_page(found, data, tmp_path / "page.html", 3).exists()
    assert "1" in floors(found, data)[1][0]
