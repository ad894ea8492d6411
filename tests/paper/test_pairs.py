"""The families of hard pairs."""

from itertools import combinations

import networkx as nx
import pytest

from ccn.errors import ConfigurationError
from ccn.paper.pairs import pairs, strongly_regular


def _parameters(g: nx.Graph) -> tuple[int, set[int], set[int], set[int]]:
    return (
        len(g),
        {d for _, d in g.degree},
        {len(list(nx.common_neighbors(g, u, v))) for u, v in g.edges},
        {len(list(nx.common_neighbors(g, u, v))) for u, v in nx.complement(g).edges},
    )


def test_families_are_strongly_regular_of_equal_parameters_and_not_isomorphic() -> None:
    igraph = pytest.importorskip("igraph")
    families = list(strongly_regular())
    expected = [(16, 6, 2, 2), (16, 9, 4, 6), (28, 12, 6, 4), (25, 12, 5, 6), (36, 15, 6, 6), (40, 12, 2, 4)]
    assert [len(f) for f in families] == [2, 2, 4, 2, 2, 2]
    for family, (n, *rest) in zip(families, expected, strict=True):
        assert all(_parameters(g) == (n, *({x} for x in rest)) for g in family)
    for family in families:
        for a, b in combinations([igraph.Graph.from_networkx(g) for g in family], 2):
            assert not a.isomorphic(b)


def test_pairs_by_number() -> None:
    graphs, chosen = pairs("circular skip links")
    assert (len(graphs), len(chosen)) == (10, 45)
    assert {g.n for g in graphs} == {41}
    graphs, chosen = pairs("strongly regular")
    assert (len(graphs), len(chosen)) == (14, 11)
    assert all(graphs[i].n == graphs[j].n and len(graphs[i].edges) == len(graphs[j].edges) for i, j in chosen)
    with pytest.raises(ConfigurationError, match="BREC basic"):
        pairs("BREC")
