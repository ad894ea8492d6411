"""The package's networks as methods: by a recipe of choice, and by those of the paper's tables."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import Any, Self, cast

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from ccn.errors import ConfigurationError, FileError
from ccn.graphs.adjacency import AdjacencyChannel, Closed, EdgeFeatures, Weights
from ccn.graphs.pack import Pack
from ccn.learning.contributions import Contributions, pooled, unscaled
from ccn.learning.inputs import Inputs
from ccn.learning.settings import Features
from ccn.learning.task import Per, Task
from ccn.methods.network import FittedNetworks, NetworkMethod
from ccn.models import CCN
from ccn.schemes.generators import Neighbourhoods
from ccn.training.recipe import PAPER_WIDTHS, SECTIONS, Network, Recipe, recipe

__all__ = ["Covariant", "FittedCovariant", "NamedCovariant", "network_options"]

_MAX_EDGE_WIDTH = 1024  # columns of edge features that a network may have as channels of A
_NAMED: dict[str, Recipe] = {
    "ccn-1": recipe("paper", order=1, adjacency=False, contractions="all", rising="ignore"),
    "ccn-2": recipe("paper", rising="ignore"),
    "ccn-2-authors": recipe("authors", rising="ignore"),
    "ccn-1-default": recipe("default", order=1, levels=4, channels=32, vertices="given", rising="ignore"),
    "ccn-2-default": recipe("default", rising="ignore"),
    "ccn-3-default": recipe("default", order=3, rising="ignore"),
}

_COLUMNS = "graph_columns"  # of the features of graphs as a whole: those that the networks read, as [start, stop]
_DENSE = ("descriptors", "columns")  # of a table; they are read in place of fingerprints, whose columns are many


class FittedCovariant(FittedNetworks):
    """Covariant networks, which also have an embedding."""

    module = CCN

    @staticmethod
    def prepare(graphs: Pack, prepared: Mapping[str, Any]) -> Pack:
        spans = prepared.get(_COLUMNS, ())
        return graphs.with_graph_columns([slice(*span) for span in spans]) if spans else graphs

    @classmethod
    def from_state(cls, tensors: Mapping[str, Tensor], data: Mapping[str, Any], task: Task, inputs: Inputs) -> Self:
        spans, width = data["prepared"].get(_COLUMNS, ()), data["options"].get("graph_features", 0)
        if sum(len(range(*span)) for span in spans) != width and width:
            raise FileError(f"{spans} are not the {width} columns that the networks read; do not use the file")
        return super().from_state(tensors, data, task, inputs)

    def embed(self, graphs: Pack) -> NDArray[np.floating[Any]]:
        # One row per graph, also where targets are of vertices or edges.
        per: Any = None if self.task.per == "graph" else "graph"
        found = self._run(graphs, [partial(net.embed, per=per) for net in self._nets])
        return np.concatenate([e.cpu().numpy() for e in found], axis=1)

    def contributions(self, graphs: Pack, output: int = 0) -> Contributions:
        """By integrated gradients (:mod:`ccn.methods.gradients`), within a hundredth of the difference."""
        from ccn.methods.gradients import integrated_gradients

        ready, spans = self.ready(graphs), self.prepared.get(_COLUMNS, ())
        columns = np.concatenate([np.arange(*span) for span in spans]) if spans else slice(None)

        def score(outputs: Tensor) -> Tensor:
            return (outputs.log_softmax(dim=1) if self.task.kind == "multiclass" else outputs)[:, output]

        members = []
        for net in self._nets:
            read = integrated_gradients(net, ready, score, made_of=(self.inputs.vertices, graphs))
            every = Contributions.none(graphs, read.prediction, read.baseline)  # also of columns that it does not read
            if net.graph_features:
                every.whole[:, columns] = read.whole
            bonds = read.bonds if self.reads_edges else every.bonds
            members.append(unscaled(self.task, output, replace(every, atoms=read.atoms, bonds=bonds)))
        return members[0] if len(members) == 1 else pooled(self.task, output, [(self.task, c) for c in members])

    @property
    def _nets(self) -> tuple[CCN, ...]:
        return cast(tuple[CCN, ...], self.networks)

    @property
    def embedding_width(self) -> int:  # type: ignore[override]
        return sum(net.embedding_width for net in self._nets)

    @property
    def reads_edges(self) -> bool:  # type: ignore[override]
        return any(isinstance(c, EdgeFeatures) for net in self._nets for c in net.adjacency_channels)


@dataclass(frozen=True, kw_only=True)
class Covariant(NetworkMethod):
    """CCN by a recipe; those of the paper and of its authors choose their first width from 4, 8 and 16 on the
    validation part.
    """

    fitted = FittedCovariant
    named_recipes = True
    compiles = True
    targets_per = ("graph", "vertex", "edge")
    own_recipe = recipe("default")

    def recipe_fields(self) -> Mapping[str, Collection[str]]:
        return {name: [f.name for f in fields(kind)] for name, kind in SECTIONS.items()}

    def usual_choices(self) -> tuple[Mapping[str, Any], ...]:
        if self.base_recipe().name not in ("paper", "authors"):
            return ({},)
        return tuple({"channels": c} for c in PAPER_WIDTHS)

    def reads(self) -> Features:
        chosen = self.resolved()
        return replace(chosen, features=super().reads()).reads()

    def per(self) -> Per:
        readout = self.resolved().network.readout
        return readout if readout in ("vertex", "edge") else "graph"

    @property
    def reads_whole(self) -> bool:  # type: ignore[override]
        """Whether features of graphs as a whole are read."""
        return any(self.resolved().override(**settings).network.graph_features for settings in self.tried())

    def preparation(self, graphs: Pack, inputs: Inputs) -> dict[str, Any]:
        if not self.reads_whole:
            return {}
        columns = inputs.columns_of()
        dense = [columns[name] for name in _DENSE if name in columns]
        return {_COLUMNS: [[c.start, c.stop] for c in dense] or [[0, graphs.graph_width]]}

    def options(self, graphs: Pack, task: Task, chosen: Recipe, prepared: Mapping[str, Any]) -> dict[str, Any]:
        network = chosen.network
        if task.per != "graph":
            network = replace(network, readout=task.per)
        elif network.readout in ("vertex", "edge"):
            raise ConfigurationError(
                f"readout={network.readout!r} is for targets of each {network.readout}, but there is one per graph; "
                "give a list per graph, or leave out the readout"
            )
        return network_options(network, graphs, task.outputs)


@dataclass(frozen=True, kw_only=True)
class NamedCovariant(Covariant):
    """CCN by one of the recipes of the paper's tables."""

    named_recipes = False

    def base_recipe(self) -> Recipe:
        return _NAMED[self.name] if self.recipe is None else self.recipe


