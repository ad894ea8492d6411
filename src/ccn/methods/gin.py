"""The graph isomorphism network (Xu et al. 2019) of PyTorch Geometric, as a well-known reference."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from ccn.errors import DependencyError
from ccn.graphs.graph import Batch, batch
from ccn.graphs.pack import Pack
from ccn.learning.settings import Features
from ccn.learning.task import Task
from ccn.methods.network import FittedNetworks, NetworkMethod
from ccn.training.recipe import Network, Optimiser, Recipe, Training

__all__ = ["GIN", "FittedGIN", "GraphIsomorphismNetwork"]


def _pyg() -> Any:
    """Import the layers of PyTorch Geometric, or say how to install it."""
    try:
        from torch_geometric import nn as layers
    except ImportError:
        raise DependencyError("GIN needs PyTorch Geometric: pip install 'ccn[compare]'") from None
    return layers


class GIN(nn.Module):
    """From a batch to (graphs, out_features): PyG's ``GIN``, a sum over vertices and a dense layer."""

    def __init__(
        self, in_features: int, out_features: int, layers: int = 4, hidden: int = 64, dropout: float = 0.1
    ) -> None:
        super().__init__()
        self.layers = _pyg().GIN(
            in_features, hidden, layers, jk="cat", dropout=dropout, norm="batch_norm", train_eps=True
        )
        self.read = nn.Sequential(nn.Linear(hidden, hidden), nn.ReLU(), nn.Linear(hidden, out_features))

    def forward(self, graphs: Any) -> Tensor:
        b: Batch = batch(graphs)
        to, source = (torch.from_numpy(x).to(b.device) for x in b.entries)
        h = self.layers(b.features.to(next(self.parameters()).dtype), torch.stack([source, to]))
        of = torch.from_numpy(b.graph_of).to(b.device)
        out: Tensor = self.read(h.new_zeros(len(b), h.shape[1]).index_add(0, of, h))
        return out


class FittedGIN(FittedNetworks):
    """GINs, which do not read edge features."""

    module = GIN
    reads_edges = False


@dataclass(frozen=True, kw_only=True)
class GraphIsomorphismNetwork(NetworkMethod):
    """GIN with the vertex features given."""

    layers: int = 4
    hidden: int = 64

    fitted = FittedGIN
    own_recipe = Recipe(
        name="gin",
        features=Features(molecules="element", vertices="given"),
        network=Network(dropout=0.0),
        optimiser=Optimiser(learning_rate=3e-3, final_rate=1e-5, weight_decay=1e-4, clip=5.0),
        training=Training(epochs=100, least_steps=0, batch_size=32, keep="last"),
    )
    own_choices = ({"learning_rate": 1e-3}, {"learning_rate": 3e-3})

    def options(self, graphs: Pack, task: Task, chosen: Recipe, prepared: Mapping[str, Any]) -> dict[str, Any]:
        return {
            "in_features": graphs.width,
            "out_features": task.outputs,
            "layers": self.layers,
            "hidden": self.hidden,
            "dropout": chosen.network.dropout,
        }
