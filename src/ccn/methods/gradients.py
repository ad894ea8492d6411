"""Integrated gradients of a covariant network: what vertex, edge and molecule-level features contribute to its output.

On the straight path ``x(t) = r + t (x - r)`` from a reference r to the features x, a feature contributes

    (x - r) times the integral from 0 to 1 of the derivative of the output at x(t),

and all of them add up to the output at x less that at r (Sundararajan et al. 2017). Here r is zero for the features of
vertices and edges: the graph remains, with nothing known of its atoms and bonds. The features of a graph as a whole
begin at the medians of the training rows, on the scale on which the network reads them. Histogram features say of a
vertex which labels are around it, distance by distance. They are linear in these labels, so that the chain rule carries
what they contribute to the vertices that have the labels, not to the one that sees them.

Rectifiers bend the path hundreds of times, and a rule of integration would need hundreds of points. The path is cut
into a few segments instead, and the derivative on a segment is the *secant* of the network between its two ends: of a
pointwise function the quotient of differences; of a level, which is bilinear in the activations and A, the derivative
in the middle of both. By the product and chain rules for differences the contributions then add up on each segment, to
rounding, and with more segments they become the integral. What is not pointwise and not bilinear, layer normalisation
and the softmax, has the derivative in the middle, whose error remains as the residual; so have readouts that bend.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from ccn.features.vertices import VertexFeatures
from ccn.graphs.graph import Batch
from ccn.graphs.pack import Pack
from ccn.layers.aggregation import Activation
from ccn.layers.normalisation import RobustScale
from ccn.learning.contributions import Contributions
from ccn.learning.task import Floats
from ccn.models import CCN

__all__ = ["SEGMENTS", "integrated_gradients"]

SEGMENTS = 6
"""Segments of the path."""
_TOGETHER = 100  # graphs of a batch
_STILL = 1e-6  # a difference below which a quotient of differences is a derivative

Score = Callable[[Tensor], Tensor]


def integrated_gradients(
    net: CCN, graphs: Pack, score: Score, segments: int = SEGMENTS, made_of: tuple[VertexFeatures, Pack] | None = None
) -> Contributions:
    """Contributions to ``score(net(graphs))``, (graphs,), for graphs as the network reads them.

    The network must be in evaluation mode. What it does not read contributes nothing. ``made_of`` are the definition of
    the vertex features and the graphs that they were made of; features that say something of other vertices are then
    carried to these (:meth:`~ccn.features.vertices.VertexFeatures.shares`).
    """
    # Graphs of similar size together: the time of a batch goes with its largest parts.
    order = np.argsort(graphs.sizes, kind="stable")
    found = []
    for start in range(0, len(order), _TOGETHER):
        rows = order[start : start + _TOGETHER]
        of = None if made_of is None else (made_of[0], made_of[1].select(rows))
        found.append(_integral(net, graphs.select(rows), score, segments, of))
    return Contributions.join(found).select(np.argsort(order, kind="stable"))


class _Point(NamedTuple):
    """Features of vertices and edges, and scaled features of graphs as a whole; None where there are none."""

    vertices: Tensor
    edges: Tensor | None
    whole: Tensor | None

    def times(self, t: float) -> _Point:
        return self.each(lambda x: t * x)

    def each(self, function: Score) -> _Point:
        edges, whole = (None if x is None else function(x) for x in (self.edges, self.whole))
        return _Point(function(self.vertices), edges, whole)


class _Values(NamedTuple):
    """What goes into each step of :func:`_walk` at one point of the path, what comes out, and the score at the end."""

    before: list[Tensor]
    after: list[Tensor]
    score: Tensor


def _integral(
    net: CCN, graphs: Pack, score: Score, segments: int, made_of: tuple[VertexFeatures, Pack] | None
) -> Contributions:
    weight = net.embedding.weight
    b = graphs.batch().to(weight.device)
    edges = None if b.edge_features is None else b.edge_features.to(weight.dtype)
    end = _Point(b.features.to(weight.dtype), edges, _scaled_whole(net, b))
    ts = np.linspace(0, 1, segments + 1).tolist()
    total = end.each(torch.zeros_like)
    low = _values(net, b, end.times(0.0), score)
    baseline = low.score
    for s, t in pairwise(ts):
        high = _values(net, b, end.times(t), score)
        _add_secant(net, b, end.times((s + t) / 2), low, high, score, total)
        low = high
    made = Contributions.none(graphs, _numbers(low.score), _numbers(baseline))
    slope = total.each(lambda g: g / segments)
    if made_of is None:
        made.atoms[:] = _numbers(end.vertices * slope.vertices).sum(axis=1)
    else:
        features, read = made_of
        made.atoms[:] = features.shares(read, _numbers(slope.vertices))
    if end.edges is not None and slope.edges is not None:
        made.bonds[:] = _numbers(end.edges * slope.edges).sum(axis=1)
    if end.whole is not None and slope.whole is not None:
        made.whole[:] = _numbers(end.whole * slope.whole)
    return made


def _numbers(x: Tensor) -> Floats:
    return np.asarray(x.detach().double().cpu().numpy())


def _scaled_whole(net: CCN, b: Batch) -> Tensor | None:
    scale = next((m for m in net.modules() if isinstance(m, RobustScale)), None)
    if scale is None or b.graph_features is None:
        return None
    with torch.no_grad():
        scaled: Tensor = scale(b.graph_features.to(net.embedding.weight.dtype))
    return scaled


def _walk(net: CCN, b: Batch, x: _Point, step: Callable[[Score, Tensor, bool], Tensor]) -> Tensor:
    """The output of the network at a point, (graphs, outputs).

    ``step(function, z, pointwise)`` computes each nonlinearity, what the head reads, and each module of the head.
    """
    moved = copy.copy(b)  # with other features of edges; what follows from its structure is shared
    moved.edge_features = x.edges
    scheme, matrices = net.structure(moved)
    f = net.embedding(x.vertices)[torch.from_numpy(scheme.leaves.parts).to(x.vertices.device)]
    f = step(net.nonlinearity, f, True) if net.activates_embedding else f
    done = [Activation(f, scheme.leaves, net.orders[0])]
    for layer, level in zip(net.layers, scheme.levels, strict=False):
        f = torch.cat([a.data for a in done[-level.reach :]])
        f = step(layer.nonlinearity, layer.preactivation(f, level, matrices), True)
        done.append(Activation(f, level.nodes, layer.order_out))
    z = step(lambda rows: rows, net.rows(b, done), False)
    for module in _head(net, x.whole):
        z = step(module, z, isinstance(module, nn.ReLU))
    return z


@torch.no_grad()
def _values(net: CCN, b: Batch, x: _Point, score: Score) -> _Values:
    before: list[Tensor] = []
    after: list[Tensor] = []

    def step(function: Score, z: Tensor, pointwise: bool) -> Tensor:
        before.append(z)
        after.append(function(z))
        return after[-1]

    return _Values(before, after, score(_walk(net, b, x, step)))


def _add_secant(net: CCN, b: Batch, x: _Point, low: _Values, high: _Values, score: Score, total: _Point) -> None:
    """Add the secant of a segment, by the derivatives of a function that has its slopes, in the middle x."""
    given = x.each(lambda part: part.detach().requires_grad_())
    ends = iter(zip(low.before, high.before, low.after, high.after, strict=True))

    def step(function: Score, z: Tensor, pointwise: bool) -> Tensor:
        x0, x1, y0, y1 = next(ends)
        return _secant(z, function, x0, x1, y0, y1) if pointwise else _centred(function(z), (y0 + y1) / 2)

    with torch.enable_grad():
        out = _walk(net, b, given, step)
        wanted = [part for part in given if part is not None]
        slopes = torch.autograd.grad(score(out).sum(), wanted, allow_unused=True)
    for into, slope in zip([part for part in total if part is not None], slopes, strict=True):
        if slope is not None:
            into.add_(slope)


def _centred(y: Tensor, value: Tensor) -> Tensor:
    """The derivative of y, at another value."""
    return value + (y - y.detach())


def _secant(y: Tensor, function: Score, x0: Tensor, x1: Tensor, y0: Tensor, y1: Tensor) -> Tensor:
    """A pointwise function between two ends: the value in the middle of the results, and the slope of the secant."""
    gap = x1 - x0
    still = gap.abs() <= _STILL * (1 + x0.abs())
    if bool(still.any()):
        with torch.enable_grad():
            at = ((x0 + x1) / 2).requires_grad_()
            (slope,) = torch.autograd.grad(function(at).sum(), at)
        slope = torch.where(still, slope, (y1 - y0) / torch.where(still, torch.ones_like(gap), gap))
    else:
        slope = (y1 - y0) / gap
    return (y0 + y1) / 2 + slope * (y - y.detach())


def _head(net: CCN, whole: Tensor | None) -> list[Score]:
    """The functions after one another that lead from the invariants to the outputs."""
    modules: list[Score] = list(net.head)
    if whole is None:
        return modules
    first: Any = net.head[0].first  # the other half scales the features of graphs as a whole, which are scaled already
    return [lambda z: torch.cat([first(z), whole], dim=1), *modules[1:]]
