"""What a store keeps of the scheme: the parts of closed neighbourhoods, and A within them.

All of it is linear in the sum of part sizes (for molecules about one kilobyte each), depends on nothing but the graph,
and is read whenever a batch is made: what grows with a power of the part size is made for each batch. The children of
a vertex's node are on every level the nodes of its part of level 1. Networks with more levels grow the others from
these, and those of another scheme do without.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ccn.graphs.pack import KEPT_LEVELS, Pack
from ccn.graphs.ragged import ranges, small, starts
from ccn.schemes.generators import Neighbourhoods, composition

__all__ = ["keep"]

_GRAPHS = 2048  # worked on at a time


def keep(pack: Pack) -> Pack:
    """The graphs with the parts of levels 1 and 2 and A within them, vertex after vertex."""
    pack = pack.bare().compact()
    if not len(pack):
        return pack
    pieces = [_of(pack[i : i + _GRAPHS]) for i in range(0, len(pack), _GRAPHS)]
    arrays = {key: np.concatenate([p[key] for p in pieces]) for key in pieces[0]}
    arrays = {key: starts(a) if key.endswith("_start") else a for key, a in arrays.items()}
    return Pack({**pack.arrays, **arrays}, directed=pack.directed, self_loops=pack.self_loops, name=pack.name)


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
