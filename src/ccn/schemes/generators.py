"""Scheme generators: from a graph to its composition scheme.

A generator is any function ``graph -> Scheme``. Those of this module that grow parts by hops
(:class:`Neighbourhoods`, :class:`Balls`) also compose all graphs of a batch at once from sparse matrix
products: a disjoint union of graphs is a graph, the children of a level are a pattern matrix C_l,
and its parts are the rows of the pattern of ``C_l P_(l-1)``. Any other generator is called once
per graph, and its schemes are concatenated.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise, repeat
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ccn.errors import ConfigurationError, GraphError, SchemeError
from ccn.graphs.graph import Batch, Graph, batch
from ccn.graphs.pack import KEPT_LEVELS, Pack, neighbour_pattern
from ccn.graphs.ragged import Int, ranges, small, starts
from ccn.schemes.packed import Composition, Inner, RawLevel, compose
from ccn.schemes.scheme import Scheme

__all__ = [
    "Balls",
    "Clusters",
    "Finder",
    "Neighbourhoods",
    "composition",
    "former_selves",
    "functional_groups",
    "has_anchors",
    "has_free_children",
    "keep",
    "rings",
]


def _pattern(b: Batch) -> sp.csr_array:
    """Which vertices are neighbours."""
    return neighbour_pattern(b.entries, b.n, b.matrix_class.directed)


def _closed_pattern(b: Batch) -> sp.csr_array:
    """The same, and every vertex is its own neighbour."""
    return _bool(_pattern(b) + _identity(np.ones(b.n, dtype=bool)))


def _bool(m: Any) -> sp.csr_array:
    m = sp.csr_array(m, dtype=bool)
    m.sort_indices()
    return m


_LARGE = 1 << 24  # numbers that may be built without asking first

Check = Callable[[Int, int], None]
"""Asked before a level is built, with at least the sizes of its parts and the numbers that its pairs or A within its
parts hold; raises an error if it does not fit.
"""


def _at_least(children: sp.csr_array, size: Int) -> Int:
    """(nodes,) the size of the largest child's part, 0 without one: no part is smaller."""
    some = np.flatnonzero(np.diff(children.indptr))
    out = np.zeros(children.shape[0], dtype=np.int64)
    out[some] = np.maximum.reduceat(size[children.indices], children.indptr[some]) if len(some) else 0
    return out


def _united(
    children: sp.csr_array, parts: sp.csr_array, most: int | None, check: Check
) -> tuple[sp.csr_array, NDArray[np.bool_]]:
    """The union of the children's parts, and which nodes have one of more than ``most`` atoms: these are left empty.

    What is certain to be too large, for a node or for memory, is never built.
    """
    size = np.diff(parts.indptr).astype(np.int64)
    large = np.zeros(len(size), dtype=bool)
    if most is not None:
        large = _at_least(children, size) > most
        if large.any():
            children = _identity(~large) @ children
    numbers = int(size[children.indices].sum())
    if numbers > _LARGE:
        check(_at_least(children, size), numbers)
    grown = _bool(children @ parts)
    if most is not None and (over := np.diff(grown.indptr) > most).any():
        grown, large = _bool(_identity(~over) @ grown), large | over
    return grown, large


def _identity(where: NDArray[np.bool_]) -> sp.csr_array:
    """The identity pattern, restricted to some vertices."""
    at = np.flatnonzero(where)
    return sp.csr_array(
        (np.ones(len(at), dtype=bool), at, starts(where.astype(np.int64))), shape=(len(where), len(where))
    )


def _hops(closed: sp.csr_array, radius: int, most: int | None, check: Check) -> sp.csr_array:
    """The pattern of ``(I + A)^radius``; rows of more than ``most`` entries are left empty."""
    every = _identity(np.ones(closed.shape[0], dtype=bool))
    reach, large = every, np.zeros(closed.shape[0], dtype=bool)
    for _ in range(radius):
        beyond = large | (_at_least(closed, large.astype(np.int64)) > 0)  # it reaches a vertex that reaches too many
        reach, over = _united(_identity(~beyond) @ closed if beyond.any() else closed, reach, most, check)
        large = beyond | over
    return reach


