"""The composition schemes of a batch, packed: who is whose child, and where its atoms stand.

Per level the nodes are stored **in order of part size**, so that the activations of one size lie
together as one dense array ``(nodes, m, .., m, channels)`` and nothing is ever padded. All arrays
are linear in the sum of part sizes; maps of higher order are expanded from them by the engine.

* :class:`Nodes`: sizes, parts (ordered atoms), anchors, graphs of the nodes of a level;
* :class:`Pairs`: parent-child pairs with the parent's place of each of the child's atoms (the
  promotion of order 1) and of the child's anchor (its place on the stacking axis);
* :class:`Level`: nodes, the nodes below that their children come from, and three sets of pairs:
  ``stacked`` (T), ``free`` (U: children with no anchor inside the part) and ``own``;
* :class:`Cut`: children that reach beyond their parent's part, restricted to it. They stand as nodes of their own
  behind the others, so that whoever reads a level sees children that lie within their parents' parts and nothing else.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ccn.graphs.ragged import Cache, Int, ranges, starts

__all__ = [
    "RELATIONS",
    "Composition",
    "Cut",
    "Inner",
    "Level",
    "Nodes",
    "Pairs",
    "RawLevel",
    "Restriction",
    "Run",
    "compose",
    "equal_runs",
]

RELATIONS = ("shared", "bonds")
"""How siblings without an anchor may be related."""
_TABLE_LIMIT = 8_000_000  # entries of the dense look-up table of places; beyond it, binary search


@dataclass(frozen=True)
class Run:
    """Nodes ``first:end`` of one size m."""

    m: int
    first: int
    end: int


def equal_runs(size: Int) -> list[Run]:
    """The maximal runs of one size."""
    edge = [0, *(np.flatnonzero(np.diff(size)) + 1).tolist(), len(size)]
    return [Run(int(size[a]), a, b) for a, b in pairwise(edge) if b]


@dataclass(frozen=True)
class Nodes:
    """Nodes in storage order.

    Attributes:
        size: (nodes,) part sizes m.
        start: (nodes+1,) where each part begins in ``parts``.
        parts: (sum m,) atoms of the parts, in order.
        anchor: (nodes,) anchor atom or -1.
        centre: (nodes,) place of the anchor in the node's own part, or -1.
        graph: (nodes,) graph of each node.
        number: (nodes,) number of each node within its level, through the batch.

    Example:
        >>> import ccn
        >>> b = ccn.batch([ccn.Graph([(0, 1), (1, 2)], n=3)])
        >>> nodes = ccn.schemes.composition(b, ccn.schemes.Balls(radii=(0, 1))).levels[0].nodes
        >>> nodes.size.tolist(), nodes.number.tolist()  # the smallest parts first
        ([2, 2, 3], [0, 2, 1])
    """

    size: Int
    start: Int
    parts: Int
    anchor: Int
    centre: Int
    graph: Int
    number: Int
    _rows: dict[int, Int] = field(default_factory=dict, repr=False)
    cached: Cache = field(default_factory=Cache, repr=False)

    def __len__(self) -> int:
        return len(self.size)

    @classmethod
    def none(cls) -> Nodes:
        empty = np.empty(0, dtype=np.int64)
        return cls(empty, starts(empty), empty, empty, empty, empty, empty)

    def row_start(self, order: int) -> Int:
        """(nodes+1,) first row of each node's tensor of the given order; m^order rows each."""
        if order not in self._rows:
            self._rows[order] = self.start if order == 1 else starts(self.size**order)
        return self._rows[order]

    def rows(self, order: int) -> int:
        """Rows of an activation of the given order."""
        return int(self.row_start(order)[-1])

    @cached_property
    def runs(self) -> list[Run]:
        """Maximal runs of nodes of one size."""
        return equal_runs(self.size)

    @cached_property
    def storage(self) -> Int:
        """(nodes,) storage position of each node number; the inverse of ``number``."""
        out = np.empty(len(self), dtype=np.int64)
        out[self.number] = np.arange(len(self))
        return out


