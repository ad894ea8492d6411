"""Composition schemes for any compound object: a DAG of parts over atoms (Definition 1).

A :class:`Scheme` is data: parts, children, anchors. It is checked when it is made:

1. a leaf's part is a single atom;
2. there is one root, and its part holds all atoms;
3. a descendant's part is a subset of its ancestor's (so a child's of its parent's), unless the scheme is
   ``restricted``: then a parent reads of a child what lies in its own part, the tensor restricted to the atoms of both.

The level of a node is its height, the longest way down to a leaf. The root holds no tensor of its
own; a network reads all other nodes.
"""

from __future__ import annotations

import json
import operator
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ccn.errors import SchemeError
from ccn.files import write_atomically
from ccn.graphs.graph import Graph
from ccn.graphs.ragged import Int

if TYPE_CHECKING:
    import networkx

__all__ = ["Scheme", "SchemeGenerator", "is_permutation_invariant", "random_permutation"]


_JSON = "ccn scheme 1"
_MOST_ATOMS, _MOST_BYTES = 1_000_000, 1 << 28


@dataclass(frozen=True, init=False)
class Scheme:
    """A composition scheme.

    Args:
        parts: for each node its ordered atoms (numbers from 0).
        children: for each node the numbers of its children; none for a leaf.
        anchors: for each node the atom that stands for it when its parent stacks, or None. A leaf's
            anchor is its atom. Children without an anchor are summed, not stacked.
        atoms: number of atoms; by default that of the largest part.
        restricted: children may reach beyond their parents' parts, which then read them restricted.

    Example (the paper's first figure):
        >>> parts = [(0,), (1,), (2,), (3,), (2, 3), (0, 3), (1, 2), (1, 2, 3), (0, 1, 2), (0, 1, 3), (0, 1, 2, 3)]
        >>> s = Scheme(parts, [(), (), (), (), (2, 3), (0, 3), (1, 2), (1, 4), (0, 6), (1, 5), (7, 8, 9)])
        >>> s.levels
        ((0, 1, 2, 3), (4, 5, 6), (7, 8, 9))
    """

    parts: tuple[tuple[int, ...], ...]
    children: tuple[tuple[int, ...], ...]
    anchors: tuple[int | None, ...]
    atoms: int
    restricted: bool

    def __init__(
        self,
        parts: Sequence[Iterable[int]],
        children: Sequence[Iterable[int]],
        anchors: Sequence[int | None] | None = None,
        atoms: int | None = None,
        restricted: bool = False,
    ) -> None:
        def put(name: str, value: object) -> None:
            object.__setattr__(self, name, value)  # the only way into a frozen dataclass

        try:
            put("parts", tuple(tuple(map(operator.index, part)) for part in parts))
            put("children", tuple(tuple(map(operator.index, of)) for of in children))
            listed = [None] * len(self.parts) if anchors is None else anchors
            given = [a if a is None else operator.index(a) for a in listed]
        except TypeError as error:
            raise SchemeError(f"parts, children and anchors are made of integers ({error})") from None
        put("restricted", bool(restricted))
        put("atoms", int(atoms) if atoms is not None else 1 + max((a for p in self.parts for a in p), default=-1))
        if not len(self.parts) == len(self.children) == len(given):
            counts = f"{len(self.children)} lists of children and {len(given)} anchors"
            raise SchemeError(f"{len(self.parts)} parts, but {counts}; give one of each per node")
        nodes = zip(self.parts, self.children, given, strict=True)
        put("anchors", tuple(p[0] if a is None and not c and len(p) == 1 else a for p, c, a in nodes))
        broken = self.violations()
        if broken:
            shown = "; ".join(broken[:5]) + (f"; and {len(broken) - 5} more" if len(broken) > 5 else "")
            raise SchemeError(f"not a composition scheme: {shown}")

    def violations(self) -> list[str]:
        """Every broken rule, named, with the node; empty for a scheme in order."""
        out: list[str] = []
        nodes = range(len(self.parts))
        if not self.parts or self.atoms < 1:
            return ["root rule: there are no nodes"]
        for i in nodes:
            part, children = self.parts[i], self.children[i]
            if len(set(part)) != len(part):
                out.append(f"part rule: node {i} lists an atom twice in its part {part}")
            if any(not 0 <= a < self.atoms for a in part):
                out.append(f"part rule: node {i} has part {part}, but the atoms are 0..{self.atoms - 1}")
            if any(not 0 <= c < len(self.parts) for c in children) or len(set(children)) != len(children):
                out.append(f"child rule: node {i} has children {children}: each must be a node, and only once")
            elif not children and len(part) != 1:
                out.append(f"leaf rule: node {i} has no children, so its part must be one atom, not {part}")
            anchor = self.anchors[i]
            if not children and len(part) == 1 and anchor != part[0]:
                out.append(f"anchor rule: leaf {i} has anchor {anchor}, but a leaf's anchor is its atom {part[0]}")
            if anchor is not None and not 0 <= anchor < self.atoms:
                out.append(f"anchor rule: node {i} has anchor {anchor}, but the atoms are 0..{self.atoms - 1}")
        if any(broken.startswith("child rule") for broken in out):
            return out
        if len(self.order) < len(self.parts):
            looped = sorted(set(nodes) - set(self.order))
            return [*out, f"acyclic rule: nodes {looped} are their own descendants or lie above such nodes"]
        roots = sorted(set(nodes) - {c for of in self.children for c in of})
        if len(roots) != 1:
            out.append(f"root rule: nodes {roots} have no parent; there must be exactly one root")
        elif set(self.parts[roots[0]]) != set(range(self.atoms)):
            lacking = sorted(set(range(self.atoms)) - set(self.parts[roots[0]]))
            out.append(f"root rule: the root, node {roots[0]}, lacks the atoms {lacking}")
        for i in nodes if not self.restricted else ():
            for c in self.children[i]:
                lacking = sorted(set(self.parts[c]) - set(self.parts[i]))
                if lacking:
                    out.append(f"subset rule: node {c} is a child of node {i}, whose part lacks the atoms {lacking}")
        return out

    @cached_property
    def order(self) -> tuple[int, ...]:
        """The nodes, every child before its parents; nodes on or above a cycle are missing."""
        waiting = [len(of) for of in self.children]
        parents: list[list[int]] = [[] for _ in self.parts]
        for i, of in enumerate(self.children):
            for c in of:
                parents[c].append(i)
        ready = [i for i, w in enumerate(waiting) if w == 0]
        for i in ready:
            for p in parents[i]:
                waiting[p] -= 1
                if waiting[p] == 0:
                    ready.append(p)
        return tuple(ready)

    @cached_property
    def heights(self) -> tuple[int, ...]:
        """The level of each node."""
        height = [0] * len(self.parts)
        for i in self.order:
            height[i] = 1 + max((height[c] for c in self.children[i]), default=-1)
        return tuple(height)

    @property
    def root(self) -> int:
        """The node that holds all atoms."""
        return self.order[-1]

    @property
    def leaves(self) -> tuple[int, ...]:
        """The nodes without children."""
        return tuple(i for i, of in enumerate(self.children) if not of)

    @cached_property
    def levels(self) -> tuple[tuple[int, ...], ...]:
        """The nodes of each level, in increasing number, without the root (unless it is the only node)."""
        top = max(1, self.heights[self.root])
        nodes = [i for i in range(len(self.parts)) if i != self.root or len(self.parts) == 1]
        return tuple(tuple(i for i in nodes if self.heights[i] == h) for h in range(top))

    @cached_property
    def columns(self) -> tuple[Int, ...]:
        """The scheme as arrays, made once: per node size, anchor (or -1), level (-1 for the root, which holds no
        tensor) and number of children; the atoms of all parts and the children of all nodes, one after another.

        In the order size, atoms, anchor, level, number of children, children.
        """
        level = [h if i != self.root or len(self.parts) == 1 else -1 for i, h in enumerate(self.heights)]
        lists: tuple[Iterable[int], ...] = (
            map(len, self.parts),
            chain(*self.parts),
            (-1 if a is None else a for a in self.anchors),
            level,
            map(len, self.children),
            chain(*self.children),
        )
        return tuple(np.fromiter(x, dtype=np.int64) for x in lists)

    @classmethod
    def from_networkx(cls, dag: networkx.DiGraph, part: str = "part", anchor: str = "anchor") -> Scheme:
        """From a NetworkX DiGraph whose edges lead from child to parent, as the paper draws them.

        Nodes carry the attribute ``part`` and, where they have one, ``anchor``; they are numbered in
        the order of ``dag.nodes``.
        """
        number = {v: i for i, v in enumerate(dag.nodes)}
        for v in dag.nodes:
            if part not in dag.nodes[v]:
                raise SchemeError(f"node {v!r} has no attribute {part!r}")
        return cls(
            [dag.nodes[v][part] for v in dag.nodes],
            [[number[c] for c in dag.predecessors(v)] for v in dag.nodes],
            [dag.nodes[v].get(anchor) for v in dag.nodes],
        )

    def to_networkx(self) -> networkx.DiGraph:
        """As a NetworkX DiGraph, edges from child to parent, with ``part`` and ``anchor`` on the nodes."""
        import networkx as nx

        dag = nx.DiGraph()
        dag.add_nodes_from(
            (i, {"part": p, "anchor": a}) for i, (p, a) in enumerate(zip(self.parts, self.anchors, strict=True))
        )
        dag.add_edges_from((c, i) for i, of in enumerate(self.children) for c in of)
        return dag

    def to_json(self) -> dict[str, Any]:
        """Plain data for JSON: the number of atoms, and of each node its part, its children and its anchor or null."""
        return {
            "format": _JSON,
            "atoms": self.atoms,
            "parts": [list(p) for p in self.parts],
            "children": [list(c) for c in self.children],
            "anchors": list(self.anchors),
            **({"restricted": True} if self.restricted else {}),
        }

    @classmethod
    def from_json(cls, data: Any) -> Scheme:
        """What :meth:`to_json` gave; an error that says what is wrong.

        Example:
            >>> s = Scheme([(0,), (1,), (0, 1)], [(), (), (0, 1)])
            >>> Scheme.from_json(s.to_json()) == s
            True
        """
        if not isinstance(data, dict) or data.get("format") != _JSON:
            raise SchemeError(f'not a scheme: a JSON object with "format": "{_JSON}" is expected')
        lists = {key: data.get(key) for key in ("parts", "children", "anchors")}
        for key in ("parts", "children"):
            if not isinstance(lists[key], list) or not all(isinstance(one, list) for one in lists[key] or ()):
                raise SchemeError(f"not a scheme: {key} must be a list of lists of integers")
        if not (lists["anchors"] is None or isinstance(lists["anchors"], list)):
            raise SchemeError("not a scheme: anchors must be a list of integers and nulls")
        atoms = data.get("atoms")
        if not (atoms is None or (type(atoms) is int and 0 < atoms <= _MOST_ATOMS)):
            raise SchemeError(f"not a scheme: atoms={atoms!r} must be an integer from 1 to {_MOST_ATOMS:,}")
        if type(restricted := data.get("restricted", False)) is not bool:
            raise SchemeError(f"not a scheme: restricted={restricted!r} must be true or false")
        return cls(**lists, atoms=atoms, restricted=restricted)  # type: ignore[arg-type]

    def save(self, path: str | Path) -> Path:
        """Write the scheme as a JSON file."""
        write_atomically(Path(path), (json.dumps(self.to_json()) + "\n").encode())
        return Path(path)

    @classmethod
    def load(cls, path: str | Path) -> Scheme:
        """Read what :meth:`save` wrote."""
        try:
            if Path(path).stat().st_size > _MOST_BYTES:
                raise SchemeError(f"{path}: larger than {_MOST_BYTES:,} bytes")
            data = json.loads(Path(path).read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError) as error:
            if isinstance(error, SchemeError):
                raise
            raise SchemeError(f"{path}: cannot be read as JSON ({error})") from None
        try:
            return cls.from_json(data)
        except SchemeError as error:
            raise SchemeError(f"{path}: {error}") from None

    def draw(
        self,
        path: str | Path,
        names: Sequence[str] | None = None,
        *,
        graph: Graph | None = None,
        places: NDArray[np.float64] | None = None,
        atom: int | None = None,
    ) -> Path:
        """Write a picture of the scheme, leaves at the bottom, to a ``.svg`` or ``.png`` file.

        With a graph and the places (atoms, 2) of its vertices, the parts of each level are drawn on it; of many parts
        those around one ``atom`` and a few others.
        """
        from ccn.schemes.drawing import draw

        return draw(self, Path(path), names, graph, places, atom)

    def __repr__(self) -> str:
        return f"Scheme(atoms={self.atoms}, nodes={len(self.parts)}, levels={[len(level) for level in self.levels]})"