def _kept_parts(b: Batch, level: int) -> sp.csr_array | None:
    """The parts of a level of closed neighbourhoods, where they are kept with the graphs."""
    pack = b.graphs
    if not isinstance(pack, Pack) or (pieces := pack.pieces(f"part{level}")) is None:
        return None

    def read() -> sp.csr_array:
        start, size = pieces
        atoms = pack.arrays[f"part{level}"][ranges(start, size)] + np.repeat(b.start[b.graph_of], size)
        return sp.csr_array((np.ones(len(atoms), dtype=bool), atoms, starts(size)), shape=(b.n, b.n))

    return b.cached(("parts", level), read)


def _kept_inner(b: Batch, level: int) -> Inner | None:
    """A within these parts, where it is kept with the graphs."""
    pack = b.graphs
    if not isinstance(pack, Pack) or (found := pack.pieces(f"inner{level}")) is None:
        return None
    row, column, entry = (pack.arrays[f"inner{level}_{name}"] for name in ("row", "column", "entry"))
    first = np.searchsorted(b.entries[0], b.start[:-1])
    return Inner(b.entries, *found, row, column, entry, first[b.graph_of])


def _raw(b: Batch, level: int, children: sp.csr_array, parts: sp.csr_array, inner: Inner | None = None) -> RawLevel:
    anchor = np.arange(b.n)
    size, atoms = np.diff(parts.indptr).astype(np.int64), parts.indices.astype(np.int64)
    parent, child = np.repeat(anchor, np.diff(children.indptr)), children.indices.astype(np.int64)
    below = np.full(len(child), level - 1)
    return RawLevel(size, atoms, anchor, b.graph_of, parent, below, child, own=anchor, inner=inner)


def _check(name: str, value: Any, least: int) -> None:
    if value is not None and (not isinstance(value, int | np.integer) or value < least):
        raise ConfigurationError(f"{name}={value!r}: it must be an integer of at least {least}, or None")


class _HopScheme(ABC):
    """Shared by generators with one node per vertex and level: children given as pattern matrices."""

    max_part: int | None

    @abstractmethod
    def children(self, b: Batch, levels: int, check: Check) -> Iterator[sp.csr_array]:
        """For each level 1..levels the (n, n) pattern: row i holds the children of node i, none where they are more
        than ``max_part``.
        """

    @abstractmethod
    def depth(self, levels: int | None) -> int:
        """The number of levels, from the generator itself or from the network."""

    def is_kept(self) -> bool:
        """Whether this is the scheme whose parts a store keeps."""
        return False

    def stacks_field(self) -> bool:
        """Whether the children of a node are those of every vertex of its part, restricted to it."""
        return False

    def grow(
        self, b: Batch, levels: int | None, check: Check = lambda sizes, numbers: None
    ) -> Iterator[tuple[sp.csr_array, sp.csr_array]]:
        """Children and parts of each level.

        A node whose part would exceed ``max_part`` keeps one child, its own node of the level below, so that its
        part stops growing: this depends on no numbering, and descendants stay subsets.
        """
        parts = _identity(np.ones(b.n, dtype=bool))
        large = np.zeros(b.n, dtype=bool)
        for level, children in enumerate(self.children(b, self.depth(levels), check), start=1):
            if self.is_kept() and (kept := _kept_parts(b, level)) is not None:
                parts = kept
            else:
                grown, large = _united(children, parts, self.max_part, check)
                if self.max_part is not None:
                    large |= np.diff(children.indptr) == 0
                if large.any():
                    children = _bool(_identity(~large) @ children + _identity(large))
                    grown = _bool(grown + _identity(large) @ parts)
                parts = grown
            if self.stacks_field():
                children = _bool(_identity(~large) @ parts + _identity(large)) if large.any() else parts
            yield children, parts

    def raw(self, b: Batch, levels: int | None, check: Callable[..., None]) -> list[RawLevel]:
        """The levels of a batch, to be packed; ``check`` is called with the part sizes of the levels so far."""
        everywhere = np.ones(b.n, dtype=bool)
        raw = [_raw(b, 0, _identity(~everywhere), _identity(everywhere))]

        def ask(sizes: Int, numbers: int) -> None:
            check([*(of.size for of in raw[1:]), sizes], numbers)

        for level, (children, parts) in enumerate(self.grow(b, levels, ask), start=1):
            raw.append(_raw(b, level, children, parts, _kept_inner(b, level) if self.is_kept() else None))
        return raw

    def __call__(self, graph: Graph, /) -> Scheme:
        b, n = batch([graph]), graph.n
        part_lists, child_lists = [[(i,) for i in range(n)]], [[()] * n]
        for level, (children, parts) in enumerate(self.grow(b, None), start=1):
            part_lists.append([tuple(x) for x in np.split(parts.indices, parts.indptr[1:-1])])
            child_lists.append([tuple(x + (level - 1) * n) for x in np.split(children.indices, children.indptr[1:-1])])
        top = (len(part_lists) - 1) * n
        return Scheme(
            [*chain(*part_lists), tuple(range(n))],
            [*chain(*child_lists), tuple(range(top, top + n))],
            [*chain(*([range(n)] * len(part_lists))), None],
            atoms=n,
            restricted=self.stacks_field(),
        )


