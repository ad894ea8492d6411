"""The six steps, literally: dense tensors, one node at a time, any order, any scheme.

This module is the oracle that the packed engine is tested against, and the place to read the
aggregation rule. It is never used for work.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain, product
from string import ascii_letters
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch import Tensor

from ccn.algebra.contractions import Contraction, EquivariantMap, bell, set_partitions
from ccn.algebra.operations import adjacency_product, contract, equivariant_map, promote, stack, tensor_product
from ccn.graphs.graph import Graph, as_graph
from ccn.schemes.generators import former_selves

if TYPE_CHECKING:
    from ccn.models import CCN

__all__ = ["Child", "activations", "aggregate", "edge_rows", "forward", "invariants", "root", "vertex_rows"]

Map = Contraction | EquivariantMap


class Child(NamedTuple):
    """A node as its parent sees it: its ordered part, its activation (m, .., m, in), its anchor or None.

    Example:
        >>> child = Child(part=(0, 1), activation=torch.ones(2, 2, 3), anchor=0)
        >>> child.activation.shape  # (m, m, channels) for order 2
        torch.Size([2, 2, 3])
    """

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
    weight_related: Sequence[Tensor] = (),
    relations: Sequence[str] = (),
    nonlinearity: Callable[[Tensor], Tensor] = torch.relu,
) -> Tensor:
    """The aggregation rule of the paper at one node.

    Args:
        part: the node's ordered atoms, m of them.
        children: its children.
        weight: W, (out, contractions, in).
        weight_free: likewise for the children without an anchor in the part, along ``contractions_free``. Without it
            their sum U enters the contractions that sum over the stack, where no child needs a place of its own, with
            their slice of ``weight``.
        bias: (out,).
        contractions: what step 5 computes, in the order of W; each names its source.
        adjacency: A restricted to the part, (channels, m, m).
        own: the node's own former self (or selves, which are added), for a contraction with source ``own``.

    Returns:
        the activation, (m, .., m, out).

    Example:
        >>> children = [Child((v,), torch.ones(1, 1), v) for v in (0, 1)]
        >>> maps = [Contraction.parse("ab->a")]
        >>> aggregate((0, 1), children, torch.ones(1, 1, 1), torch.zeros(1), maps).tolist()
        [[1.0], [1.0]]
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
    if weight_free is None:
        total = _mixed(t, own_f, adjacency, weight, contractions, len(part), u)
    else:
        total = _mixed(t, own_f, adjacency, weight, contractions, len(part))
        total = total + _mixed(u, own_f, adjacency, weight_free, contractions_free, len(part))
    free = [c for c, h in zip(children, held, strict=True) if not h]
    for name, weight_of in zip(relations, weight_related, strict=True):
        r = [sum(relation(name, c.part, d.part, part, adjacency) for d in free if d is not c) for c in free]
        u = sum((x * promote(c.activation, c.part, part) for x, c in zip(r, free, strict=True)), start=zero)
        total = total + _mixed(u, own_f, adjacency, weight_of, contractions_free, len(part))
    # 6. Mix the channels, add the bias to every entry, apply the nonlinearity.
    return nonlinearity(total + bias)


def relation(name: str, c: Sequence[int], d: Sequence[int], part: Sequence[int], adjacency: Tensor | None) -> float:
    """R[c, d]: the atoms that two parts share, or the places of A between the atoms of one part alone."""
    if name == "shared":
        return len(set(c) & set(d))
    assert adjacency is not None
    one, other = ([list(part).index(a) for a in x if a not in y] for x, y in ((c, d), (d, c)))
    return float((adjacency[0][one][:, other] != 0).sum())


def _mixed(
    t: Tensor,
    own: Tensor,
    adjacency: Tensor | None,
    weight: Tensor,
    maps: Sequence[Map],
    m: int,
    u: Tensor | None = None,
) -> Tensor:
    """``sum_j W_j Q_j`` with ``Q_j`` the j-th contraction of H; u is added where the stacking axis is summed alone."""
    everything = t
    if u is not None:
        everything = t.clone()
        everything[..., 0, :] += u  # any place of the stack: it is used only where the stack is summed
    stack = t.ndim - 2
    total = None
    for j, c in enumerate(maps):
        first = everything if (stack,) in c.blocks else t
        if c.source == "own":
            h = own
        elif c.source in ("TA", "UA"):
            assert adjacency is not None
            h = adjacency_product(first, adjacency[c.channel])
        elif c.source in ("TT", "UU", "TTA", "UUA"):
            h = tensor_product(first, everything if (2 * stack + 1,) in c.blocks else t)
            if c.source.endswith("A"):
                assert adjacency is not None
                h = adjacency_product(h, adjacency[c.channel])
        else:
            h = first
        q = contract(h, c) if isinstance(c, Contraction) else equivariant_map(h, c, m)
        mixed = q @ weight[:, j].T
        total = mixed if total is None else total + mixed
    assert total is not None
    return total


