"""The multiscale Laplacian graph kernel (Kondor and Pan 2016).

A graph with Laplacian L whose vertices have the features U (vertices, width) is summarised by

    S = U' (L + ridge I)^-1 U + noise I                                        (width, width)

and the similarity of two graphs is the overlap of the normal distributions with these covariances,

    k(S, T) = |(S^-1 + T^-1) / 2|^(-1/2) / (|S| |T|)^(1/4),    k(S, S) = 1.

At level 0 the features of a vertex are its label, one-hot. At level l the ball of radius l around every vertex is
summarised with the features of level l-1, and k between balls gives the features of level l: those of a Nystroem
approximation of rank ``width``, on ``anchors`` balls drawn from the graphs that the kernel is fitted on. At the top,
graphs are compared by the features of the last level. Equal balls are computed once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ccn.errors import ConfigurationError
from ccn.features.vertices import neighbours
from ccn.graphs.pack import Pack
from ccn.graphs.ragged import Int, ranges, starts
from ccn.methods.kernels.bags import row_names, vertex_names
from ccn.methods.kernels.kernel import Floats, Kernel
from ccn.settings import setting

__all__ = ["MultiscaleLaplacian", "Summary", "summaries"]

_ENTRIES = 2**22  # of a block of small matrices
_DIGITS = 8  # to which the covariances of equal balls agree


@dataclass(frozen=True)
class Summary:
    """Covariances of many graphs: their inverses (graphs, width, width) and the logarithms of their determinants."""

    inverse: Floats
    logdet: Floats

    @classmethod
    def of(cls, covariances: Floats) -> Summary:
        inverse: Floats = np.linalg.inv(covariances).astype(np.float64)
        return cls(inverse, np.linalg.slogdet(covariances)[1])

    def __len__(self) -> int:
        return len(self.logdet)

    def compare(self, other: Summary) -> Floats:
        """(graphs of this, graphs of other) the overlaps."""
        out = np.empty((len(self), len(other)))
        rows = max(1, _ENTRIES // max(1, other.inverse.size))
        for i in range(0, len(self), rows):
            mean = (self.inverse[i : i + rows, None] + other.inverse[None]) / 2
            out[i : i + rows] = -0.5 * np.linalg.slogdet(mean)[1]
        out -= 0.25 * (self.logdet[:, None] + other.logdet[None, :])
        return np.exp(out, out=out)


@dataclass(frozen=True)
class _FeatureMap:
    """The features of one level: its anchors, and the map (anchors, width) from overlaps with them to features."""

    anchors: Summary
    project: Floats

    def __call__(self, covariances: Floats) -> Floats:
        """(balls, width)."""
        return Summary.of(covariances).compare(self.anchors) @ self.project


def _groups(start: Int, member: Int) -> Iterator[tuple[Int, Int]]:
    """Sets of vertices by their size, in blocks: the indices of the sets, and their members (sets, size)."""
    size = np.diff(start)
    for m in np.unique(size):
        which = np.flatnonzero(size == m)
        rows = max(1, _ENTRIES // int(m) ** 2)
        for i in range(0, len(which), rows):
            some = which[i : i + rows]
            yield some, member[ranges(start[some], size[some])].reshape(len(some), m)


def summaries(a: Any, start: Int, member: Int, features: Floats, ridge: float, noise: float) -> Floats:
    """(sets, width, width) the covariance S of the subgraph of A that each set of vertices induces."""
    n, width = a.shape[0], features.shape[1]
    place = a.tocoo()
    known = np.sort(place.row.astype(np.int64) * n + place.col)
    out = np.empty((len(start) - 1, width, width))
    for which, members in _groups(start, member):
        key = members[:, :, None] * n + members[:, None, :]
        at = np.searchsorted(known, key).clip(max=max(0, len(known) - 1))
        joined = (known[at] == key).astype(np.float64) if len(known) else np.zeros(key.shape)
        laplacian = -joined
        diagonal = np.arange(members.shape[1])
        laplacian[:, diagonal, diagonal] += joined.sum(axis=2) + ridge
        u = features[members]
        out[which] = np.swapaxes(u, 1, 2) @ np.linalg.solve(laplacian, u) + noise * np.eye(width)
    return (out + np.swapaxes(out, 1, 2)) / 2


@dataclass(frozen=True)
class MultiscaleLaplacian(Kernel[Summary]):
    """The overlap of graphs whose vertices are described by the balls around them."""

    levels: int = setting(2, "Radius of the largest balls.", least=0, below=21)
    ridge: float = setting(0.1, "Added to Laplacians.", least=1e-9, below=1e9)
    noise: float = setting(0.1, "Added to covariances.", least=1e-9, below=1e9)
    width: int = setting(10, "Rank of the vertex features; at level 0 the most frequent labels.", least=1, below=1001)
    anchors: int = setting(100, "Balls per level that all others are compared with.", least=1, below=10_001)
    seed: int = setting(0, "Of the random choice of anchors.", least=0)
    labels: NDArray[np.uint64] | None = field(default=None, repr=False, compare=False)
    learned: tuple[_FeatureMap, ...] = field(default=(), repr=False, compare=False)

    def settings(self) -> dict[str, Any]:
        return {f.name: getattr(self, f.name) for f in fields(self) if f.name not in ("labels", "learned")}

    def fit(self, graphs: Pack) -> MultiscaleLaplacian:
        """Draw the anchors from these graphs."""
        a, label = neighbours(graphs), vertex_names(graphs)
        names, count = np.unique(label, return_counts=True)
        common = np.sort(names[np.argsort(-count, kind="stable")[: self.width]])
        features, learned = _one_hot(label, common), []
        rng = np.random.default_rng(self.seed)
        for level in range(1, self.levels + 1):
            kinds, of = self._ball_kinds(a, level, features)
            drawn = np.sort(rng.permutation(len(kinds))[: self.anchors])
            anchors = Summary.of(kinds[drawn])
            value, vector = np.linalg.eigh(anchors.compare(anchors))
            kept = np.flatnonzero(value > 1e-10 * value[-1])[-self.width :]
            learned.append(_FeatureMap(anchors, vector[:, kept] / np.sqrt(value[kept])))
            features = learned[-1](kinds)[of]
        return replace(self, labels=common, learned=tuple(learned))

    def _ball_kinds(self, a: Any, radius: int, features: Floats) -> tuple[Floats, Int]:
        """The distinct covariances of the balls around vertices, in an order that does not depend on that of these, and
        the index of each ball's.
        """
        covariances = summaries(a, *_balls(a, radius), features, self.ridge, self.noise)
        flat = covariances.reshape(len(covariances), -1)
        _, first, of = np.unique(row_names(np.round(flat, _DIGITS)), return_index=True, return_inverse=True)
        return covariances[first], of.astype(np.int64)

    def see(self, graphs: Pack) -> Summary:
        if self.labels is None:
            return self.fit(graphs).see(graphs)
        a = neighbours(graphs)
        features = _one_hot(vertex_names(graphs), self.labels)
        for level, learned in enumerate(self.learned, start=1):
            kinds, of = self._ball_kinds(a, level, features)
            features = learned(kinds)[of]
        start = starts(graphs.sizes)
        return Summary.of(summaries(a, start, np.arange(start[-1]), features, self.ridge, self.noise))

    def compare(self, a: Summary, b: Summary) -> Floats:
        return a.compare(b)

    def squares(self, a: Summary) -> Floats:
        return np.ones(len(a))

    def gram(self, a: Any, b: Any = None, *, normalise: bool = True) -> Floats:
        if self.labels is None and b is not None:
            raise ConfigurationError("fit the multiscale Laplacian kernel first: both sides need the same anchors")
        return super().gram(a, b, normalise=normalise)

    def state(self) -> dict[str, NDArray[Any]]:
        out: dict[str, NDArray[Any]] = {} if self.labels is None else {"labels": self.labels}
        for i, level in enumerate(self.learned):
            parts = {"inverse": level.anchors.inverse, "logdet": level.anchors.logdet, "project": level.project}
            out.update({f"{key}{i}": value for key, value in parts.items()})
        return out

    def with_state(self, arrays: Mapping[str, NDArray[Any]]) -> MultiscaleLaplacian:
        learned = tuple(
            _FeatureMap(Summary(arrays[f"inverse{i}"], arrays[f"logdet{i}"]), arrays[f"project{i}"])
            for i in range(self.levels)
        )
        return replace(self, labels=arrays["labels"], learned=learned)


def _one_hot(label: NDArray[np.uint64], known: NDArray[np.uint64]) -> Floats:
    return np.asarray(label[:, None] == known[None, :], dtype=np.float64)


def _balls(a: Any, radius: int) -> tuple[Int, Int]:
    """The vertices within ``radius`` of each vertex: the offset of each ball, and the members one after another."""
    import scipy.sparse as sp

    step = (a + sp.eye_array(a.shape[0], dtype=a.dtype)).tocsr()
    ball = step
    for _ in range(radius - 1):
        ball = ball @ step
        ball.data[:] = 1
    return ball.indptr.astype(np.int64), ball.indices.astype(np.int64)
