"""A row of numbers for every graph: how often kinds of parts occur, then the features of the graph as a whole.

What trees and other methods of tables read. The kinds counted are those that enough training graphs have; a part that
training did not have is not counted.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ccn.errors import FileError, GraphError
from ccn.graphs.pack import Pack
from ccn.methods.kernels.bags import Bag, Names
from ccn.methods.kernels.parts import part_bags

__all__ = ["PartColumns"]

_ORDER = 2
_MOST = 2_000  # kinds per level, the most frequent


@dataclass(frozen=True)
class PartColumns:
    """Columns of graphs: counts of kinds of parts at levels 0..levels, then ``graph_features``.

    Attributes:
        kinds: for each level the sorted names of the kinds that are counted.
        whole: the number of features of graphs as a whole.
    """

    kinds: tuple[Names, ...]
    whole: int

    @classmethod
    def fit(cls, graphs: Pack, levels: int = 2, least: float = 0.01) -> Self:
        """Count the kinds that a share of at least ``least`` of the graphs have, and at least three graphs."""
        enough = max(3, least * len(graphs))
        chosen = []
        for bag in part_bags(graphs, _ORDER, levels):
            names, count = np.unique(bag.key, return_counts=True)
            order = np.argsort(-count, kind="stable")[:_MOST]
            chosen.append(np.sort(names[order[count[order] >= enough]]))
        return cls(tuple(chosen), _whole(graphs).shape[1])

    def __call__(self, graphs: Pack) -> NDArray[np.float32]:
        """(graphs, columns)."""
        counts = [
            _counts(bag, names)
            for bag, names in zip(part_bags(graphs, _ORDER, len(self.kinds) - 1), self.kinds, strict=True)
        ]
        whole = _whole(graphs)
        if whole.shape[1] != self.whole:
            raise GraphError(f"{whole.shape[1]} features of graphs as a whole, but the model reads {self.whole}")
        return np.concatenate([*counts, whole], axis=1)

    @property
    def width(self) -> int:
        """Number of columns."""
        return sum(map(len, self.kinds)) + self.whole

    def state(self) -> dict[str, NDArray[Any]]:
        """The names as arrays."""
        return {f"kinds{level}": names for level, names in enumerate(self.kinds)}

    @classmethod
    def from_state(cls, arrays: Mapping[str, NDArray[Any]], whole: int) -> Self:
        """What :meth:`state` gave, with the number of features of graphs as a whole."""
        found = [arrays[f"kinds{level}"].view(np.uint64) for level in range(len(arrays))]
        if any(names.ndim != 1 or (names[1:] <= names[:-1]).any() for names in found) or whole < 0:
            raise FileError("the file holds columns that are not sorted; do not use it")
        return cls(tuple(found), whole)


def _counts(bag: Bag, names: Names) -> NDArray[np.float32]:
    out = np.zeros((bag.graphs, len(names)), dtype=np.float32)
    if len(names):
        at = np.minimum(np.searchsorted(names, bag.key), len(names) - 1)
        known = names[at] == bag.key
        out[bag.graph[known], at[known]] = bag.count[known]
    return out


def _whole(graphs: Pack) -> NDArray[np.float32]:
    if "graph_features" not in graphs.arrays:
        return np.zeros((len(graphs), 0), dtype=np.float32)
    return np.asarray(graphs.graph_features, dtype=np.float32)
