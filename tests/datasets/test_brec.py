"""BREC: pairs of graphs in graph6."""

from pathlib import Path

import networkx as nx
import pytest

from ccn.datasets import load
from ccn.errors import DataError


def test_pairs_are_neighbours_and_share_a_group(tmp_path: Path) -> None:
    pairs = [(nx.cycle_graph(6), nx.disjoint_union(nx.cycle_graph(3), nx.cycle_graph(3)))] * 2
    texts = [[nx.to_graph6_bytes(g, header=False).decode().strip() for g in pair] for pair in pairs]
    path = tmp_path / "brec_pairs.tsv"
    path.write_text("category\tgraph6_a\tgraph6_b\n" + "".join(f"basic\t{a}\t{b}\n" for a, b in texts))
    data = load("BREC", path=path)
    assert data.groups is not None
    assert list(data.groups) == ["0", "0", "1", "1"]
    assert all(nx.is_isomorphic(a, b) for a, b in zip(data.to_networkx()[:2], pairs[0], strict=True))
    path.write_text("category\tgraph6_a\tgraph6_b\nbasic\tA_\tÿ\n")
    with pytest.raises(DataError, match="row 1 is not a pair"):
        load("BREC", path=path)