@dataclass(frozen=True)
class Neighbourhoods(_HopScheme):
    """The graph scheme M1-M3: node i of level l has as children the nodes of i's neighbourhood below.

    Args:
        closed: the neighbourhood of i holds i itself. The paper's open one (``closed=False``) leaves it out, unless i
            has a self-loop; an isolated vertex then keeps itself as its one child.
        levels: number of levels; inside a network, those of the network.
        max_part: a node whose part would be larger keeps its own node of the level below as its one child.
        field: the parts are the same, but the children of i are the nodes below of *every* vertex of its part, its
            receptive field, in place of those of its neighbours. Some of them reach beyond the part: what does is left
            out. The paper's authors do so in their code.

    Example:
        >>> Neighbourhoods(levels=2)(Graph([(0, 1), (1, 2)], n=3)).parts[3:9]
        ((0, 1), (0, 1, 2), (1, 2), (0, 1, 2), (0, 1, 2), (0, 1, 2))
    """

    closed: bool = True
    levels: int | None = None
    max_part: int | None = None
    field: bool = False

    def __post_init__(self) -> None:
        _check("max_part", self.max_part, 1)
        _check("levels", self.levels, 0)

    def stacks_field(self) -> bool:
        return self.field

    def depth(self, levels: int | None) -> int:
        wanted = self.levels if self.levels is not None else levels
        if wanted is None:
            raise ConfigurationError("Neighbourhoods needs a number of levels here: Neighbourhoods(levels=2)")
        return wanted

    def is_kept(self) -> bool:
        return self.closed and self.max_part is None

    def children(self, b: Batch, levels: int, check: Check) -> Iterator[sp.csr_array]:
        if self.closed and (kept := _kept_parts(b, 1)) is not None:
            return repeat(kept, levels)
        if self.closed:
            return repeat(_closed_pattern(b), levels)
        pattern = _pattern(b)
        isolated = np.diff(pattern.indptr) == 0
        loops = np.isin(np.arange(b.n), b.entries[0][b.entries[0] == b.entries[1]])
        return repeat(_bool(pattern + _identity(isolated | loops)), levels)


@dataclass(frozen=True)
class Balls(_HopScheme):
    """Balls of given radii: node i of level l has the part ``{j: d(i, j) <= radii[l]}``.

    Its children are the nodes of level l-1 within ``radii[l] - radii[l-1]`` of i. Radii 0, 1, 2
    give the closed neighbourhood scheme. ``max_part`` as in :class:`Neighbourhoods`.

    Example:
        >>> from ccn import Graph
        >>> Balls(radii=(0, 2))(Graph([(0, 1), (1, 2), (2, 3)], n=4)).parts[4]  # all within two steps of vertex 0
        (0, 1, 2)
    """

    radii: tuple[int, ...] = (0, 1, 2)
    max_part: int | None = None

    def __post_init__(self) -> None:
        _check("max_part", self.max_part, 1)
        object.__setattr__(self, "radii", tuple(self.radii))
        if not self.radii or self.radii[0] != 0 or any(a > b for a, b in pairwise(self.radii)):
            raise ConfigurationError(f"radii={self.radii}: the first must be 0 and none smaller than the one before")

    def depth(self, levels: int | None) -> int:
        return len(self.radii) - 1

    def children(self, b: Batch, levels: int, check: Check) -> Iterator[sp.csr_array]:
        closed = _closed_pattern(b)
        return (_hops(closed, wide - narrow, self.max_part, check) for narrow, wide in pairwise(self.radii))


