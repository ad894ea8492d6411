"""The network: vertex features in, covariant levels, a readout, a small MLP."""

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

from ccn.algebra.contractions import PRESETS, Contraction, EquivariantMap, MatrixClass, bell
from ccn.engine.backend import choose, untraced
from ccn.engine.matrices import Matrices
from ccn.engine.memory import available_bytes, check_memory, warn_of_work
from ccn.errors import ConfigurationError, GraphError, SchemeError
from ccn.graphs.adjacency import AdjacencyChannel, Closed, Normalised, Power, Weights, needs_grad
from ccn.graphs.graph import Batch, batch
from ccn.graphs.ragged import Int
from ccn.layers.aggregation import Activation, Adjacency, Aggregation, Choice, pointwise
from ccn.layers.head import make_head
from ccn.layers.readout import Readout, ReadoutKind, ReadoutLevels
from ccn.schemes.generators import Neighbourhoods, composition, has_anchors, has_free_children
from ccn.schemes.named import named_scheme
from ccn.schemes.packed import Composition, Level, Nodes
from ccn.schemes.scheme import SchemeGenerator

__all__ = ["CCN"]


class CCN(nn.Module):
    """A covariant compositional network.

    Level 0 holds the embedded vertex features as tensors of shape (1, .., 1, channels). Every further
    level aggregates the one below by the six steps of :func:`ccn.reference.aggregate`. An MLP with one hidden layer
    reads the invariants of all nodes of all levels, summed per graph, or what ``readout`` says.

    Order 0 without the adjacency product is sum aggregation, Algorithm 1 of the paper: never finer than 1-WL, and
    strictly coarser on labelled graphs; with ``own=True`` 1-WL is an instance. Higher orders, the adjacency product
    and ``weight_free`` see more.

    Args:
        in_features: width of the vertex features.
        out_features: width of the output.
        order: order of the activations; one number, or one per level 0..levels.
        levels: number of levels above the vertices.
        channels: channels of the activations; one number, or one per level 0..levels.
        contractions: ``distinct``, ``all``, ``paper10``, ``complete``, or a list of :class:`ccn.Contraction`,
            :class:`ccn.algebra.EquivariantMap` or of the strings that they print, such as ``"abx,xy->ab"`` or, an
            elementwise product with A, ``"abx,ab->ab"``; for all levels, or a list with one choice per level. With A,
            ``complete`` and maps that are no contractions are computed from T itself, which takes memory of order k+1.
            By default ``distinct``, and ``paper10`` (projections only) with ``self_product``.
        adjacency: multiply T by A (True), not (False), or use both families (``"both"``); for all levels or
            a list with one choice per level.
        own: also read the node's own activation of the level below, as the last contraction.
        directed, self_loops: what the graphs' A may be; decides which contractions are redundant.
        scheme: a function from a graph to its :class:`ccn.Scheme`, or the name of one (:mod:`ccn.schemes.named`).
        adjacency_channels: the matrices that stand for A; see :mod:`ccn.graphs.adjacency`.
        self_product: use T (x) T in place of T, and T (x) T (x) A with the adjacency product; orders 0 to 2.
        weight_free: how children enter whose anchor lies outside of their parent's part, or who have none. False: by W,
            in the contractions that sum over the children; the default for graph schemes, in which every child has an
            anchor. True: by a second matrix ``weight_free``; the default for other schemes. In open neighbourhoods the
            second matrix shows which children's vertices a part holds, so that order 0 without A then tells apart what
            1-WL cannot, such as two triangles from a hexagon.
        relations: ``"shared"`` (atoms that two parts share) and ``"bonds"`` (between them): children without an anchor
            in the part, such as rings in a molecule, are also added up weighed by how they are related to their
            siblings (:class:`ccn.layers.Aggregation`).
        rank: None: each contraction has a matrix of its own that mixes the channels. A number: mixing factors over
            contractions and channels, with this rank (:class:`ccn.layers.Aggregation`), for wide networks.
        nonlinearity: a name or a pointwise function.
        activate_embedding: apply it to the embedded vertex features too.
        norm: None, ``"batch"`` or ``"layer"``; both keep covariance.
        dropout: probability of dropping a channel of a node, while training.
        readout: what the MLP reads, and what has a row of the output.
            ``"invariants"``: the invariants of all nodes, Bell(k) scalars per channel, summed over each graph.
            ``"root"``: the activation of the root, as the paper has it: a node whose part is the whole graph and whose
            children are the nodes of the last level, by the same six steps with k' = 0 along all distinct contractions
            (order 2 with A: 21 scalars per channel). It has as many channels as the first hidden layer, in whose
            place it stands, and n x n numbers of A for a graph of n vertices.
            ``"sums"``: of every node the sum of its entries, to which the nonlinearity is applied, summed over each
            graph; with ``readout_levels="last"`` and ``hidden=()`` as in the code of the paper's authors.
            ``"vertex"`` and ``"edge"``: one row of the output per vertex, or per edge as given, of all graphs one after
            another; see :mod:`ccn.layers.readout`.
        readout_levels: ``"all"`` levels, or the ``"last"`` alone; the root reads the last.
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
    root: Aggregation | None
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
        scheme: SchemeGenerator | str = Neighbourhoods(),  # noqa: B008 (frozen)
        *,
        adjacency_channels: Sequence[AdjacencyChannel] = (Weights(),),
        self_product: bool = False,
        weight_free: bool | None = None,
        relations: Sequence[str] = (),
        rank: int | None = None,
        nonlinearity: str | Callable[[Tensor], Tensor] = "relu",
        activate_embedding: bool = False,
        norm: str | None = None,
        dropout: float = 0.0,
        readout: ReadoutKind = "invariants",
        readout_levels: ReadoutLevels = "all",
        hidden: int | Sequence[int] = 64,
        head_norm: str | None = None,
        head_dropout: float = 0.0,
        graph_features: int = 0,
    ) -> None:
        super().__init__()
        in_features, out_features = _integer("in_features", in_features, 1), _integer("out_features", out_features, 1)
        levels = _integer("levels", levels, 0)
        rank = None if rank is None else _integer("rank", rank, 1)
        if isinstance(scheme, str):
            scheme = named_scheme(scheme, levels)
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
        free = not has_anchors(scheme) if weight_free is None else bool(weight_free)
        if contractions is None:
            contractions = "paper10" if self_product else "distinct"
        self.embedding = nn.Linear(in_features, self.channels[0])
        # Between one-hot features (one term) and dense ones (in_features terms).
        nn.init.normal_(self.embedding.weight, std=in_features**-0.25)
        nn.init.zeros_(self.embedding.bias)
        if not isinstance(contractions, Iterable):
            raise ConfigurationError(f"contractions={contractions!r}: name a preset or list them")
        if not isinstance(contractions, str) and all(
            isinstance(c, Contraction | EquivariantMap) or (isinstance(c, str) and c not in PRESETS)
            for c in contractions
        ):
            contractions = [contractions] * levels  # type: ignore[assignment]  # one choice for all levels
        choices = _per_level("contractions", contractions, levels)
        products: list[Adjacency] = _per_level("adjacency", adjacency, levels)
        for product in products:
            if not isinstance(product, bool) and product != "both":
                raise ConfigurationError(f"adjacency={product!r}: choose True, False or 'both'")
        structural = all(isinstance(c, Closed | Normalised | Power | Weights) for c in self.adjacency_channels)
        self._ignores_edges = structural or not any(products)  # until said once
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
                free=has_free_children(scheme, i + 1) and (free or "shared"),
                relations=relations,
                rank=rank,
                nonlinearity=nonlinearity,
                norm=norm,
                dropout=dropout,
                level=i + 1,
            )
            for i in range(levels)
        )
        self.activates_embedding = activate_embedding
        kinds = tuple(self.orders), tuple(self.channels)
        self.readout = Readout(readout, *kinds, readout_levels, directed, pointwise(nonlinearity))
        widths = [_integer("hidden", h, 1) for h in ([hidden] if isinstance(hidden, int) else hidden)]
        self.root = None
        if readout == "root":
            width = widths.pop(0) if widths else self.channels[-1]
            self.readout_widths = [width]
            self.root = Aggregation(
                self.channels[-1],
                width,
                self.orders[-1],
                0,
                adjacency=not self_product and (products[-1] if products else bool(adjacency)),
                classes=classes,
                free=not has_anchors(scheme) and (free or "shared"),
                nonlinearity=nonlinearity,
                norm=head_norm,
                level=levels + 1,
                root=True,
            )
        else:
            self.readout_widths = self.readout.widths
        self.head = make_head(
            sum(self.readout_widths),
            out_features,
            hidden=widths,
            norm=head_norm,
            dropout=head_dropout,
            scales=None if readout == "root" else self.readout.scales(),
            graph_features=self.graph_features,
        )

    @untraced
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
                stacklevel=6,
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
        scheme, matrices = self.structure(b, keep)
        features = self.embedded(b.features.to(matrices.dtype))
        if not np.array_equal(scheme.leaves.parts, np.arange(b.n)):
            features = features[scheme.leaves.cached.on(b.device, "parts", lambda: scheme.leaves.parts)]
        done = [Activation(features, scheme.leaves, self.orders[0])]
        yield done[0]
        for number, (layer, level) in enumerate(zip(self.layers, scheme.levels, strict=False), start=1):
            if level.skip is not None:
                self._check_skip(number, level)
            f = _below(done, level)
            done.append(layer(f, level, matrices, keep or number < len(scheme.levels), len(b) if totals else None))
            yield done[-1]

    @property
    def nonlinearity(self) -> Callable[[Tensor], Tensor]:
        """That of the levels; a module with parameters belongs to these."""
        return self.readout.nonlinearity

    def embedded(self, features: Tensor) -> Tensor:
        """The activations of vertices, (vertices, channels)."""
        f: Tensor = self.embedding(features)
        return self.nonlinearity(f) if self.activates_embedding else f

    @untraced
    def structure(self, b: Batch, keep: bool = True) -> tuple[Composition, Matrices]:
        """The packed scheme of a batch and its channels of A; an error if what is to be computed with it does not fit
        into memory: without ``keep`` the activation of the last level is wanted for its invariants only.
        """
        scheme, dtype = self._composition(b, keep), self.embedding.weight.dtype

        def check() -> None:
            self._check_sizes(b, keep, [level.nodes.size for level in scheme.levels])  # of one that was built before
            for number, level in enumerate(scheme.levels):
                if level.cut is not None:  # what is restricted stands beside what it is of
                    below = [self.orders[number]], [self.channels[number]]
                    check_memory([level.below.size], *below, dtype, b.device, first=number)

        kind = tuple(self.orders), tuple(self.channels), dtype, self._stores(b, keep)
        scheme.leaves.cached(("fits", *kind), check)
        return scheme, self._matrices(b)

    def _matrices(self, b: Batch) -> Matrices:
        return Matrices(b, self.adjacency_channels, self.embedding.weight.dtype)

    def _composition(self, b: Batch, keep: bool = False) -> Composition:
        """The packed scheme of a batch; an error before it is built if a level would not fit into memory."""
        if self.root is not None and any(c.source in ("TA", "UA") for c in self.root.contractions):
            self._check_root(b)
        scheme = composition(b, self.scheme, self.levels, partial(self._check_sizes, b, keep), self.root is not None)
        own = any(c.source == "own" for a in self.layers for c in a.contractions)
        key = "work", tuple(self.orders), own
        scheme.leaves.cached(key, lambda: warn_of_work(scheme.levels, self.orders, own))
        return scheme

    def _check_sizes(self, b: Batch, keep: bool, sizes: list[Int], numbers: int = 0) -> None:
        """Whether these levels are not more than the network has, and fit into memory; the scheme needs so many
        ``numbers`` for the last of them, whose activation is to be kept or not.
        """
        if len(sizes) > self.levels:
            raise SchemeError(f"the scheme has {len(sizes)} levels above the atoms, the network levels={self.levels}")
        above, dtype = slice(1, 1 + len(sizes)), self.embedding.weight.dtype
        unstored = None if self._stores(b, keep) else self.levels
        check_memory(sizes, self.orders[above], self.channels[above], dtype, b.device, numbers, unstored=unstored)

    def _stores(self, b: Batch, keep: bool) -> bool:
        """Whether the activation of the last level is stored, where it is to be kept or not."""
        if keep or not self.levels or not self.layers[-1].reads_out:
            return True
        return choose(torch.empty(0, dtype=self.embedding.weight.dtype, device=b.device), needs_grad(b)).stores_all()

    def contraction_shares(self) -> list[dict[str, float]]:
        """For each level, and last the root if there is one, the share of each contraction in the strength of all.

        Which contractions a trained network uses; :meth:`ccn.layers.Aggregation.strengths` says how it is measured.
        """
        out = []
        for layer in (*self.layers, *([] if self.root is None else [self.root])):
            strength = layer.strengths().detach().double()
            share = (strength / strength.sum().clamp_min(1e-300)).tolist()
            several = len(layer.classes) > 1
            names = [f"{c} [{c.channel}]" if several and c.source == "TA" else str(c) for c in layer.contractions]
            out.append(dict(sorted(zip(names, share, strict=True), key=lambda pair: -pair[1])))
        return out

    def prepare(self, graphs: Any) -> int:
        """Build all that this network needs of the structure of a batch, which keeps it; returns its bytes.

        The network does so by itself when it first sees a batch; a background thread can do it in advance.
        """
        b = self._batch(graphs)
        scheme, matrices = self._composition(b, self._keeps), self._matrices(b)
        total = scheme.nbytes
        total += sum(layer.prepare(level, matrices) for layer, level in zip(self.layers, scheme.levels, strict=False))
        if self.root is not None and scheme.root is not None:
            total += self.root.prepare(scheme.root, matrices)
        return total + self.readout.prepare(b, scheme)

    @property
    def _keeps(self) -> bool:
        """Whether the readout needs the activation of the last level, not its invariants alone."""
        return self.readout.kind not in ("invariants", "sums")

    def _check_root(self, b: Batch) -> None:
        """An error before A over whole graphs is built where it does not fit into memory."""
        size = np.diff(b.start).astype(np.float64)
        need, free = 16 * float((size**2).sum()), available_bytes(b.device)
        if free is not None and need > free:
            raise ConfigurationError(
                f"readout='root' needs n x n numbers of A for each graph, {need / 1e9:,.1f} GB for this batch, whose "
                f"largest graph has {int(size.max()):,} vertices, and {free / 1e9:,.1f} GB are free; what fits: "
                "readout='invariants', adjacency=False at the last level, smaller batches"
            )

    def _check_skip(self, number: int, level: Level, root: bool = False) -> None:
        """Children of different heights need tensors of one kind."""
        used = slice(number - level.reach, number)
        kinds = set(zip(self.orders[used], self.channels[used], strict=True))
        if root:  # it reads tensors of the kind of the last level
            kinds.add((self.orders[-1], self.channels[-1]))
        if len(kinds) > 1:
            node, below, child = level.skip or (0, 0, 0)
            raise SchemeError(
                f"node {node} of level {number} has the child {child} of level {below}, not of level {number - 1}: "
                "then all levels need one order and one number of channels, "
                f"got order={self.orders}, channels={self.channels}"
            )

    @untraced
    def activations(self, graphs: Any) -> list[Activation]:
        """The activation of every level 0..levels; one without nodes where no graph's scheme reaches that far."""
        done = list(self._run(self._batch(graphs)))
        for order, channels in zip(self.orders[len(done) :], self.channels[len(done) :], strict=True):
            done.append(Activation(done[0].data.new_zeros(0, channels), Nodes.none(), order))
        return done

    @untraced
    def embed(self, graphs: Any, per: Literal["graph", "vertex"] | None = None) -> Tensor:
        """What the head reads, one row per graph, vertex or edge; with ``readout="root"`` the activation of the root.

        With ``per`` it is, whatever the readout, the invariants of all levels side by side: ``"graph"`` sums them over
        all nodes of a graph, ``"vertex"`` over those anchored at a vertex.
        """
        if per not in (None, "graph", "vertex"):
            raise ConfigurationError(f"per={per!r}: choose 'graph' or 'vertex'")
        b = self._batch(graphs)
        if per == "vertex":
            rows = [a.per_atom(b.n) for a in self._run(b, keep=False)]
            missing = sum(self._invariants[len(rows) :])  # of levels that no graph's scheme reaches
            return torch.cat([*rows, rows[0].new_zeros(b.n, missing)], dim=1)
        readout = self.readout if per is None else replace(self.readout, kind="invariants", levels="all")
        if readout.kind == "invariants":
            return readout.rows(list(self._run(b, keep=False, totals=True)), b, self._composition(b))
        return self.rows(b, list(self._run(b, keep=self._keeps)))

    def rows(self, b: Batch, done: Sequence[Activation]) -> Tensor:
        """What the head reads, from the activations of all levels."""
        return self._root(b, done) if self.root is not None else self.readout.rows(done, b, self._composition(b))

    @property
    def embedding_width(self) -> int:
        """Columns of the rows that :meth:`embed` gives per graph."""
        return sum(self._invariants if self.readout.kind in ("vertex", "edge") else self.readout_widths)

    @property
    def _invariants(self) -> list[int]:
        """The number of invariants of a node of each level."""
        return [bell(k) * c for k, c in zip(self.orders, self.channels, strict=True)]

    def _root(self, b: Batch, done: Sequence[Activation]) -> Tensor:
        """(graphs, channels) the activations of the roots."""
        level = self._composition(b).root
        assert level is not None
        assert self.root is not None
        self._check_skip(len(done), level, root=True)
        roots: Tensor = self.root(_below(done, level), level, self._matrices(b)).data
        nodes = level.nodes
        return roots[nodes.cached.on(roots.device, "storage", lambda: nodes.storage)]

    def forward(self, graphs: Any) -> Tensor:
        """(graphs, out_features) for a batch or a list of graphs; one row per vertex or edge if the readout says so."""
        b = self._batch(graphs)
        return self.read(self.embed(b), b)

    def read(self, embedding: Tensor, graphs: Any) -> Tensor:
        """The output from the embedding of graphs and, if the network reads them, their features as a whole."""
        if self.graph_features:
            b = batch(graphs)
            whole = b.graph_features
            width = 0 if whole is None else whole.shape[1]
            if whole is None or width != self.graph_features:
                raise GraphError(
                    f"the network reads {self.graph_features} features of a graph as a whole, the graphs have {width}; "
                    "give a pack that has them (Pack.with_graph_features), or a network without (graph_features)"
                )
            whole = whole.to(embedding.dtype)
            if self.readout.kind in ("vertex", "edge"):
                key = f"graph of {self.readout.kind}"
                whole = whole[b.cached.on(whole.device, key, lambda: self.readout.graph_of(b))]
            embedding = torch.cat([embedding, whole], dim=1)
        out: Tensor = self.head(embedding)
        return out


def _below(done: Sequence[Activation], level: Level) -> Tensor:
    """The activations that a level reads, in packed rows."""
    below = done[-level.reach :]
    return below[0].data if level.reach == 1 else torch.cat([a.data for a in below])


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
