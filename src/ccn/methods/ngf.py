"""Neural graph fingerprints (Duvenaud et al. 2015).

Each layer multiplies the sum of the features of a vertex and its neighbours by a matrix that depends on the degree of
the vertex, and adds to the fingerprint of the graph:

    h_l(v) = relu(W_l[deg v] (h_{l-1}(v) + sum over neighbours u of h_{l-1}(u)) + b_l[deg v])
    f      = sum over layers l and vertices v of softmax(V_l h_l(v))

Layer 0 has the given features; a dense layer reads the fingerprint.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor, nn

from ccn.graphs.graph import Batch, batch
from ccn.graphs.pack import Pack
from ccn.learning.settings import Features
from ccn.learning.task import Task
from ccn.methods.network import FittedNetworks, NetworkMethod
from ccn.training.recipe import Optimiser, Recipe, Training

__all__ = ["NGF", "NeuralFingerprints"]


class NGF(nn.Module):
    """From a batch to (graphs, out_features).

    Args:
        in_features: width of the vertex features.
        out_features: width of the output.
        layers: number of layers above the features.
        hidden: width of their features.
        length: length of the fingerprint.
        degrees: the largest degree with a matrix; vertices of larger degree use it too.

    """

    def __init__(
        self,
        in_features: int,
        out_features: int,
        layers: int = 2,
        hidden: int = 10,
        length: int = 50,
        degrees: int = 5,
    ) -> None:
        super().__init__()
        widths = [in_features] + [hidden] * layers
        self.degrees = degrees
        self.weights = nn.ParameterList(torch.empty(degrees + 1, b, a) for a, b in pairwise(widths))
        self.biases = nn.ParameterList(torch.zeros(degrees + 1, hidden) for _ in range(layers))
        for w in self.weights:
            for each in w:
                nn.init.xavier_uniform_(each)
        self.write = nn.ModuleList(nn.Linear(width, length) for width in widths)
        self.read = nn.Linear(length, out_features)

    def fingerprint(self, graphs: Any) -> Tensor:
        """(graphs, length)."""
        b: Batch = batch(graphs)
        to, source = (torch.from_numpy(x).to(b.device) for x in b.entries)
        degree = torch.bincount(to, minlength=b.n).clamp(max=self.degrees)
        of = torch.from_numpy(b.graph_of).to(b.device)
        h = b.features.to(self.read.weight.dtype)
        out = h.new_zeros(len(b), self.read.in_features)
        out = out.index_add(0, of, self.write[0](h).softmax(dim=1))
        for weight, bias, write in zip(self.weights, self.biases, list(self.write)[1:], strict=True):
            near = h.index_add(0, to, h.index_select(0, source))
            h = torch.relu(_by_degree(near, weight, bias, degree))
            out = out.index_add(0, of, write(h).softmax(dim=1))
        return out

    def forward(self, graphs: Any) -> Tensor:
        out: Tensor = self.read(self.fingerprint(graphs))
        return out


def _by_degree(near: Tensor, weight: Tensor, bias: Tensor, degree: Tensor) -> Tensor:
    """Multiply every row by the matrix of its degree.

    Features are so narrow that multiplying by the matrices of all degrees is faster than sorting the rows.
    """
    every = torch.addmm(bias.flatten(), near, weight.flatten(0, 1).T).unflatten(1, bias.shape)
    chosen: Tensor = every.gather(1, degree[:, None, None].expand(-1, 1, every.shape[2]))[:, 0]
    return chosen


class FittedNGF(FittedNetworks):
    """Fingerprint networks, which do not read edge features."""

    module = NGF
    reads_edges = False


@dataclass(frozen=True, kw_only=True)
class NeuralFingerprints(NetworkMethod):
    """Neural graph fingerprints with the paper's two layers of width 10."""

    layers: int = 2
    hidden: int = 10
    length: int = 50

    fitted = FittedNGF
    own_recipe = Recipe(
        name="ngf",
        features=Features(molecules="element", vertices="given"),
        optimiser=Optimiser(learning_rate=1e-2, final_rate=1e-4, weight_decay=1e-4, clip=5.0),
        training=Training(epochs=100, least_steps=0, batch_size=32, keep="last"),
    )
    own_choices = ({"learning_rate": 3e-3}, {"learning_rate": 1e-2}, {"learning_rate": 3e-2})

    def options(self, graphs: Pack, task: Task, chosen: Recipe, prepared: Mapping[str, Any]) -> dict[str, Any]:
        return {
            "in_features": graphs.width,
            "out_features": task.outputs,
            "layers": self.layers,
            "hidden": self.hidden,
            "length": self.length,
        }