class SchemeGenerator(Protocol):
    """Any function from a graph to its composition scheme.

    Example:
        >>> import ccn
        >>> def pairs(graph: ccn.Graph) -> Scheme:
        ...     leaves = [(v,) for v in range(graph.n)]
        ...     edges = [tuple(sorted(e)) for e in graph.edges.tolist()]
        ...     root = [tuple(range(graph.n))]
        ...     return Scheme([*leaves, *edges, *root], [*[()] * graph.n, *edges, range(graph.n, graph.n + len(edges))])
        >>> generator: SchemeGenerator = pairs
        >>> is_permutation_invariant(generator, ccn.Graph([(0, 1), (1, 2)], n=3))
        True
    """

    def __call__(self, graph: Graph, /) -> Scheme: ...


def random_permutation(n: int, rng: np.random.Generator) -> list[int]:
    """A permutation of n things that is not the identity, where there is another.

    Example:
        >>> sorted(random_permutation(4, np.random.default_rng(0)))
        [0, 1, 2, 3]
    """
    sigma = rng.permutation(n)
    while n > 1 and (sigma == np.arange(n)).all():
        sigma = rng.permutation(n)
    return [int(i) for i in sigma]


def _signature(scheme: Scheme, rename: Sequence[int]) -> Counter[object]:
    """The multiset of nodes, each as its part, anchor and children with all atoms renamed."""
    key: dict[int, object] = {}
    for node in scheme.order:
        anchor = scheme.anchors[node]
        children = Counter(key[c] for c in scheme.children[node])
        key[node] = (
            frozenset(rename[a] for a in scheme.parts[node]),
            None if anchor is None else rename[anchor],
            frozenset(children.items()),
        )
    return Counter(key.values())


def is_permutation_invariant(generator: SchemeGenerator, graph: Graph, trials: int = 8, seed: int = 0) -> bool:
    """Definition 4: whether renaming the vertices of ``graph`` renames its scheme and changes nothing else.

    For each of ``trials`` random permutations sigma (never the identity where there is another) the
    scheme of the renamed graph must be the renamed scheme: a bijection of the nodes that takes every
    part P to sigma(P), and likewise anchors and children.

    Example:
        >>> from ccn.schemes import Neighbourhoods
        >>> path = Graph([(0, 1), (1, 2)], n=3)
        >>> is_permutation_invariant(Neighbourhoods(levels=2), path)
        True
    """
    rng = np.random.default_rng(seed)
    scheme = generator(graph)
    for _ in range(trials):
        sigma = random_permutation(graph.n, rng)
        if _signature(scheme, sigma) != _signature(generator(graph.permute(sigma)), range(graph.n)):
            return False
    return True