@dataclass(frozen=True)
class Pairs:
    """Parent-child pairs, in order of the parents.

    Attributes:
        parent, child: (pairs,) storage positions.
        stack: (pairs,) place of the child's anchor in the parent's part, or -1.
        start: (pairs+1,) where each pair begins in ``place``.
        place: (sum of child sizes,) parent's place of each atom of the child's part.

    Example:
        >>> import ccn
        >>> b = ccn.batch([ccn.Graph([(0, 1)], n=2)])
        >>> pairs = ccn.schemes.composition(b, ccn.schemes.Balls(radii=(0, 1))).levels[0].stacked
        >>> pairs.parent.tolist(), pairs.child.tolist()
        ([0, 0, 1, 1], [0, 1, 0, 1])
    """

    parent: Int
    child: Int
    stack: Int
    start: Int
    place: Int

    def __len__(self) -> int:
        return len(self.parent)

    def select(self, keep: NDArray[np.bool_]) -> Pairs:
        if keep.all():
            return self
        count = np.diff(self.start)[keep]
        place = self.place[ranges(self.start[:-1][keep], count)]
        return Pairs(self.parent[keep], self.child[keep], self.stack[keep], starts(count), place)


class _Places:
    """Looks up the place of an atom in a node's part: a dense table where that is small, else a search."""

    def __init__(self, nodes: Nodes, atom_start: Int) -> None:
        row = np.repeat(np.arange(len(nodes)), nodes.size)
        place = np.arange(len(nodes.parts)) - np.repeat(nodes.start[:-1], nodes.size)
        width = np.diff(atom_start)[nodes.graph]
        self._table: NDArray[np.int32] | None = None
        if int(width.sum()) <= _TABLE_LIMIT:
            self._base = starts(width)[:-1] - atom_start[nodes.graph]
            self._table = np.full(int(width.sum()), -1, dtype=np.int32)
            self._table[self._base[row] + nodes.parts] = place
        else:
            self._n = int(atom_start[-1])
            key = row * self._n + nodes.parts
            order = np.argsort(key)
            self._key, self._place = key[order], place[order]

    def __call__(self, node: Int, atom: Int) -> Int:
        """Places of ``atom[i]`` in the part of ``node[i]`` (same graph), -1 where it is not in it."""
        if self._table is not None:
            place: Int = self._table[self._base[node] + atom].astype(np.int64)
            return place
        key = node * self._n + atom
        at = np.minimum(np.searchsorted(self._key, key), len(self._key) - 1)
        return np.where(self._key[at] == key, self._place[at], -1)


@dataclass(frozen=True)
class Inner:
    """A within every part of a level, as it is kept with the graphs: the nodes by their number.

    Attributes:
        entries: (2, nnz) the places of A that are meant.
        start, count: (nodes,) begin and length of each node's piece of the next three.
        row, column: places in the part.
        entry: number of the entry within the A of its graph.
        shift: (nodes,) number of the first entry of each node's graph.
    """

    entries: Int
    start: Int
    count: Int
    row: NDArray[Any]
    column: NDArray[Any]
    entry: NDArray[Any]
    shift: Int


@dataclass(frozen=True)
class Restriction:
    """The nonzero entries of a matrix over the atoms that fall into each part, in order of the nodes.

    Attributes:
        start: (nodes+1,) first entry of each node.
        row, column: places in the part.
        entry: number of the entry in the matrix.
    """

    start: Int
    row: NDArray[np.int32]
    column: NDArray[np.int32]
    entry: Int


