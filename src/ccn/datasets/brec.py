"""BREC: pairs of graphs that are not isomorphic and that 1-WL cannot distinguish."""

from __future__ import annotations

from pathlib import Path

from ccn.datasets.columns import encode_classes
from ccn.datasets.dataset import Dataset
from ccn.datasets.strings import Strings
from ccn.datasets.tables import find_column, open_table
from ccn.errors import DataError
from ccn.graphs.pack import Pack

__all__ = ["read_brec"]


def read_brec(path: str | Path, name: str = "BREC") -> Dataset:
    """Read the pairs: graphs 2i and 2i + 1 are pair i, which is also their group; the class is the category."""
    import networkx as nx

    from ccn.graphs.graph import Graph

    table = open_table(path)
    category, *sides = (find_column(table, c, "BREC") for c in ("category", "graph6_a", "graph6_b"))
    graphs: list[Graph] = []
    categories: list[str] = []
    for row in table.rows():
        for side in sides:
            try:
                g = nx.from_graph6_bytes(row.cells[side].encode())
            except (nx.NetworkXError, ValueError, IndexError) as error:
                raise DataError(f"{path}: row {row.number} is not a pair in graph6 ({row.fault or error})") from None
            graphs.append(Graph(list(g.edges), n=g.number_of_nodes(), name=f"{name}[{len(graphs)}]"))
            categories.append(row.cells[category])
    targets, classes = encode_classes([categories])
    pairs = Strings.of(str(i // 2) for i in range(len(graphs)))
    return Dataset(
        name,
        Pack.of(graphs, name),
        targets,
        ("category",),
        "classification",
        classes,
        groups=pairs,
        vertex_names=("constant",),
        note="graphs 2i and 2i + 1 are pair i",
    )
