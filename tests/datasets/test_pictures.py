"""Pictures of graphs: a file, and dots."""

from pathlib import Path

import networkx as nx
import numpy as np
import pytest

from ccn.datasets import load
from ccn.datasets.pictures import draw, places, sketch, spread
from ccn.errors import DataError


def test_a_picture_is_written(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    data = load("MUTAG")
    for name in ("a.png", "a.svg"):
        assert draw(data, spread(data, 5), tmp_path / name).stat().st_size > 5000
    with pytest.raises(DataError, match="png"):
        draw(data, [0], tmp_path / "a.gif")


def test_vertices_have_places_of_their_own(tmp_path: Path) -> None:
    (tmp_path / "t.smi").write_text("CCO\n[Na+].[Cl-]\nC\n")
    for data in (
        load(tmp_path / "t.smi", hydrogens=True),
        load([nx.disjoint_union(nx.cycle_graph(4), nx.path_graph(3))]),
    ):
        for i, graph in enumerate(data.graphs):
            at = places(data, i)
            assert at.shape == (graph.n, 2)
            assert len(np.unique(at.round(3), axis=0)) == graph.n


def test_a_sketch_fits_and_names_the_graph() -> None:
    data = load("MUTAG")
    lines = sketch(data, 3, width=20, height=6).splitlines()
    assert len(lines) <= 7
    assert max(map(len, lines[:-1])) <= 20
    assert lines[-1].startswith("MUTAG[3]  class")
    assert spread(data, 3) == [0, 94, 187]


@pytest.mark.parametrize("kind", ["path", "cycle", "star", "pieces"])
def test_the_time_and_memory_for_a_large_graph_are_linear(kind: str) -> None:
    """All pairs of the vertices would be a hundred million."""
    n = 10_000
    made = {"path": nx.path_graph, "cycle": nx.cycle_graph, "star": lambda n: nx.star_graph(n - 1)}
    graph = nx.disjoint_union(nx.path_graph(n), nx.path_graph(3)) if kind == "pieces" else made[kind](n)
    data = load([graph])
    at = places(data, 0)
    assert at.shape == (graph.number_of_nodes(), 2)
    assert np.isfinite(at).all()
    assert len(sketch(data, 0).splitlines()) > 1
    if kind == "path":  # its ends are its ends
        assert {int(at[:, 0].argmin()), int(at[:, 0].argmax())} == {0, n - 1}
