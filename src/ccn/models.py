"""The network: vertex features in, covariant levels, invariants of every level, a small MLP."""

from __future__ import annotations

import operator
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor, nn

from ccn.algebra.contractions import PRESETS, Contraction, MatrixClass, bell
from ccn.engine.aggregate import prepare
from ccn.engine.matrices import Matrices
from ccn.engine.memory import check_memory, warn_of_work
from ccn.errors import ConfigurationError, GraphError, SchemeError
from ccn.graphs.adjacency import AdjacencyChannel, Normalised, Power, Weights
from ccn.graphs.graph import Batch, batch
from ccn.graphs.ragged import Int
from ccn.layers.aggregation import Activation, Adjacency, Aggregation, Choice
from ccn.layers.initialisation import readout_scales
from ccn.layers.normalisation import RobustScale, normalisation
from ccn.schemes.generators import Neighbourhoods, composition, has_free_children
from ccn.schemes.packed import Composition, Level, Nodes
from ccn.schemes.scheme import SchemeGenerator

__all__ = ["CCN"]


class CCN(nn.Module):
    """A covariant compositional network.

    Level 0 holds the embedded vertex features as tensors of shape (1, .., 1, channels). Every further
    level aggregates the one below by the six steps of :func:`ccn.reference.aggregate`. The root reads
    the invariants of all nodes of all levels, summed per graph, through an MLP with one hidden layer.

    Order 0 without the adjacency product is sum aggregation: never finer than 1-WL, and strictly coarser on
    labelled graphs; with ``own=True`` 1-WL is an instance. Higher orders, and the adjacency product, see more.

    Args:
        in_features: width of the vertex features.
        out_features: width of the output.
        order: order of the activations; one number, or one per level 0..levels.
        levels: number of levels above the vertices.
        channels: channels of the activations; one number, or one per level 0..levels.
        contractions: ``distinct``, ``all``, ``paper10``, ``complete`` (without A), or a list of
            :class:`ccn.Contraction` or of the strings that they print, such as ``"abx,xy->ab"``; for all levels,
            or a list with one choice per level. By default ``distinct``, and ``paper10`` (projections only) with
            ``self_product``.
        adjacency: multiply T by A (True), not (False), or use both families (``"both"``); for all levels or
            a list with one choice per level.
        own: also read the node's own activation of the level below, as the last contraction.
        directed, self_loops: what the graphs' A may be; decides which contractions are redundant.
        scheme: a function from a graph to its :class:`ccn.Scheme`.
        adjacency_channels: the matrices that stand for A; see :mod:`ccn.graphs.adjacency`.
        self_product: use T (x) T in place of T (needs ``adjacency=False``).
        nonlinearity: a name or a pointwise function.
        norm: None, ``"batch"`` or ``"layer"``; both keep covariance.
        dropout: probability of dropping a channel of a node, while training.
        hidden: width of the MLP's hidden layer, or of each of several.
        head_norm: None, ``"batch"`` or ``"layer"``: normalises the invariants that the MLP reads and its hidden layers.
        head_dropout: probability of dropping a hidden unit of the MLP, while training.
        graph_features: number of features of the graph as a whole (:attr:`ccn.Batch.graph_features`) that the MLP reads
            beside the invariants: scaled by :class:`ccn.layers.RobustScale`, which is to be fitted, and dropped like
            hidden units.

    Example:
        >>> import ccn
        >>> net = ccn.CCN(in_features=1, out_features=1, channels=4)
        >>> net([ccn.Graph([(0, 1), (1, 2)], n=3), ccn.Graph([], n=1)]).shape
        torch.Size([2, 1])
    """

    layers: Sequence[Aggregation]
    head: nn.Sequential

    def __init__(
        self,
        in_features: int,
        out_features: int = 1,
        order: int | Sequence[int] = 2,
        levels: int = 2,
        channels: int | Sequence[int] = 16,
        contractions: Choice | Sequence[Choice] | None = None,
        adjacency: Adjacency | Sequence[Adjacency] = True,
        own: bool = False,
        directed: bool = False,
        self_loops: bool = False,
        scheme: SchemeGenerator = Neighbourhoods(),  # noqa: B008 (frozen)
        *,
        adjacency_channels: Sequence[AdjacencyChannel] = (Weights(),),
        self_product: bool = False,
        nonlinearity: str | Callable[[Tensor], Tensor] = "relu",
        norm: str | None = None,
        dropout: float = 0.0,
        hidden: int | Sequence[int] = 64,
        head_norm: str | None = None,
        head_dropout: float = 0.0,
        graph_features: int = 0,
    ) -> None:
        super().__init__()
        in_features, out_features = _integer("in_features", in_features, 1), _integer("out_features", out_features, 1)
        levels = _integer("levels", levels, 0)
        if not callable(scheme):
            raise ConfigurationError(f"scheme={scheme!r}: give a function from a graph to its ccn.Scheme")
        if not isinstance(adjacency_channels, Sequence):
            adjacency_channels = (adjacency_channels,)
        self.in_features, self.levels = in_features, levels
        self.graph_features = _integer("graph_features", graph_features, 0)
        self.orders = _per_level("order", order, levels + 1, least=0)
        self.channels = _per_level("channels", channels, levels + 1, least=1)
        self.matrix_class = MatrixClass(directed, self_loops)
        self.adjacency_channels = tuple(adjacency_channels)
        classes = [c.matrix_class(self.matrix_class) for c in self.adjacency_channels for _ in range(c.width)]
        if isinstance(scheme, Neighbourhoods) and scheme.levels is None:
            scheme = replace(scheme, levels=levels)
        self.scheme = scheme
        if contractions is None:
            contractions = "paper10" if self_product else "distinct"
        self.embedding = nn.Linear(in_features, self.channels[0])
        # Between one-hot features (one term) and dense ones (in_features terms).
        nn.init.normal_(self.embedding.weight, std=in_features**-0.25)
        nn.init.zeros_(self.embedding.bias)
        if not isinstance(contractions, Iterable):
            raise ConfigurationError(f"contractions={contractions!r}: name a preset or list them")
        if not isinstance(contractions, str) and all(
            isinstance(c, Contraction) or (isinstance(c, str) and c not in PRESETS) for c in contractions
        ):
            contractions = [contractions] * levels  # type: ignore[assignment]  # one choice for all levels
        choices = _per_level("contractions", contractions, levels)
        products: list[Adjacency] = _per_level("adjacency", adjacency, levels)
        for product in products:
            if product is not True and product is not False and product != "both":
                raise ConfigurationError(f"adjacency={product!r}: choose True, False or 'both'")
        own_kinds = all(isinstance(c, Normalised | Power | Weights) for c in self.adjacency_channels)
        self._ignores_edges = own_kinds or not any(products)  # until said once
        self.layers = nn.ModuleList(  # type: ignore[assignment]
            Aggregation(
                self.channels[i],
                self.channels[i + 1],
                self.orders[i],
                self.orders[i + 1],
                contractions=choices[i],
                adjacency=products[i],
                own=own,
                self_product=self_product,
                classes=classes,
                free=has_free_children(scheme, i + 1),
                nonlinearity=nonlinearity,
                norm=norm,
                dropout=dropout,
                level=i + 1,
            )
            for i in range(levels)
        )
        self.readout_widths = [bell(k) * c for k, c in zip(self.orders, self.channels, strict=True)]
        width = sum(self.readout_widths)
        head = [_Rescale(self.orders, self.channels), normalisation(head_norm, width)]
        if self.graph_features:
            # Not normalised: they are scaled already, and rare ones would become large again.
            whole = nn.Sequential(RobustScale(self.graph_features), nn.Dropout(head_dropout))
            head = [_Beside(width, nn.Sequential(*(m for m in head if m is not None)), whole)]
            width += self.graph_features
        for h in [_integer("hidden", h, 1) for h in ([hidden] if isinstance(hidden, int) else hidden)]:
            head += [nn.Linear(width, h), normalisation(head_norm, h), nn.ReLU()]
            head += [nn.Dropout(head_dropout)] if head_dropout else []
            width = h
        self.head = nn.Sequential(*(m for m in (*head, nn.Linear(width, out_features)) if m is not None))

    def _batch(self, graphs: Any) -> Batch:
        """The input as a batch that fits this network, or an error that names the argument to change."""
        b = batch(graphs)
        width = b.features.shape[1]
        if width != self.in_features:
            raise GraphError(
                f"the graphs have vertex features of width {width}, the network reads in_features={self.in_features}"
            )
        if self._ignores_edges and b.edge_features is not None and (width := b.edge_features.shape[1]):
            self._ignores_edges = False
            warnings.warn(
                f"the graphs have edge features of width {width}, which this network ignores; make it with "
                f"adjacency=True and adjacency_channels=[ccn.adjacency.Weights(), ccn.adjacency.EdgeFeatures({width})] "
                "to read them, or give it ccn.Pack.of(graphs).without_edge_features()",
                stacklevel=4,
            )
        for name in () if self.matrix_class.covers(b.matrix_class) else ("directed", "self_loops"):
            if getattr(b.matrix_class, name) and not getattr(self.matrix_class, name):
                i = next(i for i, g in enumerate(b.graphs) if getattr(g, name))
                raise ConfigurationError(f"graph {i} has {name}=True; make the network with {name}=True to read it")
        return b

    def _run(self, b: Batch, keep: bool = True, totals: bool = False) -> Iterator[Activation]:
        """The activations, level by level; without ``keep`` the last may have its invariants only.

        With ``totals`` invariants are wanted summed over each graph.
        """
        scheme = self._composition(b)
        self._check_sizes(b, [level.nodes.size for level in scheme.levels])  # of one that was built before
        dtype = self.embedding.weight.dtype
        matrices = Matrices(b, self.adjacency_channels, dtype)
        features = self.embedding(b.features.to(dtype))
        if not np.array_equal(scheme.leaves.parts, np.arange(b.n)):
            features = features[torch.from_numpy(scheme.leaves.parts).to(b.device)]
        done = [Activation(features, scheme.leaves, self.orders[0])]
        yield done[0]
        for number, (layer, level) in enumerate(zip(self.layers, scheme.levels, strict=False), start=1):
            if level.skip is not None:
                self._check_skip(number, level)
            below = done[-level.reach :]
            f = below[0].data if level.reach == 1 else torch.cat([a.data for a in below])
            done.append(layer(f, level, matrices, keep or number < len(scheme.levels), len(b) if totals else None))
            yield done[-1]

    def _composition(self, b: Batch) -> Composition:
        """The packed scheme of a batch; an error before it is built if a level would not fit into memory."""
        scheme = composition(b, self.scheme, self.levels, partial(self._check_sizes, b))
        warn_of_work(scheme.levels, self.orders)
        return scheme

    def _check_sizes(self, b: Batch, sizes: list[Int], numbers: int = 0) -> None:
        """Whether these levels are not more than the network has, and fit into memory; the scheme needs so many
        ``numbers`` for the last of them.
        """
        if len(sizes) > self.levels:
            raise SchemeError(f"the scheme has {len(sizes)} levels above the atoms, the network levels={self.levels}")
        above = slice(1, 1 + len(sizes))
        check_memory(sizes, self.orders[above], self.channels[above], self.embedding.weight.dtype, b.device, numbers)

    def prepare(self, graphs: Any) -> int:
        """Build all that this network needs of the structure of a batch, which keeps it; returns its bytes.

        The network does so by itself when it first sees a batch; a background thread can do it in advance.
        """
        b = self._batch(graphs)
        scheme = self._composition(b)
        matrices = Matrices(b, self.adjacency_channels, self.embedding.weight.dtype)
        total = scheme.nbytes
        if not any(layer.self_product for layer in self.layers):
            for layer, level in zip(self.layers, scheme.levels, strict=False):
                total += prepare(layer.plan(level), level, matrices)
        return total

    def _check_skip(self, number: int, level: Level) -> None:
        """Children of different heights need tensors of one kind."""
        used = slice(number - level.reach, number)
        if len(set(self.orders[used])) > 1 or len(set(self.channels[used])) > 1:
            node, below, child = level.skip or (0, 0, 0)
            raise SchemeError(
                f"node {node} of level {number} has the child {child} of level {below}, not of level {number - 1}: "
                "then all levels need one order and one number of channels, "
                f"got order={self.orders}, channels={self.channels}"
            )

    def activations(self, graphs: Any) -> list[Activation]:
        """The activation of every level 0..levels; one without nodes where no graph's scheme reaches that far."""
        done = list(self._run(self._batch(graphs)))
        for order, channels in zip(self.orders[len(done) :], self.channels[len(done) :], strict=True):
            done.append(Activation(done[0].data.new_zeros(0, channels), Nodes.none(), order))
        return done

    def embed(self, graphs: Any, per: Literal["graph", "vertex"] = "graph") -> Tensor:
        """The invariants of all levels side by side, one row per graph or, ``per="vertex"``, per vertex.

        A graph's row sums over all nodes, a vertex's over those anchored at it.
        """
        if per not in ("graph", "vertex"):
            raise ConfigurationError(f"per={per!r}: choose 'graph' or 'vertex'")
        b = self._batch(graphs)
        graphs = per == "graph"
        rows = [a.per_graph(len(b)) if graphs else a.per_atom(b.n) for a in self._run(b, keep=False, totals=graphs)]
        missing = self.readout_widths[len(rows) :]
        return torch.cat([*rows, *(rows[0].new_zeros(len(rows[0]), width) for width in missing)], dim=1)

    def forward(self, graphs: Any) -> Tensor:
        """(graphs, out_features) for a batch or a list of graphs."""
        b = self._batch(graphs)
        return self.read(self.embed(b), b)

    def read(self, embedding: Tensor, graphs: Any) -> Tensor:
        """The output from the embedding of graphs and, if the network reads them, their features as a whole."""
        if self.graph_features:
            whole = batch(graphs).graph_features
            width = 0 if whole is None else whole.shape[1]
            if whole is None or width != self.graph_features:
                raise GraphError(
                    f"the network reads {self.graph_features} features of a graph as a whole, the graphs have {width}; "
                    "give a pack that has them (Pack.with_graph_features), or a network without (graph_features)"
                )
            embedding = torch.cat([embedding, whole.to(embedding.dtype)], dim=1)
        out: Tensor = self.head(embedding)
        return out