def _within(nodes: Nodes, of: Int, slots: Int, entries: Int) -> tuple[Int, Int, Int]:
    """Slots, columns and numbers of the entries in the rows of some atoms of parts (of the nodes ``of``), looked up
    from the few atoms of the part: the row of a hub has more entries than its part has atoms.
    """
    size = nodes.size[of[slots]]
    slot = np.repeat(slots, size)
    at = ranges(nodes.start[of[slots]], size)
    width = int(max(entries.max(initial=0), nodes.parts.max(initial=0))) + 1
    key, wanted = entries[0] * width + entries[1], nodes.parts[slot] * width + nodes.parts[at]
    entry = np.minimum(np.searchsorted(key, wanted), len(key) - 1)
    there = key[entry] == wanted
    return slot[there], (at - nodes.start[of[slot]])[there], entry[there]


@dataclass(frozen=True)
class Cut:
    """Nodes that are restrictions of others: the part of each is the piece of its node's part that a parent holds.

    Attributes:
        whole: the nodes that are restricted.
        node: (nodes,) storage position of each one's node among these.
        place: (sum of sizes,) place in that node's part of each atom, or -1 where it has none.
    """

    whole: Nodes
    node: Int
    place: Int


@dataclass(frozen=True)
class Level:
    """One level of a batch's scheme; ``below`` are the nodes its children come from, ``reach`` levels of them.

    Where children reach beyond a parent's part, the last nodes of ``below`` are their restrictions, and ``cut`` says of
    what; the nodes before them are ``cut.whole``. ``skip`` is the first node with a child that is not of the level just
    below, as (node, level of the child, child), or None.

    Example:
        >>> import ccn
        >>> b = ccn.batch([ccn.Graph([(0, 1), (1, 2)], n=3)])
        >>> level = ccn.schemes.composition(b, ccn.schemes.Balls(radii=(0, 1))).levels[0]
        >>> level.nodes.size.tolist(), len(level.stacked.parent)
        ([2, 2, 3], 7)
    """

    nodes: Nodes
    below: Nodes
    reach: int
    stacked: Pairs
    free: Pairs
    own: Pairs
    skip: tuple[int, int, int] | None
    _places: _Places = field(repr=False)
    inner: Inner | None = field(default=None, repr=False)
    cut: Cut | None = None
    cached: Cache = field(default_factory=Cache, repr=False)

    def restrict(self, entries: Int) -> Restriction:
        """A matrix over the atoms, given by its places (2, nnz) in row order, restricted to every part."""
        nodes, inner = self.nodes, self.inner
        if inner is not None and inner.entries is entries:
            count = inner.count[nodes.number]
            at = ranges(inner.start[nodes.number], count)
            entry = inner.entry[at] + np.repeat(inner.shift[nodes.number], count)
            return Restriction(starts(count), inner.row[at].astype(np.int32), inner.column[at].astype(np.int32), entry)
        row_start = starts(np.bincount(entries[0], minlength=int(nodes.parts.max(initial=-1)) + 1))
        count, of = np.diff(row_start)[nodes.parts], np.repeat(np.arange(len(nodes)), nodes.size)
        hubs = np.flatnonzero(count > nodes.size[of]) if int(count.sum()) > _TABLE_LIMIT else count[:0]
        if len(hubs):
            count[hubs] = 0
        entry = ranges(row_start[:-1][nodes.parts], count)
        slot = np.repeat(np.arange(len(nodes.parts)), count)
        column = self._places(of[slot], entries[1][entry])
        inside = column >= 0
        slot, column, entry = slot[inside], column[inside], entry[inside]
        if len(hubs):
            found = zip((slot, column, entry), _within(nodes, of, hubs, entries), strict=True)
            slot, column, entry = (np.concatenate(pair) for pair in found)
            order = np.lexsort((entry, slot))
            slot, column, entry = slot[order], column[order], entry[order]
        node = of[slot]
        start = starts(np.bincount(node, minlength=len(nodes)))
        row = slot - nodes.start[node]
        return Restriction(start, row.astype(np.int32), column.astype(np.int32), entry)

    def related(self, entries: Int) -> dict[str, NDArray[np.float64]]:
        """For each pair of ``free`` how its child is related to its siblings there, added up over these.

        ``shared`` counts the atoms that two parts share, ``bonds`` the entries of A, given by their places (2, nnz) in
        row order, that lead from atoms of one part alone to atoms of the other alone.
        """
        pairs, nodes, inside = self.free, self.nodes, self.restrict(entries)
        out = {name: np.zeros(len(pairs)) for name in RELATIONS}
        edge = np.searchsorted(pairs.parent, np.arange(len(nodes) + 1))
        for t in np.unique(pairs.parent).tolist():
            of = slice(int(edge[t]), int(edge[t + 1]))
            count, m = of.stop - of.start, int(nodes.size[t])
            member = np.zeros((count, m))
            for i in range(count):
                place = pairs.place[pairs.start[of.start + i] : pairs.start[of.start + i + 1]]
                member[i, place[place >= 0]] = 1
            a = np.zeros((m, m))
            cut = slice(int(inside.start[t]), int(inside.start[t + 1]))
            a[inside.row[cut], inside.column[cut]] = 1
            both, bonds = member @ member.T, np.zeros((count, count))
            for i in range(count):
                alone, others = member[i] * (1 - member), member * (1 - member[i])  # (siblings, atoms) of one part only
                bonds[i] = np.einsum("sa,ab,sb->s", alone, a, others)
            np.fill_diagonal(both, 0)
            out["shared"][of], out["bonds"][of] = both.sum(1), bonds.sum(1)
        return out

    @cached_property
    def copies(self) -> tuple[Level, Int]:
        """The level with a child of its own for each pair of ``free`` and no other children; and the pairs in the order
        of these children, by which each child can be weighed anew for each of its parents.
        """
        order = np.argsort(self.below.size[self.free.child], kind="stable")
        child = self.free.child[order]
        size = self.below.size[child]
        parts = self.below.parts[ranges(self.below.start[:-1][child], size)]
        columns = {name: getattr(self.below, name)[child] for name in ("anchor", "centre", "graph")}
        below = Nodes(size, starts(size), parts, number=np.arange(len(child)), **columns)
        position = np.empty(len(order), dtype=np.int64)
        position[order] = np.arange(len(order))
        nothing = self.free.select(np.zeros(len(self.free), dtype=bool))
        free = Pairs(self.free.parent, position, self.free.stack, self.free.start, self.free.place)
        return Level(self.nodes, below, 1, nothing, free, nothing, None, self._places, self.inner), order

    def twins(self, own: bool) -> Int:
        """(nodes,) the first node with the same part, in the same order, and the same children, with ``own`` also the
        same former self: what is computed of that node holds for this one. In a clique all nodes are twins.
        """
        sets = (self.stacked, self.free, self.own) if own else (self.stacked, self.free)
        every = np.arange(len(self.nodes) + 1)
        pieces = [(self.nodes.parts, self.nodes.start)]
        pieces += [(p.child, np.searchsorted(p.parent, every)) for p in sets]
        first: dict[tuple[bytes, ...], int] = {}
        return np.array(
            [
                first.setdefault(
                    tuple(values[start[node] : start[node + 1]].tobytes() for values, start in pieces), node
                )
                for node in range(len(self.nodes))
            ],
            dtype=np.int64,
        )

    @cached_property
    def of_atoms(self) -> bool:
        """Whether every child is a single atom that stands at its own place in the parent's part."""
        pairs = (self.stacked, self.free, self.own)
        return (
            int(self.below.size.max(initial=1)) == 1
            and all(int(p.stack.min(initial=0)) >= 0 for p in pairs)
            and (int(self.below.centre.min(initial=0)) == 0)
        )


