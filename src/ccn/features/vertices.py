"""Definitions of vertex features for graphs of any kind, histograms of labels among them.

A :class:`VertexFeatures` is a small frozen value. It is fitted on the training graphs if it depends on them (a
vocabulary, a width), applied to packs, and written to plain JSON, so that a model file defines the input of its
network and a prediction uses the training vocabulary.

A subclass names its kind, which files and command lines use::

    @dataclass(frozen=True)
    class Weight(VertexFeatures, kind="weight"): ...

Histogram alignment features are the labels around each vertex, distance by distance. ``H_j(i)`` holds the relative
frequencies of the labels among the vertices at distance exactly j from i, zeros where there is none, or their counts;
the features of i are ``H_0(i), H_1(i), .., H_depth(i)`` side by side, ``H_0`` being its label. All distances come from
breadth-first search from many vertices at once. With one row per start vertex, F_j is the 0-1 matrix of vertices at
distance j, and the neighbours of those lie at distance j-1, j or j+1, hence

    F_0 = I        F_{j+1} = pattern(F_j A) without F_j and F_{j-1}        H_j = F_j X / (row sums of F_j)

where X (vertices, labels) is one-hot. Start vertices are taken in blocks, which bounds the memory. In graphs of up to
64 vertices, such as most molecules, a set of vertices is one integer: the vertices within distance j+1 of i are the
union of those within distance j of its neighbours, one operation for all i. One sparse product, whose rows are the
F_j(i) of all i and j, then gives the features where they belong. Counts are integers, so that both ways agree exactly.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ccn.errors import ConfigurationError, GraphError
from ccn.graphs.pack import Pack, neighbour_pattern, one_hot
from ccn.graphs.ragged import Int

__all__ = [
    "KINDS",
    "Constant",
    "Degree",
    "Given",
    "Histograms",
    "Labels",
    "VertexFeatures",
    "blocks",
    "histogram_features",
    "neighbours",
    "spheres",
    "vertex_features",
]

_BYTES = 4 << 30  # most memory that features chosen by default may take
_PAIRS = 2**21  # pairs of vertices of one graph that a block may hold; each takes some ten bytes, a few times over
_WORD = 64  # bits of an integer
_BLOCK = 1 << 16  # vertices of small graphs that are worked on at a time
KINDS: dict[str, type[VertexFeatures]] = {}
"""The definitions by kind; a subclass of :class:`VertexFeatures` registers itself."""


@dataclass(frozen=True)
class VertexFeatures(ABC):
    """A definition of vertex features.

    Example:
        >>> from ccn import Graph, Pack
        >>> pack = Pack.of([Graph([(0, 1), (1, 2)], n=3)])
        >>> definition = vertex_features("degree").fit(pack)
        >>> len(definition.names), definition.rows(pack).argmax(axis=1).tolist()
        (12, [1, 2, 1])
    """

    kind: ClassVar[str]

    def __init_subclass__(cls, kind: str) -> None:
        cls.kind = kind
        KINDS[kind] = cls

    def fit(self, graphs: Any) -> VertexFeatures:
        """The definition fitted to the training graphs; most do not depend on them."""
        return self

    @property
    @abstractmethod
    def names(self) -> tuple[str, ...]:
        """The names of the columns."""

    @abstractmethod
    def rows(self, pack: Pack) -> NDArray[Any]:
        """(vertices, width) for the chosen graphs of the pack, in their order."""

    def shares(self, pack: Pack, slope: NDArray[Any]) -> NDArray[Any]:
        """(vertices,) how much of ``sum(rows * slope)`` each vertex gives, from the (vertices, width) slope.

        A column that says something of other vertices belongs to these. The shares add up to the sum.
        """
        return np.asarray((self.rows(pack) * slope).sum(axis=1))

    def __call__(self, graphs: Any) -> Pack:
        """The graphs with these features instead of theirs."""
        pack = Pack.of(graphs)
        return pack.with_features(self.rows(pack))

    def to_json(self) -> dict[str, Any]:
        """The definition as plain JSON values; :func:`vertex_features` is the inverse."""
        return {"kind": self.kind, **{f.name: _plain(getattr(self, f.name)) for f in fields(self)}}


def _plain(value: Any) -> Any:
    if isinstance(value, VertexFeatures):
        return value.to_json()
    return list(value) if isinstance(value, tuple) else value


def vertex_features(what: str | Mapping[str, Any] | VertexFeatures) -> VertexFeatures:
    """The definition of this kind with its defaults, the one written as this JSON object, or the one given.

    Example:
        >>> vertex_features("degree")
        Degree(cap=10)
        >>> vertex_features(Degree(cap=4).to_json())
        Degree(cap=4)
    """
    if isinstance(what, VertexFeatures):
        return what
    data = {"kind": what} if isinstance(what, str) else what
    kind = data.get("kind") if isinstance(data, Mapping) else None
    if not isinstance(kind, str) or kind not in KINDS:
        raise ConfigurationError(f"vertex features {what!r}: choose the kind from {', '.join(KINDS)}")
    known = {f.name for f in fields(KINDS[kind])}
    unknown = sorted(set(data) - known - {"kind"})
    if unknown:
        raise ConfigurationError(f"vertex features {kind!r} have no setting {unknown[0]!r}; they have {sorted(known)}")
    try:
        return KINDS[kind](**{key: _value(value) for key, value in data.items() if key != "kind"})
    except TypeError as error:
        raise ConfigurationError(f"vertex features {kind!r}: settings of the wrong type ({error})") from None


def _value(value: Any) -> Any:
    if isinstance(value, Mapping):
        return vertex_features(value)
    return tuple(value) if isinstance(value, list) else value


def _check_integer(where: str, setting: str, value: Any, least: int, most: int = 10**6) -> None:
    """An error unless the value of a setting is an integer from ``least`` to ``most``."""
    if type(value) is not int or not least <= value <= most:
        raise ConfigurationError(f"{where}: {setting}={value!r} must be an integer from {least} to {most:,}")


def _unfitted(what: VertexFeatures) -> ConfigurationError:
    """The error of using a definition before it was fitted."""
    return ConfigurationError(f"vertex features {what.kind!r} are not fitted; call fit with the training graphs first")


def neighbours(pack: Pack) -> Any:
    """The :func:`neighbour_pattern` of the disjoint union of the chosen graphs, as zeros and ones in float32."""
    a = pack.compact().arrays
    shift = np.repeat(a["vertex_start"][:-1], np.diff(a["entry_start"]))
    entries = np.stack([a["row"] + shift, a["column"] + shift])
    return neighbour_pattern(entries, int(a["vertex_start"][-1]), pack.directed).astype(np.float32)


@dataclass(frozen=True)
class Given(VertexFeatures, kind="given"):
    """The columns of the graphs as given; ``columns`` chooses among them by number, the default is all.

    Fitting records their width, so that graphs with another width are refused later.

    Example:
        >>> from ccn import Graph, Pack
        >>> Given(columns=(1,)).rows(Pack.of([Graph([], [[1.0, 2.0], [3.0, 4.0]])])).tolist()
        [[2.0], [4.0]]
    """

    columns: tuple[int, ...] | None = None
    width: int | None = None

    def __post_init__(self) -> None:
        if self.width is not None:
            _check_integer("vertex features 'given'", "width", self.width, 1)
        known = self.columns is None or (len(self.columns) > 0 and all(type(c) is int and c >= 0 for c in self.columns))
        if not known:
            raise ConfigurationError(f"vertex features 'given': columns={self.columns!r} must be numbers from 0")

    def fit(self, graphs: Any) -> Given:
        return replace(self, width=Pack.of(graphs).width)

    @property
    def names(self) -> tuple[str, ...]:
        if self.columns is None and self.width is None:
            raise _unfitted(self)
        return tuple(f"x{i}" for i in (self.columns if self.columns is not None else range(self.width or 0)))

    def _check(self, pack: Pack) -> None:
        if self.width is not None and pack.width != self.width:
            raise GraphError(
                f"the graphs have vertex features of width {pack.width}, those of training had {self.width}; "
                "read them in the same way"
            )
        if self.columns is not None and max(self.columns) >= pack.width:
            raise GraphError(f"the graphs have vertex features of width {pack.width}, no column {max(self.columns)}")

    def rows(self, pack: Pack) -> NDArray[Any]:
        self._check(pack)
        return pack.features if self.columns is None else pack.features[:, list(self.columns)]

    def __call__(self, graphs: Any) -> Pack:
        if self.columns is not None:
            return super().__call__(graphs)
        pack = Pack.of(graphs)
        self._check(pack)
        return pack.compact()  # labels stay labels


@dataclass(frozen=True)
class Labels(VertexFeatures, kind="labels"):
    """One-hot labels: the graphs have integers in one column, and each of ``values`` becomes a column.

    Fitting takes the values of the training graphs. A label that is not among them is a row of zeros: a column for
    it would be zero throughout training, and its weights would stay random.
    """

    values: tuple[int, ...] = ()
    column: int = 0

    def __post_init__(self) -> None:
        _check_integer("vertex features 'labels'", "column", self.column, 0)
        if any(type(v) is not int for v in self.values) or list(self.values) != sorted(set(self.values)):
            raise ConfigurationError("vertex features 'labels': values must be integers in increasing order")

    def _labels(self, graphs: Any) -> NDArray[np.int64]:
        given = Given(columns=(self.column,)).rows(Pack.of(graphs))[:, 0]
        labels: NDArray[np.int64] = given.astype(np.int64)
        bad = np.flatnonzero(labels != given)
        if bad.size:
            raise GraphError(f"vertex {bad[0]} of the graphs has the label {given[bad[0]]}, not an integer")
        return labels

    def fit(self, graphs: Any) -> Labels:
        return replace(self, values=tuple(np.unique(self._labels(graphs)).tolist()))

    @property
    def names(self) -> tuple[str, ...]:
        if not self.values:
            raise _unfitted(self)
        return tuple(f"label={v}" for v in self.values)

    def _places(self, pack: Pack) -> Int:
        """The column of each vertex, or -1."""
        width, labels, values = len(self.names), self._labels(pack), np.array(self.values)
        place = np.searchsorted(values, labels).clip(max=width - 1)
        return np.where(values[place] == labels, place, -1)

    def rows(self, pack: Pack) -> NDArray[np.uint8]:
        return one_hot(self._places(pack), len(self.names))

    def __call__(self, graphs: Any) -> Pack:
        pack = Pack.of(graphs)
        return pack.with_labels(self._places(pack), len(self.names))


@dataclass(frozen=True)
class Degree(VertexFeatures, kind="degree"):
    """One-hot number of neighbours: 0, 1, .., cap, and one more column for larger ones."""

    cap: int = 10

    def __post_init__(self) -> None:
        _check_integer("vertex features 'degree'", "cap", self.cap, 0, 10_000)

    @property
    def names(self) -> tuple[str, ...]:
        return (*(f"degree={d}" for d in range(self.cap + 1)), "degree=other")

    def rows(self, pack: Pack) -> NDArray[np.uint8]:
        degree = np.diff(neighbours(pack).indptr).astype(np.int64)
        return one_hot(degree.clip(max=self.cap + 1), self.cap + 2)


@dataclass(frozen=True)
class Constant(VertexFeatures, kind="constant"):
    """The number 1 at every vertex: structure alone.

    Example:
        >>> from ccn import Graph, Pack
        >>> Constant().rows(Pack.of([Graph([(0, 1)], n=2)])).tolist()
        [[1], [1]]
    """

    @property
    def names(self) -> tuple[str, ...]:
        return ("1",)

    def rows(self, pack: Pack) -> NDArray[np.uint8]:
        return np.ones((int(pack.sizes.sum()), 1), dtype=np.uint8)


def histogram_features(
    graphs: Any,
    labels: ArrayLike | None = None,
    *,
    depth: int = 10,
    include_self: bool = True,
    counts: bool = False,
    pairs: int = _PAIRS,
) -> NDArray[np.float32]:
    """Histogram alignment features of all vertices, (vertices, (depth + 1) * labels).

    Args:
        graphs: a pack, a batch or a list of graphs.
        labels: one integer per vertex, whose distinct values in increasing order become columns; or one row per
            vertex, one-hot; by default the vertex features of the graphs.
        depth: the largest distance.
        include_self: begin with the label of the vertex itself; ``False`` is the paper's formula exactly.
        counts: numbers of vertices with each label in place of frequencies.
        pairs: pairs of vertices that are worked on at a time, which bounds the memory.

    Example:
        >>> from ccn import Graph
        >>> histogram_features([Graph([(0, 1), (1, 2)], n=3)], labels=[0, 1, 1], depth=2).tolist()[0]
        [1.0, 0.0, 0.0, 1.0, 0.0, 1.0]
    """
    _check_integer("histogram features", "depth", depth, 0 if include_self else 1)
    pack = Pack.of(graphs)
    x = pack.features if labels is None else np.asarray(labels)
    if x.ndim == 1:
        values, index = np.unique(x, return_inverse=True)
        x = one_hot(index, len(values))
    if x.ndim != 2:
        raise GraphError(f"labels are one number or one row per vertex, got an array of shape {x.shape}")
    sizes = pack.sizes
    if len(x) != sizes.sum():
        raise GraphError(f"the graphs have {sizes.sum()} vertices, but there are labels of {len(x)}")
    first, small = 0 if include_self else 1, sizes <= _WORD
    if x.dtype in (np.bool_, np.uint8) and len(x) and small.any():
        if small.all():
            return _of_small(pack, x, first, depth, counts)
        out = np.empty((len(x), (depth + 1 - first) * x.shape[1]), dtype=np.float32)
        for chosen in (small, ~small):
            of = np.repeat(chosen, sizes)
            how: Any = {"depth": depth, "include_self": include_self, "counts": counts, "pairs": pairs}
            out[of] = histogram_features(pack.select(chosen), x[of], **how)
        return out
    x, a, width = x.astype(np.float32, copy=False), neighbours(pack), x.shape[1]
    out = np.zeros((len(x), (depth + 1 - first) * width), dtype=np.float32)
    for block, at, reached, total in _spheres_by_block(a, sizes, first, depth, counts, pairs):
        out[block, at * width : (at + 1) * width] = (reached @ x) / total
    return out


def _of_small(pack: Pack, x: NDArray[Any], first: int, depth: int, counts: bool) -> NDArray[np.float32]:
    """:func:`histogram_features` of graphs of up to 64 vertices, for labels of one byte, whose sums are exact."""
    import scipy.sparse as sp

    sizes, x = pack.sizes, x.astype(np.float32)
    start, a = np.repeat(np.cumsum(sizes) - sizes, sizes), neighbours(pack)
    reached = np.left_shift(np.uint64(1), (np.arange(len(x)) - start).astype(np.uint64))
    sphere = np.zeros((len(x), depth + 1), dtype="<u8")
    sphere[:, 0] = reached
    linked = np.flatnonzero(np.diff(a.indptr))
    for j in range(1, depth + 1):
        onward = np.bitwise_or.reduceat(reached[a.indices], a.indptr[linked]) if len(linked) else reached[linked]
        sphere[linked, j] = onward & ~reached[linked]
        if not sphere[:, j].any():
            break
        reached[linked] |= onward
    made = []
    for block in range(0, len(x), _BLOCK):
        rows = np.ascontiguousarray(sphere[block : block + _BLOCK, first:])
        bits = np.flatnonzero(np.unpackbits(rows.view(np.uint8), bitorder="little").view(bool))
        row = bits // _WORD
        count = np.bincount(row, minlength=rows.size)
        column = start[block + row // rows.shape[1]] + bits % _WORD
        indptr = np.concatenate([[0], np.cumsum(count)])
        sums = sp.csr_array((np.ones(len(bits), np.float32), column, indptr), shape=(rows.size, len(x))) @ x
        if not counts:
            sums /= np.maximum(count, 1).astype(np.float32)[:, None]
        made.append(sums.reshape(len(rows), -1))
    return made[0] if len(made) == 1 else np.concatenate(made)


def blocks(sizes: Int, pairs: int = _PAIRS) -> Iterator[slice]:
    """The vertices cut into runs with at most ``pairs`` pairs of a vertex and another of its graph."""
    reach = np.cumsum(np.repeat(sizes, sizes))
    start = 0
    while start < len(reach):
        before = reach[start - 1] if start else 0
        stop = max(start + 1, int(np.searchsorted(reach, before + pairs, side="right")))
        yield slice(start, stop)
        start = stop


def _spheres_by_block(
    a: Any, sizes: Int, first: int, depth: int, counts: bool, pairs: int = _PAIRS
) -> Iterator[tuple[slice, int, Any, Any]]:
    """Block by block the spheres of distance ``first`` and more: the start vertices, the number of the sphere, the
    sphere, and what its sums are divided by: 1 for counts, else the vertices in it (start vertices, 1).
    """
    for block in blocks(sizes, pairs):
        for j, reached in enumerate(spheres(a, block, depth)):
            if j >= first:
                yield block, j - first, reached, 1 if counts else np.maximum(np.diff(reached.indptr)[:, None], 1)


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
    without a label: the frequencies at its distance then add up to less than one. With ``counts`` the columns hold how
    many vertices have each label, as in the code of the paper's authors.
    """

    depth: int = 10
    include_self: bool = True
    of: VertexFeatures = field(default_factory=Given)
    counts: bool = False

    def __post_init__(self) -> None:
        _check_integer("histogram features", "depth", self.depth, 0 if self.include_self else 1, 1000)
        if not isinstance(self.of, VertexFeatures):
            raise ConfigurationError(f"histogram features: of={self.of!r} must be vertex features such as Labels()")
        if isinstance(self.of, Histograms) and (self.depth + 1) * (self.of.depth + 1) > 1000:
            raise ConfigurationError("histogram features of histogram features: choose a smaller depth")
        if type(self.counts) is not bool:
            raise ConfigurationError(f"histogram features: counts={self.counts!r} must be true or false")

    def fit(self, graphs: Any) -> Histograms:
        return replace(self, of=self.of.fit(graphs))

    @property
    def names(self) -> tuple[str, ...]:
        first = 0 if self.include_self else 1
        return tuple(f"{name} at {j}" for j in range(first, self.depth + 1) for name in self.of.names)

    def rows(self, pack: Pack) -> NDArray[np.float32]:
        how = {"include_self": self.include_self, "counts": self.counts}
        return histogram_features(pack, self.of.rows(pack), depth=self.depth, **how)

    def shares(self, pack: Pack, slope: NDArray[Any]) -> NDArray[Any]:
        # A frequency at distance j is a mean over the vertices there, a count a sum: the transposed one gives it back.
        a, width, first = neighbours(pack), len(self.of.names), 0 if self.include_self else 1
        of_labels = np.zeros((a.shape[0], width), dtype=slope.dtype)
        for block, at, reached, total in _spheres_by_block(a, pack.sizes, first, self.depth, self.counts):
            of_labels += reached.T @ (slope[block, at * width : (at + 1) * width] / total)
        return self.of.shares(pack, of_labels)


@dataclass(frozen=True)
class Auto(VertexFeatures, kind="auto"):
    """Histograms of a few binary features, such as labels; otherwise, or where they need too much memory, as given.

    Histograms describe what lies beyond the parts of a vertex at the cost of one matrix product. Fitting returns the
    definition that it has chosen.
    """

    def fit(self, graphs: Any) -> VertexFeatures:
        pack, made = Pack.of(graphs), Histograms()
        size = 4 * int(pack.sizes.sum()) * pack.width * (made.depth + 1)
        binary = 1 < pack.width <= 64 and size <= _BYTES and bool(np.isin(pack.features, (0, 1)).all())
        return (made if binary else Given()).fit(graphs)

    @property
    def names(self) -> tuple[str, ...]:
        raise _unfitted(self)

    def rows(self, pack: Pack) -> NDArray[Any]:
        raise _unfitted(self)