Finder = Callable[[Graph], Iterable[Sequence[int]]]
"""Finds clusters: from a graph to lists of its vertices."""


@dataclass(frozen=True)
class Clusters:
    """Parts given by clusters: one function per level finds them.

    Every level holds a one-vertex node for each vertex, anchored at it, and one node for each
    cluster found, without an anchor. The children of a cluster are the nodes of the level below
    whose parts lie within it. A cluster that lies in none of the next level is a child of the root.

    Example:
        >>> square = Graph([(0, 1), (1, 2), (2, 3), (3, 0)], n=4)
        >>> Clusters(rings())(square).parts[8]
        (0, 1, 2, 3)
    """

    finders: tuple[Finder, ...]

    def __init__(self, *finders: Finder) -> None:
        if not finders:
            raise ConfigurationError("Clusters needs at least one function that finds clusters, such as rings()")
        object.__setattr__(self, "finders", finders)

    def __call__(self, graph: Graph, /) -> Scheme:
        n = graph.n
        parts: list[tuple[int, ...]] = [(v,) for v in range(n)]
        children: list[tuple[int, ...]] = [()] * n
        anchors: list[int | None] = list(range(n))
        below = range(n)
        for find in self.finders:
            found = dict.fromkeys(tuple(sorted(map(int, cluster))) for cluster in find(graph))
            wrong = next((c for c in found if not c or c[0] < 0 or c[-1] >= n or len(set(c)) < len(c)), None)
            if wrong is not None:
                raise SchemeError(f"cluster {wrong}: it must name one or more of the vertices 0..{n - 1}, each once")
            level = [(v,) for v in range(n)] + [c for c in found if len(c) > 1]
            inside = [[j for j in below if set(parts[j]) <= set(part)] for part in level]
            below = range(len(parts), len(parts) + len(level))
            parts += level
            children += [tuple(c) for c in inside]
            anchors += [*range(n), *[None] * (len(level) - n)]
        held = {c for of in children for c in of}
        top = tuple(i for i in range(len(parts)) if i not in held)
        return Scheme([*parts, tuple(range(n))], [*children, top], [*anchors, None], atoms=n)


def rings(max_size: int = 8) -> Finder:
    """Finds the rings: all cycles without a chord of at most ``max_size`` vertices.

    Example:
        >>> from ccn import Graph
        >>> rings()(Graph.from_smiles("Cc1ccccc1"))
        [[2, 1, 6, 5, 4, 3]]
    """

    def find(graph: Graph) -> list[Sequence[int]]:
        import networkx as nx

        g = nx.Graph()
        g.add_nodes_from(range(graph.n))
        g.add_edges_from(e for e in graph.edges.tolist() if e[0] != e[1])
        return list(nx.chordless_cycles(g, length_bound=max_size))

    return find


def functional_groups(*smarts: str) -> Finder:
    """Finds the matches of SMARTS patterns in graphs made from molecules.

    Example:
        >>> from ccn import Graph
        >>> functional_groups("C(=O)O")(Graph.from_smiles("CCC(=O)O"))
        [(2, 3, 4)]
    """
    from rdkit import Chem

    patterns: list[Any] = [Chem.MolFromSmarts(s) for s in smarts]
    if None in patterns:
        raise ConfigurationError(f"RDKit cannot read the SMARTS {smarts[patterns.index(None)]!r}")

    def find(graph: Graph) -> list[Sequence[int]]:
        if graph.mol is None:
            raise GraphError("functional groups are found in molecules only: make the graph from SMILES or RDKit")
        return [match for pattern in patterns for match in graph.mol.GetSubstructMatches(pattern, maxMatches=10**6)]

    return find


def has_free_children(generator: Any, level: int) -> bool:
    """Whether nodes of this level may have children without an anchor inside their part.

    Children of level 1 are leaves, whose anchor always is. Closed neighbourhoods, balls and receptive fields never
    have free children; of a generator of unknown kind it is assumed that it may.
    """
    if level == 1 or isinstance(generator, Balls):
        return False
    return not (isinstance(generator, Neighbourhoods) and (generator.closed or generator.field))