def invariants(f: Tensor) -> Tensor:
    """One scalar per set partition of the axes of F, per channel: the sum of the entries with equated axes.

    The plain sum comes first, the full diagonal last; shape (Bell(k) * channels,).

    Example:
        >>> invariants(torch.arange(4.0).reshape(2, 2, 1)).tolist()  # the sum of all entries, and of the diagonal
        [6.0, 3.0]
    """
    k = f.ndim - 1
    words = []
    for partition in list(set_partitions(range(k)))[::-1]:
        letter = {axis: ascii_letters[i] for i, block in enumerate(partition) for axis in block}
        words.append("".join(letter[a] for a in range(k)))
    return torch.cat([torch.einsum(f"{word}Z->Z", f) for word in words])


def activations(net: CCN, graph: Graph) -> list[list[Child]]:
    """The activations of a network on one graph, level by level, node by node (normalisation and dropout off).

    Example:
        >>> import ccn
        >>> net = ccn.CCN(in_features=1, out_features=1, channels=4)
        >>> levels = activations(net, ccn.Graph([(0, 1), (1, 2)], n=3))
        >>> [tuple(node.activation.shape) for node in levels[1]]  # parts of 2, 3 and 2 atoms
        [(2, 2, 4), (3, 3, 4), (2, 2, 4)]
    """
    g = as_graph(graph)
    dtype = net.embedding.weight.dtype
    generator: Any = net.scheme
    scheme = generator(g)
    a = [c.dense(g, dtype) for c in net.adjacency_channels]
    matrix = torch.cat(a) if a else torch.zeros(0, g.n, g.n, dtype=dtype)
    leaf = net.embedding(g.features.to(dtype))
    leaf = net.nonlinearity(leaf) if net.activates_embedding else leaf
    done: dict[int, Child] = {}
    levels = []
    for number, nodes in enumerate(scheme.levels):
        for node in nodes:
            part, anchor = scheme.parts[node], scheme.anchors[node]
            if number == 0:
                f = leaf[part[0]].reshape(*[1] * net.orders[0], -1)
            else:
                layer = net.layers[number - 1]
                weight, weight_free, weight_related = layer.expanded()
                f = aggregate(
                    part,
                    [done[c] for c in scheme.children[node]],
                    weight,
                    layer.bias,
                    layer.contractions,
                    matrix[:, part][:, :, part],
                    own=[done[c] for c in former_selves(generator, scheme, node)],
                    weight_free=weight_free,
                    contractions_free=layer.contractions_free,
                    weight_related=[] if weight_related is None else list(weight_related),
                    relations=layer.relations,
                    nonlinearity=layer.nonlinearity,
                )
            done[node] = Child(part, f, anchor)
        levels.append([done[node] for node in nodes])
    return levels


def root(net: CCN, graph: Graph) -> Tensor:
    """The activation of the root, (channels,): the same rule over all vertices, to order 0.

    Example:
        >>> import ccn
        >>> net = ccn.CCN(in_features=1, out_features=1, channels=4, readout="root")
        >>> root(net, ccn.Graph([(0, 1), (1, 2)], n=3)).ndim
        1
    """
    g = as_graph(graph)
    scheme, layer, dtype = net.scheme(g), net.root, net.embedding.weight.dtype
    assert layer is not None
    weight, weight_free, _ = layer.expanded()
    nodes, found = (list(chain(*levels)) for levels in (scheme.levels, activations(net, g)))
    done: dict[int, Child] = dict(zip(nodes, found, strict=True))
    a = [c.dense(g, dtype) for c in net.adjacency_channels]
    return aggregate(
        range(g.n),
        [done[c] for c in scheme.children[scheme.root] or [scheme.root]],
        weight,
        layer.bias,
        layer.contractions,
        torch.cat(a) if a else None,
        weight_free=weight_free,
        contractions_free=layer.contractions_free,
        nonlinearity=layer.nonlinearity,
    )


