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
from ccn.learning.task import Floats
from ccn.methods.kernels.bags import Names, graph_of, tally
from ccn.methods.kernels.carrying import carried
from ccn.methods.kernels.parts import part_bags, part_kinds

__all__ = ["MOST_LEVELS", "PartColumns"]

_ORDER = 2
_MOST = 2_000  # kinds per level, the most frequent
MOST_LEVELS = 20  # as for kernels


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
        bags = part_bags(graphs, _ORDER, len(self.kinds) - 1)
        counts = [bag.table(names, np.float32) for bag, names in zip(bags, self.kinds, strict=True)]
        whole = _whole(graphs)
        if whole.shape[1] != self.whole:
            raise GraphError(f"{whole.shape[1]} features of graphs as a whole, but the model reads {self.whole}")
        return np.concatenate([*counts, whole], axis=1)

    def carried(self, graphs: Pack, values: Floats) -> tuple[Floats, Floats, Floats]:
        """Numbers (graphs, columns) as those of atoms (vertices,), of parts that a graph lacks (graphs,), and of its
        features as a whole (graphs, whole).

        The number of a kind goes to its parts in equal shares, and from each to its atoms in equal shares.
        """
        found = part_kinds(graphs, _ORDER, len(self.kinds) - 1)
        levels, lacking, start = [], np.zeros(len(graphs)), 0
        for kinds, names in zip(found, self.kinds, strict=True):
            bag, of_level = tally(graph_of(graphs), kinds, len(graphs)), values[:, start : start + len(names)]
            start += len(names)
            each = bag.taken(names, of_level)
            lacking += of_level.sum(axis=1) - np.bincount(bag.graph, each, minlength=len(graphs))
            levels.append((bag, each))
        return carried(graphs, levels, found), lacking, values[:, start:]

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
        if not 1 <= len(arrays) <= MOST_LEVELS + 1 or any(names.size > _MOST for names in arrays.values()):
            raise FileError(
                f"the file holds columns of more than {MOST_LEVELS} levels or {_MOST:,} kinds each; do not use it"
            )
        found = [arrays[f"kinds{level}"].view(np.uint64) for level in range(len(arrays))]
        if any(names.ndim != 1 or (names[1:] <= names[:-1]).any() for names in found) or whole < 0:
            raise FileError("the file holds columns that are not sorted; do not use it")
        return cls(tuple(found), whole)


def _whole(graphs: Pack) -> NDArray[np.float32]:
    if "graph_features" not in graphs.arrays:
        return np.zeros((len(graphs), 0), dtype=np.float32)
    return np.asarray(graphs.graph_features, dtype=np.float32)
