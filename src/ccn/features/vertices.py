"""Definitions of vertex features for graphs of any kind.

A :class:`VertexFeatures` is a small frozen value. It is fitted on the training graphs if it depends on them (a
vocabulary, a width), applied to packs, and written to plain JSON, so that a model file defines the input of its
network and a prediction uses the training vocabulary.

A subclass names its kind, which files and command lines use::

    @dataclass(frozen=True)
    class Weight(VertexFeatures, kind="weight"): ...
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ccn.errors import ConfigurationError, GraphError
from ccn.graphs.pack import Pack
from ccn.graphs.ragged import Int

__all__ = [
    "KINDS",
    "Constant",
    "Degree",
    "Given",
    "Labels",
    "VertexFeatures",
    "check_integer",
    "neighbours",
    "one_hot",
    "unfitted",
    "vertex_features",
]

KINDS: dict[str, type[VertexFeatures]] = {}
"""The definitions by kind; a subclass of :class:`VertexFeatures` registers itself."""


@dataclass(frozen=True)
class VertexFeatures(ABC):
    """A definition of vertex features."""

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


def check_integer(where: str, setting: str, value: Any, least: int) -> None:
    """An error unless the value of a setting is an integer, at least ``least``."""
    if type(value) is not int or value < least:
        raise ConfigurationError(f"{where}: {setting}={value!r} must be an integer from {least}")


def neighbours(pack: Pack) -> Any:
    """The disjoint union of the chosen graphs as a sparse matrix of zeros and ones without diagonal.

    As everywhere, the neighbours of i in a directed graph are all j with ``A[i, j]`` or ``A[j, i]`` nonzero.
    """
    import scipy.sparse as sp

    a = pack.compact().arrays
    shift = np.repeat(a["vertex_start"][:-1], np.diff(a["entry_start"]))
    row, column = a["row"] + shift, a["column"] + shift
    if pack.self_loops:
        off = row != column
        row, column = row[off], column[off]
    n = int(a["vertex_start"][-1])
    out = sp.csr_array((np.ones(len(row), dtype=np.float32), (row, column)), shape=(n, n))
    if pack.directed:
        out = (out + out.T).sign()
    return out


def one_hot(column: Int, width: int) -> NDArray[np.uint8]:
    """Ones at the given columns; a negative one is a row of zeros."""
    out = np.zeros((len(column), width), dtype=np.uint8)
    known = column >= 0
    out[known, column[known]] = 1
    return out


@dataclass(frozen=True)
class Given(VertexFeatures, kind="given"):
    """The columns of the graphs as given; ``columns`` chooses among them by number, the default is all.

    Fitting records their width, so that graphs with another width are refused later.
    """

    columns: tuple[int, ...] | None = None
    width: int | None = None

    def __post_init__(self) -> None:
        if self.width is not None:
            check_integer("vertex features 'given'", "width", self.width, 1)
        known = self.columns is None or (len(self.columns) > 0 and all(type(c) is int and c >= 0 for c in self.columns))
        if not known:
            raise ConfigurationError(f"vertex features 'given': columns={self.columns!r} must be numbers from 0")

    def fit(self, graphs: Any) -> Given:
        return replace(self, width=Pack.of(graphs).width)

    @property
    def names(self) -> tuple[str, ...]:
        if self.columns is None and self.width is None:
            raise unfitted(self)
        return tuple(f"x{i}" for i in (self.columns if self.columns is not None else range(self.width or 0)))

    def rows(self, pack: Pack) -> NDArray[Any]:
        if self.width is not None and pack.width != self.width:
            raise GraphError(
                f"the graphs have vertex features of width {pack.width}, those of training had {self.width}; "
                "read them in the same way"
            )
        if self.columns is not None and max(self.columns) >= pack.width:
            raise GraphError(f"the graphs have vertex features of width {pack.width}, no column {max(self.columns)}")
        rows = pack.compact().arrays["features"]
        return rows if self.columns is None else rows[:, list(self.columns)]


@dataclass(frozen=True)
class Labels(VertexFeatures, kind="labels"):
    """One-hot labels: the graphs have integers in one column, and each of ``values`` becomes a column.

    Fitting takes the values of the training graphs. A label that is not among them is a row of zeros: a column for
    it would be zero throughout training, and its weights would stay random.
    """

    values: tuple[int, ...] = ()
    column: int = 0

    def __post_init__(self) -> None:
        check_integer("vertex features 'labels'", "column", self.column, 0)
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
            raise unfitted(self)
        return tuple(f"label={v}" for v in self.values)

    def rows(self, pack: Pack) -> NDArray[np.uint8]:
        width, labels, values = len(self.names), self._labels(pack), np.array(self.values)
        place = np.searchsorted(values, labels).clip(max=width - 1)
        return one_hot(np.where(values[place] == labels, place, -1), width)


@dataclass(frozen=True)
class Degree(VertexFeatures, kind="degree"):
    """One-hot number of neighbours: 0, 1, .., cap, and one more column for larger ones."""

    cap: int = 10

    def __post_init__(self) -> None:
        check_integer("vertex features 'degree'", "cap", self.cap, 0)

    @property
    def names(self) -> tuple[str, ...]:
        return (*(f"degree={d}" for d in range(self.cap + 1)), "degree=other")

    def rows(self, pack: Pack) -> NDArray[np.uint8]:
        degree = np.diff(neighbours(pack).indptr).astype(np.int64)
        return one_hot(degree.clip(max=self.cap + 1), self.cap + 2)


@dataclass(frozen=True)
class Constant(VertexFeatures, kind="constant"):
    """The number 1 at every vertex: structure alone."""

    @property
    def names(self) -> tuple[str, ...]:
        return ("1",)

    def rows(self, pack: Pack) -> NDArray[np.uint8]:
        return np.ones((int(pack.sizes.sum()), 1), dtype=np.uint8)


def unfitted(what: VertexFeatures) -> ConfigurationError:
    """The error of using a definition before it was fitted."""
    return ConfigurationError(f"vertex features {what.kind!r} are not fitted; call fit with the training graphs first")
