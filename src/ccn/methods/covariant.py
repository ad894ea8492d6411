"""The package's networks as methods: by a recipe of choice, and by those of the paper's tables."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, fields
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from ccn.graphs.adjacency import EdgeFeatures, Weights
from ccn.graphs.pack import Pack
from ccn.learning.task import Task
from ccn.methods.network import FittedNetworks, NetworkMethod
from ccn.models import CCN
from ccn.schemes.generators import Neighbourhoods
from ccn.training.recipe import PAPER_WIDTHS, SECTIONS, Network, Recipe, recipe

__all__ = ["Covariant", "FittedCovariant", "NamedCovariant", "network_options"]

_NAMED: dict[str, Recipe] = {
    "ccn-1": recipe("paper", order=1, adjacency=False, contractions="all", rising="ignore"),
    "ccn-2": recipe("paper", rising="ignore"),
    "ccn-2-default": recipe("default", rising="ignore"),
    "ccn-3-default": recipe("default", order=3, rising="ignore"),
}


class FittedCovariant(FittedNetworks):
    """Covariant networks, which also have an embedding."""

    module = CCN

    def embed(self, graphs: Pack) -> NDArray[np.floating[Any]]:
        found = self._run(graphs, [net.embed for net in self._nets])
        return np.concatenate([e.cpu().numpy() for e in found], axis=1)

    @property
    def _nets(self) -> tuple[CCN, ...]:
        return cast(tuple[CCN, ...], self.networks)

    @property
    def embedding_width(self) -> int:  # type: ignore[override]
        return sum(sum(net.readout_widths) for net in self._nets)

    @property
    def reads_edges(self) -> bool:  # type: ignore[override]
        return any(isinstance(c, EdgeFeatures) for net in self._nets for c in net.adjacency_channels)


@dataclass(frozen=True, kw_only=True)
class Covariant(NetworkMethod):
    """CCN by a recipe; that of the paper chooses its first width from 4, 8 and 16 on the validation part."""

    fitted = FittedCovariant
    named_recipes = True
    compiles = True
    own_recipe = recipe("default")

    def recipe_fields(self) -> Mapping[str, Collection[str]]:
        return {name: [f.name for f in fields(kind)] for name, kind in SECTIONS.items()}

    def usual_choices(self) -> tuple[Mapping[str, Any], ...]:
        return tuple({"channels": c} for c in PAPER_WIDTHS) if self.usual_recipe().name == "paper" else ({},)

    def options(self, graphs: Pack, task: Task, chosen: Recipe, prepared: Mapping[str, Any]) -> dict[str, Any]:
        return network_options(chosen.network, graphs, task.outputs)


@dataclass(frozen=True, kw_only=True)
class NamedCovariant(Covariant):
    """CCN by one of the recipes of the paper's tables."""

    named_recipes = False

    def usual_recipe(self) -> Recipe:
        return _NAMED[self.name] if self.recipe is None else self.recipe


def network_options(n: Network, graphs: Pack, outputs: int) -> dict[str, Any]:
    """The arguments of :class:`ccn.CCN` for graphs of this kind."""
    edges = graphs.arrays.get("edge_features")
    channels: tuple[Any, ...] = (Weights(),)
    if n.edge_features and edges is not None and edges.shape[1]:
        own = EdgeFeatures(int(edges.shape[1]))
        channels = (own,) if "weights" not in graphs.arrays and _span_one(edges) else (Weights(), own)
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
        "scheme": Neighbourhoods(max_part=n.max_part) if n.scheme is None else n.scheme,
        "adjacency_channels": channels,
        "nonlinearity": n.nonlinearity,
        "norm": n.norm,
        "dropout": n.dropout,
        "hidden": n.hidden,
        "head_norm": n.head_norm,
        "head_dropout": n.head_dropout,
    }


def _span_one(edges: NDArray[Any]) -> bool:
    """Whether A is a combination of the channels of edges, as where each has one kind: then it adds nothing to them."""
    kinds = np.unique(edges, axis=0).astype(np.float64)
    ones = np.ones(len(kinds))
    return bool(np.allclose(kinds @ np.linalg.lstsq(kinds, ones, rcond=None)[0], ones))
