"""Covariant aggregation as a module: the rule of the paper for all nodes of a level at once.

The six steps stand in :func:`ccn.reference.aggregate`, literally. This layer owns what is learned,
``weight`` (out, contractions, in), ``bias`` (out,) and, on request or where children have no anchor
at all, ``weight_free``; the engine computes the same result packed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from math import sqrt
from typing import Any, Literal, cast

import numpy as np
import torch
from torch import Tensor, nn

from ccn.algebra.contractions import (
    PRESETS,
    Contraction,
    EquivariantMap,
    MatrixClass,
    Source,
    adjacency_maps,
    bell,
    equivariant_maps,
    preset,
    unstacked,
)  # fmt: skip
from ccn.engine.aggregate import (
    aggregate,
    children_of,
    dense_maps,
    invariants,
    prepare,
    prepare_children,
)
from ccn.engine.matrices import Matrices
from ccn.engine.plan import Map, Plan, is_dense, plan
from ccn.engine.torch_form import over_graphs, prepare_scalars, scalars
from ccn.errors import ConfigurationError
from ccn.graphs.ragged import ranges
from ccn.layers.initialisation import scales
from ccn.layers.normalisation import normalisation
from ccn.schemes.packed import RELATIONS, Level, Nodes

__all__ = ["NONLINEARITIES", "Activation", "Adjacency", "Aggregation", "Choice", "list_maps", "pointwise"]


@dataclass(frozen=True)
class Activation:
    """P-tensors of one order and number of channels, one per node of a level.

    ``data`` has shape (sum over nodes of m^order, channels): nodes in order of part size, each tensor
    with its last axis slowest. :meth:`node` gives one of them as a plain array. ``totals`` are the invariants summed
    over each graph, where they were computed in the same pass.

    Example:
        >>> import ccn
        >>> f = ccn.CCN(in_features=1, out_features=1, channels=4).activations([ccn.Graph([(0, 1), (1, 2)], n=3)])[1]
        >>> f.part(0), f.node(0).shape  # vertex 0 and its neighbour: a tensor of order 2 with 4 channels
        ([0, 1], torch.Size([2, 2, 4]))
    """

    data: Tensor
    nodes: Nodes
    order: int
    totals: Tensor | None = None

    @property
    def channels(self) -> int:
        return int(self.data.shape[1])

    def __len__(self) -> int:
        return len(self.nodes)

    def __repr__(self) -> str:
        return f"Activation(nodes={len(self)}, order={self.order}, channels={self.channels})"

    def _storage(self, v: int) -> int:
        if not 0 <= v < len(self):
            raise ConfigurationError(f"node {v} does not exist at this level; its nodes are 0..{len(self) - 1}")
        return int(self.nodes.storage[v])

    def node(self, v: int) -> Tensor:
        """The tensor of node v of this level, numbered through the batch: shape (m, .., m, channels)."""
        s = self._storage(v)
        start = self.nodes.row_start(self.order)
        rows = self.data[int(start[s]) : int(start[s + 1])]
        m = int(self.nodes.size[s])
        return rows.view(*[m] * self.order, self.channels).permute(*reversed(range(self.order)), self.order)

    def part(self, v: int) -> list[int]:
        """The ordered atoms of node v, in batch numbers."""
        s = self._storage(v)
        return [int(a) for a in self.nodes.parts[self.nodes.start[s] : self.nodes.start[s + 1]]]

    @cached_property
    def invariants(self) -> Tensor:
        """(nodes, Bell(order) * channels) in storage order: one scalar per set partition of the axes."""
        return invariants(self.data, self.nodes, self.order)

    def per_graph(self, graphs: int) -> Tensor:
        """The invariants summed over the nodes of each graph."""
        if self.totals is not None:
            return self.totals
        if len(self.data) == len(self.nodes):  # one entry each, which is every invariant of its tensor
            return over_graphs(self.data, self.nodes, graphs).repeat(1, bell(self.order))
        return over_graphs(self.invariants, self.nodes, graphs)

    def per_atom(self, atoms: int) -> Tensor:
        """The invariants of the nodes anchored at each atom, added up; zero where there is none."""
        anchor, kept, device = self.nodes.anchor, self.nodes.cached, self.data.device
        chosen = self.invariants[kept.on(device, "anchored", lambda: np.flatnonzero(anchor >= 0))]
        index = kept.on(device, "anchors", lambda: anchor[anchor >= 0])
        return chosen.new_zeros(atoms, chosen.shape[1]).index_add(0, index, chosen)


Adjacency = bool | Literal["both"]
Choice = str | Sequence[Map | str]

NONLINEARITIES: dict[str, Callable[[Tensor], Tensor]] = {
    "relu": torch.relu,
    "elu": nn.functional.elu,
    "gelu": nn.functional.gelu,
    "leaky_relu": nn.functional.leaky_relu,
    "silu": nn.functional.silu,
    "softplus": nn.functional.softplus,
    "tanh": torch.tanh,
    "identity": nn.Identity(),
}


def _own(k: int, k_out: int) -> Map:
    """The node's own activation as order k': surplus trailing axes summed, missing ones spread along."""
    if k_out <= k:
        return Contraction(tuple(range(k_out)), tuple((a,) for a in range(k_out, k)), "own")
    return EquivariantMap(k, k_out, (*((a, k + a) for a in range(k)), *((k + a,) for a in range(k, k_out))), "own")


def list_maps(
    choice: Choice,
    k: int,
    k_out: int,
    *,
    stacked: bool = True,
    adjacency: Adjacency = True,
    classes: Sequence[MatrixClass] = (MatrixClass(),),
    self_product: bool = False,
    own: bool = False,
) -> tuple[Map, ...]:
    """The Q's of a layer, in the order of ``weight``: of T, of T (x) A channel by channel, last the node's own.

    ``choice`` is a preset or a list of contractions, also as the strings that they print. A listed contraction that
    does not say what it contracts is taken by its order, and one of T (x) A then, as a string always, for every channel
    of A. With ``stacked=False`` the same for U, the
    sum of the children without an anchor, which lacks the stacking axis; the list may then be empty.

    Example:
        >>> len(list_maps("distinct", 2, 2)), len(list_maps("distinct", 2, 2, adjacency="both"))
        (26, 29)
    """
    if isinstance(choice, str) and "->" in choice:
        choice = [choice]
    if self_product and k > 2:
        raise ConfigurationError(f"self_product=True is offered for orders 0 to 2, not {k}")
    copies = 2 if self_product else 1
    tensor, n = ("T" if stacked else "U") * copies, (k + stacked) * copies
    wanted: list[tuple[Source, int, int, MatrixClass]] = []  # source, order, channel, class of A
    if adjacency is not True:
        wanted.append((cast(Source, tensor), n, 0, MatrixClass()))
    if adjacency:
        wanted += [(cast(Source, f"{tensor}A"), n + 2, c, matrix) for c, matrix in enumerate(classes)]
    maps: list[Map] = []
    if choice == "complete" and not self_product:
        if adjacency and k > 2:
            raise ConfigurationError(f"contractions='complete' with A is offered for orders 0 to 2, not {k}")
        for source, order, channel, matrix in wanted:
            if source in ("T", "U"):
                maps += equivariant_maps(order, k_out, source)
            else:
                maps += adjacency_maps(order, k_out, source, matrix, channel)
    elif isinstance(choice, str):
        for source, order, channel, matrix in wanted:
            maps += preset(choice, order, k_out, source, matrix, channel) if k_out <= order else ()
    else:
        for c in choice:
            maps += _listed(c, k_out, wanted, own)
    if not maps and stacked:
        if not isinstance(choice, str) and not choice:
            raise ConfigurationError("contractions=[]: list at least one, or name a preset")
        if not wanted:
            raise ConfigurationError("adjacency_channels=[]: give at least one channel of A, or pass adjacency=False")
        raise ConfigurationError(
            f"no contraction takes order {' or '.join(sorted({str(w[1]) for w in wanted}))} to order {k_out}: "
            "an order may grow by one from level to level without A and by three with it"
        )
    return (*maps, _own(k, k_out)) if own else tuple(maps)


def _parsed(text: str) -> Map:
    """The contraction that a text means, or the equivariant map that is none, such as an elementwise product."""
    try:
        return Contraction.parse(text)
    except ConfigurationError:
        with suppress(ConfigurationError):
            return EquivariantMap.parse(text)
        raise


def _listed(c: Map | str, k_out: int, wanted: Sequence[tuple[Source, int, int, MatrixClass]], own: bool) -> list[Map]:
    """A contraction of a user's list as those of the layer: one, or one per channel of A."""
    if own and (c.startswith("own ") if isinstance(c, str) else getattr(c, "source", None) == "own"):
        return []  # it is added at the end
    any_channel = isinstance(c, str)
    c = _parsed(c) if isinstance(c, str) else c
    if not isinstance(c, Contraction | EquivariantMap):
        raise ConfigurationError(f"contractions lists {c!r}, which is not a ccn.Contraction or its einsum")
    stated = c.source != "H"
    found: list[Map] = [
        replace(c, source=source, channel=channel)
        for source, order, channel, _ in wanted
        if (c.order_in, c.order_out) == (order, k_out)
        and (not stated or (c.source == source and (any_channel or c.channel == channel)))
    ]
    if not found:
        needed = " or ".join(dict.fromkeys(f"{source} of order {order} to {k_out}" for source, order, _, _ in wanted))
        detail = f" of {c.source}, channel {c.channel}," if stated else ""
        raise ConfigurationError(
            f"contraction {c}{detail} takes order {c.order_in} to {c.order_out}; this layer needs {needed}"
        )
    return found


