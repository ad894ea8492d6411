"""The statistics written down are those published, and those that the code computes."""

import pytest

from ccn.datasets import load
from ccn.datasets.registry import ENTRIES
from ccn.datasets.statistics import known

# Graphs, vertices, smallest and largest graph, bonds, kinds of vertices and edges, as published for the TU sets.
PUBLISHED = {
    "MUTAG": (188, 3371, 10, 28, 3721, 7, 4),
    "PTC_MR": (344, 4915, 2, 64, 5054, 18, 4),
    "PTC": (344, 8792, 2, 109, 8931, 19, 0),
    "NCI1": (4110, 122747, 3, 111, 132753, 37, 3),
    "NCI109": (4127, 122494, 4, 111, 132604, 38, 3),
}


@pytest.mark.parametrize("name", PUBLISHED)
def test_they_are_the_published_ones(name: str) -> None:
    s = known()[name]
    assert (
        s.graphs, s.vertices, s.smallest, s.largest, s.edges, s.vertex_features, s.edge_features
    ) == PUBLISHED[name]  # fmt: skip


def test_sizes_of_the_molecular_sets_are_the_published_ones() -> None:
    s = known()
    assert s.keys() == ENTRIES.keys()
    assert (s["QM9"].graphs, len(s["QM9"].targets), s["QM9"].largest) == (130831, 13, 9)
    assert (f"{s['QM9'].mean_vertices:.2f}", f"{s['QM9'].mean_edges:.2f}") == ("8.80", "9.42")
    assert (s["HCEP"].graphs, s["HCEP"].smallest, s["HCEP"].largest) == (54666, 13, 35)
    assert (f"{s['HCEP'].mean_vertices:.2f}", f"{s['HCEP'].mean_edges:.2f}") == ("27.65", "33.38")
    assert s["BREC"].classes == {"basic": 120, "extension": 200, "regular": 100}


def test_the_code_computes_them() -> None:
    assert load("MUTAG").statistics() == known()["MUTAG"]