def entry(node: Child, atoms: Sequence[int]) -> Tensor:
    """``F[atoms]``, (channels,), where the node's part holds all of them, else 0."""
    if not set(atoms) <= set(node.part):
        return node.activation.new_zeros(node.activation.shape[-1])
    return node.activation[tuple(list(node.part).index(v) for v in atoms)]


def vertex_rows(net: CCN, graph: Graph) -> list[list[Tensor]]:
    """For every vertex what ``readout="vertex"`` reads of each level: see :mod:`ccn.layers.readout`.

    Example:
        >>> import ccn
        >>> net = ccn.CCN(in_features=1, out_features=1, channels=4, readout="vertex")
        >>> len(vertex_rows(net, ccn.Graph([(0, 1), (1, 2)], n=3)))
        3
    """
    rows = []
    for v in range(graph.n):
        of_levels = []
        for number, level in enumerate(activations(net, graph)):
            k, nothing = net.orders[number], torch.zeros_like(level[0].activation).sum()
            own = (invariants(node.activation) for node in level if node.anchor == v)
            held = (entry(node, [v] * k) for node in level if v in node.part)
            there = sum(held, start=nothing.expand(net.channels[number]))
            anchored = sum(own, start=nothing.expand(bell(k) * net.channels[number]))
            of_levels.append(torch.cat([anchored, there]) if number else there)
        rows.append(of_levels)
    return rows


def edge_rows(net: CCN, graph: Graph) -> list[list[Tensor]]:
    """For every edge what ``readout="edge"`` reads of each level.

    Example:
        >>> import ccn
        >>> net = ccn.CCN(in_features=1, out_features=1, channels=4, readout="edge")
        >>> len(edge_rows(net, ccn.Graph([(0, 1), (1, 2)], n=3)))
        2
    """
    vertices, levels, rows = vertex_rows(net, graph), activations(net, graph), []
    for i, j in graph.edges.tolist():
        of_levels = []
        for number, (level, x, y) in enumerate(zip(levels, vertices[i], vertices[j], strict=True)):
            parts = [x, y] if net.matrix_class.directed else [x + y]
            holders = [node for node in level if i in node.part and j in node.part]
            zero = level[0].activation.new_zeros(net.channels[number])
            for word in product((0, 1), repeat=net.orders[number]) if number else ():
                other = tuple(1 - e for e in word)
                words = {word, other} if word and not net.matrix_class.directed else [word]
                if list(word) <= list(other) or net.matrix_class.directed:
                    found = (entry(node, [(i, j)[e] for e in w]) for w in words for node in holders)
                    parts.append(sum(found, start=zero))
            of_levels.append(torch.cat(parts))
        rows.append(of_levels)
    return rows


def forward(net: CCN, graphs: Sequence[Graph]) -> Tensor:
    """The output of a network: (graphs, out_features), or one row per vertex or edge of all graphs.

    Example:
        >>> import ccn
        >>> net, g = ccn.CCN(in_features=1, out_features=1, channels=4).eval(), ccn.Graph([(0, 1), (1, 2)], n=3)
        >>> torch.allclose(forward(net, [g]), net([g]), atol=1e-6)
        True
    """
    readout, rows = net.readout, []
    if readout.kind == "root":
        return net.read(torch.stack([root(net, g) for g in graphs]), graphs)
    for g in graphs:
        if readout.kind == "sums":
            nodes = [
                [node.activation.reshape(-1, node.activation.shape[-1]).sum(0) for node in level]
                for level in activations(net, g)
            ]
            of = [[torch.stack([net.nonlinearity(f) for f in level]).sum(0) for level in nodes]]
        elif readout.kind == "invariants":
            of = [
                [torch.stack([invariants(node.activation) for node in level]).sum(0) for level in activations(net, g)]
            ]
        else:
            of = vertex_rows(net, g) if readout.kind == "vertex" else edge_rows(net, g)
        for levels in of:
            read = zip(readout.chosen, readout.widths, strict=True)
            rows.append(torch.cat([levels[i] if i < len(levels) else levels[0].new_zeros(w) for i, w in read]))
    empty = net.embedding.weight.new_zeros(0, sum(readout.widths))
    return net.read(torch.stack(rows) if rows else empty, graphs)
