"""The paper's figures: what they show is true, they are written the same each time, and the page has all of them."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from ccn.graphs.graph import Graph
from ccn.paper.figures import FIGURES, draw_figures, node_bijection
from ccn.schemes import Neighbourhoods
from ccn.testing import random_graph, random_permutation

ROOT = Path(__file__).parents[2]


def test_the_bijection_takes_children_to_children() -> None:
    rng = np.random.default_rng(0)
    graph, scheme = random_graph(6, rng, density=0.4), Neighbourhoods(levels=2)
    sigma = random_permutation(6, rng)
    one, other = scheme(graph), scheme(graph.permute(sigma))
    pairs = node_bijection(one, other, sigma)
    assert sorted(pairs.values()) == list(range(len(other.parts)))
    for i, j in pairs.items():
        assert {pairs[c] for c in one.children[i]} == set(other.children[j])
    with pytest.raises(KeyError):
        node_bijection(one, scheme(Graph([], n=6)), sigma)


def test_figures_are_written_the_same_each_time_and_stand_in_the_page(tmp_path: Path) -> None:
    paths = draw_figures(tmp_path / "one")
    again = draw_figures(tmp_path / "other")
    assert [p.read_bytes() for p in paths] == [p.read_bytes() for p in again]
    text = paths[2].read_text()
    orders = re.findall(r"order 0 ([\d.]+), order 1 ([\d.]+)", text)
    assert len({zero for zero, _ in orders}) == 1
    assert len({one for _, one in orders}) == 2
    page = (ROOT / "docs" / "paper.md").read_text(encoding="utf-8")
    assert {*re.findall(r"\(figures/(\w+)\.svg\)", page)} == {*FIGURES}
    assert {p.stem for p in (ROOT / "docs" / "figures").iterdir()} == {*FIGURES}
