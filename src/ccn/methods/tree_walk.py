"""The way of every row through every tree, compiled."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from ccn.engine.cpu.compiling import compiled

__all__ = ["walk"]


@compiled
def walk(
    x: NDArray[Any],
    feature: NDArray[Any],
    threshold: NDArray[Any],
    left: NDArray[Any],
    right: NDArray[Any],
    value: NDArray[Any],
    root: NDArray[Any],
    out: NDArray[Any],
) -> None:
    """Add the leaves of all trees to ``out`` (rows, outputs), for the trees of :class:`ccn.methods.trees.Trees`."""
    outputs = out.shape[1]
    for row in range(x.shape[0]):
        for tree in range(root.shape[0]):
            node = root[tree]
            while left[node] != node:
                node = left[node] if x[row, feature[node]] <= threshold[node] else right[node]
            out[row, tree % outputs] += value[node]
