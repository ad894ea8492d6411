"""How large a contraction's result is: measured once on a fixed reference graph.

The reference is the Heawood graph (14 vertices of degree 3, no cycle shorter than 6): its balls are
trees, like those of molecules, and it is small. Children of all ones stand for activations after a
ReLU, which are not negative, so that sums add up rather than cancel.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache, wraps
from typing import ParamSpec, TypeVar

import numpy as np
import torch
from torch import Tensor

from ccn.algebra.contractions import MatrixClass
from ccn.engine.aggregate import aggregate, dense_maps, invariants
from ccn.engine.backend import using_backend
from ccn.engine.matrices import Matrices
from ccn.engine.plan import Map, is_dense, plan
from ccn.graphs.adjacency import Weights
from ccn.graphs.graph import Batch, Graph, batch
from ccn.graphs.ragged import Cache, Int
from ccn.schemes.generators import Neighbourhoods, composition
from ccn.schemes.packed import Composition

__all__ = ["readout_scales", "reference", "scales"]

P = ParamSpec("P")
T = TypeVar("T")


@dataclass(frozen=True)
class _Ones:
    """A stand-in channel: the reference's A, with ones on the diagonal where the class has one."""

    self_loops: bool
    width = 1

    def sparse(self, b: Batch, dtype: torch.dtype) -> tuple[Int, Tensor]:
        places = b.entries
        if self.self_loops:
            loops = np.tile(np.arange(b.n), (2, 1))
            places = np.concatenate([places, loops], axis=1)
            places = places[:, np.lexsort(places[::-1])]
        return places, torch.ones(places.shape[1], 1, dtype=dtype)

    matrix_class = Weights.matrix_class
    dense = Weights.dense


def _on_cpu(measure: Callable[P, T]) -> Callable[P, T]:
    """The same on the CPU, where ``with torch.device("meta")`` makes the network elsewhere."""

    @wraps(measure)
    def there(*args: P.args, **how: P.kwargs) -> T:
        with torch.device("cpu"):
            return measure(*args, **how)

    return there


@cache
@_on_cpu
def reference(levels: int) -> tuple[Batch, Composition]:
    """The reference graph and its scheme of so many levels, with the root."""
    edges = [(i, (i + 1) % 14) for i in range(14)] + [(i, (i + 5) % 14) for i in range(0, 14, 2)]
    b = batch([Graph(edges, n=14)])
    return b, composition(b, Neighbourhoods(), levels, root=True)


@lru_cache(maxsize=256)
@_on_cpu
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
    matrices = Matrices(b, [_Ones(c.self_loops) for c in classes], torch.float32)
    ones = torch.ones(at.below.rows(order), 1)
    with torch.no_grad(), using_backend("torch"):  # which compiles nothing; sums of ones are exact in any form
        if any(is_dense(c) for c in maps):
            q = dense_maps(ones, maps, order, order_out, at, matrices)[..., 0]
        else:
            p, each = plan(maps, order, order_out, classes), torch.eye(len(maps))[..., None]
            q, _ = aggregate(ones, each, torch.zeros(len(maps)), p, at, matrices)
    return tuple(q.square().mean(0).sqrt().tolist())


@_on_cpu
def readout_scales(orders: Sequence[int]) -> list[list[float]]:
    """For each level the value of each invariant of all ones on the reference graph."""
    _, scheme = reference(max(1, len(orders) - 1))
    levels = [(scheme.nodes(level), order) for level, order in enumerate(orders)]
    with using_backend("torch"):
        return [invariants(torch.ones(nodes.rows(k), 1), nodes, k).sum(0).tolist() for nodes, k in levels]
