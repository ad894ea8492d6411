"""Many graphs in a few arrays: how a data set is held, in memory or mapped from disk.

A :class:`Pack` holds the arrays of all graphs one after another, with vertex and edge numbers counted
within each graph in the smallest type that fits, so that a molecule takes some hundred bytes.
It is a sequence of :class:`~ccn.graphs.graph.Graph`, made on access, and makes a batch of chosen graphs
by array operations alone. Choosing graphs (:meth:`Pack.select`) copies nothing. Torch is imported only where a graph
or a batch is made.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ccn.algebra.contractions import MatrixClass
from ccn.errors import GraphError
from ccn.graphs.ragged import Int, ranges, small, starts

if TYPE_CHECKING:
    import torch

    from ccn.graphs.graph import Batch, Graph

__all__ = ["KEPT_LEVELS", "Pack", "joined", "neighbour_pattern", "one_hot"]

Arrays = Mapping[str, NDArray[Any]]
_OF = {  # which start array cuts each array into graphs
    "features": "vertex",
    "labels": "vertex",
    "groups": "vertex",
    "row": "entry",
    "column": "entry",
    "edge": "entry",
    "weights": "edge",
    "edge_features": "edge",
    "edge_labels": "edge",
}
_LABELS = {"features": "labels", "edge_features": "edge_labels"}
_WHOLE = tuple(f"{key}_width" for key in _LABELS.values())  # arrays that are not cut into graphs
_ONE_HOT_BYTES = 1 << 28  # that labels may take as columns at a time
KEPT_LEVELS = 2
"""Levels of the closed neighbourhood scheme whose parts, and A within them, a store keeps with the graphs."""
_KEPT = {
    key: of
    for level in range(1, KEPT_LEVELS + 1)
    for key, of in {
        f"part{level}": f"part{level}",
        f"part{level}_size": "vertex",
        **{f"inner{level}_{name}": f"inner{level}" for name in ("row", "column", "entry")},
        f"inner{level}_size": "vertex",
    }.items()
}


def one_hot(labels: NDArray[Any], width: int) -> NDArray[np.uint8]:
    """(rows, width) ones at the columns that ``labels`` (rows,) or (rows, columns) name; a negative number names none.

    An error, before anything is allocated, if that is out of proportion.
    """
    if len(labels) * width > _ONE_HOT_BYTES:
        raise GraphError(
            f"{width:,} labels as one-hot columns of {len(labels):,} rows take {len(labels) * width / 1e9:,.1f} GB; "
            "use smaller batches, fewer distinct labels, or give features instead of labels"
        )
    out = np.zeros((len(labels), width), dtype=np.uint8)
    for column in np.atleast_2d(labels.T):
        known = column >= 0
        out[known, column[known]] = 1
    return out


def neighbour_pattern(entries: Int, n: int, directed: bool) -> Any:
    """The sparse (n, n) pattern, without diagonal, of A with these nonzero places (2, nnz): True for neighbours.

    As everywhere, the neighbours of i in a directed graph are all j with ``A[i, j]`` or ``A[j, i]`` nonzero.
    """
    import scipy.sparse as sp

    row, column = entries[:, entries[0] != entries[1]]
    if directed:
        row, column = np.concatenate([row, column]), np.concatenate([column, row])
    return sp.csr_array((np.ones(len(row), dtype=bool), (row, column)), shape=(n, n))


class Pack(Sequence["Graph"]):
    """A sequence of graphs held as a few arrays.

    Attributes:
        arrays: ``vertex_start``, ``edge_start``, ``entry_start`` (graphs+1,): where each graph begins;
            ``features`` (vertices, width); ``row``, ``column`` (entries,): the nonzero places of every A, in
            row order, and ``edge``: the edge behind each; ``weights`` and ``edge_features`` per edge, or absent;
            ``labels`` (vertices, columns) and ``labels_width``: one-hot features by the numbers of their columns (-1
            for none), which stand before ``features`` or instead of them; ``edge_labels`` likewise;
            ``graph_features`` (graphs, width): graph-level features, or absent; ``groups`` (vertices,) marks
            of functional groups, or absent.
            From a store also, for levels l of the closed neighbourhood scheme, what :func:`ccn.schemes.generators.keep`
            adds: ``part<l>``, the atoms of the part of each vertex, and ``inner<l>_row``, ``inner<l>_column``,
            ``inner<l>_entry``: A within that part, by places in the part and the number of the entry; ``.._size``
            (vertices,) counts them for each vertex.
        chosen: (graphs,) the chosen graphs, in order.
        directed, self_loops: the class of A.
        name: errors call graph i ``name[i]``.

    Example:
        >>> from ccn import Graph
        >>> pack = Pack.of([Graph([(0, 1)], n=2), Graph([], n=1), Graph([(0, 1), (1, 2)], n=3)])
        >>> pack
        Pack(graphs=3, vertices=6, features=1)
        >>> pack[2], pack.select([2, 0]).batch()
        (Graph(n=3, edges=2, features=1), Batch(graphs=2, n=5, entries=6, features=1))
    """

    def __init__(
        self,
        arrays: Arrays,
        chosen: Int | None = None,
        *,
        directed: bool = False,
        self_loops: bool = False,
        name: str | None = None,
    ) -> None:
        self.arrays = arrays
        self.chosen = np.arange(len(arrays["vertex_start"]) - 1) if chosen is None else chosen
        self.directed, self.self_loops, self.name = directed, self_loops, name

    def _like(self, arrays: Arrays, chosen: Int | None = None, name: str | None = None) -> Pack:
        """A pack of the same class of A."""
        return Pack(
            arrays, chosen, directed=self.directed, self_loops=self.self_loops, name=self.name if name is None else name
        )

    @classmethod
    def of(cls, graphs: Any, name: str | None = None) -> Pack:
        """Pack graphs, or what :func:`ccn.batch` accepts, all with the same kinds of features."""
        if isinstance(graphs, Pack):
            return graphs._like(graphs.arrays, graphs.chosen, name)
        from ccn.graphs.graph import batch

        b = batch(graphs)
        if isinstance(b.graphs, Pack):
            return cls.of(b.graphs, name)
        pack = cls.cut(b, b.start, b.edge_start, name)
        groups = [g.groups for g in b.graphs if g.groups is not None]
        return pack.with_groups(np.concatenate(groups)) if len(groups) == len(b) else pack

    @classmethod
    def cut(cls, union: Graph | Batch, start: Int, edge_start: Int, name: str | None = None) -> Pack:
        """Pack the graphs of a disjoint union, whose vertices and edges begin at ``start`` and ``edge_start``."""
        row, column = union.entries
        entry_start = np.searchsorted(row, start)
        entries = np.diff(entry_start)
        shift = np.repeat(start[:-1], entries)
        arrays = {
            "vertex_start": start,
            "edge_start": edge_start,
            "entry_start": entry_start,
            "features": union.features.detach().cpu().numpy(),
            "row": small(row - shift),
            "column": small(column - shift),
            "edge": small(union.entry_edge - np.repeat(edge_start[:-1], entries)),
        }
        for key in ("weights", "edge_features"):
            if (value := getattr(union, key)) is not None:
                arrays[key] = value.detach().cpu().numpy()
        kind = union.matrix_class
        return cls(arrays, directed=kind.directed, self_loops=kind.self_loops, name=name)

    @classmethod
    def of_edges(
        cls,
        vertices: ArrayLike,
        edges: ArrayLike,
        pairs: NDArray[Any],
        features: NDArray[Any],
        edge_features: NDArray[Any] | None = None,
        name: str | None = None,
    ) -> Pack:
        """Pack undirected graphs from arrays that are known to be valid, without making the graphs.

        ``vertices`` and ``edges`` (graphs,) count them; ``pairs`` (all edges, 2) holds every edge once, by vertex
        numbers within its graph; ``features`` and ``edge_features`` have a row per vertex and edge.
        """
        count = np.asarray(edges, dtype=np.int64)
        graph = np.repeat(np.arange(len(count)), count)
        number = np.arange(len(pairs)) - np.repeat(starts(count)[:-1], count)
        row, column = np.concatenate([pairs, pairs[:, ::-1]]).T
        width = int(pairs.max(initial=0)) + 1
        order = np.argsort((np.concatenate([graph, graph]) * width + row) * width + column, kind="stable")
        arrays = {
            "vertex_start": starts(np.asarray(vertices)),
            "edge_start": starts(count),
            "entry_start": starts(2 * count),
            "features": features,
            "row": small(row[order]),
            "column": small(column[order]),
            "edge": small(np.concatenate([number, number])[order]),
        }
        if edge_features is not None:
            arrays["edge_features"] = edge_features
        return cls(arrays, name=name)

    @classmethod
    def join(cls, packs: Sequence[Pack], name: str | None = None) -> Pack:
        """Packs with the same kinds of features, one after another."""
        if not packs:
            raise GraphError("there are no graphs to pack")
        kinds: set[Any] = {tuple(int(p.arrays[key][0]) if key in p.arrays else -1 for key in _WHOLE) for p in packs}
        parts = [(p if len(kinds) == 1 else p.dense()).compact().arrays for p in packs]
        for key in ("features", "weights", "edge_features", "graph_features", *_LABELS.values()):
            kinds = {None if key not in a else a[key].shape[1:] for a in parts}
            if len(kinds) > 1:
                raise GraphError(f"packs whose {key} differ in shape cannot be joined; their shapes are {kinds}")
        common = [key for key in parts[0] if all(key in a for a in parts)]
        arrays = {
            key: parts[0][key]
            if key in _WHOLE
            else starts(np.concatenate([np.diff(a[key]) for a in parts]))
            if key.endswith("_start")
            else np.concatenate([a[key] for a in parts])
            for key in common
        }
        return cls(
            arrays,
            directed=any(p.directed for p in packs),
            self_loops=any(p.self_loops for p in packs),
            name=name or packs[0].name,
        )

    def __len__(self) -> int:
        return len(self.chosen)

    def __repr__(self) -> str:
        return f"Pack(graphs={len(self)}, vertices={int(self.sizes.sum())}, features={self.width})"

    @property
    def width(self) -> int:
        """Width of the vertex features."""
        return self._width("features")

    @property
    def edge_width(self) -> int:
        """Width of the edge features, 0 without any."""
        return self._width("edge_features")

    def _width(self, key: str) -> int:
        of, more = self.arrays.get(key), self.arrays.get(f"{_LABELS[key]}_width")
        return (0 if of is None else int(of.shape[1])) + (0 if more is None else int(more[0]))

    def _values(self, key: str, rows: Int | slice) -> NDArray[Any] | None:
        """Rows of an array, with labels as columns; None where there is none."""
        labels = self.arrays.get(_LABELS.get(key, ""))
        values = self.arrays[key][rows] if key in self.arrays else None
        if labels is None:
            return values
        hot = one_hot(labels[rows], int(self.arrays[f"{_LABELS[key]}_width"][0]))
        return hot if values is None else np.concatenate([hot, values], axis=1)

    @property
    def features(self) -> NDArray[Any]:
        """(vertices of the chosen graphs, width) vertex features, with labels as columns."""
        pack = self.compact()
        values = pack._values("features", slice(None))
        assert values is not None
        return values

    def edge_kinds(self) -> NDArray[Any]:
        """The distinct rows of the edge features of all graphs of the arrays."""
        labels, features = self.arrays.get("edge_labels"), self.arrays.get("edge_features")
        if labels is None:
            assert features is not None
            return np.unique(features, axis=0)
        if features is not None:
            return np.unique(self.dense().arrays["edge_features"], axis=0)
        return one_hot(np.unique(labels, axis=0), self.edge_width)

    def dense(self) -> Pack:
        """The same graphs with columns instead of labels."""
        pack = self.compact()
        arrays = {key: a for key, a in pack.arrays.items() if key not in (*_LABELS.values(), *_WHOLE)}
        found = {key: pack._values(key, slice(None)) for key in _LABELS}
        return self._like(arrays | {key: a for key, a in found.items() if a is not None})

    @property
    def graph_features(self) -> NDArray[Any]:
        """(graphs, width) graph-level features of the chosen graphs."""
        return self._all_graph_features()[self.chosen]

    @property
    def graph_width(self) -> int:
        """Width of the graph-level features."""
        return int(self._all_graph_features().shape[1])

    def _all_graph_features(self) -> NDArray[Any]:
        if "graph_features" not in self.arrays:
            raise GraphError("graphs without features as a whole; read molecules with, say, features='element+morgan'")
        return self.arrays["graph_features"]

    def without_edge_features(self) -> Pack:
        """The same graphs without features of edges."""
        left = ("edge_features", "edge_labels", "edge_labels_width")
        return self._like({k: v for k, v in self.arrays.items() if k not in left}, self.chosen)

    def with_groups(self, marks: NDArray[Any]) -> Pack:
        """The same graphs with marks of functional groups, (vertices of all graphs,)."""
        return self._like({**self.arrays, "groups": marks}, self.chosen)

    def with_graph_features(self, features: NDArray[Any]) -> Pack:
        """The same graphs with graph-level features (graphs, width)."""
        return self._like({**self.compact().arrays, "graph_features": features})

    def with_more_graph_features(self, features: NDArray[Any]) -> Pack:
        """The same graphs with further graph-level features (graphs, width) behind those that there are."""
        given = [self.graph_features] if "graph_features" in self.arrays else []
        return self.with_graph_features(np.concatenate([*given, features], axis=1))

    def with_graph_columns(self, columns: Sequence[slice]) -> Pack:
        """The same graphs with some columns of their graph-level features, one slice after another."""
        parts = [self._all_graph_features()[:, c] for c in columns]
        features = parts[0] if len(parts) == 1 else np.concatenate(parts, axis=1)
        return self._like({**self.arrays, "graph_features": features}, self.chosen)

    @property
    def sizes(self) -> Int:
        """(graphs,) number of vertices of each graph."""
        return self._count("vertex")

    @property
    def given_edges(self) -> Int:
        """(graphs,) number of edges of each graph as they were given: an undirected one may be given both ways."""
        return self._count("edge")

    @property
    def edge_counts(self) -> Int:
        """(graphs,) number of edges of each graph, both directions of an undirected one counted once."""
        loops = 0 if not self.self_loops else np.array([(g.entries[0] == g.entries[1]).sum() for g in self])
        entries = self._count("entry")
        return entries if self.directed else (entries + loops) // 2

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays."""
        return sum(int(a.nbytes) for a in self.arrays.values())

    def _count(self, of: str) -> Int:
        start = self.arrays[f"{of}_start"]
        return np.asarray(start[self.chosen + 1] - start[self.chosen], dtype=np.int64)

    def select(self, indices: ArrayLike) -> Pack:
        """The chosen graphs, in that order; the arrays are shared."""
        which = np.asarray(indices)
        which = np.flatnonzero(which) if which.dtype == bool else which.astype(np.int64)
        return self._like(self.arrays, self.chosen[which])

    def with_features(self, features: NDArray[Any]) -> Pack:
        """The same graphs with other vertex features, (vertices of the chosen graphs, width)."""
        arrays = self.compact().arrays
        if len(features) != int(arrays["vertex_start"][-1]):
            raise GraphError(f"{arrays['vertex_start'][-1]} vertices, but features of {len(features)}")
        bare = {key: a for key, a in arrays.items() if key not in ("labels", "labels_width")}
        return self._like({**bare, "features": features})

    def with_labels(
        self, labels: NDArray[Any], width: int, key: str = "features", beside: NDArray[Any] | None = None
    ) -> Pack:
        """The same graphs with one-hot features (or ``edge_features``) given by the numbers of their columns, and
        other features ``beside`` them.
        """
        arrays = {name: a for name, a in self.compact().arrays.items() if name != key}
        numbers = np.atleast_2d(labels.T).T.astype(np.min_scalar_type(-max(width, 1)))
        arrays |= {_LABELS[key]: numbers, f"{_LABELS[key]}_width": np.array([width])}
        return self._like(arrays if beside is None else {**arrays, key: beside})

    def matched(self, key: str, names: Sequence[str], wanted: Sequence[str]) -> Pack:
        """The same graphs with the ``wanted`` columns of the ``features`` or ``edge_features``; zero where a name is
        new, and without the columns that are not wanted.
        """
        if key not in self.arrays and _LABELS[key] in self.arrays:
            place = {name: i for i, name in enumerate(wanted)}
            found = np.array([*(place.get(name, -1) for name in names), -1])  # the last for no label
            pack = self.compact()
            return pack.with_labels(found[pack.arrays[_LABELS[key]]], len(wanted), key)
        pack, place = self.dense(), {name: i for i, name in enumerate(names)}
        rows = pack.arrays[key]
        none = np.zeros(len(rows), dtype=rows.dtype)
        columns = [rows[:, place[name]] if name in place else none for name in wanted]
        return self._like({**pack.arrays, key: np.stack(columns, axis=1)})

    def compact(self) -> Pack:
        """The same with arrays that hold the chosen graphs only."""
        if len(self) == len(self.arrays["vertex_start"]) - 1 and (self.chosen == np.arange(len(self))).all():
            return self
        cuts = [key.removesuffix("_start") for key in self.arrays if key.endswith("_start")]
        arrays: dict[str, NDArray[Any]] = {f"{of}_start": starts(self._count(of)) for of in cuts}
        rows = {of: self._rows(of) for of in cuts}
        arrays.update({key: self.arrays[key][rows[of]] for key, of in (_OF | _KEPT).items() if key in self.arrays})
        arrays.update({key: self.arrays[key] for key in _WHOLE if key in self.arrays})
        if "graph_features" in self.arrays:
            arrays["graph_features"] = self.graph_features
        return self._like(arrays)

    def bare(self) -> Pack:
        """The same graphs without what a store keeps of the scheme."""
        arrays = {key: a for key, a in self.arrays.items() if not key.startswith(("part", "inner"))}
        return self._like(arrays, self.chosen)

    def checked(self) -> Pack:
        """The same; an error unless the arrays are those of graphs, for packs in files from strangers."""
        a = self.arrays
        needed = {f"{of}_start" for of in _OF.values()} | {"row", "column", "edge"}
        needed |= set() if "labels" in a else {"features"}
        needed |= {f"{key}_width" for key in _LABELS.values() if key in a}
        if wrong := (needed - a.keys()) | (a.keys() - needed - _OF.keys() - {"graph_features"}):
            raise GraphError(f"graphs whose arrays lack or should not have {min(wrong)}")
        for key, x in a.items():
            real = key.endswith("features")
            wide = real or key in _LABELS.values()
            if x.ndim != 1 + wide or x.dtype.kind not in ("biuf" if real or key == "weights" else "iu"):
                raise GraphError(f"graphs with the array {key} of {x.ndim} dimensions and the type {x.dtype}")
        start = {of: np.asarray(a[f"{of}_start"], dtype=np.int64) for of in ("vertex", "edge", "entry")}
        for of, first in start.items():
            size = {len(a[key]) for key, cut in _OF.items() if cut == of and key in a}
            inside = len(first) == len(start["vertex"]) > 0 and first[0] == 0 and (np.diff(first) >= 0).all()
            if not inside or not ((first >= 0) & (first <= first[-1])).all() or (size - {int(first[-1])}):
                raise GraphError(f"graphs that do not begin where {of}_start says")
        if len(a.get("graph_features", start["vertex"][1:])) != len(start["vertex"]) - 1:
            raise GraphError("graphs with graph_features of other graphs")
        for key in a.keys() & set(_LABELS.values()):
            width = a[f"{key}_width"]
            if len(width) != 1 or not -1 <= a[key].min(initial=-1) <= a[key].max(initial=-1) < width[0]:
                raise GraphError(f"graphs with {key} beyond their number")
        entries = np.diff(start["entry"])
        for key, of in {"row": "vertex", "column": "vertex", "edge": "edge"}.items():
            number = np.asarray(a[key], dtype=np.int64)
            if not ((number >= 0) & (number < np.repeat(np.diff(start[of]), entries))).all():
                raise GraphError(f"graphs whose array {key} leads out of them")
        return self

    def plain(self) -> Pack:
        """The same graphs without features."""
        keys = (*(f"{of}_start" for of in ("vertex", "edge", "entry")), "row", "column", "edge")
        arrays = {key: self.arrays[key] for key in keys}
        nothing = np.empty((int(arrays["vertex_start"][-1]), 0), dtype=np.uint8)
        return self._like({**arrays, "features": nothing}, self.chosen)

    def pieces(self, key: str) -> tuple[Int, Int] | None:
        """Offset and length, for every vertex of the chosen graphs, of what a store keeps, such as ``part1``."""
        if f"{key}_start" not in self.arrays:
            return None
        size = self.arrays[f"{key}_size"][self._rows("vertex")].astype(np.int64)
        begin, first = starts(size), starts(self.sizes)
        shift = self.arrays[f"{key}_start"][self.chosen] - begin[first[:-1]]
        return begin[:-1] + np.repeat(shift, np.diff(first)), size

    def _rows(self, of: str) -> Int:
        return ranges(np.asarray(self.arrays[f"{of}_start"][self.chosen], dtype=np.int64), self._count(of))

    def _places(self, of: str) -> Int | slice:
        """The same, where possible as a slice, which is copied several times as fast."""
        if not len(self) or (np.diff(self.chosen) != 1).any():
            return self._rows(of)
        start = self.arrays[f"{of}_start"]
        return slice(int(start[self.chosen[0]]), int(start[self.chosen[-1] + 1]))

    @overload
    def __getitem__(self, i: int) -> Graph: ...
    @overload
    def __getitem__(self, i: slice) -> Pack: ...
    def __getitem__(self, i: int | slice) -> Graph | Pack:
        if isinstance(i, slice):
            return self.select(np.arange(len(self))[i])
        import torch

        from ccn.graphs.graph import Graph

        number = int(self.chosen[i])
        part = {
            of: slice(*self.arrays[f"{of}_start"][number : number + 2].tolist()) for of in ("vertex", "edge", "entry")
        }
        cut = {key: found for key, of in _OF.items() if (found := self._values(key, part[of])) is not None}
        count = part["edge"].stop - part["edge"].start
        edges = np.zeros((count, 2), dtype=np.int64)
        # The entries of an undirected edge that was given once share its number; either stands for it.
        edges[cut["edge"][::-1]] = np.stack([cut["row"], cut["column"]], axis=1)[::-1]
        return Graph(
            edges,
            torch.from_numpy(np.array(cut["features"])),
            weights=torch.from_numpy(np.array(cut["weights"])) if "weights" in cut else None,
            edge_features=torch.from_numpy(np.array(cut["edge_features"])) if "edge_features" in cut else None,
            directed=self.directed,
            self_loops=self.self_loops,
            name=None if self.name is None else f"{self.name}[{number}]",
            groups=cut.get("groups"),
        )

    def batch(self) -> Batch:
        """All chosen graphs as one batch."""
        if not len(self):
            raise GraphError("a batch needs at least one graph")
        import torch

        from ccn.graphs.graph import Batch

        vertex, edge, entry = (self._places(of) for of in ("vertex", "edge", "entry"))
        a, entries, start = self.arrays, self._count("entry"), starts(self._count("vertex"))
        shift = np.repeat(start[:-1], entries)

        def values(key: str, rows: Int | slice) -> torch.Tensor | None:
            found = self._values(key, rows)
            return None if found is None else torch.from_numpy(np.array(found) if isinstance(rows, slice) else found)

        features = values("features", vertex)
        assert features is not None
        return Batch(
            self,
            start,
            features,
            np.stack([a["row"][entry] + shift, a["column"][entry] + shift]),
            a["edge"][entry] + np.repeat(starts(self._count("edge"))[:-1], entries),
            values("weights", edge),
            values("edge_features", edge),
            MatrixClass(self.directed, self.self_loops),
        )


def joined(a: Pack, b: Pack) -> Pack:
    """Two packs as one; parts of one pack stay parts of it."""
    if a.arrays is b.arrays:
        return a._like(a.arrays, np.concatenate([a.chosen, b.chosen]))
    return Pack.join([a, b])
