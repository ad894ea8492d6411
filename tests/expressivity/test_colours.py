"""Colour refinement of many graphs, against networkx and on labels of edges."""

import networkx as nx
import numpy as np
import pytest
from hard import HEXAGON, ROOK, SHRIKHANDE, TRIANGLES

from ccn import Graph, Pack
from ccn.errors import GraphError
from ccn.expressivity import message_passing


def test_classes_are_those_of_networkx() -> None:
    some = [g for g in nx.graph_atlas_g() if g.number_of_nodes() == 6]
    for g in some:
        nx.set_node_attributes(g, "", "label")
    hashes = [nx.weisfeiler_lehman_graph_hash(g, node_attr="label", iterations=7) for g in some]
    found = message_passing(Pack.of([Graph.from_networkx(g) for g in some]))
    assert len(np.unique(found)) == len(set(hashes)) == len({*zip(found.tolist(), hashes, strict=True)})


def test_hard_pairs_are_alike_and_copies_too() -> None:
    graphs = [TRIANGLES, ROOK, HEXAGON, SHRIKHANDE, HEXAGON.permute([3, 1, 5, 0, 2, 4])]
    assert message_passing(Pack.of(graphs)).tolist() == [0, 1, 0, 1, 0]


def test_labels_of_vertices_and_edges_count() -> None:
    path = [(0, 1), (1, 2), (2, 3)]
    ends = [Graph(path, n=4, edge_features=x) for x in ([0.0, 1.0, 1.0], [1.0, 1.0, 0.0], [1.0, 0.0, 1.0])]
    assert message_passing(Pack.of(ends)).tolist() == [0, 0, 1]
    weighted = [Graph(path, n=4, weights=w) for w in ([1.0, 2.0, 2.0], [2.0, 2.0, 1.0], [2.0, 1.0, 2.0])]
    assert message_passing(Pack.of(weighted)).tolist() == [0, 0, 1]
    marked = [Graph(path, np.eye(2)[x]) for x in ([0, 1, 0, 0], [0, 0, 1, 0], [1, 0, 0, 0])]
    assert message_passing(Pack.of(marked)).tolist() == [0, 0, 1]


def test_graphs_without_edges_and_of_other_kinds() -> None:
    assert message_passing(Pack.of([Graph([], n=1), Graph([], n=2), Graph([], n=1)])).tolist() == [0, 1, 0]
    assert message_passing(Pack.of([Graph([], n=2), Graph([(0, 1)], n=2)]).select([1])).tolist() == [0]
    with pytest.raises(GraphError, match="directed"):
        message_passing(Pack.of([Graph([(0, 1)], n=2, directed=True)]))