class Aggregation(nn.Module):
    """One covariant layer, from order k and ``in_channels`` to order k' and ``out_channels``.

    Attributes:
        contractions: the Q's, in the order of the second axis of ``weight``.
        weight: (out, len(contractions), in).
        weight_free: the same for children without an anchor in the part along ``contractions_free``, or None. Where
            contractions are listed one by one, those of such children are all distinct ones.
        bias: (out,).

    Children without an anchor in the part have no place on the stacking axis. With ``free="shared"`` their sum U enters
    the contractions that sum over the stack, with the same slice of ``weight``, and no other; ``free=True`` gives U a
    ``weight_free`` of its own, by which the layer sees which children these are.

    Siblings without an anchor have no order among each other, but they are related: rings share atoms, or are bonded.
    For each of ``relations``, a matrix R over such siblings c and d, ``sum_c r_c F~_c`` with ``r_c = sum_d R[c, d]``
    enters like U, with a weight of its own: ``weight_related`` (relations, out, contractions of U, in).

    With a ``rank`` mixing factors over contractions and channels. Then W is not free: of every output channel o the
    matrix W[o] (contractions, in) has at most this rank,

        W[o, j, i] = sum_r weight[o, j, r] basis[r, o, i],

    with ``weight`` (out, contractions, rank) and ``basis`` (rank, out, in), which the weights of U and of relations
    share. The channels are mixed once for all contractions, at the child, and each contraction only weighs them: that
    is cheaper where layers are wide, and has fewer parameters. With rank ``in`` it can be any W. :meth:`expanded`
    writes W out.

    ``level`` is the level of its nodes, by which its weights are drawn; with ``root`` they are the roots above level
    ``level - 1``.

    See Also:
        :func:`ccn.reference.aggregate`: the rule itself. :class:`ccn.CCN`: the network.

    Example:
        >>> layer = Aggregation(8, 16, order=2, contractions=["abx,xy->ab"])
        >>> layer.weight.shape, [str(c) for c in layer.contractions]
        (torch.Size([16, 1, 8]), ['abx,xy->ab'])
    """

    weight_free: nn.Parameter | None
    weight_related: nn.Parameter | None
    basis: nn.Parameter | None

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        order: int = 2,
        order_out: int | None = None,
        *,
        contractions: Choice = "distinct",
        adjacency: Adjacency = True,
        own: bool = False,
        self_product: bool = False,
        classes: Sequence[MatrixClass] = (MatrixClass(),),
        free: bool | Literal["shared"] = False,
        relations: Sequence[str] = (),
        rank: int | None = None,
        nonlinearity: str | Callable[[Tensor], Tensor] = "relu",
        norm: str | None = None,
        dropout: float = 0.0,
        level: int = 1,
        root: bool = False,
    ) -> None:
        super().__init__()
        self.level, self.at_root = level, root
        self.order, self.order_out = order, order if order_out is None else order_out
        self.in_channels, self.out_channels = in_channels, out_channels
        self.self_product, self.classes = self_product, tuple(classes)
        self._plans: dict[bool, Plan] = {}
        self.nonlinearity = pointwise(nonlinearity)
        free_choice = contractions if contractions in PRESETS else "distinct"
        options = {"adjacency": adjacency, "classes": self.classes, "self_product": self_product}
        self.contractions = list_maps(contractions, order, self.order_out, own=own, **options)  # type: ignore[arg-type]
        if rank is not None and rank < 1:
            raise ConfigurationError(f"rank={rank}: it must be at least 1, or None for a W that does not factor")
        self.rank, width = rank, rank or in_channels
        self.weight = nn.Parameter(torch.empty(out_channels, len(self.contractions), width))
        self.bias = nn.Parameter(torch.zeros(out_channels))
        self.contractions_free: tuple[Map, ...] = ()
        self.shared: tuple[int, ...] = ()  # of the contractions of T, those that those of U share weights with
        if free == "shared":
            of_u = [(i, u) for i, c in enumerate(self.contractions) if (u := unstacked(c, order)) is not None]
            self.shared, self.contractions_free = tuple(i for i, _ in of_u), tuple(u for _, u in of_u)
        elif free:
            self.contractions_free = list_maps(free_choice, order, self.order_out, stacked=False, **options)  # type: ignore[arg-type]
        self.shares_weight = free == "shared"
        weights = torch.empty(out_channels, len(self.contractions_free), width)
        self.register_parameter("weight_free", nn.Parameter(weights) if free and not self.shares_weight else None)
        self.dense = any(is_dense(c) for c in (*self.contractions, *self.contractions_free))
        self.relations = tuple(relations) if free else ()
        if wrong := set(relations) - set(RELATIONS):
            raise ConfigurationError(f"relations={relations}: {wrong.pop()!r} is not one of {', '.join(RELATIONS)}")
        of_related = torch.empty(len(self.relations), *weights.shape)
        self.register_parameter("weight_related", nn.Parameter(of_related) if self.relations else None)
        basis = None if rank is None else nn.Parameter(torch.empty(rank, out_channels, in_channels))
        self.register_parameter("basis", basis)
        self.norm = normalisation(norm, out_channels)
        if not 0 <= dropout < 1:
            raise ConfigurationError(f"dropout={dropout}: it must be at least 0 and less than 1")
        self.dropout = dropout
        self.reset_parameters()

    def scales(self, maps: tuple[Map, ...]) -> tuple[float, ...]:
        """What each of these Q's sums, where this layer stands in a network (:mod:`ccn.layers.initialisation`)."""
        return scales(maps, self.order, self.order_out, self.classes, self.level, self.at_root)

    def strengths(self) -> Tensor:
        """(contractions,) how strongly each enters the output: ``s_j |W_j|``, with s_j the RMS of what it sums."""
        scale = self.weight.new_tensor([s if s > 0 else 0.0 for s in self.scales(self.contractions)])
        weight, _, _ = self.expanded()
        found: Tensor = scale * torch.linalg.vector_norm(weight.transpose(0, 1).flatten(1), dim=1)
        return found

    def expanded(self) -> tuple[Tensor, Tensor | None, Tensor | None]:
        """``weight``, ``weight_free`` and ``weight_related`` as (.., out, contractions, in), whatever the rank.

        Example:
            >>> layer = Aggregation(8, 16, order=1, rank=2)
            >>> layer.weight.shape, layer.expanded()[0].shape
            (torch.Size([16, 9, 2]), torch.Size([16, 9, 8]))
        """
        weight, free, related = (
            w if w is None or self.basis is None else torch.einsum("...ojr,roi->...oji", w, self.basis)
            for w in (self.weight, self.weight_free, self.weight_related)
        )
        assert weight is not None
        return weight, free, related

    def reset_parameters(self) -> None:
        """Draw the weights: normal, with each contraction scaled to what it sums.

        A contraction adds up to m^3 terms and A adds more. Its weights are divided by the RMS of its
        result for children of all ones at this level of a fixed reference graph, so that every
        contraction enters with the same strength and activations keep theirs from level to level. The
        bias is small but not zero: without it a ReLU network is homogeneous, and a sum over entries
        could not tell 1 + 1 from 2.
        """
        for weight, maps in ((self.weight, self.contractions), (self.weight_free, self.contractions_free)):
            if weight is not None and maps:
                scale = self.scales(maps)
                live = sum(s > 0 for s in scale)
                spread = [[1 / s if s > 0 else 1.0] for s in scale]
                with torch.no_grad():
                    nn.init.normal_(weight, std=sqrt(2 / (max(1, live) * weight.shape[2])))
                    weight.mul_(weight.new_tensor(spread))
        nn.init.normal_(self.bias, std=0.1)
        if self.weight_related is not None:
            nn.init.normal_(self.weight_related, std=0.1 / sqrt(self.weight_related.shape[3]))
        if self.basis is not None:
            nn.init.normal_(self.basis, std=1 / sqrt(self.in_channels))

    def linear(
        self,
        f: Tensor,
        level: Level,
        matrices: Matrices,
        relu: bool = False,
        keep: bool = True,
        graphs: int | None = None,
        affine: tuple[Tensor, Tensor] | None = None,
    ) -> tuple[Tensor, Tensor | None]:
        """Steps 1 to 6 without the nonlinearity (or with a ReLU, fused): packed rows and, if at hand, invariants."""
        f = children_of(level, f, self.order)
        if self.dense:
            return self._dense(f, level, matrices), None
        weights = self.expanded() if self.at_root else (self.weight, self.weight_free, self.weight_related)
        weight, free, related = weights
        if self.contractions_free:
            free = weight[:, list(self.shared)] if free is None else free
            weight = torch.cat([weight, free], dim=1)
        bias: Tensor = self.bias
        if affine is not None:
            scale, shift = affine
            weight, bias = weight * scale[:, None, None], bias * scale + shift
        if self.at_root:
            q = scalars(f, self.plan(level), level, matrices)
            y = q.flatten(1) @ weight.flatten(1).T + bias
            return (y.relu() if relu else y), None
        if related is None:
            return aggregate(f, weight, bias, self.plan(level), level, matrices, relu, keep, graphs, self.basis)
        y, _ = aggregate(f, weight, bias, self.plan(level), level, matrices, basis=self.basis)
        if len(level.free):
            y = y + self._related(f, related, level, matrices, None if affine is None else affine[0])
        return (y.relu() if relu else y), None

    def _related(self, f: Tensor, weights: Tensor, level: Level, matrices: Matrices, scale: Tensor | None) -> Tensor:
        """What children bring that are weighed by how they are related to their siblings."""
        entries = matrices.batch.entries
        copies, order = level.copies
        found = level.cached("related", lambda: level.related(entries))
        size, child = copies.below.size**self.order, level.free.child[order]
        index = torch.from_numpy(ranges(level.below.row_start(self.order)[:-1][child], size)).to(f.device)
        rows, of_u = f.index_select(0, index), plan(self.contractions_free, self.order, self.order_out, self.classes)
        each = []
        for name, weight in zip(self.relations, weights, strict=True):
            r = torch.from_numpy(np.repeat(found[name][order], size)).to(f)[:, None]
            used = weight if scale is None else weight * scale[:, None, None]
            none = torch.zeros_like(self.bias)
            each.append(aggregate(rows * r, used, none, of_u, copies, matrices, basis=self.basis)[0])
        return torch.stack(each).sum(0)

    def preactivation(self, f: Tensor, level: Level, matrices: Matrices) -> Tensor:
        """What the nonlinearity is applied to, (rows, out); outside of training it is affine in f and in A."""
        affine = self._affine()
        data, _ = self.linear(f, level, matrices, affine=affine)
        return data if self.norm is None or affine is not None else self.norm(data)

    def _affine(self) -> tuple[Tensor, Tensor] | None:
        """Batch normalisation outside of training as a factor and a summand per channel, for weights and bias."""
        norm = self.norm
        if not self._folds:
            return None
        assert isinstance(norm, nn.BatchNorm1d)
        assert norm.running_mean is not None
        assert norm.running_var is not None
        scale = norm.weight * torch.rsqrt(norm.running_var + norm.eps)
        return scale, norm.bias - norm.running_mean * scale

    def prepare(self, level: Level, matrices: Matrices) -> int:
        """Build what this layer needs on a level, which keeps it; returns its bytes."""
        cut = prepare_children(level, self.order, matrices.batch.device)
        if self.dense:
            return cut
        return cut + (prepare_scalars if self.at_root else prepare)(self.plan(level), level, matrices)

    def plan(self, level: Level) -> Plan:
        """The plan of this layer on a level; it prints as the steps that are computed."""
        if level.of_atoms not in self._plans:
            maps = (*self.contractions, *self.contractions_free)
            self._plans[level.of_atoms] = plan(maps, self.order, self.order_out, self.classes, level.of_atoms)
        return self._plans[level.of_atoms]

    def __getstate__(self) -> dict[str, Any]:
        """What is copied and pickled: plans can be made again."""
        return {**self.__dict__, "_plans": {}}

    def _dense(self, f: Tensor, level: Level, matrices: Matrices) -> Tensor:
        """The same for maps that no plan has."""
        out: Tensor = self.bias
        of_t, of_u, _ = self.expanded()
        for weight, maps in ((of_t, self.contractions), (of_u, self.contractions_free)):
            if weight is not None:
                q = dense_maps(f, maps, self.order, self.order_out, level, matrices, self.shares_weight)
                out = out + torch.einsum("rqi,oqi->ro", q, weight)
        return out

    @property
    def _folds(self) -> bool:
        """Whether normalisation is a factor and a summand per channel."""
        norm = self.norm
        folds = isinstance(norm, nn.BatchNorm1d) and not norm.training and norm.running_var is not None
        return folds and not self.dense

    @property
    def _fused(self) -> bool:
        """Whether the engine applies the nonlinearity too."""
        return self.nonlinearity is torch.relu and (self.norm is None or self._folds) and not self.dense

    @property
    def reads_out(self) -> bool:
        """Whether invariants are computed in the pass that computes activations, which then need not be stored."""
        dropped = self.training and self.dropout > 0
        return self._fused and not dropped and not self.at_root and self.weight_related is None

    def forward(
        self, f: Tensor, level: Level, matrices: Matrices, keep: bool = True, graphs: int | None = None
    ) -> Activation:
        """The activation of a level from the packed activations of the nodes below it.

        Without ``keep`` it is wanted for its invariants only, and its data need not be there; with a number of
        ``graphs`` for those summed over each of them.
        """
        affine = self._affine()
        normed = self.norm is None or affine is not None
        fused, direct, dropped = self._fused, self.reads_out, self.training and self.dropout > 0
        data, found = self.linear(f, level, matrices, fused, keep or not direct, graphs if direct else None, affine)
        if not fused:
            data = self.nonlinearity(data if self.norm is None or normed else self.norm(data))
        if dropped:
            data = self._drop(data, level)
        activation = Activation(data, level.nodes, self.order_out, found if direct and graphs is not None else None)
        if direct and graphs is None:
            activation.__dict__["invariants"] = found  # computed in the same pass
        return activation

    def _drop(self, data: Tensor, level: Level) -> Tensor:
        """Dropout of channels of nodes: one draw for all entries of a tensor keeps it covariant."""
        keep = torch.rand(len(level.nodes), data.shape[1], dtype=data.dtype, device=data.device) >= self.dropout
        nodes = level.nodes
        rows = nodes.cached.on(data.device, ("rows", self.order_out), lambda: nodes.size**self.order_out)
        kept = torch.repeat_interleave(keep / (1 - self.dropout), rows, dim=0, output_size=len(data))
        return data * kept.to(data.dtype)

    def extra_repr(self) -> str:
        free = f", free={len(self.contractions_free)}" if self.weight_free is not None else ""
        rank = f", rank={self.rank}" if self.rank is not None else ""
        return (
            f"order {self.order} -> {self.order_out}, channels {self.in_channels} -> {self.out_channels}, "
            f"contractions={len(self.contractions)}{free}{rank}"
        )


def pointwise(choice: str | Callable[[Tensor], Tensor]) -> Callable[[Tensor], Tensor]:
    """The nonlinearity of this name, or the function itself."""
    if callable(choice):
        return torch.relu if isinstance(choice, nn.ReLU) or choice is nn.functional.relu else choice
    if not isinstance(choice, str) or choice not in NONLINEARITIES:
        raise ConfigurationError(
            f"nonlinearity={choice!r} is not known; choose one of {', '.join(NONLINEARITIES)} or a function"
        )
    return NONLINEARITIES[choice]