class _Rescale(nn.Module):
    """Divides every invariant by its value for activations of all ones on the reference graph.

    Sums over m^k entries of n nodes are large; the MLP sees numbers of the size of the activations.
    """

    scale: Tensor

    def __init__(self, orders: Sequence[int], channels: Sequence[int]) -> None:
        super().__init__()
        values = [
            1 / s for level, c in zip(readout_scales(orders), channels, strict=True) for s in level for _ in range(c)
        ]
        self.register_buffer("scale", torch.tensor(values))

    def forward(self, z: Tensor) -> Tensor:
        return z * self.scale


class _Beside(nn.Module):
    """Two modules side by side: one for the first columns, one for the others."""

    def __init__(self, width: int, first: nn.Module, others: nn.Module) -> None:
        super().__init__()
        self.width, self.first, self.others = width, first, others

    def forward(self, z: Tensor) -> Tensor:
        return torch.cat([self.first(z[:, : self.width]), self.others(z[:, self.width :])], dim=1)


def _integer(name: str, value: Any, least: int) -> int:
    try:
        number = operator.index(value)
    except TypeError:
        number = least - 1
    if isinstance(value, bool) or number < least:
        raise ConfigurationError(f"{name}={value!r}: it must be an integer of at least {least}")
    return number


def _per_level(name: str, value: Any, count: int, least: int | None = None) -> list[Any]:
    """One value per level, from one for all or from a list of the right length."""
    listed = isinstance(value, Iterable) and not isinstance(value, str)
    values = list(value) if listed else [value] * count
    if len(values) != count:
        raise ConfigurationError(f"{name}={value}: give one value, or {count} of them for this number of levels")
    return values if least is None else [_integer(name, v, least) for v in values]
