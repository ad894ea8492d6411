"""Histogram alignment features: the labels around each vertex, distance by distance.

``H_j(i)`` holds the relative frequencies of the labels among the vertices at distance exactly j from i, zeros where
there is none; the features of i are ``H_0(i), H_1(i), .., H_depth(i)`` side by side, ``H_0`` being
its label.

All distances come from breadth-first search from many vertices at once. With one row per start vertex, F_j is the
0-1 matrix of vertices at distance j, and the neighbours of those lie at distance j-1, j or j+1, hence

    F_0 = I        F_{j+1} = pattern(F_j A) without F_j and F_{j-1}        H_j = F_j X / (row sums of F_j)

where X (vertices, labels) is one-hot. Start vertices are taken in blocks, which bounds the memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ccn.errors import ConfigurationError, GraphError
from ccn.features.vertices import Given, VertexFeatures, check_integer, neighbours, one_hot, unfitted
from ccn.graphs.pack import Pack
from ccn.graphs.ragged import Int

__all__ = ["Auto", "Histograms", "blocks", "histogram_features", "spheres"]

_BYTES = 4 << 30  # most memory that features chosen by default may take
_PAIRS = 2**21  # pairs of vertices of one graph that a block may hold; each takes some ten bytes, a few times over


def histogram_features(
    graphs: Any,
    labels: ArrayLike | None = None,
    *,
    depth: int = 10,
    include_self: bool = True,
    pairs: int = _PAIRS,
) -> NDArray[np.float32]:
    """Histogram alignment features of all vertices, (vertices, (depth + 1) * labels).

    Args:
        graphs: a pack, a batch or a list of graphs.
        labels: one integer per vertex, whose distinct values in increasing order become columns; or one row per
            vertex, one-hot; by default the vertex features of the graphs.
        depth: the largest distance.
        include_self: begin with the label of the vertex itself; ``False`` is the paper's formula exactly.
        pairs: pairs of vertices that are worked on at a time, which bounds the memory.

    Example:
        >>> from ccn import Graph
        >>> histogram_features([Graph([(0, 1), (1, 2)], n=3)], labels=[0, 1, 1], depth=2).tolist()[0]
        [1.0, 0.0, 0.0, 1.0, 0.0, 1.0]

    """
    _check_depth(depth, include_self)
    pack = Pack.of(graphs)
    x = _columns(pack.compact().arrays["features"] if labels is None else np.asarray(labels))
    a = neighbours(pack)
    if len(x) != a.shape[0]:
        raise GraphError(f"the graphs have {a.shape[0]} vertices, but there are labels of {len(x)}")
    width, first = x.shape[1], 0 if include_self else 1
    out = np.zeros((len(x), (depth + 1 - first) * width), dtype=np.float32)
    for block in blocks(pack.sizes, pairs):
        for j, reached in enumerate(spheres(a, block, depth)):
            if j >= first:
                count = np.diff(reached.indptr)[:, None]
                at = (j - first) * width
                out[block, at : at + width] = (reached @ x) / np.maximum(count, 1)
    return out


def _check_depth(depth: int, include_self: bool) -> None:
    check_integer("histogram features", "depth", depth, 0 if include_self else 1)


def _columns(labels: NDArray[Any]) -> NDArray[np.float32]:
    if labels.ndim == 1:
        values, index = np.unique(labels, return_inverse=True)
        labels = one_hot(index, len(values))
    if labels.ndim != 2:
        raise GraphError(f"labels are one number or one row per vertex, got an array of shape {labels.shape}")
    return labels.astype(np.float32, copy=False)


def blocks(sizes: Int, pairs: int = _PAIRS) -> Iterator[slice]:
    """The vertices cut into runs with at most ``pairs`` pairs of a vertex and another of its graph."""
    reach = np.cumsum(np.repeat(sizes, sizes))
    start = 0
    while start < len(reach):
        before = reach[start - 1] if start else 0
        stop = max(start + 1, int(np.searchsorted(reach, before + pairs, side="right")))
        yield slice(start, stop)
        start = stop


def spheres(a: Any, start: slice, depth: int) -> Iterator[Any]:
    """F_0, .., F_depth for the start vertices, up to the last that is not empty."""
    import scipy.sparse as sp

    count = start.stop - start.start
    here = sp.csr_array(
        (np.ones(count, dtype=np.float32), np.arange(start.start, start.stop), np.arange(count + 1)),
        shape=(count, a.shape[0]),
    )
    before = sp.csr_array(here.shape, dtype=np.float32)
    for _ in range(depth):
        yield here
        onward = here @ a
        onward.data[:] = 1
        onward -= onward.multiply(here + before)
        onward.eliminate_zeros()
        if not onward.nnz:
            return
        before, here = here, onward
    yield here


@dataclass(frozen=True)
class Histograms(VertexFeatures, kind="histograms"):
    """Histogram alignment features of the labels that ``of`` defines, by default the one-hot labels given.

    The vocabulary is that of ``of``. A label that it does not contain is a row of zeros there and counts as a vertex
    without a label: the frequencies at its distance then add up to less than one.
    """

    depth: int = 10
    include_self: bool = True
    of: VertexFeatures = field(default_factory=Given)

    def __post_init__(self) -> None:
        _check_depth(self.depth, self.include_self)
        if not isinstance(self.of, VertexFeatures):
            raise ConfigurationError(
                f"histogram features: of={self.of!r} must define vertex features, as Labels() does"
            )

    def fit(self, graphs: Any) -> Histograms:
        return replace(self, of=self.of.fit(graphs))

    @property
    def names(self) -> tuple[str, ...]:
        first = 0 if self.include_self else 1
        return tuple(f"{name} at {j}" for j in range(first, self.depth + 1) for name in self.of.names)

    def rows(self, pack: Pack) -> NDArray[np.float32]:
        return histogram_features(pack, self.of.rows(pack), depth=self.depth, include_self=self.include_self)


@dataclass(frozen=True)
class Auto(VertexFeatures, kind="auto"):
    """Histograms of a few binary features, such as labels; otherwise, or where they need too much memory, as given.

    Histograms describe what lies beyond the parts of a vertex at the cost of one matrix product. Fitting returns the
    definition that it has chosen.
    """

    def fit(self, graphs: Any) -> VertexFeatures:
        x = Pack.of(graphs).compact().arrays["features"]
        made = Histograms()
        small = 1 < x.shape[1] <= 64 and 4 * x.size * (made.depth + 1) <= _BYTES
        return (made if small and bool(((x == 0) | (x == 1)).all()) else Given()).fit(graphs)

    @property
    def names(self) -> tuple[str, ...]:
        raise unfitted(self)

    def rows(self, pack: Pack) -> NDArray[Any]:
        raise unfitted(self)
