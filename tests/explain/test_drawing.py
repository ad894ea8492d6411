"""Drawings are well-formed, and say in colour what the numbers say."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

from ccn.explain.drawing import arcs, colour, draw, equation, heat_map


def test_colours_are_blue_below_and_orange_above() -> None:
    low, middle, high = colour(-1), colour(0), colour(1)
    assert low[2] > low[0]
    assert high[0] > high[2]
    assert max(middle) - min(middle) < 0.01
    assert colour(-7) == low


def test_a_drawing_is_an_svg_document(numbers: Any) -> None:
    e = replace(numbers.explain(["CC(=O)Nc1ccc(O)cc1"])[0], target="a & b <c> " + "word " * 60)
    root = ElementTree.fromstring(draw(e))
    assert root.tag.endswith("svg")
    text = " ".join(root.itertext())
    assert text.count("word") == 60  # no title is cut
    assert "MolWt" in text or "others" in text


def test_a_graph_is_drawn_too(numbers: Any) -> None:
    graphs = numbers.model_.inputs.read(["CCO", "C"])
    from ccn.explain import explain

    for e in explain(numbers.model_, graphs):
        ElementTree.fromstring(draw(e))


def test_large_molecules_are_not_drawn(numbers: Any) -> None:
    e = numbers.explain(["C" * 400])[0]
    assert "400 atoms" in " ".join(ElementTree.fromstring(draw(e)).itertext())


def test_the_equation_has_all_terms(numbers: Any) -> None:
    e = numbers.explain(["CCO"])[0]
    assert all(word in equation(e) for word in ("baseline", "atoms", "whole molecule"))
    assert "residual" in equation(replace(e, residual=e.prediction))


def test_the_terms_of_the_equation_are_given_to_the_same_place_and_add_up(numbers: Any) -> None:
    e = replace(
        numbers.explain(["CCO"])[0], prediction=-2.1, baseline=-1.451, atoms=np.array([-0.2, -0.055, 0.0]),
        bonds=np.zeros(2), whole={"MolWt": -0.394}, residual=0.0,
    )  # fmt: skip
    said = equation(e).replace("\N{MINUS SIGN} ", "-").replace("\N{MINUS SIGN}", "-")
    numbers_said = re.findall(r"-?\d+\.\d+", said)
    assert numbers_said == ["-2.100", "-1.451", "-0.255", "-0.394"]
    assert sum(map(float, numbers_said[1:])) == pytest.approx(float(numbers_said[0]))


def test_pairs_are_arcs_and_a_matrix(numbers: Any) -> None:
    e = replace(numbers.explain(["CCO"])[0], pairs=np.arange(9.0).reshape(3, 3))
    assert len(ElementTree.fromstring(arcs(e)).findall("path")) == 3
    assert len(ElementTree.fromstring(heat_map(e)).findall("rect")) == 9
    assert arcs(e).index("C0 and C1: +4") < arcs(e).index("viewBox", 100)  # letters are above arcs
    for cell in ("C0 C1: +4", "C1 C0: +4", "C1 C1: +4", "O2 O2: +8"):  # what two atoms contribute, as the arcs say
        assert cell in heat_map(e)
    assert "+12" in arcs(e)
    assert "+12" in heat_map(e)  # the ends of the colours: the largest pair