def has_anchors(generator: Any) -> bool:
    """Whether every node has an anchor, inside its part or not: in a graph scheme it is the vertex."""
    return isinstance(generator, _HopScheme)


def former_selves(generator: Any, scheme: Scheme, node: int) -> list[int]:
    """The nodes whose activations ``own`` reads: in a graph scheme the node of the same vertex one level below,
    else the children that share the node's anchor.
    """
    if isinstance(generator, _HopScheme):
        return [node - scheme.atoms]
    anchor = scheme.anchors[node]
    return [c for c in scheme.children[node] if anchor is not None and scheme.anchors[c] == anchor]


def composition(
    b: Batch,
    generator: Any,
    levels: int | None = None,
    check: Callable[..., None] = lambda sizes, numbers=0: None,
    root: bool = False,
) -> Composition:
    """The packed scheme of a batch under a generator, built once per batch; with its roots if asked for.

    Before anything large is built, ``check`` is called with the part sizes of the levels 1, 2, .. and, for the last of
    these, the numbers that it needs besides its tensors where they are many; it may raise an error.

    Example:
        >>> import ccn
        >>> found = composition(ccn.batch([ccn.Graph([(0, 1), (1, 2)], n=3)]), Balls(radii=(0, 1, 2)))
        >>> [int(level.nodes.size.max()) for level in found.levels]
        [3, 3]
    """
    known = isinstance(generator, Hashable)
    key = ("composition", generator if known else id(generator), levels, root)

    def build() -> tuple[Any, Composition]:
        if isinstance(generator, _HopScheme):
            raw = generator.raw(b, levels, check)
            top = _root(b, b.graph_of, np.full(b.n, len(raw) - 1), np.arange(b.n))
        else:
            raw, top = _concatenated(generator, b)
        check([level.size for level in raw[1:]])
        _check_places(b, raw, check)
        # The generator is kept with it, so that no other can take its id.
        return generator, compose([*raw, top] if root else raw, b.start, root)

    return b.cached(key, build)[1]


def _check_places(b: Batch, raw: Sequence[RawLevel], check: Callable[..., None]) -> None:
    """Ask before the places of the children's atoms are looked up, and those of A within the parts."""
    degree = np.bincount(b.entries[0], minlength=b.n)
    widest, highest = max(int(of.size.max(initial=0)) for of in raw), int(degree.max(initial=0))
    for number, level in enumerate(raw[1:], start=1):
        if len(level.child) * widest + len(level.parts) * highest <= _LARGE:
            continue
        places = sum(int(of.size[level.child[level.child_level == i]].sum()) for i, of in enumerate(raw[:number]))
        inner = (
            0 if level.inner is not None else int(np.minimum(degree[level.parts], level.size.repeat(level.size)).sum())
        )
        if places + inner > _LARGE:
            check([of.size for of in raw[1 : number + 1]], places + inner)


def _root(b: Batch, parent: Int, child_level: Int, child: Int) -> RawLevel:
    """The roots, one per graph, over all its vertices."""
    graphs = np.arange(len(b))
    return RawLevel(np.diff(b.start), np.arange(b.n), np.full(len(b), -1), graphs, parent, child_level, child)


def _concatenated(generator: Any, b: Batch) -> tuple[list[RawLevel], RawLevel]:
    """The levels of the schemes of all graphs, one after another through the batch; and the roots."""
    schemes: list[Scheme] = [generator(g) for g in b.graphs]
    for i, (scheme, g) in enumerate(zip(schemes, b.graphs, strict=True)):
        if not isinstance(scheme, Scheme):
            raise SchemeError(f"graph {i}: the scheme function returned {type(scheme).__name__}, not a ccn.Scheme")
        if scheme.atoms != g.n:
            raise SchemeError(f"graph {i}: its scheme has {scheme.atoms} atoms, but it has {g.n} vertices")
    size, part, anchor, height, children, child = (
        np.concatenate(column) for column in zip(*(s.columns for s in schemes), strict=True)
    )
    nodes = [len(s.parts) for s in schemes]
    graph = np.repeat(np.arange(len(schemes)), nodes)
    first_node, part_start = starts(nodes)[graph], starts(size)
    part = part + np.repeat(b.start[graph], size)
    anchor = np.where(anchor >= 0, anchor + b.start[graph], -1)
    parent = np.repeat(np.arange(len(size)), children)
    child = child + first_node[parent]
    levels = [np.flatnonzero(height == level) for level in range(int(height.max()) + 1)]
    number = np.zeros(len(size), dtype=np.int64)
    for at in levels:
        number[at] = np.arange(len(at))
    raw = []
    for level, at in enumerate(levels):
        own = height[parent] == level
        below = child[own]
        atoms = part[ranges(part_start[at], size[at])]
        raw.append(RawLevel(size[at], atoms, anchor[at], graph[at], number[parent[own]], height[below], number[below]))
    of_root = height[parent] < 0
    alone = np.flatnonzero(np.array(nodes)[graph] == 1)  # a scheme of one node, which is leaf and root
    below = np.concatenate([child[of_root], alone])
    holder = np.concatenate([graph[parent[of_root]], graph[alone]])
    return raw, _root(b, holder, height[below], number[below])