@dataclass(frozen=True)
class Composition:
    """The packed scheme of a batch: the leaves' nodes, the levels above them and, if asked for, the roots.

    Example:
        >>> import ccn
        >>> found = ccn.schemes.composition(ccn.batch([ccn.Graph([(0, 1)], n=2)]), ccn.schemes.Balls(radii=(0, 1)))
        >>> len(found.leaves), [len(level.nodes) for level in found.levels]
        (2, [2])
    """

    leaves: Nodes
    levels: tuple[Level, ...]
    root: Level | None = None

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays of nodes and pairs."""
        above = self.levels if self.root is None else (*self.levels, self.root)
        parts: list[Any] = [self.leaves, *(x for a in above for x in (a.nodes, a.stacked, a.free, a.own))]
        return sum(v.nbytes for p in parts for v in vars(p).values() if isinstance(v, np.ndarray))

    def nodes(self, level: int) -> Nodes:
        """The nodes of a level, 0 for the leaves."""
        return self.levels[level - 1].nodes if level else self.leaves


@dataclass(frozen=True)
class RawLevel:
    """A level as a scheme gives it, nodes in their own order.

    Attributes:
        size, parts, anchor, graph: as in :class:`Nodes`.
        parent: (pairs,) number of the parent in this level.
        child_level, child: (pairs,) level and number of the child.
        own: (nodes,) number, in the level below, of the node's own former self, or -1; None where
            it is the child that shares the node's anchor.
        inner: A within the parts, where that is known.
    """

    size: Int
    parts: Int
    anchor: Int
    graph: Int
    parent: Int
    child_level: Int
    child: Int
    own: Int | None = None
    inner: Inner | None = None


def _stored(raw: RawLevel) -> Nodes:
    number = np.argsort(raw.size, kind="stable")
    size = raw.size[number]
    parts = raw.parts[ranges(starts(raw.size)[:-1][number], size)]
    start = starts(size)
    anchor = raw.anchor[number]
    return Nodes(size, start, parts, anchor, _centres(parts, start, anchor), raw.graph[number], number)


def _centres(parts: Int, start: Int, anchor: Int) -> Int:
    """(nodes,) the place of each node's anchor in its own part, or -1."""
    node = np.repeat(np.arange(len(anchor)), np.diff(start))
    hit = np.flatnonzero(parts == anchor[node])
    centre = np.full(len(anchor), -1)
    centre[node[hit]] = hit - start[node[hit]]
    return centre


