"""How large a contraction's result is: measured once on a fixed reference graph.

The reference is the Heawood graph (14 vertices of degree 3, no cycle shorter than 6): its balls are
trees, like those of molecules, and it is small. Children of all ones stand for activations after a
ReLU, which are not negative, so that sums add up rather than cancel.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache, lru_cache

import torch

from ccn.algebra.contractions import MatrixClass
from ccn.engine.aggregate import aggregate, dense_maps
from ccn.engine.backend import using_backend
from ccn.engine.matrices import Matrices
from ccn.engine.plan import Map, is_dense, plan
from ccn.graphs.adjacency import Closed, Weights
from ccn.graphs.graph import Batch, Graph, batch
from ccn.graphs.ragged import Cache
from ccn.schemes.generators import Neighbourhoods, composition
from ccn.schemes.packed import Composition

__all__ = ["reference", "scales"]


@cache
def reference(levels: int) -> tuple[Batch, Composition]:
    """The reference graph and its scheme of so many levels, with the root."""
    edges = [(i, (i + 1) % 14) for i in range(14)] + [(i, (i + 5) % 14) for i in range(0, 14, 2)]
    with torch.device("cpu"):  # also where networks are made on another device
        b = batch([Graph(edges, n=14)])
        return b, composition(b, Neighbourhoods(), levels, root=True)


@lru_cache(maxsize=256)
def scales(
    maps: tuple[Map, ...],
    order: int,
    order_out: int,
    classes: tuple[MatrixClass, ...],
    level: int,
    root: bool = False,
) -> tuple[float, ...]:
    """The RMS of each Q for children of all ones, at this level of the reference graph, or at a root in its place."""
    b, scheme = reference(level - root)
    at = scheme.root if root else scheme.levels[level - 1]
    assert at is not None
    at = replace(at, free=at.stacked, cached=Cache())
    # The torch form compiles nothing; sums of ones are exact in any form.
    with torch.device("cpu"), torch.no_grad(), using_backend("torch"):
        matrices = Matrices(b, [Closed() if c.self_loops else Weights() for c in classes], torch.float32)
        ones = torch.ones(at.below.rows(order), 1)
        if any(is_dense(c) for c in maps):
            q = dense_maps(ones, maps, order, order_out, at, matrices)[..., 0]
        else:
            p, each = plan(maps, order, order_out, classes), torch.eye(len(maps))[..., None]
            q, _ = aggregate(ones, each, torch.zeros(len(maps)), p, at, matrices)
    return tuple(q.square().mean(0).sqrt().tolist())
