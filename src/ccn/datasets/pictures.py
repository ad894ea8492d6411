"""Pictures of a few graphs of a data set: a PNG or SVG with matplotlib, or dots in the terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Sized
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ccn.chemistry.smiles import parse_smiles
from ccn.datasets.dataset import Dataset
from ccn.errors import DataError
from ccn.files import write_figure
from ccn.graphs.graph import Graph
from ccn.graphs.pack import neighbour_pattern

__all__ = ["draw", "draw_graphs", "layout", "place_vertices", "places", "sketch", "spread"]

_COLUMNS = 3
_LARGE = 300  # vertices from which on places are estimated: exact ones take time and memory of all pairs, and more
_PIVOTS = 10
_LINES = 10_000  # edges of a sketch; more fill it
_STEP = 9.0  # dots of an edge of length 1, at most
# Dots of a braille character by (row, column); U+2800 has none.
_DOTS = np.array([[0x01, 0x08], [0x02, 0x10], [0x04, 0x20], [0x40, 0x80]])


def spread(data: Sized, count: int) -> list[int]:
    """So many positions, evenly spread over a data set or a sequence."""
    return [int(i) for i in np.unique(np.linspace(0, len(data) - 1, min(count, len(data))).round())]


def _molecule(smiles: str, n: int) -> NDArray[np.float64] | None:
    """RDKit's depiction, if the molecule's atoms are the n vertices."""
    from rdkit.Chem import AddHs
    from rdkit.Chem.rdDepictor import Compute2DCoords

    mol = parse_smiles(smiles)
    if mol.GetNumAtoms() != n:
        mol = AddHs(mol)
    if mol.GetNumAtoms() != n:
        return None
    Compute2DCoords(mol)
    return np.asarray(mol.GetConformer().GetPositions())[:, :2]


def places(data: Dataset, i: int) -> NDArray[np.float64]:
    """(n, 2) positions of the vertices of graph i, the length of an edge about 1."""
    return place_vertices(data.graphs[i], None if data.smiles is None else data.smiles[i])


def place_vertices(graph: Graph, smiles: str | None = None) -> NDArray[np.float64]:
    """(n, 2) positions of the vertices of a graph, as RDKit draws the molecule if it is one."""
    import networkx as nx

    depicted = None if smiles is None or graph.n > _LARGE else _molecule(smiles, graph.n)
    if depicted is not None:
        return depicted
    g = nx.from_edgelist(graph.entries.T.tolist())
    g.add_nodes_from(range(graph.n))
    out, right = np.zeros((graph.n, 2)), 0.0
    # Connected components side by side.
    for piece in sorted(nx.connected_components(g), key=len, reverse=True):
        nodes = sorted(piece)
        if len(nodes) > _LARGE:
            xy = _estimated(graph, nodes)
        else:
            at = nx.kamada_kawai_layout(g.subgraph(nodes), scale=max(0.5, len(nodes) ** 0.5)) if len(nodes) > 1 else {}
            xy = np.array([at.get(v, (0.0, 0.0)) for v in nodes])
        xy[:, 0] += right - xy[:, 0].min()
        out[nodes] = xy
        right = xy[:, 0].max() + 1.0
    return out


def _estimated(graph: Graph, nodes: list[int]) -> NDArray[np.float64]:
    """Positions of the vertices of a large component: multidimensional scaling of distances to a few pivots.

    Brandes and Pich, Eigensolver methods for progressive multidimensional scaling of large data, 2007.
    """
    from scipy.sparse.csgraph import shortest_path

    adjacency = neighbour_pattern(graph.entries, graph.n, graph.directed)
    pivot, from_pivots = nodes[0], []
    for _ in range(_PIVOTS):  # the next pivot is the vertex farthest from those so far
        from_pivots.append(shortest_path(adjacency, directed=False, unweighted=True, indices=pivot)[nodes])
        pivot = nodes[int(np.min(from_pivots, axis=0).argmax())]
    squares = np.array(from_pivots).T ** 2
    centred = squares - squares.mean(0) - squares.mean(1, keepdims=True) + squares.mean()
    xy = centred @ np.linalg.svd(centred.T @ centred)[0][:, :2]
    return np.asarray(xy * (len(nodes) ** 0.5 / max(float(np.ptp(xy, axis=0).max()), 1e-9)))


def _label(data: Dataset, i: int) -> str:
    """The caption of a graph: its number and first target."""
    title = f"{data.name}[{i}]"
    if data.target_names and data.per == "graph" and not np.isnan(data.targets[i, 0]):
        value = data.targets[i, 0]
        shown = str(data.classes[int(value)]) if data.task == "classification" else f"{value:.4g}"
        title += f"  {data.target_names[0]} {shown}"
    return title


def layout(data: Dataset, i: int) -> dict[str, Any]:
    """What :func:`draw_graphs` needs of a graph, as plain values: places and kinds of vertices, edges, a title."""
    graph = data.graphs[i]
    return {
        "title": _label(data, i),
        "places": np.round(places(data, i), 3).tolist(),
        "kinds": graph.features.float().argmax(1).tolist(),
        "edges": graph.entries.T.tolist(),
    }


def draw(data: Dataset, indices: list[int], path: Path) -> Path:
    """Draw graphs in a grid; the colour of a vertex is the column in which its features are largest."""
    if path.suffix.lower() not in (".svg", ".png"):
        raise DataError(f"{path}: graphs are drawn to a .svg or .png file")
    names = data.vertex_names if len(data.vertex_names) == data.pack.width else ()
    write_figure(path, draw_graphs([layout(data, i) for i in indices], names))
    return path


def draw_graphs(
    graphs: Sequence[Mapping[str, Any]], names: Sequence[str] = (), ink: str = "black", figure: Any = None
) -> Any:
    """Draw what :func:`layout` gave of some graphs on a figure of matplotlib, by default a new one.

    ``names`` are those of the kinds of vertices.
    """
    from matplotlib import colormaps
    from matplotlib.collections import LineCollection
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

    columns = min(_COLUMNS, len(graphs))
    rows = -(-len(graphs) // columns)
    if figure is None:
        figure = Figure(figsize=(3.2 * columns, 3.0 * rows + 0.4), layout="constrained")
    colours = [colormaps["tab20"](k) for k in range(20)]
    seen: set[int] = set()
    for axes, graph in zip(np.ravel(figure.subplots(rows, columns, squeeze=False)), graphs, strict=False):
        at, kinds = np.array(graph["places"]), graph["kinds"]
        seen.update(kinds)
        if graph["edges"]:
            lines = at[np.array(graph["edges"])]
            axes.add_collection(LineCollection(list(lines), colors="0.45", linewidths=1.4, zorder=1))
        size = float(np.clip(1500 / len(at), 14, 90))
        axes.scatter(*at.T, s=size, c=[colours[k % 20] for k in kinds], edgecolors=ink, linewidths=0.6, zorder=2)
        axes.set_aspect("equal", adjustable="datalim")
        axes.margins(0.12)
        axes.set_title(graph["title"], fontsize=9)
    for axes in figure.axes:
        axes.set_axis_off()
    if len(names) > 1:
        dot = partial(Line2D, [], [], marker="o", ls="", mec=ink)
        handles = [dot(mfc=colours[k % 20], label=names[k]) for k in sorted(seen)[:16]]
        figure.legend(
            handles=handles, loc="outside lower center", ncols=min(6, len(handles)), fontsize=8, frameon=False
        )
    return figure


def sketch(data: Dataset, i: int, width: int = 36, height: int = 11) -> str:
    """Graph i in braille dots, so many characters wide and high at most."""
    graph = data.graphs[i]
    at = places(data, i)
    at = at - at.min(0)
    size = np.array([2 * width - 1, 4 * height - 1], dtype=float)
    scale = min(_STEP, *(size / np.maximum(at.max(0), 1e-9)))
    dots = np.round(at * scale).astype(int)
    canvas = np.zeros((4 * height, 2 * width), dtype=bool)
    edges = graph.entries.T
    for u, v in edges[:: 1 + len(edges) // _LINES].tolist():
        steps = 1 + int(np.abs(dots[u] - dots[v]).max())
        x, y = np.round(np.linspace(dots[u], dots[v], steps + 1)).astype(int).T
        canvas[4 * height - 1 - y, x] = True
    for x, y in np.unique(dots, axis=0):  # a vertex is a small square
        canvas[max(0, 4 * height - 2 - y) : 4 * height + 1 - y, max(0, x - 1) : x + 2] = True
    cells = (canvas.reshape(height, 4, width, 2) * _DOTS[None, :, None, :]).sum((1, 3))
    lines = ["".join(chr(0x2800 + int(c)) for c in row).rstrip("\u2800") for row in cells]
    return "\n".join([*(line for line in lines if line), _label(data, i)])
