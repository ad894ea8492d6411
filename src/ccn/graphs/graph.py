"""Graphs and batches: the objects that everything else reads.

A :class:`Graph` owns one object's data: its edges as given, the nonzero entries of its adjacency matrix A in row order
(structure, numpy), and vertex features, edge weights and edge features (values, torch, with their dtype and their
gradients). A :class:`Batch` is the disjoint union of graphs, itself one large graph; it caches what is derived from its
structure alone (composition schemes and index maps), so that they are built once per batch.
"""

from __future__ import annotations

import copy
import operator
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor

from ccn.algebra.contractions import MatrixClass
from ccn.errors import GraphError
from ccn.graphs.ragged import Cache, Int, starts

__all__ = ["Batch", "Graph", "as_graph", "batch", "entry_weights", "finite_tensor", "prefix", "real_tensor"]


def prefix(name: str | None) -> str:
    """The first words of an error about the graph of this name."""
    return "graph: " if name is None else f"graph {name}: "


def real_tensor(values: Any, what: str, where: str) -> Tensor:
    """A tensor of real numbers that keeps dtype and gradient; lists of floats take torch's default dtype."""
    try:
        tensor = values if isinstance(values, Tensor) else torch.as_tensor(np.asarray(values))
    except (TypeError, ValueError, RuntimeError) as error:
        raise GraphError(f"{where}{what} are not a rectangular array of numbers ({error})") from None
    if not isinstance(values, Tensor | np.ndarray) and tensor.is_floating_point():
        tensor = tensor.to(torch.get_default_dtype())
    if tensor.layout != torch.strided:
        raise GraphError(f"{where}{what} are a sparse tensor; give a dense one, for example with .to_dense()")
    if tensor.is_complex():
        raise GraphError(f"{where}{what} are complex; ccn works with real numbers")
    return tensor


def finite_tensor(values: Any, what: str, where: str) -> Tensor:
    """The same, and an error unless every number is finite."""
    tensor = real_tensor(values, what, where)
    if tensor.is_floating_point() and not bool(torch.isfinite(tensor.detach()).all()):
        place = tuple(torch.nonzero(~torch.isfinite(tensor.detach()))[0].tolist())
        raise GraphError(f"{where}{what} hold a number that is not finite at {place}; remove or replace it")
    return tensor


def _columns(values: Tensor) -> Tensor:
    return values[:, None] if values.ndim == 1 else values


def _edge_array(edges: ArrayLike | Tensor, where: str) -> Int:
    if isinstance(edges, Tensor):
        edges = edges.detach().cpu().numpy()
    elif isinstance(edges, Iterable) and not isinstance(edges, np.ndarray):
        edges = list(edges)
    try:
        array = np.asarray(edges)
    except ValueError:
        array = np.empty(1)
    if array.size == 0:
        return np.empty((0, 2), dtype=np.int64)
    if array.ndim != 2 or array.shape[1] != 2:
        raise GraphError(
            f"{where}edges must be pairs (u, v), shape (edges, 2); got shape {array.shape}"
            + ("; transpose a (2, edges) index" if array.ndim == 2 and array.shape[0] == 2 else "")
        )
    if not np.issubdtype(array.dtype, np.integer):
        if not np.issubdtype(array.dtype, np.floating):
            raise GraphError(f"{where}edges must hold vertex numbers (integers); got {array.dtype}")
        # Infinity equals its floor; so the size is checked too: nothing beyond int64 is a vertex number.
        bad = np.flatnonzero(~((array == np.floor(array)) & (np.abs(array) < 2.0**63)).all(1))
        if bad.size:
            u, v = array[bad[0]].tolist()
            raise GraphError(f"{where}edge {bad[0]} ({u}, {v}) must hold vertex numbers (integers)")
    return array.astype(np.int64)


def _count(n: Any, where: str) -> int:
    """The number of vertices, checked."""
    if isinstance(n, bool) or not hasattr(n, "__index__"):
        raise GraphError(f"{where}n={n!r} is not an integer; n is the number of vertices")
    count = operator.index(n)
    if count < 1:
        raise GraphError(f"{where}n={count}, but a graph has at least one vertex")
    return count