def network_options(n: Network, graphs: Pack, outputs: int) -> dict[str, Any]:
    """The arguments of :class:`ccn.CCN` for graphs of this kind."""
    a: AdjacencyChannel = Closed() if n.diagonal else Weights()
    channels: tuple[AdjacencyChannel, ...] = (a,)
    if n.edge_features and graphs.edge_width:
        if graphs.edge_width > _MAX_EDGE_WIDTH:
            raise ConfigurationError(
                f"edge features of {graphs.edge_width:,} columns, more than {_MAX_EDGE_WIDTH:,}: each is a channel of "
                "A with weights of its own; leave them out (edge_features=False) or give fewer labels"
            )
        of_edges = EdgeFeatures(graphs.edge_width)
        spanned = not n.diagonal and "weights" not in graphs.arrays and _span_one(graphs)
        channels = (of_edges,) if spanned else (a, of_edges)
    return {
        "in_features": graphs.width,
        "out_features": outputs,
        "order": n.order,
        "levels": n.levels,
        "channels": n.widths(),
        "contractions": n.contractions,
        "adjacency": n.adjacency,
        "own": n.own,
        "directed": graphs.directed,
        "self_loops": graphs.self_loops,
        "scheme": _scheme(n),
        **({"relations": n.relations} if n.relations else {}),
        **({} if n.rank is None else {"rank": n.rank}),
        "adjacency_channels": channels,
        "nonlinearity": n.nonlinearity,
        **({"activate_embedding": True} if n.activate_embedding else {}),
        "norm": n.norm,
        "dropout": n.dropout or 0.0,
        "readout": n.readout,
        "readout_levels": n.readout_levels,
        "hidden": n.hidden,
        "head_norm": n.head_norm,
        "head_dropout": n.head_dropout or 0.0,
        **({"graph_features": graphs.graph_width} if n.graph_features else {}),
    }


def _scheme(n: Network) -> Any:
    """The scheme; one that has a name by its name, which a model file can hold."""
    limited = (None, "neighbourhoods", "open", "field")
    if n.scheme is not None and n.max_part is None:
        return n.scheme
    if not isinstance(n.scheme, str | None) or n.scheme not in limited:
        raise ConfigurationError(f"max_part={n.max_part} is for neighbourhoods; leave it out with another scheme")
    return Neighbourhoods(closed=n.scheme != "open", max_part=n.max_part, field=n.scheme == "field")


def _span_one(graphs: Pack) -> bool:
    """Whether A is a combination of the channels of edges, as where each has one kind: then it adds nothing to them."""
    kinds = graphs.edge_kinds().astype(np.float64)
    ones = np.ones(len(kinds))
    return bool(np.allclose(kinds @ np.linalg.lstsq(kinds, ones, rcond=None)[0], ones))
