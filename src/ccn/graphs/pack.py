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

__all__ = ["KEPT_LEVELS", "Pack", "joined"]

Arrays = Mapping[str, NDArray[Any]]
_OF = {  # which start array cuts each array into graphs
    "features": "vertex",
    "row": "entry",
    "column": "entry",
    "edge": "entry",
    "weights": "edge",
    "edge_features": "edge",
}
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


class Pack(Sequence["Graph"]):
    """A sequence of graphs held as a few arrays.

    Attributes:
        arrays: ``vertex_start``, ``edge_start``, ``entry_start`` (graphs+1,): where each graph begins;
            ``features`` (vertices, width); ``row``, ``column`` (entries,): the nonzero places of every A, in
            row order, and ``edge``: the edge behind each; ``weights`` and ``edge_features`` per edge, or absent;
            ``graph_features`` (graphs, width): features of graphs as a whole, or absent.
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
        edges = np.array([len(g.edges) for g in b.graphs])
        entries = np.array([g.entries.shape[1] for g in b.graphs])
        arrays = {
            "vertex_start": b.start,
            "edge_start": starts(edges),
            "entry_start": starts(entries),
            "features": b.features.detach().cpu().numpy(),
            "row": small(b.entries[0] - np.repeat(b.start[:-1], entries)),
            "column": small(b.entries[1] - np.repeat(b.start[:-1], entries)),
            "edge": small(b.entry_edge - np.repeat(starts(edges)[:-1], entries)),
        }
        for key in ("weights", "edge_features"):
            value = getattr(b, key)
            if value is not None:
                arrays[key] = value.detach().cpu().numpy()
        return cls(arrays, directed=b.matrix_class.directed, self_loops=b.matrix_class.self_loops, name=name)

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
        order = np.lexsort((column, row, np.concatenate([graph, graph])))
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
        parts = [p.compact().arrays for p in packs]
        for key in ("features", "weights", "edge_features", "graph_features"):
            kinds = {None if key not in a else a[key].shape[1:] for a in parts}
            if len(kinds) > 1:
                raise GraphError(f"packs whose {key} differ in shape cannot be joined; their shapes are {kinds}")
        common = [key for key in parts[0] if all(key in a for a in parts)]
        arrays = {
            key: starts(np.concatenate([np.diff(a[key]) for a in parts]))
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
        return int(self.arrays["features"].shape[1])

    @property
    def graph_features(self) -> NDArray[Any]:
        """(graphs, width) features of the chosen graphs as a whole."""
        if "graph_features" not in self.arrays:
            raise GraphError("graphs without features as a whole; read molecules with, say, features='element+morgan'")
        return self.arrays["graph_features"][self.chosen]

    def with_graph_features(self, features: NDArray[Any]) -> Pack:
        """The same graphs with features (graphs, width) of each as a whole."""
        return self._like({**self.compact().arrays, "graph_features": features})

    @property
    def sizes(self) -> Int:
        """(graphs,) number of vertices of each graph."""
        return self._count("vertex")

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
        return self._like({**arrays, "features": features})

    def compact(self) -> Pack:
        """The same with arrays that hold the chosen graphs only."""
        if len(self) == len(self.arrays["vertex_start"]) - 1 and (self.chosen == np.arange(len(self))).all():
            return self
        cuts = [key.removesuffix("_start") for key in self.arrays if key.endswith("_start")]
        arrays: dict[str, NDArray[Any]] = {f"{of}_start": starts(self._count(of)) for of in cuts}
        rows = {of: self._rows(of) for of in cuts}
        arrays.update({key: self.arrays[key][rows[of]] for key, of in (_OF | _KEPT).items() if key in self.arrays})
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
        needed = {f"{of}_start" for of in _OF.values()} | {"features", "row", "column", "edge"}
        if wrong := (needed - a.keys()) | (a.keys() - needed - _OF.keys() - {"graph_features"}):
            raise GraphError(f"graphs whose arrays lack or should not have {min(wrong)}")
        for key, x in a.items():
            wide = key.endswith("features")
            if x.ndim != 1 + wide or x.dtype.kind not in ("biuf" if wide or key == "weights" else "iu"):
                raise GraphError(f"graphs with the array {key} of {x.ndim} dimensions and the type {x.dtype}")
        start = {of: np.asarray(a[f"{of}_start"], dtype=np.int64) for of in ("vertex", "edge", "entry")}
        for of, first in start.items():
            size = {len(a[key]) for key, cut in _OF.items() if cut == of and key in a}
            inside = len(first) == len(start["vertex"]) > 0 and first[0] == 0 and (np.diff(first) >= 0).all()
            if not inside or not ((first >= 0) & (first <= first[-1])).all() or (size - {int(first[-1])}):
                raise GraphError(f"graphs that do not begin where {of}_start says")
        if len(a.get("graph_features", start["vertex"][1:])) != len(start["vertex"]) - 1:
            raise GraphError("graphs with graph_features of other graphs")
        entries = np.diff(start["entry"])
        for key, of in {"row": "vertex", "column": "vertex", "edge": "edge"}.items():
            number = np.asarray(a[key], dtype=np.int64)
            if not ((number >= 0) & (number < np.repeat(np.diff(start[of]), entries))).all():
                raise GraphError(f"graphs whose array {key} leads out of them")
        return self

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
        cut = {key: self.arrays[key][part[of]] for key, of in _OF.items() if key in self.arrays}
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
        )

    def batch(self) -> Batch:
        """All chosen graphs as one batch."""
        if not len(self):
            raise GraphError("a batch needs at least one graph")
        import torch

        from ccn.graphs.graph import Batch

        vertex, edge, entry = (self._rows(of) for of in ("vertex", "edge", "entry"))
        a, entries, start = self.arrays, self._count("entry"), starts(self._count("vertex"))
        shift = np.repeat(start[:-1], entries)

        def values(key: str, rows: Int) -> torch.Tensor | None:
            return torch.from_numpy(np.asarray(a[key][rows])) if key in a else None

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