class _Exchange:
    """The function of this name in :mod:`ccn.graphs.exchange`, which imports this module."""

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, graph: Graph | None, owner: type) -> Callable[..., Graph]:
        from ccn.graphs import exchange

        function: Callable[..., Graph] = getattr(exchange, self.name)
        return function


class Graph:
    """A graph with vertex features, edge weights and, optionally, edge features.

    Args:
        edges: pairs ``(u, v)`` of vertex numbers from 0. An undirected edge is given once or both ways (both must then
            agree); ``[]`` is fine.
        features: vertex features, shape (n, width) or (n,); without them pass ``n`` and every vertex gets the
            constant 1.
        n: number of vertices; taken from ``features`` where those are given.
        weights: one nonzero number per given edge, ``A[u, v] = w``; 1 by default.
        edge_features: one row per given edge.
        directed: ``(u, v)`` sets ``A[u, v]`` only. The neighbours of i are then all j with ``A[i, j]`` or ``A[j, i]``
            nonzero.
        self_loops: allow edges ``(u, u)``.
        name: identifies the graph in errors.
        mol: the RDKit molecule behind the graph, for schemes that look for groups in it.
        groups: (n,) the kinds of functional groups that each vertex belongs to, a bit for each
            (:func:`ccn.chemistry.groups.group_marks`).

    Example:
        >>> g = Graph(edges=[(0, 1), (1, 2)], features=[[1.0], [2.0], [3.0]])
        >>> g
        Graph(n=3, edges=2, features=1)
        >>> g.adjacency().tolist()
        [[0.0, 1.0, 0.0], [1.0, 0.0, 1.0], [0.0, 1.0, 0.0]]
    """

    def __init__(
        self,
        edges: ArrayLike | Tensor = (),
        features: Any = None,
        *,
        n: int | None = None,
        weights: Any = None,
        edge_features: Any = None,
        directed: bool = False,
        self_loops: bool = False,
        name: str | None = None,
        mol: Any = None,
        groups: Any = None,
    ) -> None:
        where = prefix(name)
        count = None if n is None else _count(n, where)
        if features is None:
            if count is None:
                raise GraphError(f"{where}give features, or n= for a graph without them")
            features = torch.ones(count, 1)
        self.features = _columns(finite_tensor(features, "features", where))
        if self.features.ndim != 2 or self.features.shape[1] == 0:
            shape = tuple(self.features.shape)
            raise GraphError(f"{where}features must have shape (n, width), width at least 1, got {shape}")
        self.n = _count(len(self.features), where) if count is None else count
        if len(self.features) != self.n:
            raise GraphError(f"{where}n={self.n}, but there are features of {len(self.features)} vertices")
        self.name = name
        self.mol = mol
        self.groups = None if groups is None else np.asarray(groups)
        if self.groups is not None and self.groups.shape != (self.n,):
            raise GraphError(f"{where}{self.n} vertices, but groups of shape {self.groups.shape}")
        self.directed, self.self_loops = bool(directed), bool(self_loops)
        self.edges = _edge_array(edges, where)
        self.weights = None if weights is None else real_tensor(weights, "weights", where)
        self.edge_features = None
        if edge_features is not None:
            self.edge_features = _columns(finite_tensor(edge_features, "edge features", where))
        self._check_edges(where)
        self.entries, self.entry_edge = self._entries(where)

    @property
    def matrix_class(self) -> MatrixClass:
        """The class of A that this graph declares."""
        return MatrixClass(self.directed, self.self_loops)

    def _edge(self, i: int) -> str:
        return f"edge {i} ({self.edges[i, 0]}, {self.edges[i, 1]})"

    def _check_edges(self, where: str) -> None:
        e, edge = self.edges, self._edge
        bad = np.flatnonzero(((e < 0) | (e >= self.n)).any(1))
        if bad.size:
            missing = next(v for v in e[bad[0]] if not 0 <= v < self.n)
            raise GraphError(f"{where}{edge(bad[0])} names vertex {missing}; the vertices are 0..{self.n - 1}")
        loops = np.flatnonzero(e[:, 0] == e[:, 1])
        if loops.size and not self.self_loops:
            raise GraphError(f"{where}{edge(loops[0])} is a self-loop; remove it or pass self_loops=True")
        if self.weights is not None:
            if self.weights.shape != (len(e),):
                raise GraphError(f"{where}{len(e)} edges, but weights of shape {tuple(self.weights.shape)}")
            bad = np.flatnonzero((~torch.isfinite(self.weights) | (self.weights == 0)).detach().cpu().numpy())
            if bad.size:
                weight = self.weights[bad[0]].item()
                raise GraphError(f"{where}{edge(bad[0])} has weight {weight}; leave it out or give another weight")
        shape = (len(e), 1) if self.edge_features is None else tuple(self.edge_features.shape)
        if len(shape) != 2 or shape[0] != len(e):
            raise GraphError(f"{where}{len(e)} edges, but edge features of shape {shape}")

    def _entries(self, where: str) -> tuple[Int, Int]:
        """The nonzero places of A in row order, (2, nnz), and the given edge behind each."""
        u, v = self.edges[:, 0], self.edges[:, 1]
        number = np.arange(len(u))
        if not self.directed:
            off = u != v
            u, v = np.concatenate([u, v[off]]), np.concatenate([v, u[off]])
            number = np.concatenate([number, number[off]])
        key = u * self.n + v
        order = np.argsort(key, kind="stable")
        key, number = key[order], number[order]
        twice = np.flatnonzero(key[1:] == key[:-1])
        if twice.size:
            first, second = number[twice], number[twice + 1]
            repeated = second[(self.edges[first] == self.edges[second]).all(1)]
            if repeated.size:
                raise GraphError(f"{where}{self._edge(repeated[0])} is given more than once")
            # What is left are undirected edges given as (u, v) and as (v, u): the two must agree.
            for what, values in (("weights", self.weights), ("features", self.edge_features)):
                if values is None:
                    continue
                rows = values.detach().reshape(len(values), -1)
                differ = torch.nonzero((rows[first] != rows[second]).any(1))
                if len(differ):
                    one, other = (self._edge(of[int(differ[0])]) for of in (first, second))
                    raise GraphError(
                        f"{where}{one} and {other} are one undirected edge, but their {what} differ: A is not "
                        "symmetric; make them agree or pass directed=True"
                    )
            # Each place of A takes its value from the edge given in that direction: the first in this stable order.
            keep = np.ones(len(key), dtype=bool)
            keep[twice + 1] = False
            key, number = key[keep], number[keep]
        return np.stack([key // self.n, key % self.n]), number

    def adjacency(self, dtype: torch.dtype | None = None) -> Tensor:
        """A as a dense (n, n) tensor, by default of the weights' dtype; gradients flow to the weights."""
        w = entry_weights(self.weights, self.entry_edge, dtype)
        index = torch.from_numpy(self.entries)
        return torch.zeros(self.n, self.n, dtype=w.dtype, device=w.device).index_put((index[0], index[1]), w)

    def permute(self, sigma: Sequence[int] | Int) -> Graph:
        """The same graph with vertex i renamed ``sigma[i]``; sigma is a permutation of ``0..n-1``."""
        s = np.asarray(sigma)
        if s.shape != (self.n,) or s.dtype.kind not in "iu" or (np.sort(s) != np.arange(self.n)).any():
            raise GraphError(f"{prefix(self.name)}sigma={s.tolist()} must hold each of 0..{self.n - 1} exactly once")
        before, mol = np.argsort(s), self.mol
        if mol is not None:
            from rdkit.Chem import RenumberAtoms

            mol = RenumberAtoms(mol, before.tolist())
        return Graph(
            s[self.edges] if len(self.edges) else [],
            self.features[torch.from_numpy(before)],
            weights=self.weights,
            edge_features=self.edge_features,
            directed=self.directed,
            self_loops=self.self_loops,
            name=self.name,
            mol=mol,
            groups=None if self.groups is None else self.groups[before],
        )

    def __repr__(self) -> str:
        extra = "".join(f", {flag}=True" for flag in ("directed", "self_loops") if getattr(self, flag))
        return f"Graph(n={self.n}, edges={len(self.edges)}, features={self.features.shape[1]}{extra})"

    from_adjacency = _Exchange()
    from_networkx = _Exchange()
    from_pyg = _Exchange()
    from_rdkit = _Exchange()
    from_smiles = _Exchange()


def entry_weights(weights: Tensor | None, entry_edge: Int, dtype: torch.dtype | None = None) -> Tensor:
    """The values of the nonzero places of A, one per entry."""
    if weights is None:
        return torch.ones(len(entry_edge), dtype=dtype)
    return weights.to(weights.dtype if dtype is None else dtype)[torch.from_numpy(entry_edge).to(weights.device)]


def _edge_values(what: str, graphs: Sequence[Graph]) -> Tensor | None:
    """Weights or edge features of all graphs one after another; None if no graph has them."""
    values: list[Tensor | None] = [getattr(g, what) for g in graphs]
    first = next((v for v in values if v is not None), None)
    if first is None:
        return None
    filled = []
    for i, (g, v) in enumerate(zip(graphs, values, strict=True)):
        if v is None and what == "edge_features" and len(g.edges):
            raise GraphError(f"graph {i} has no edge features, but others of the batch have; give all or none")
        filled.append(first.new_ones(len(g.edges), *first.shape[1:]) if v is None else v)
        if filled[-1].shape[1:] != first.shape[1:]:
            raise GraphError(f"graph {i}: {what} have width {filled[-1].shape[1]}, others have {first.shape[1]}")
    return torch.cat(filled)


class Batch:
    """Several graphs as one: vertices, edges and entries numbered consecutively. Made by :func:`batch`.

    Attributes:
        graphs: the graphs, in order.
        start: (graphs+1,) first vertex of each graph.
        features: (n, width).
        entries: (2, nnz) nonzero places of the block-diagonal A, in row order.
        entry_edge: (nnz,) the number of the edge behind each entry.
        weights, edge_features: values per edge, or None.
        graph_features: (graphs, width) graph-level features, or None.
        matrix_class: the narrowest class that covers every graph's A.
        cached: what has been derived from the structure.

    Example:
        >>> import ccn
        >>> b = ccn.batch([ccn.Graph([(0, 1)], n=2), ccn.Graph([(0, 1), (1, 2)], n=3)])
        >>> b.start.tolist(), tuple(b.features.shape), b.entries.shape
        ([0, 2, 5], (5, 1), (2, 6))
    """

    # Not a dataclass: Lightning Fabric would take one apart to convert its fields.
    def __init__(
        self,
        graphs: Sequence[Graph],
        start: Int,
        features: Tensor,
        entries: Int,
        entry_edge: Int,
        weights: Tensor | None,
        edge_features: Tensor | None,
        matrix_class: MatrixClass,
    ) -> None:
        self.graphs, self.start, self.features = graphs, start, features
        self.entries, self.entry_edge = entries, entry_edge
        self.weights, self.edge_features, self.matrix_class = weights, edge_features, matrix_class
        self.cached = Cache()

    def __len__(self) -> int:
        return len(self.graphs)

    def __repr__(self) -> str:
        entries, width = self.entries.shape[1], self.features.shape[1]
        return f"Batch(graphs={len(self)}, n={self.n}, entries={entries}, features={width})"

    @cached_property
    def n(self) -> int:
        """Number of vertices of all graphs."""
        return int(self.start[-1])

    @cached_property
    def graph_of(self) -> Int:
        """(n,) the graph of each vertex."""
        return np.repeat(np.arange(len(self)), np.diff(self.start))

    @cached_property
    def edge_start(self) -> Int:
        """(graphs+1,) first edge of each graph, as the edges were given."""
        counts = getattr(self.graphs, "given_edges", None)  # of a ccn.graphs.pack.Pack
        return starts([len(g.edges) for g in self.graphs] if counts is None else counts)

    @cached_property
    def edge_entry(self) -> Int:
        """(edges,) an entry of A behind each edge; that of (u, v) where it is directed."""
        edges, first = np.unique(self.entry_edge, return_index=True)
        assert len(edges) == self.edge_start[-1]
        return first

    @property
    def edge_ends(self) -> Int:
        """(2, edges) the vertices of each edge."""
        return self.entries[:, self.edge_entry]

    @cached_property
    def graph_features(self) -> Tensor | None:
        # Made when first read: most networks do not read them.
        values = getattr(self.graphs, "arrays", {}).get("graph_features")  # of a ccn.graphs.pack.Pack
        if values is None:
            return None
        return torch.from_numpy(values[self.graphs.chosen].astype(np.float32)).to(self.device)  # type: ignore[attr-defined]

    @property
    def device(self) -> torch.device:
        return self.features.device

    def to(self, device: torch.device | str) -> Batch:
        """The batch with its values on ``device``; structure that is already built is kept."""
        moved = copy.copy(self)
        for name in {"features", "weights", "edge_features", "graph_features"} & vars(self).keys():
            value = getattr(self, name)
            setattr(moved, name, None if value is None else value.to(device))
        return moved


def _union(graphs: Sequence[Graph]) -> Batch:
    """The disjoint union of graphs."""
    if not graphs:
        raise GraphError("a batch needs at least one graph")
    widths = [g.features.shape[1] for g in graphs]
    for i, width in enumerate(widths):
        if width != widths[0]:
            raise GraphError(f"graph {i}: features have width {width}, those of graph 0 {widths[0]}; all need the same")
    start = starts([g.n for g in graphs])
    edge_start = starts([len(g.edges) for g in graphs])
    nnz = [g.entries.shape[1] for g in graphs]
    return Batch(
        graphs,
        start,
        torch.cat([g.features for g in graphs]),
        np.concatenate([g.entries for g in graphs], axis=1) + np.repeat(start[:-1], nnz),
        np.concatenate([g.entry_edge for g in graphs]) + np.repeat(edge_start[:-1], nnz),
        _edge_values("weights", graphs),
        _edge_values("edge_features", graphs),
        MatrixClass(any(g.directed for g in graphs), any(g.self_loops for g in graphs)),
    )


def as_graph(thing: Any, where: str = "") -> Graph:
    """A :class:`Graph` from a graph, SMILES, RDKit molecule, NetworkX graph, PyG ``Data`` or matrix.

    Errors start with ``where``.

    Example:
        >>> as_graph("CCO").n, as_graph(np.array([[0, 1], [1, 0]])).n
        (3, 2)
    """
    if isinstance(thing, Graph):
        return thing
    from ccn.graphs.exchange import reader_of

    reader = reader_of(thing)
    if reader is None:
        raise GraphError(
            f"{where}cannot make a graph from {type(thing).__name__}; give a ccn.Graph, a SMILES string, an RDKit "
            "molecule, a NetworkX graph, a PyG Data or an adjacency matrix"
        )
    try:
        return reader(thing)
    except GraphError as error:
        raise GraphError(f"{where}{str(error).removeprefix('graph: ')}") from None


def batch(graphs: Any) -> Batch:
    """The disjoint union of graphs (or of whatever :func:`as_graph` accepts) as one batch.

    A single graph, such as a molecule, a SMILES string, a NetworkX graph or a square matrix, is a batch of one; a PyG
    ``Batch`` stands for all its graphs.

    Example:
        >>> batch([Graph([(0, 1)], n=2), Graph([], n=1)])
        Batch(graphs=2, n=3, entries=2, features=1)
    """
    if isinstance(graphs, Batch):
        return graphs
    if isinstance(graphs, Sequence) and hasattr(graphs, "batch"):
        return graphs.batch()  # type: ignore[no-any-return]  # a ccn.graphs.pack.Pack
    from ccn.graphs.exchange import is_one

    if isinstance(graphs, Graph) or is_one(graphs):
        graphs = [graphs]
    elif hasattr(graphs, "to_data_list"):
        graphs = graphs.to_data_list()
    return _union([as_graph(g, f"graph {i}: ") for i, g in enumerate(graphs)])
