"""Pictures of composition schemes in the manner of the paper's figures: parts on the graph by level, and the DAG.

Above, one panel per level shows the graph and some of its parts at that level: all of them if they are few, else those
around one atom and a few others. Below, the DAG has the leaves at the bottom and the root at the top; what lies below
the nodes of that atom is drawn in colour. Without a graph there is the DAG alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ccn.errors import CCNError
from ccn.files import write_figure

if TYPE_CHECKING:
    from ccn.graphs.graph import Graph
    from ccn.schemes.scheme import Scheme

__all__ = ["COLOURS", "draw", "node_places", "parts_on_graph"]

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00")  # of Okabe and Ito
_FEW = len(COLOURS)  # parts of a level that are all shown
_LABELLED = 40  # nodes of a DAG that have room for their parts
_LONGEST = 4  # atoms of a part that are all named
_PALE = "0.72"
_Places = NDArray[np.float64]


def draw(
    scheme: Scheme,
    path: Path,
    names: Sequence[str] | None = None,
    graph: Graph | None = None,
    places: _Places | None = None,
    atom: int | None = None,
) -> Path:
    """Draw a scheme to a .svg or .png file.

    Args:
        scheme: any scheme.
        path: of the file.
        names: of the atoms, by default their numbers.
        graph: whose vertices are the atoms, to draw the parts on; with ``places`` (atoms, 2).
        places: of the vertices; an edge is about 1 long.
        atom: whose parts are shown where there are many, by default one in the middle.
    """
    if path.suffix.lower() not in (".svg", ".png"):
        raise CCNError(f"{path}: a scheme is drawn to a .svg or .png file")
    from matplotlib.figure import Figure

    label = [str(a) for a in range(scheme.atoms)] if names is None else list(names)
    if len(label) != scheme.atoms:
        raise CCNError(f"names has {len(label)} names for {scheme.atoms} atoms")
    if graph is not None and (places is None or graph.n != scheme.atoms or len(places) != graph.n):
        raise CCNError(f"a scheme of {scheme.atoms} atoms is drawn on a graph of as many vertices, with their places")
    if atom is not None and not 0 <= atom < scheme.atoms:
        raise CCNError(f"atom {atom}: the scheme has the atoms 0 to {scheme.atoms - 1}")
    if atom is None:  # one in the middle of the drawing, or the first
        from_centre = np.zeros((1, 2)) if places is None or not len(places) else places - places.mean(axis=0)
        atom = int((from_centre**2).sum(axis=1).argmin())
    shown = [_chosen(scheme, level, atom) for level in (*scheme.levels, (scheme.root,))]
    at = node_places(scheme)
    rows, width = 1 + max(scheme.heights), max(x for x, _ in at.values()) + 0.5
    few = len(scheme.parts) <= _LABELLED
    across = min(
        26.0, max(6.0, width * (0.9 + 0.12 * min(_LONGEST, max(map(len, scheme.parts)))) if few else 0.3 * width)
    )
    high = 1.2 + 1.5 * rows
    if graph is None or places is None:
        figure = Figure(figsize=(across, high), layout="constrained")
        _dag(figure.add_subplot(), scheme, at, label, few, [] if few else shown)
    else:
        across = max(across, 3.0 * len(shown))
        figure = Figure(figsize=(across, high + 3.4), layout="constrained")
        halves: Any = figure.subfigures(2, 1, height_ratios=(3.4, high))
        above, below = halves
        panels = above.subplots(1, len(shown), squeeze=False)[0]
        for level, (panel, nodes) in enumerate(zip(panels, shown, strict=True)):
            title = "the root: all atoms" if level == len(scheme.levels) else _titled(scheme, level, nodes)
            parts_on_graph(panel, graph, places, label, [scheme.parts[i] for i in nodes])
            panel.set_title(title, fontsize=9)
        _dag(below.add_subplot(), scheme, at, label, few, shown)
    write_figure(path, figure)
    return path


def _titled(scheme: Scheme, level: int, nodes: Sequence[int]) -> str:
    every = len(scheme.levels[level])
    return f"level {level}: " + (f"{every} parts" if len(nodes) == every else f"{len(nodes)} of {every} parts")


def _chosen(scheme: Scheme, level: Sequence[int], focus: int) -> list[int]:
    """The nodes of a level whose parts are shown: all, or that of an atom and a few far from it."""
    if len(level) <= _FEW:
        return list(level)
    of = [i for i in level if scheme.anchors[i] == focus] or [i for i in level if focus in scheme.parts[i]]
    first = of[0] if of else level[0]
    chosen, covered = [first], set(scheme.parts[first])
    for _ in range(2):  # others that share as little as possible with these, large ones first
        rest = [i for i in level if i not in chosen]
        chosen.append(min(rest, key=lambda i: (len(covered & set(scheme.parts[i])), -len(scheme.parts[i]), i)))
        covered |= set(scheme.parts[chosen[-1]])
    return chosen


def parts_on_graph(panel: Any, graph: Graph, at: _Places, label: Sequence[str], parts: Sequence[Sequence[int]]) -> None:
    """The graph, and a line around the vertices and inner edges of each part."""
    from matplotlib.collections import LineCollection

    edges = [(u, v) for u, v in graph.edges.tolist() if u != v]
    lines = [at[[u, v]] for u, v in edges]
    panel.add_collection(LineCollection(lines, colors="0.45", linewidths=1.3, zorder=3))
    size = float(np.clip(2600 / max(1, len(at)), 45, 190))
    panel.scatter(*at.T, s=size, c="white", edgecolors="0.3", linewidths=0.9, zorder=4)
    font = float(np.clip(size / 20, 4.5, 8))
    for name, (x, y) in zip(label, at, strict=True):
        fitted = font * min(1.0, 2.4 / max(1, len(name)))  # into the circle
        panel.text(x, y, name, ha="center", va="center", fontsize=fitted, zorder=5)
    low, high = at.min(axis=0) - 1.0, at.max(axis=0) + 1.0
    steps = [max(2, int(24 * span)) for span in np.minimum(high - low, 16)]
    xs, ys = (np.linspace(low[k], high[k], steps[k]) for k in (0, 1))
    grid = np.stack(np.meshgrid(xs, ys), axis=-1)
    for k, part in enumerate(parts):
        members = set(part)
        inner = [(u, v) for u, v in edges if u in members and v in members]
        far = _distance(grid, at, list(part), inner)
        radius = 0.36 + 0.07 * k  # so that lines do not cover each other
        colour = COLOURS[k % len(COLOURS)]
        panel.contourf(xs, ys, far, levels=[0, radius], colors=[colour], alpha=0.13, zorder=1)
        panel.contour(xs, ys, far, levels=[radius], colors=[colour], linewidths=1.3, zorder=2)
    panel.set_aspect("equal")
    panel.set_axis_off()


def _distance(grid: _Places, at: _Places, part: Sequence[int], edges: Sequence[tuple[int, int]]) -> _Places:
    """(rows, columns) the distance of each place of a grid to the vertices and edges of a part."""
    out = np.full(grid.shape[:2], np.inf)
    for v in part:
        out = np.minimum(out, np.linalg.norm(grid - at[v], axis=-1))
    for u, v in edges:
        along = at[v] - at[u]
        share = np.clip(((grid - at[u]) @ along) / max(float(along @ along), 1e-12), 0, 1)
        out = np.minimum(out, np.linalg.norm(grid - (at[u] + share[..., None] * along), axis=-1))
    return out


def node_places(scheme: Scheme) -> dict[int, tuple[float, float]]:
    """Node positions: height upwards, each row spread evenly and ordered by the mean of its children."""
    x: dict[int, float] = {}
    rows: dict[int, list[int]] = {}
    for node in scheme.order:
        rows.setdefault(scheme.heights[node], []).append(node)
    width = max(map(len, rows.values()))
    for height in sorted(rows):
        below = {i: [x[c] for c in scheme.children[i]] for i in rows[height]}
        row = sorted(rows[height], key=lambda i: (sum(below[i]) / len(below[i]) if below[i] else scheme.parts[i][0], i))
        for place, node in enumerate(row):
            x[node] = (place + 0.5) * width / len(row)
    return {i: (x[i], float(scheme.heights[i])) for i in x}


def _dag(
    axes: Any,
    scheme: Scheme,
    place: dict[int, tuple[float, float]],
    label: Sequence[str],
    few: bool,
    shown: Sequence[Sequence[int]],
) -> None:
    """Nodes as circles, with their parts beside them if they are few, and an arrow from each child to its parent."""
    import networkx as nx
    from matplotlib.collections import LineCollection

    axes.set_axis_off()
    axes.set_xlim(-0.1, max(x for x, _ in place.values()) + 0.6)
    axes.set_ylim(-0.5, max(scheme.heights) + 0.5)
    # Of many nodes, those below the first that is shown of the highest level are in colour.
    top = shown[-2][0] if len(shown) > 1 and not few else None
    marked = set() if top is None else {top, *nx.ancestors(scheme.to_networkx(), top)}  # edges lead to parents
    arrows = [(child, parent) for parent, of in enumerate(scheme.children) for child in of]
    if few:
        for child, parent in arrows:
            style = {"arrowstyle": "-|>", "color": "0.6", "shrinkA": 14, "shrinkB": 14, "linewidth": 1.1}
            axes.annotate("", xy=place[parent], xytext=place[child], arrowprops=style, zorder=1)
    else:
        for of, colour, wide, order in ((False, _PALE, 0.5, 1), (True, COLOURS[0], 1.1, 2)):
            lines = [[place[c], place[p]] for c, p in arrows if (c in marked and p in marked) == of]
            axes.add_collection(LineCollection(lines, colors=colour, linewidths=wide, zorder=order))
    levels: dict[int, list[str]] = {}
    for node, (x, y) in place.items():
        root, leaf = node == scheme.root, not scheme.children[node]
        colour = "#f4c7c3" if root else "#d6e4f5" if leaf else "white"
        if not few:
            edge = COLOURS[0] if node in marked else "0.45"
            size = 160 if root else 60
            axes.scatter([x], [y], s=size, facecolor=colour, edgecolor=edge, linewidth=1.0, zorder=3)
            if root or leaf:
                text, size = ("r", 9) if root else (label[scheme.parts[node][0]], 5)
                axes.text(x, y, text, ha="center", va="center", fontsize=size, zorder=4)
            levels.setdefault(scheme.heights[node], []).append(str(node))
            continue
        axes.scatter([x], [y], s=620, facecolor=colour, edgecolor="black", linewidth=1.2, zorder=2)
        axes.text(x, y, "r" if root else str(node), ha="center", va="center", fontsize=9, zorder=3)
        at, align = (y - 0.24, "top") if leaf else (y + 0.24, "bottom")
        plain = {"facecolor": "white", "edgecolor": "none", "pad": 1.0}  # so that arrows do not strike it through
        axes.text(x, at, _part(scheme.parts[node], label), ha="center", va=align, fontsize=8, zorder=3, bbox=plain)
    for height, nodes in levels.items():
        name = "root" if height == scheme.heights[scheme.root] else f"level {height}, {len(nodes)} nodes"
        axes.text(-0.1, height + 0.22, name, ha="left", va="bottom", fontsize=8, color="0.3")


def _part(part: Sequence[int], label: Sequence[str]) -> str:
    more = len(part) - _LONGEST
    named = [label[a] for a in (part if more <= 0 else part[: _LONGEST - 2])]
    return "{" + ", ".join(named) + (f", .. {len(part)} atoms" if more > 0 else "") + "}"