def _joined(levels: Sequence[Nodes]) -> Nodes:
    if len(levels) == 1:
        return levels[0]
    columns: dict[str, Any] = {
        name: np.concatenate([getattr(x, name) for x in levels])
        for name in ("size", "parts", "anchor", "centre", "graph")
    }
    return Nodes(start=starts(columns["size"]), number=np.arange(len(columns["size"])), **columns)


def _pairs(nodes: Nodes, below: Nodes, places: _Places, parent: Int, child: Int) -> Pairs:
    order = np.argsort(parent, kind="stable")
    parent, child = parent[order], child[order]
    count = below.size[child]
    place = places(np.repeat(parent, count), below.parts[ranges(below.start[:-1][child], count)])  # -1: outside
    anchor = below.anchor[child]
    inside = np.where(anchor >= 0, anchor, nodes.parts[nodes.start[parent]])  # any atom where there is no anchor
    stack = np.where(anchor >= 0, places(parent, inside), -1)
    return Pairs(parent, child, stack, starts(count), place)


def _cut(sets: list[Pairs], nodes: Nodes, below: Nodes) -> tuple[Nodes, Cut | None]:
    """Restrict the children to the parts of their parents: the nodes below with the restrictions behind them, in order
    of size, which take the place of what they restrict in the sets of pairs.

    A child that has no atom in the part gives a piece over one atom of it that holds nothing, but for tensors of order
    0, which have no axes to restrict.
    """
    if all(int(p.place.min(initial=0)) >= 0 for p in sets):
        return below, None
    found = []
    for pairs in sets:
        every, size = np.arange(len(pairs)), np.diff(pairs.start)
        pair, inside = np.repeat(every, size), pairs.place >= 0
        own = np.arange(len(pair)) - pairs.start[pair]
        lost = np.flatnonzero(np.bincount(pair[inside], minlength=len(pairs)) == 0)
        pair = np.concatenate([pair[inside], lost])
        order = np.argsort(pair, kind="stable")
        place = np.concatenate([pairs.place[inside], np.zeros_like(lost)])[order]
        own, pair = np.concatenate([own[inside], np.full_like(lost, -1)])[order], pair[order]
        count = np.bincount(pair, minlength=len(pairs))
        reaches = count < size
        reaches[lost] = True
        atoms = nodes.parts[nodes.start[pairs.parent[pair]] + place]
        found.append((np.flatnonzero(reaches), count, place, own[reaches[pair]], atoms[reaches[pair]]))
    node = np.concatenate([pairs.child[at] for pairs, (at, *_) in zip(sets, found, strict=True)])
    sizes = np.concatenate([count[at] for at, count, *_ in found])
    order = np.argsort(sizes, kind="stable")
    number = np.empty(len(order), dtype=np.int64)
    number[order] = len(below) + np.arange(len(order))
    first = starts([len(at) for at, *_ in found])
    for i, (pairs, (at, count, place, _, _)) in enumerate(zip(sets, found, strict=True)):
        child = pairs.child.copy()
        child[at] = number[first[i] : first[i + 1]]
        sets[i] = Pairs(pairs.parent, child, pairs.stack, starts(count), place)
    at = ranges(starts(sizes)[:-1][order], sizes[order])
    own, parts = (np.concatenate([of[k] for of in found])[at] for k in (3, 4))
    cut, sizes = Cut(below, node[order], own), sizes[order]
    anchor, start, every = below.anchor[cut.node], starts(sizes), np.arange(len(sizes))
    pieces = Nodes(sizes, start, parts, anchor, _centres(parts, start, anchor), below.graph[cut.node], every)
    return _joined([below, pieces]), cut