_GRAPHS = 2048  # worked on at a time
_ENTRIES = 256  # of A within the parts of a level, kept for a vertex on average; a molecule has some ten


def keep(pack: Pack) -> Pack:
    """The graphs with what a store keeps of their scheme: the parts of closed neighbourhoods, and A within them.

    All of it is linear in the sum of part sizes (for molecules about one kilobyte each), depends on nothing but the
    graph, and is read whenever a batch is made: what grows with a power of the part size is made for each batch. The
    children of a vertex's node are on every level the nodes of its part of level 1. Networks with more levels grow the
    others from these, and those of another scheme do without. Where parts overlap so much that they would hold many
    times the graph, as around hubs, nothing is kept, and every batch grows its own.
    """
    pack = pack.bare().compact()
    plain = pack.plain()
    if not len(pack) or _too_many(plain):
        return pack
    pieces = [_of(plain[i : i + _GRAPHS]) for i in range(0, len(pack), _GRAPHS)]
    arrays = {key: np.concatenate([p[key] for p in pieces]) for key in pieces[0]}
    arrays = {key: starts(a) if key.endswith("_start") else a for key, a in arrays.items()}
    return Pack({**pack.arrays, **arrays}, directed=pack.directed, self_loops=pack.self_loops, name=pack.name)


def _too_many(pack: Pack) -> bool:
    """Whether the parts of the last level hold more entries of A than is worth keeping, from their degrees alone."""
    for i in range(0, len(pack), _GRAPHS):
        b = pack[i : i + _GRAPHS].batch()
        closed = _pattern(b).astype(np.float64) + sp.eye_array(b.n)
        reached = np.bincount(b.entries[0], minlength=b.n).astype(np.float64)
        entries = np.bincount(b.graph_of, reached, minlength=len(b))
        for _ in range(KEPT_LEVELS):
            reached = np.minimum(closed @ reached, entries[b.graph_of])
        of_graph = np.bincount(b.graph_of, reached, minlength=len(b))
        if of_graph.max(initial=0) > _LARGE or of_graph.sum() > _ENTRIES * b.n:
            return True
    return False


def _of(pack: Pack) -> dict[str, NDArray[Any]]:
    """What is kept of some graphs; for starts, what each graph has."""
    b = pack.batch()
    out: dict[str, NDArray[Any]] = {}
    first = np.searchsorted(b.entries[0], b.start[:-1])
    for level, found in enumerate(composition(b, Neighbourhoods(levels=KEPT_LEVELS)).levels, start=1):
        nodes, at = found.nodes, found.nodes.storage  # storage positions of the vertices
        inner = found.restrict(b.entries)
        size, count = nodes.size[at], np.diff(inner.start)[at]
        atoms, entries = ranges(nodes.start[:-1][at], size), ranges(inner.start[:-1][at], count)
        out |= {
            f"part{level}": small(nodes.parts[atoms] - np.repeat(b.start[b.graph_of], size)),
            f"part{level}_size": small(size),
            f"part{level}_start": np.diff(starts(size)[b.start]),
            f"inner{level}_row": small(inner.row[entries]),
            f"inner{level}_column": small(inner.column[entries]),
            f"inner{level}_entry": small(inner.entry[entries] - np.repeat(first[b.graph_of], count)),
            f"inner{level}_size": small(count),
            f"inner{level}_start": np.diff(starts(count)[b.start]),
        }
    return out
