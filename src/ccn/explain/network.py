"""What only covariant networks can show: receptive fields, pairs of atoms, and the contractions that carry most.

The output of a network is a function ``head(e)`` of invariants e, which are sums over all nodes of all levels, and at
order 2 over the entries (i, j) of their tensors. On the straight path from e = 0, a graph without nodes, an entry
contributes its invariants times the mean slope of the head,

    head(e) - head(0) = sum over nodes v and entries (i, j) of F_v[i, j] . s_sum + [i = j] F_v[i, i] . s_trace,

so that the entries for atoms i and j of all parts that have both are what these two atoms contribute together. Tensors
of order 1 have contributions of atoms alone, which stand on the diagonal.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ccn.algebra.contractions import bell
from ccn.errors import ConfigurationError
from ccn.graphs.graph import Batch
from ccn.graphs.pack import Pack
from ccn.learning.contributions import path_rule
from ccn.learning.fitted import Fitted
from ccn.learning.model import Model
from ccn.learning.task import Floats
from ccn.methods.covariant import FittedCovariant
from ccn.methods.stack import FittedStack
from ccn.models import CCN

__all__ = ["Carried", "contraction_shares", "every_field", "networks_of", "pair_contributions", "receptive_fields"]

_POINTS = 24  # of the path through the head, which is bent by its rectifiers


def networks_of(model: Model) -> Iterator[tuple[CCN, FittedCovariant, float]]:
    """The covariant networks of a model, what they are of, and the weight of each; those of a stack count by theirs."""

    def of(fitted: Fitted, weight: float) -> Iterator[tuple[CCN, FittedCovariant, float]]:
        if isinstance(fitted, FittedStack):
            for member in fitted.members:
                for each in member.fitted:
                    yield from of(each, weight * member.weight / len(member.fitted))
        elif isinstance(fitted, FittedCovariant):
            for net in fitted.networks:
                assert isinstance(net, CCN)
                yield net, fitted, weight / len(fitted.networks)

    yield from of(model.fitted, 1.0)


def _some(model: Model) -> list[tuple[CCN, FittedCovariant, float]]:
    found = list(networks_of(model))
    if not found:
        raise ConfigurationError(f"the method {model.method} has no covariant network; train one with --method ccn")
    return found


def _batch(fitted: FittedCovariant, graphs: Pack) -> Batch:
    return fitted.ready(graphs).batch().to(fitted.device)


def receptive_fields(model: Model, graphs: Pack, atom: int) -> list[list[int]]:
    """For each level 0, 1, .. the atoms that the activation of an atom depends on, in the first of the graphs.

    At level l of the closed neighbourhood scheme these are all within l bonds.
    """
    n = int(graphs.sizes[0])
    if not 0 <= atom < n:
        raise ConfigurationError(f"atom {atom}: the molecule has the atoms 0 to {n - 1}")
    return every_field(model, graphs)[atom]


def every_field(model: Model, graphs: Pack) -> list[list[list[int]]]:
    """The receptive fields of each atom of the first of the graphs, level by level."""
    net, fitted, _ = max(_some(model), key=lambda found: found[0].levels)
    with torch.no_grad():
        levels = net.activations(_batch(fitted, graphs.select([0])))
    out: list[list[set[int]]] = [[{atom}] for atom in range(int(graphs.sizes[0]))]
    for level in levels[1:]:
        for fields in out:
            fields.append(set(fields[-1]))
        for v in range(len(level)):
            anchor = int(level.nodes.anchor[int(level.nodes.storage[v])])
            if 0 <= anchor < len(out):
                out[anchor][-1] |= set(level.part(v))
    return [[sorted(field) for field in fields] for fields in out]


def pair_contributions(model: Model, graphs: Pack, output: int = 0) -> list[Floats]:
    """(atoms, atoms) for each graph, on the scale that networks are fitted on: those of all networks, weighed.

    The sum is what the networks predict less what they predict for a graph without atoms.
    """
    nets = _some(model)
    if not any(order >= 2 for net, _, _ in nets for order in net.orders):
        raise ConfigurationError("pairs of atoms need networks of order 2; train with --method ccn --order 2")
    if any(net.readout.kind != "invariants" or net.readout.levels != "all" for net, _, _ in nets):
        raise ConfigurationError("pairs of atoms need networks that read the invariants of all levels, as by default")
    total = [np.zeros((n, n)) for n in graphs.sizes.tolist()]
    for net, fitted, weight in nets:
        scale = 1.0 if fitted.task.scale is None else fitted.task.scale.deviation[output]
        b = _batch(fitted, graphs)
        for i, found in enumerate(_pairs(net, b, output)):
            total[i] += weight * scale * found
    return total


@torch.no_grad()
def _pairs(net: CCN, b: Batch, output: int) -> list[Floats]:
    levels = net.activations(b)
    z = torch.cat([a.per_graph(len(b)) for a in levels], dim=1)
    slope = _mean_slope(net, b, z, output)
    out = [np.zeros((n, n)) for n in np.diff(b.start).tolist()]
    at = 0
    for level in levels:
        width = bell(level.order) * level.channels
        slopes = slope[:, at : at + width].view(len(b), bell(level.order), level.channels)
        at += width
        for v in range(len(level)):
            g = int(level.nodes.graph[int(level.nodes.storage[v])])
            part = np.array(level.part(v)) - b.start[g]
            out[g][np.ix_(part, part)] += _entries(level.node(v), slopes[g], level.order)
    return out


def _entries(tensor: Tensor, slope: Tensor, order: int) -> Floats:
    """(m, m) what the entries of a tensor contribute; tensors of order 1 and 0 on the diagonal, in equal shares."""
    if order > 2:
        raise ConfigurationError(f"pairs of atoms are shown for networks of order 1 and 2, not {order}")
    each = (tensor @ slope[0]).double().cpu().numpy()
    if order < 2:
        return np.diag(np.atleast_1d(each))
    trace = (tensor @ slope[1]).double().cpu().numpy()  # partitions: the sum first, the diagonal last
    return np.asarray(each + np.eye(len(each)) * trace)


def _mean_slope(net: CCN, b: Batch, z: Tensor, output: int) -> Tensor:
    """(graphs, invariants) the mean over the path t z of the derivatives of an output."""
    total = torch.zeros_like(z)
    for t, w in zip(*(x.tolist() for x in path_rule(_POINTS)), strict=True):
        with torch.enable_grad():
            at = (t * z).requires_grad_()
            (g,) = torch.autograd.grad(net.read(at, b)[:, output].sum(), at)
        total.add_(g, alpha=w)
    return total


@dataclass(frozen=True)
class Carried:
    """A contraction of a level and the share of what its level passes on, from 0 to 1."""

    level: int
    contraction: str
    source: str
    share: float


def contraction_shares(model: Model, graphs: Pack, output: int = 0) -> list[Carried]:
    """How much of the output goes through each contraction, the largest first.

    By activation times gradient: the sum of what a contraction adds to the activations of its level times the
    derivative of the output, as absolute values over graphs, networks and channels, divided by that of its level.
    """
    found: dict[tuple[int, str, str], float] = {}
    for net, fitted, weight in _some(model):
        weights = [layer.weight for layer in net.layers]
        for i in range(len(graphs)):
            with torch.enable_grad():
                out = net(_batch(fitted, graphs.select([i])))[:, output].sum()
                gradients = torch.autograd.grad(out, weights, allow_unused=True)
            for level, (layer, w, g) in enumerate(zip(net.layers, weights, gradients, strict=True), start=1):
                if g is None:
                    continue
                each = (w * g).detach().sum(dim=2).abs().sum(dim=0).double().cpu().numpy()
                for c, x in zip(layer.contractions, each.tolist(), strict=True):
                    key = (level, str(c), _source(c))
                    found[key] = found.get(key, 0.0) + weight * x
    levels = {level: sum(x for (of, _, _), x in found.items() if of == level) or 1.0 for level, _, _ in found}
    made = [Carried(level, text, source, x / levels[level]) for (level, text, source), x in found.items()]
    return sorted(made, key=lambda c: (-c.share, c.level, c.contraction))


def _source(c: Any) -> str:
    source, channel = getattr(c, "source", "T"), getattr(c, "channel", 0)
    return f"{source}, channel {channel}" if source in ("TA", "UA") else str(source)
