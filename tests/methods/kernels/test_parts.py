"""Kinds of parts against isomorphism of rooted balls, and the kernel against counting."""

from __future__ import annotations

from collections import Counter

import networkx as nx
import numpy as np
import pytest
from labelled import label, labelled

import ccn
from ccn.methods.kernels.parts import PartKinds, kinds
from ccn.paper.expressivity import strongly_regular

GRAPHS = labelled(25, seed=2, largest=8, labels=2)


def _balls(g: ccn.Graph, radius: int) -> list[nx.Graph]:
    """The subgraph within ``radius`` of each vertex, with labels, the vertex itself marked."""
    whole = nx.Graph()
    whole.add_nodes_from((i, {"label": x}) for i, x in enumerate(label(g)))
    whole.add_edges_from(g.edges.tolist())
    made = []
    for i in range(g.n):
        ball = nx.ego_graph(whole, i, radius).copy()
        ball.nodes[i]["label"] = ("root", ball.nodes[i]["label"])
        made.append(ball)
    return made


@pytest.mark.parametrize("level", [0, 1, 2, 3])
def test_a_kind_is_a_rooted_ball(level: int) -> None:
    """Order 2 tells apart exactly what is not isomorphic, on small graphs."""
    found = kinds(ccn.Pack.of(GRAPHS), 2, 3)[level]
    balls = [ball for g in GRAPHS for ball in _balls(g, level)]
    first: dict[int, nx.Graph] = {}
    for kind, ball in zip(found.tolist(), balls, strict=True):
        same = nx.is_isomorphic(first.setdefault(kind, ball), ball, node_match=lambda a, b: a["label"] == b["label"])
        assert same
    for i, a in enumerate(first.values()):
        for b in list(first.values())[:i]:
            assert not nx.is_isomorphic(a, b, node_match=lambda x, y: x["label"] == y["label"])


@pytest.mark.parametrize("counted", [True, False])
def test_common_parts_are_counted(counted: bool) -> None:
    graphs = GRAPHS[:8]
    bags = [Counter(np.concatenate(kinds(ccn.Pack.of([g]), 2, 2)).tolist()) for g in graphs]
    bags = bags if counted else [Counter(set(bag)) for bag in bags]
    share = [[(a & b).total() / (a | b).total() for b in bags] for a in bags]
    np.testing.assert_allclose(PartKinds(levels=2, counted=counted).gram(graphs), share)


def test_strongly_regular_graphs_need_order_2() -> None:
    family = next(f for f in strongly_regular() if len(f[0]) == 16)
    rook, shrikhande = (ccn.Graph(list(nx.convert_node_labels_to_integers(g).edges), n=16) for g in family)
    assert PartKinds(order=1, levels=3).gram([rook, shrikhande])[0, 1] == 1
    assert PartKinds(order=2, levels=2).gram([rook, shrikhande])[0, 1] < 1


def test_batches_and_directions_do_not_matter() -> None:
    pack = ccn.Pack.of(GRAPHS)
    np.testing.assert_array_equal(np.stack(kinds(pack, 2, 2, together=7)), np.stack(kinds(pack, 2, 2)))
    plain = ccn.Graph([(0, 1), (1, 2)], n=3)
    odd = ccn.Graph([(0, 1), (2, 1), (0, 0)], n=3, directed=True, self_loops=True)
    assert PartKinds(levels=2).gram([plain], [odd]).item() == pytest.approx(1)
