"""Pictures of composition schemes in the manner of the paper's figures (needs matplotlib)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ccn.errors import CCNError, DependencyError
from ccn.files import write_figure

if TYPE_CHECKING:
    from ccn.schemes.scheme import Scheme

__all__ = ["draw"]


def _places(scheme: Scheme) -> dict[int, tuple[float, float]]:
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


def draw(scheme: Scheme, path: Path, names: Sequence[str] | None = None) -> Path:
    """Draw nodes as circles with their parts beside them and an arrow from each child to its parent."""
    if path.suffix.lower() not in (".svg", ".png"):
        raise CCNError(f"{path}: a scheme is drawn to a .svg or .png file")
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise DependencyError("drawing needs matplotlib: pip install 'ccn[plots]'") from None
    place = _places(scheme)
    label = [str(a) for a in range(scheme.atoms)] if names is None else list(names)
    if len(label) != scheme.atoms:
        raise CCNError(f"names has {len(label)} names for {scheme.atoms} atoms")
    rows = 1 + max(scheme.heights)
    width = max(x for x, _ in place.values()) + 0.5
    longest = max(len(p) for p in scheme.parts)
    figure = Figure(
        figsize=(max(4.0, min(24.0, width * (0.9 + 0.12 * longest))), 1.2 + 1.5 * rows), layout="constrained"
    )
    axes = figure.add_subplot()
    axes.set_axis_off()
    axes.set_xlim(-0.1, width + 0.1)
    axes.set_ylim(-0.5, rows - 0.5)
    for parent, of in enumerate(scheme.children):
        for child in of:
            arrow = {"arrowstyle": "-|>", "color": "0.6", "shrinkA": 14, "shrinkB": 14, "linewidth": 1.1}
            axes.annotate("", xy=place[parent], xytext=place[child], arrowprops=arrow, zorder=1)
    for node, (x, y) in place.items():
        colour = "#f4c7c3" if node == scheme.root else "#d6e4f5" if not scheme.children[node] else "white"
        axes.scatter([x], [y], s=620, facecolor=colour, edgecolor="black", linewidth=1.2, zorder=2)
        axes.text(x, y, "r" if node == scheme.root else str(node), ha="center", va="center", fontsize=9, zorder=3)
        text = "{" + ", ".join(label[a] for a in scheme.parts[node]) + "}"
        below = not scheme.children[node]
        at, align = (y - 0.24, "top") if below else (y + 0.24, "bottom")
        plain = {"facecolor": "white", "edgecolor": "none", "pad": 1.0}  # so that arrows do not strike it through
        axes.text(x, at, text, ha="center", va=align, fontsize=8, zorder=3, bbox=plain)
    write_figure(path, figure)
    return path
