"""The paper's figures, drawn by the code: `ccn draw paper -o FOLDER`.

* ``objects.svg``: one graph in two numberings, and its two adjacency matrices;
* ``bijection.svg``: the schemes of both, and the bijection of their nodes that Definition 4 asks for;
* ``fields.svg``: receptive fields by level, on two graphs whose vertex 1 message passing cannot tell apart;
* ``steering.svg``: a turn of an image moves the activations of two filters and exchanges them.

What the pictures say is computed: the bijection from the parts, activations by networks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from ccn.files import write_figure
from ccn.graphs.graph import Graph
from ccn.models import CCN
from ccn.reports.figures import new_figure
from ccn.schemes.drawing import COLOURS, node_places, parts_on_graph
from ccn.schemes.generators import Neighbourhoods
from ccn.schemes.scheme import Scheme

__all__ = ["FIGURES", "draw_figures", "node_bijection"]

_EDGES = [(0, 1), (1, 2), (2, 3), (3, 1), (1, 4), (4, 5), (5, 1)]
_PLACES = np.array([(0, 0), (1, 0), (2, 0), (2, 1), (1, 1), (0, 1)], dtype=np.float64)
_SIGMA = (2, 0, 1, 5, 3, 4)  # the new number of each vertex
_SHARED = ([(0, 1), (0, 2), (1, 5), (1, 4), (2, 3), (2, 4)], [(0, 2), (1, 1), (-1, 1), (-1.6, 0), (0, 0), (1.6, 0)])
_APART = (
    [(0, 1), (0, 2), (1, 5), (1, 6), (2, 3), (2, 4)],
    [(0, 2), (1, 1), (-1, 1), (-1.8, 0), (-0.5, 0), (1.8, 0), (0.5, 0)],
)


def _numbered(n: int, sigma: Sequence[int] | None = None) -> list[str]:
    return [str(1 + (i if sigma is None else sigma[i])) for i in range(n)]


def _objects() -> Any:
    figure = new_figure((9.0, 2.6))
    graph = Graph(_EDGES, n=6)
    panels = figure.subplots(1, 4, width_ratios=(1.3, 1, 1.3, 1))
    for k, sigma in enumerate((tuple(range(6)), _SIGMA)):
        parts_on_graph(panels[2 * k], graph, _PLACES, _numbered(6, sigma), [])
        panels[2 * k].set_title("G" if k == 0 else "G', renumbered", fontsize=9)
        panels[2 * k].margins(0.12)
        matrix = panels[2 * k + 1]
        matrix.imshow(graph.permute(sigma).adjacency(torch.float64).numpy(), cmap="Reds", vmin=0, vmax=1.3)
        matrix.set_xticks(range(6), _numbered(6), fontsize=7)
        matrix.set_yticks(range(6), _numbered(6), fontsize=7)
        matrix.set_title("A" if k == 0 else "A'", fontsize=9)
    return figure


def node_bijection(one: Scheme, other: Scheme, sigma: Sequence[int]) -> dict[int, int]:
    """To each node of a scheme that of the renamed object with the renamed part and anchor, at the same level.

    Example:
        >>> path, swap = Graph([(0, 1)], n=2), (1, 0)
        >>> scheme = Neighbourhoods(levels=1)
        >>> node_bijection(scheme(path), scheme(path.permute(swap)), swap)
        {0: 1, 1: 0, 2: 3, 3: 2, 4: 4}
    """
    found = {(other.heights[i], frozenset(part), other.anchors[i]): i for i, part in enumerate(other.parts)}
    return {
        i: found[one.heights[i], frozenset(sigma[a] for a in part), None if (a := one.anchors[i]) is None else sigma[a]]
        for i, part in enumerate(one.parts)
    }


def _bijection() -> Any:
    from matplotlib.collections import LineCollection

    graph, scheme = Graph(_EDGES, n=6), Neighbourhoods(levels=1)
    schemes = scheme(graph), scheme(graph.permute(_SIGMA))
    figure = new_figure((9.0, 4.0))
    panel = figure.add_subplot()
    places = [{i: (x + 8 * k, 1.6 * y) for i, (x, y) in node_places(s).items()} for k, s in enumerate(schemes)]
    pairs = node_bijection(*schemes, _SIGMA)
    shown = [i for i in pairs if schemes[0].heights[i] == 1][:3]
    shown.append(schemes[0].root)
    for k, (s, at) in enumerate(zip(schemes, places, strict=True)):
        lines = [[at[c], at[i]] for i, of in enumerate(s.children) for c in of]
        panel.add_collection(LineCollection(lines, colors="0.75", linewidths=0.9, zorder=1))
        for i, (x, y) in at.items():
            mine = shown if k == 0 else [pairs[j] for j in shown]
            colour = COLOURS[mine.index(i)] if i in mine else "white"
            panel.scatter([x], [y], s=130, c=[colour], edgecolors="0.3", zorder=3)
            part = "all" if i == s.root else ",".join(str(a + 1) for a in s.parts[i])
            panel.text(x, y - 0.22, part, ha="center", va="top", fontsize=7, zorder=4)
        panel.text(at[s.root][0], at[s.root][1] + 0.25, "M" if k == 0 else "M'", ha="center", fontsize=10)
    for n, i in enumerate(shown):
        (x, y), to = places[0][i], places[1][pairs[i]]
        style = {"arrowstyle": "<->", "color": COLOURS[n], "linestyle": "--", "connectionstyle": "arc3,rad=-0.25"}
        panel.annotate("", xy=to, xytext=(x, y), arrowprops={**style, "shrinkA": 8, "shrinkB": 8}, zorder=2)
    panel.set_ylim(-0.6, 4.4)
    panel.set_axis_off()
    return figure


def _seen(graph: Graph, order: int) -> float:
    """The sum of the activation of the first vertex at the second level, of a network with random weights without A."""
    torch.manual_seed(0)
    net = CCN(1, 1, order=order, adjacency=False, channels=4).double()
    with torch.no_grad():
        return float(net.activations([graph])[2].node(0).sum())


def _fields() -> Any:
    figure = new_figure((9.0, 5.2))
    panels = figure.subplots(2, 3)
    for row, (edges, at) in zip(panels, (_SHARED, _APART), strict=True):
        graph, scheme = Graph(edges, n=len(at)), Neighbourhoods(levels=2)
        made, n = scheme(graph), len(at)
        parts = [[], [made.parts[n + 1], made.parts[n + 2]], [made.parts[2 * n]]]
        f0, f1 = (_seen(graph, order) for order in (0, 1))
        titles = ("the graph", "level 1: the fields of vertices 2 and 3", "level 2: the field of vertex 1")
        for level, panel in enumerate(row):
            parts_on_graph(panel, graph, np.array(at, dtype=np.float64), _numbered(n), parts[level])
            panel.set_title(titles[level], fontsize=9)
            panel.margins(0.12)
        said, below = f"vertex 1: order 0 {f0:.4f}, order 1 {f1:.4f}", row[2].transAxes
        row[2].text(0.5, -0.04, said, transform=below, ha="center", fontsize=8)
    return figure


def _filtered(image: NDArray[np.float64], weights: NDArray[np.float64]) -> NDArray[np.float64]:
    windows = np.lib.stride_tricks.sliding_window_view(image, weights.shape)
    out: NDArray[np.float64] = np.maximum(np.einsum("ijkl,kl->ij", windows, weights), 0)
    return out


def _steering() -> Any:
    image = np.zeros((9, 9))
    image[2:7, 2] = image[6, 2:6] = 1  # an L
    across = np.array([[-1.0, -1, -1], [2, 2, 2], [-1, -1, -1]])
    filters = {"horizontal": across, "vertical": across.T}
    figure = new_figure((9.0, 5.6))
    panels = figure.subplots(2, 3)
    maps = []
    for row, x, name in zip(panels, (image, np.rot90(image)), ("the image", "turned by 90 degrees"), strict=True):
        maps.append([_filtered(x, w) for w in filters.values()])
        row[0].imshow(x, cmap="Greys")
        row[0].set_title(name, fontsize=9)
        for panel, f, of, colours in zip(row[1:], maps[-1], filters, ("Blues", "Reds"), strict=True):
            panel.imshow(f, cmap=colours, vmin=0)
            panel.set_title(f"f' of the {of} filter" if x is not image else f"f of the {of} filter", fontsize=9)
    for panel, f, other, of in zip(panels[1, 1:], maps[1], maps[0][::-1], tuple(filters)[::-1], strict=True):
        gap = float(np.abs(f - np.rot90(other)).max())
        panel.set_xlabel(f"the turned f of the {of} filter, to {gap:g}", fontsize=8)
    for panel in panels.ravel():
        panel.set_xticks([])
        panel.set_yticks([])
    return figure


FIGURES: dict[str, Callable[[], Any]] = {
    "objects": _objects,
    "bijection": _bijection,
    "fields": _fields,
    "steering": _steering,
}
"""What draws each figure, by its name."""


def draw_figures(folder: Path) -> list[Path]:
    """Write all figures as .svg files into a folder; the same code writes the same bytes."""
    import matplotlib as mpl

    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / f"{name}.svg" for name in FIGURES]
    with mpl.rc_context({"svg.hashsalt": "ccn"}):
        for path, make in zip(paths, FIGURES.values(), strict=True):
            write_figure(path, make())
    return paths
