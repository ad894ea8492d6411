"""A table of the paper as a picture."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ccn.errors import DataError, DependencyError
from ccn.paper.comparison import Table

__all__ = ["draw"]


def draw(table: Table, path: Path) -> Path:
    """Write a PNG: a panel per item, a dot for each of our figures, a ring for the paper's, and deviations as bars."""
    try:
        from matplotlib.figure import Figure as Canvas
    except ImportError:
        raise DependencyError("a picture needs matplotlib: pip install 'ccn[plots]'") from None
    if not table.methods:
        raise DataError(f"{table.name}: there is no record to draw; run {table.command} first")
    columns = min(5, len(table.items))
    rows = -(-len(table.items) // columns)
    canvas = Canvas(figsize=(2.2 + 2.3 * columns, 0.9 + rows * (0.7 + 0.2 * len(table.methods))), layout="constrained")
    axes = canvas.subplots(rows, columns, sharey=True, squeeze=False).ravel()
    for axis, item in zip(axes, table.items, strict=False):
        figures = [table.figures[item, method] for method in table.methods]
        _dots(axis, [(f.mean, f.deviation) for f in figures], "ours", color="tab:blue", shift=0.12)
        if any(f.quoted for f in table.figures.values()):
            quoted = [(None, None) if f.quoted is None else (f.quoted.value, f.quoted.deviation) for f in figures]
            _dots(axis, quoted, "paper", color="tab:orange", shift=-0.12, markerfacecolor="white")
        axis.set_title(table.label(item), fontsize=9)
        axis.set_yticks(range(len(table.methods)), [table.label(m) for m in table.methods], fontsize=8)
        axis.tick_params(axis="x", labelsize=8)
        axis.grid(axis="x", alpha=0.3)
        axis.set_ylim(len(table.methods) - 0.5, -0.5)
    for axis in axes[len(table.items) :]:
        axis.remove()
    canvas.suptitle(table.title, fontsize=10)
    handles, labels = axes[0].get_legend_handles_labels()
    canvas.legend(handles, labels, loc="outside lower center", ncols=2, fontsize=8, frameon=False)
    canvas.savefig(path, dpi=150)
    return path


def _dots(
    axis: Any, figures: Sequence[tuple[float | None, float | None]], label: str, shift: float, **style: Any
) -> None:
    known = [(mean, i - shift, deviation or 0.0) for i, (mean, deviation) in enumerate(figures) if mean is not None]
    x, y, error = zip(*known, strict=True) if known else ((), (), ())
    axis.errorbar(x, y, xerr=error, label=label, marker="o", linestyle="none", markersize=4, elinewidth=0.8, **style)
