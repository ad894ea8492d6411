"""The kernel of a covariant network without learned weights: which kinds of parts two graphs have in common.

The vertices begin with their labels, hashed. At every level of the closed neighbourhood scheme a covariant network
of order k promotes, stacks, multiplies by A, contracts and mixes with fixed integer weights; its nonlinearity is a
hash. All numbers are integers smaller than 2^53, so every sum in float64 is exact, whatever the numbering of the
vertices. Two parts are of one *kind* if all their invariants agree: different values have different hashes, and a kind
stands for a part as order k sees it. (At order 0 without A a kind would be a Weisfeiler-Lehman label.)

With ``c_g(t)`` the number of parts of kind t in the graph g, over all levels (or 1 if there are any, since what matters
may be that a part occurs at all, such as one that makes a molecule toxic), the kernel is the share of parts in common,

    k(g, h) = sum over t of min(c_g(t), c_h(t)) / sum over t of max(c_g(t), c_h(t)),

which is positive definite and 1 on the diagonal (Ralaivola et al. 2005).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor

from ccn.errors import GraphError
from ccn.graphs.pack import Pack
from ccn.graphs.ragged import starts
from ccn.methods.kernels.bags import (
    Bag,
    Names,
    edges,
    graph_of,
    matrices,
    mix,
    name,
    row_names,
    tally,
    unary,
    vertex_names,
)
from ccn.methods.kernels.kernel import Bounds, Floats, Kernel
from ccn.models import CCN

__all__ = ["PartKinds", "kinds"]

_CHANNELS = 8  # of eight bits each: different entries agree in all of them with probability 2^-64
_BITS = 8


def _code(names: Names) -> Floats:
    """Names as integers from 1 to 2^bits."""
    return (mix(names) >> np.uint64(64 - _BITS)).astype(np.float64) + 1


def _hash(x: Tensor) -> Tensor:
    """The nonlinearity."""
    if len(x) and float(x.max()) >= 2**53:
        raise GraphError("parts are too large for sums to be exact; give the kernel fewer levels or a lower order")
    return torch.from_numpy(_code(x.numpy().astype(np.uint64)))


@lru_cache(maxsize=8)
def _network(order: int, levels: int) -> CCN:
    """The network, with the same weights on every machine."""
    with torch.random.fork_rng(devices=[]):
        made = CCN(_CHANNELS, order=order, levels=levels, channels=_CHANNELS, own=True, nonlinearity=_hash).double()
    with torch.no_grad():
        made.embedding.weight.copy_(torch.eye(_CHANNELS))
        for i, layer in enumerate(made.layers):
            for j, weight in enumerate((layer.weight, layer.bias)):
                drawn = _code(name(i, j, np.arange(weight.numel())))
                weight.copy_(torch.from_numpy(drawn).view(weight.shape))
    return made


def _hashed(graphs: Pack) -> Pack:
    """The graphs with a hash of each vertex's label per channel, and undirected edges without weights."""
    u, v, _ = edges(graphs)
    graph, label = graph_of(graphs)[u], vertex_names(graphs)
    pairs = np.stack([u, v], axis=1) - starts(graphs.sizes)[graph, None]
    features = np.stack([_code(name(c, label)) for c in range(_CHANNELS)], axis=1)
    return Pack.of_edges(graphs.sizes, np.bincount(graph, minlength=len(graphs)), pairs, features)


def kinds(graphs: Pack, order: int, levels: int, together: int = 2_000) -> list[Names]:
    """(vertices,) for every level 0..levels: the kind of each vertex's part; ``together`` vertices are a batch."""
    net, hashed = _network(order, levels), _hashed(graphs)
    block = np.cumsum(hashed.sizes) // together
    found: list[list[Names]] = [[np.zeros(0, np.uint64)] for _ in range(levels + 1)]
    with torch.inference_mode():
        for b in np.unique(block):
            z = net.embed(hashed.select(np.flatnonzero(block == b)).batch(), per="vertex").numpy()
            for level, rows in enumerate(np.split(z, np.cumsum(net.readout_widths)[:-1], axis=1)):
                found[level].append(name(level, row_names(rows)))
    return [np.concatenate(of) for of in found]


@dataclass(frozen=True)
class PartKinds(Kernel[Bag]):
    """The share of parts in common, over levels 0 to ``levels``, as a network of order ``order`` sees them.

    ``counted`` says whether it matters how often a kind occurs.

    Example:
        >>> from ccn import Graph
        >>> path, triangle = Graph([(0, 1), (1, 2)], n=3), Graph([(0, 1), (1, 2), (2, 0)], n=3)
        >>> PartKinds(levels=1).gram([path, triangle]).round(3).tolist()
        [[1.0, 0.333], [0.333, 1.0]]
    """

    version = 2
    bounds: ClassVar[Bounds] = {"order": (0, 3), "levels": (0, 20)}
    order: int = 2
    levels: int = 6
    counted: bool = True

    def see(self, graphs: Pack) -> Bag:
        keys = np.concatenate(kinds(graphs, self.order, self.levels))
        bag = tally(np.tile(graph_of(graphs), self.levels + 1), keys, len(graphs))
        return unary(bag) if self.counted else replace(bag, count=np.ones(len(bag.key)))

    def compare(self, a: Bag, b: Bag) -> Floats:
        left, right = matrices(a, b)
        both = (left @ right.T).toarray()  # sums of minima, since counts are zero or one
        share: Floats = both / (left.sum(axis=1)[:, None] + right.sum(axis=1) - both)
        return share

    def squares(self, a: Bag) -> Floats:
        return np.ones(a.graphs)
