"""Explanations in files."""

from __future__ import annotations

import csv
import io
from html import escape
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from rdkit import Chem

from ccn.errors import ConfigurationError
from ccn.explain.drawing import equation
from ccn.explain.neighbours import Other, cliffs
from ccn.explain.place import Place
from ccn.explain.writing import SUFFIXES, Card, Extra, cliffs_page, page, sdf, table, write

SMILES = ["CC(=O)O", "CCCN"]


def _cards(numbers: Any) -> list[Card]:
    other = Other(0, "CCO", "1.5", 0.5, ((0, 0), (1, 1), (3, 2)))
    extra = Extra("<fields>", [("<svg></svg>", "level 0")], ("level",), [["1"]])
    found = numbers.explain(SMILES)
    seen = Place("edge", 0.6, 0.4, 0.25, "element <B>", "CCO", "1.51234", (0.5, 2.0))
    return [Card("acid <x>", found[0], [other], [extra], place=seen), Card("amine", found[1])]


class _Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.links += [v or "" for k, v in attrs if k in ("src", "href")]


def test_a_page_is_self_contained(numbers: Any) -> None:
    text = page(_cards(numbers), "Why <y>?", ["about"])
    found = _Tags()
    found.feed(text)
    assert found.tags.count("section") == 2
    assert not found.links
    assert "script" not in found.tags
    assert "acid &lt;x&gt;" in text
    assert "&lt;fields&gt;" in text
    assert "never seen in training: element &lt;B&gt;" in text
    assert "90 % interval 0.5 to 2" in text
    assert "similarity 0.40 by parts, 0.25 by Morgan; measured 1.512" in text


def test_words_are_text_that_a_phone_does_not_shrink(numbers: Any) -> None:
    one = Card("amine", numbers.explain(SMILES)[1])
    assert f"<p>{escape(equation(one.explanation))}</p>" in page([one], "Why?")


def test_the_lines_of_a_table_add_up(numbers: Any) -> None:
    rows = list(csv.DictReader(io.StringIO(table(_cards(numbers)))))
    for name in ("acid <x>", "amine"):
        own = [r for r in rows if r["molecule"] == name]
        total = sum(float(r["contribution"]) for r in own if r["term"] != "prediction")
        np.testing.assert_allclose(total, float(own[0]["contribution"]), rtol=1e-7)
    assert {r["term"] for r in rows} == {"prediction", "baseline", "atom", "bond", "whole", "residual"}


def test_rdkit_reads_the_contributions_of_atoms(numbers: Any, tmp_path: Path) -> None:
    cards = _cards(numbers)
    path = tmp_path / "x.sdf"
    path.write_text(sdf(cards))
    for mol, card in zip(Chem.SDMolSupplier(str(path)), cards, strict=True):
        found = [atom.GetDoubleProp("contribution") for atom in mol.GetAtoms()]
        np.testing.assert_allclose(found, card.explanation.atoms, rtol=1e-12)
        assert mol.GetProp("baseline")


def test_the_suffix_decides(numbers: Any, tmp_path: Path) -> None:
    cards = _cards(numbers)
    for suffix in SUFFIXES:
        write(cards, tmp_path / f"x{suffix}", "title")
        assert (tmp_path / f"x{suffix}").stat().st_size
    ElementTree.fromstring((tmp_path / "x.svg").read_text())
    with pytest.raises(ConfigurationError):
        write(cards, tmp_path / "x.pdf", "title")


def test_cliffs_on_a_page() -> None:
    found = cliffs(["CCCCO", "CCCCN"], np.array([0.0, 1.0]), similarity=0.2)
    page = cliffs_page(found, "Cliffs", ["no", "yes"], "<m{}>".format)
    assert page.count("<figure>") == 2
    assert "&lt;m0&gt;: no" in page
    assert "<figure>" not in cliffs_page([], "Cliffs", [], str)
