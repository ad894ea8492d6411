from __future__ import annotations

from collections import Counter
from itertools import combinations

import networkx as nx
import numpy as np
import pytest
from labelled import labelled

import ccn
from ccn.errors import ConfigurationError
from ccn.methods.kernels import Graphlet
from ccn.methods.kernels.graphlet import graphlets, induced_counts


@pytest.mark.parametrize("size", [3, 4])
def test_induced_subgraphs_by_looking_at_all(size: int) -> None:
    # Graphs of up to four vertices are told apart by their degrees.
    def degrees(g: nx.Graph) -> tuple[int, ...]:
        return tuple(sorted(d for _, d in g.degree))

    kinds = []
    for edges in graphlets(size):
        g = nx.empty_graph(size)
        g.add_edges_from(edges)
        kinds.append(degrees(g))
    assert len(set(kinds)) == len(kinds) == {3: 4, 4: 11}[size]
    graphs = labelled(15, seed=4, density=0.5)
    found = induced_counts(ccn.Pack.of(graphs), size)
    for row, g in zip(found, graphs, strict=True):
        whole = nx.empty_graph(g.n)
        whole.add_edges_from(g.edges.tolist())
        seen = Counter(degrees(whole.subgraph(some)) for some in combinations(range(g.n), size))
        assert row.tolist() == [seen[k] for k in kinds]


def test_frequencies_and_connected_ones() -> None:
    star = ccn.Graph([(0, 1), (0, 2), (0, 3)], n=4)
    frequencies = Graphlet(3).see(ccn.Pack.of([star])).count
    np.testing.assert_allclose(np.sort(frequencies), [0.25, 0.75])  # three wedges, one without edges
    assert Graphlet(3, connected=True).see(ccn.Pack.of([star])).count.tolist() == [1.0]
    with pytest.raises(ConfigurationError, match="size=5"):
        Graphlet(5).gram([star])