def compose(raw: Sequence[RawLevel], atom_start: Int, root: bool = False) -> Composition:
    """Pack the levels of a batch; ``atom_start`` (graphs+1,) is the first atom of each graph. The last are the roots
    if ``root`` says so.
    """
    stored = [_stored(r) for r in raw]
    levels = []
    for number, r in enumerate(raw[1:], start=1):
        nodes = stored[number]
        reach = number - int(r.child_level.min(initial=number - 1))
        used = stored[number - reach : number]
        below = _joined(used)
        offset = starts(np.array([len(x) for x in used]))
        # Storage positions in ``below`` of nodes given by level and number.
        lookup = np.concatenate([x.storage + o for x, o in zip(used, offset[:-1], strict=True)])
        child = lookup[offset[r.child_level - (number - reach)] + r.child]
        parent = nodes.storage[r.parent]
        places = _Places(nodes, atom_start)
        pairs = _pairs(nodes, below, places, parent, child)
        anchored = pairs.stack >= 0
        if r.own is None:
            same = (nodes.anchor[pairs.parent] >= 0) & (nodes.anchor[pairs.parent] == below.anchor[pairs.child])
            own = pairs.select(same)
        else:
            has = np.flatnonzero(r.own >= 0)
            own = _pairs(nodes, below, places, nodes.storage[has], lookup[offset[reach - 1] + r.own[has]])
        far = np.flatnonzero(r.child_level < number - 1)[:1]
        skip = (int(r.parent[far[0]]), int(r.child_level[far[0]]), int(r.child[far[0]])) if far.size else None
        sets = [pairs.select(anchored), pairs.select(~anchored), own]
        below, cut = _cut(sets, nodes, below)
        stacked, free, own = sets
        levels.append(Level(nodes, below, reach, stacked, free, own, skip, places, r.inner, cut))
    return Composition(stored[0], tuple(levels[: len(levels) - root]), levels[-1] if root else None)
