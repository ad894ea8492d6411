"""The six steps, literally: dense tensors, one node at a time, any order, any scheme.

This module is the oracle that the packed engine is tested against, and the place to read the
aggregation rule. It is never used for work.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from string import ascii_letters
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch import Tensor

from ccn.algebra.contractions import Contraction, EquivariantMap, set_partitions
from ccn.algebra.operations import adjacency_product, contract, equivariant_map, promote, stack, tensor_product
from ccn.graphs.graph import Graph, as_graph
from ccn.schemes.generators import former_selves

if TYPE_CHECKING:
    from ccn.models import CCN

__all__ = ["Child", "activations", "aggregate", "forward", "invariants"]

Map = Contraction | EquivariantMap


class Child(NamedTuple):
    """A node as its parent sees it: its ordered part, its activation (m, .., m, in), its anchor or None."""

    part: Sequence[int]
    activation: Tensor
    anchor: int | None


def aggregate(
    part: Sequence[int],
    children: Sequence[Child],
    weight: Tensor,
    bias: Tensor,
    contractions: Sequence[Map],
    adjacency: Tensor | None = None,
    *,
    own: Sequence[Child] = (),
    weight_free: Tensor | None = None,
    contractions_free: Sequence[Map] = (),
    nonlinearity: Callable[[Tensor], Tensor] = torch.relu,
) -> Tensor:
    """The aggregation rule of the paper at one node.

    Args:
        part: the node's ordered atoms, m of them.
        children: its children.
        weight: W, (out, contractions, in); ``weight_free`` likewise for children without an anchor.
        bias: (out,).
        contractions: what step 5 computes, in the order of W; each names its source.
        adjacency: A restricted to the part, (channels, m, m).
        own: the node's own former self (or selves, which are added), for a contraction with source ``own``.

    Returns:
        the activation, (m, .., m, out).
    """
    # 1. Collect the activations of the children; 2. promote each to the node's own part.
    promoted = [promote(c.activation, c.part, part) for c in children]
    # 3. Stack those that have an anchor in the part; sum the others.
    held = [c.anchor is not None and c.anchor in part for c in children]
    zero = torch.zeros([len(part)] * (children[0].activation.ndim - 1) + [weight.shape[2]], dtype=weight.dtype)
    anchors = [c.anchor for c, h in zip(children, held, strict=True) if h and c.anchor is not None]
    t = stack([zero, *(f for f, h in zip(promoted, held, strict=True) if h)], [part[0], *anchors], part)
    u = sum((f for f, h in zip(promoted, held, strict=True) if not h), start=zero)
    # 4. and 5. Multiply by A where asked for, and contract.
    own_f = sum((promote(c.activation, c.part, part) for c in own), start=zero)
    total = _mixed(t, own_f, adjacency, weight, contractions, len(part))
    if weight_free is not None:
        total = total + _mixed(u, own_f, adjacency, weight_free, contractions_free, len(part))
    # 6. Mix the channels, add the bias to every entry, apply the nonlinearity.
    return nonlinearity(total + bias)


def _mixed(t: Tensor, own: Tensor, adjacency: Tensor | None, weight: Tensor, maps: Sequence[Map], m: int) -> Tensor:
    """``sum_j W_j Q_j`` with ``Q_j`` the j-th contraction of H."""
    total = None
    for j, c in enumerate(maps):
        if c.source == "own":
            h = own
        elif c.source in ("TA", "UA"):
            assert adjacency is not None
            h = adjacency_product(t, adjacency[c.channel])
        elif c.source in ("TT", "UU"):
            h = tensor_product(t, t)
        else:
            h = t
        q = contract(h, c) if isinstance(c, Contraction) else equivariant_map(h, c, m)
        mixed = q @ weight[:, j].T
        total = mixed if total is None else total + mixed
    assert total is not None
    return total


def invariants(f: Tensor) -> Tensor:
    """One scalar per set partition of the axes of F, per channel: the sum of the entries with equated axes.

    The plain sum comes first, the full diagonal last; shape (Bell(k) * channels,).
    """
    k = f.ndim - 1
    words = []
    for partition in list(set_partitions(range(k)))[::-1]:
        letter = {axis: ascii_letters[i] for i, block in enumerate(partition) for axis in block}
        words.append("".join(letter[a] for a in range(k)))
    return torch.cat([torch.einsum(f"{word}Z->Z", f) for word in words])


def activations(net: CCN, graph: Graph) -> list[list[Child]]:
    """The activations of a network on one graph, level by level, node by node (normalisation and dropout off)."""
    g = as_graph(graph)
    dtype = net.embedding.weight.dtype
    generator: Any = net.scheme
    scheme = generator(g)
    a = [c.dense(g, dtype) for c in net.adjacency_channels]
    matrix = torch.cat(a) if a else torch.zeros(0, g.n, g.n, dtype=dtype)
    leaf = net.embedding(g.features.to(dtype))
    done: dict[int, Child] = {}
    levels = []
    for number, nodes in enumerate(scheme.levels):
        for node in nodes:
            part, anchor = scheme.parts[node], scheme.anchors[node]
            if number == 0:
                f = leaf[part[0]].reshape(*[1] * net.orders[0], -1)
            else:
                layer = net.layers[number - 1]
                f = aggregate(
                    part,
                    [done[c] for c in scheme.children[node]],
                    layer.weight,
                    layer.bias,
                    layer.contractions,
                    matrix[:, part][:, :, part],
                    own=[done[c] for c in former_selves(generator, scheme, node)],
                    weight_free=layer.weight_free,
                    contractions_free=layer.contractions_free,
                    nonlinearity=layer.nonlinearity,
                )
            done[node] = Child(part, f, anchor)
        levels.append([done[node] for node in nodes])
    return levels


def forward(net: CCN, graphs: Sequence[Graph]) -> Tensor:
    """The output of a network, (graphs, out_features)."""
    rows = []
    for g in graphs:
        levels = activations(net, g)
        sums = [torch.stack([invariants(node.activation) for node in level]).sum(0) for level in levels]
        missing = sum(net.readout_widths[len(sums) :])
        rows.append(torch.cat([*sums, sums[0].new_zeros(missing)]))
    return net.read(torch.stack(rows), graphs)
