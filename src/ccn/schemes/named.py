"""Schemes by name, for recipes, configurations and model files; and a user's own.

| name | parts |
|---|---|
| `neighbourhoods` | closed neighbourhoods, the default |
| `open` | open neighbourhoods, as the paper writes them |
| `field` | closed neighbourhoods whose children are the nodes of every vertex of the part, restricted to it |
| `balls` | balls of radius 1, 3, 7, .. around every vertex |
| `edges` | vertices and edges; at level l all within l - 1 steps of an edge |
| `rings` | vertices and rings of up to 8 atoms; at level l all within l - 1 steps of a ring |
| `functional-groups` | vertices and functional groups of molecules, likewise |

A scheme of one's own is registered under a name (:func:`register_scheme`), or given where a network is trained as
``package.module:function``, which registers it under the name of the function. A model file holds the name alone:
whoever loads it registers the scheme first, and no file can make ccn import anything.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from importlib import import_module
from typing import Any

import numpy as np

from ccn.errors import ConfigurationError, GraphError
from ccn.graphs.graph import Graph
from ccn.schemes.generators import Balls, Clusters, Finder, Neighbourhoods, rings
from ccn.schemes.scheme import SchemeGenerator

__all__ = ["SCHEMES", "edges", "marked_groups", "named_scheme", "register_scheme", "resolve_scheme"]

SCHEMES = ("neighbourhoods", "open", "field", "balls", "edges", "rings", "functional-groups")
"""The names of the schemes of the package."""
_registered: dict[str, Callable[..., Any]] = {}


def edges(graph: Graph) -> list[Sequence[int]]:
    """The edges."""
    return [sorted(e) for e in graph.edges.tolist() if e[0] != e[1]]


def marked_groups(graph: Graph) -> list[Sequence[int]]:
    """The functional groups of a molecule: connected vertices that belong to groups of one kind."""
    import networkx as nx

    marks = graph.groups
    if marks is None and graph.mol is not None:
        from ccn.chemistry.groups import group_marks

        marks = group_marks(graph.mol)
    if marks is None:
        raise GraphError(
            "these graphs do not know their functional groups: read molecules with features='compact+groups', or "
            "another set with +groups added"
        )
    groups: list[Sequence[int]] = []
    for bit in range(int(np.asarray(marks).max(initial=0)).bit_length()):
        inside = np.asarray(marks) >> bit & 1 > 0
        g = nx.Graph()
        g.add_nodes_from(np.flatnonzero(inside).tolist())
        g.add_edges_from((a, b) for a, b in graph.edges.tolist() if inside[a] and inside[b])
        groups += [sorted(piece) for piece in nx.connected_components(g)]
    return groups


def _grown(find: Finder, steps: int) -> Finder:
    """The clusters with all vertices within so many steps."""

    def grow(graph: Graph) -> list[Sequence[int]]:
        near: list[set[int]] = [{v} for v in range(graph.n)]
        for a, b in graph.edges.tolist():
            near[a].add(b)
            near[b].add(a)
        out: list[Sequence[int]] = []
        for cluster in find(graph):
            part = set(map(int, cluster))
            for _ in range(steps):
                part = set().union(*(near[v] for v in part))
            out.append(sorted(part))
        return out

    return grow


@lru_cache(maxsize=64)
def named_scheme(name: str, levels: int) -> SchemeGenerator:
    """The scheme of this name for a network of so many levels.

    Example:
        >>> named_scheme("edges", 1)(Graph([(0, 1), (1, 2)], n=3)).parts[6:8]
        ((0, 1), (1, 2))
    """
    if name in _registered:
        return _registered[name]
    if name in ("neighbourhoods", "open", "field"):
        return Neighbourhoods(closed=name != "open", levels=levels, field=name == "field")
    if name == "balls":
        return Balls(tuple(2**level - 1 for level in range(levels + 1)))
    finders: dict[str, Finder] = {"edges": edges, "rings": rings(), "functional-groups": marked_groups}
    if name not in finders:
        raise ConfigurationError(
            f"scheme={name!r} is not known; choose one of {', '.join((*SCHEMES, *_registered))}, or register your own "
            "with ccn.schemes.register_scheme before the model is made or loaded"
        )
    if levels < 1:
        raise ConfigurationError(f"scheme={name!r} needs at least one level")
    return Clusters(*(_grown(finders[name], level) if level else finders[name] for level in range(levels)))


def register_scheme(name: str, generator: Callable[..., Any]) -> None:
    """Make a function from a graph to its :class:`ccn.Scheme` known by a name, for this process.

    Example:
        >>> register_scheme("balls-of-two", Balls(radii=(0, 2)))
        >>> named_scheme("balls-of-two", levels=1)
        Balls(radii=(0, 2), max_part=None)
    """
    if name in SCHEMES or not re.fullmatch(r"[A-Za-z_][\w.-]*", name):
        raise ConfigurationError(f"scheme name {name!r}: a word is needed, other than {', '.join(SCHEMES)}")
    if not callable(generator):
        raise ConfigurationError(f"scheme {name!r}: give a function from a graph to its ccn.Scheme")
    _registered[name] = generator
    named_scheme.cache_clear()


def resolve_scheme(text: str) -> str:
    """The name of a scheme from ``package.module:function``, which is imported and registered; a name is itself.

    Called for what a user gives, never for what a file holds.
    """
    module, colon, function = text.partition(":")
    if not colon:
        return text
    try:
        found = getattr(import_module(module), function)
    except (ImportError, AttributeError, ValueError) as error:
        raise ConfigurationError(
            f"scheme={text!r}: cannot be imported ({error}); give package.module:function"
        ) from None
    register_scheme(function, found)
    return function
