"""Networks of others to compare with, each from a batch of graphs to (graphs, out_features).

Neural graph fingerprints, NGF (Duvenaud et al. 2015): each layer multiplies the sum of the features of a vertex and
its neighbours by a matrix that depends on the degree of the vertex, and adds to the fingerprint of the graph:

    h_l(v) = relu(W_l[deg v] (h_{l-1}(v) + sum over neighbours u of h_{l-1}(u)) + b_l[deg v])
    f      = sum over layers l and vertices v of softmax(V_l h_l(v))

Layer 0 has the given features; a dense layer reads the fingerprint.

PSCN, convolution over the neighbourhoods of a sequence of vertices (Niepert et al. 2016): a graph becomes ``width``
patches of ``patch`` vertices each. The sequence orders vertices by betweenness, and those of equal betweenness by a
canonical numbering of the graph. The patch of a vertex is the smallest ball around it with enough vertices, ordered by
distance and, at equal distance, by a canonical numbering of the ball; it is truncated to ``patch`` vertices or padded
with zeros. Canonical numberings come from igraph. They make the order independent of how the graph is numbered, up to
automorphisms.

GIN, the graph isomorphism network (Xu et al. 2019), is that of PyTorch Geometric.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from ccn.errors import needs
from ccn.graphs.graph import Batch, batch
from ccn.graphs.pack import Pack
from ccn.graphs.ragged import Int
from ccn.learning.inputs import Inputs
from ccn.learning.settings import Features
from ccn.learning.task import Task
from ccn.methods.network import FittedNetworks, NetworkMethod
from ccn.training.recipe import Network, Optimiser, Recipe, Training

__all__ = ["GIN", "NGF", "PSCN", "GraphIsomorphismNetwork", "NeuralFingerprints", "PatchySAN", "patches", "sequence"]

_PATCH = 10  # vertices of a patch, in the paper


def _recipe(name: str, learning_rate: float, final_rate: float, network: Network = Network()) -> Recipe:  # noqa: B008
    return Recipe(
        name=name,
        features=Features(molecules="element", vertices="given"),
        network=network,
        optimiser=Optimiser(learning_rate=learning_rate, final_rate=final_rate, weight_decay=1e-4, clip=5.0),
        training=Training(epochs=100, least_steps=0, batch_size=32, keep="last", rising="ignore"),
    )


def _ends(b: Batch) -> tuple[Tensor, Tensor, Tensor]:
    """The two ends of every entry of A, and the graph of every vertex."""
    to, source = (torch.from_numpy(x).to(b.device) for x in b.entries)
    return to, source, torch.from_numpy(b.graph_of).to(b.device)


class NGF(nn.Module):
    """Neural graph fingerprints.

    Args:
        in_features: width of the vertex features.
        out_features: width of the output.
        layers: number of layers above the features.
        hidden: width of their features.
        length: length of the fingerprint.
        degrees: the largest degree with a matrix; vertices of larger degree use it too.
    """

    def __init__(
        self, in_features: int, out_features: int, layers: int = 2, hidden: int = 10, length: int = 50, degrees: int = 5
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
        to, source, of = _ends(b)
        degree = torch.bincount(to, minlength=b.n).clamp(max=self.degrees)
        h = b.features.to(self.read.weight.dtype)
        out = h.new_zeros(len(b), self.read.in_features)
        out = out.index_add(0, of, self.write[0](h).softmax(dim=1))
        for weight, bias, write in zip(self.weights, self.biases, list(self.write)[1:], strict=True):
            near = h.index_add(0, to, h.index_select(0, source))
            # Features are so narrow that the matrices of all degrees at once are faster than sorting the rows.
            every = torch.addmm(bias.flatten(), near, weight.flatten(0, 1).T).unflatten(1, bias.shape)
            h = torch.relu(every.gather(1, degree[:, None, None].expand(-1, 1, every.shape[2]))[:, 0])
            out = out.index_add(0, of, write(h).softmax(dim=1))
        return out

    def forward(self, graphs: Any) -> Tensor:
        out: Tensor = self.read(self.fingerprint(graphs))
        return out


class _FittedReference(FittedNetworks):
    head = "read"
    reads_edges = False


class FittedNGF(_FittedReference):
    module = NGF


@dataclass(frozen=True, kw_only=True)
class NeuralFingerprints(NetworkMethod):
    """Neural graph fingerprints with the paper's two layers of width 10."""

    layers: int = 2
    hidden: int = 10
    length: int = 50

    fitted = FittedNGF
    arguments = ("layers", "hidden", "length")
    own_recipe = _recipe("ngf", 1e-2, 1e-4)
    own_choices = ({"learning_rate": 3e-3}, {"learning_rate": 1e-2}, {"learning_rate": 3e-2})


@cache
def _numbers_places() -> bool:
    """Whether igraph's permutations hold the new index of each vertex, as before 1.0, or the vertex at each index.

    ``permute_vertices`` uses the same convention; the middle of a path tells which it is.
    """
    with needs("PSCN", "baselines"):
        import igraph
    path = igraph.Graph(n=3, edges=[(0, 1), (1, 2)])
    return bool(path.permute_vertices([2, 0, 1]).degree(0) == 2)


def _canonical(graph: Any, key: Int) -> Int:
    """The vertices of an igraph graph, sorted by their keys and, where these are equal, canonically."""
    found = np.array(graph.canonical_permutation(color=key.tolist()))
    order = np.argsort(found) if _numbers_places() else found
    return order[np.argsort(key[order], kind="stable")]


def sequence(graph: Any, label: Int) -> Int:
    """The vertices of an igraph graph, the most central first; ``label`` numbers their features."""
    _, rank = np.unique(-np.round(graph.betweenness(), 6), return_inverse=True)
    return _canonical(graph, rank * (label.max() + 1) + label)


def _patch(graph: Any, label: Int, root: int, size: int) -> Int:
    """The patch of a vertex: at most ``size`` vertices, itself first."""
    found, starts, _ = graph.bfs(root)
    last = next(i for i, start in enumerate(starts[1:]) if start >= min(size, len(found)))
    ball = np.array(found[: starts[last + 1]])
    distance = np.repeat(np.arange(last + 1), np.diff(starts[: last + 2]))
    by_number = np.argsort(ball)  # the order that a subgraph keeps
    members, distance = ball[by_number], distance[by_number]
    key = distance * (label.max() + 1) + label[members]
    return members[_canonical(graph.induced_subgraph(members.tolist()), key)][:size]


def patches(pack: Pack, width: int, size: int) -> Pack:
    """Every graph as ``width`` vertices without edges, each with the concatenated features of its patch."""
    with needs("PSCN", "baselines"):
        import igraph
    a, rows = pack.compact().arrays, pack.features
    label = np.unique(rows, axis=0, return_inverse=True)[1].reshape(-1)
    index = np.full((len(pack), width, size), len(rows), dtype=np.int64)
    for i in range(len(pack)):
        first, last = a["vertex_start"][i : i + 2].tolist()
        entry = slice(*a["entry_start"][i : i + 2].tolist())
        u, v = a["row"][entry].astype(np.int64), a["column"][entry].astype(np.int64)
        pairs = np.unique(np.stack([np.minimum(u, v), np.maximum(u, v)], axis=1)[u != v], axis=0)
        graph = igraph.Graph(n=last - first, edges=pairs.tolist())
        labels = label[first:last]
        for j, root in enumerate(sequence(graph, labels)[:width]):
            patch = _patch(graph, labels, int(root), size)
            index[i, j, : len(patch)] = patch + first
    padded = np.concatenate([rows, np.zeros((1, rows.shape[1]), dtype=rows.dtype)])
    flat = padded[index].reshape(len(pack) * width, -1)
    none = np.zeros(len(pack), dtype=np.int64)
    return Pack.of_edges(np.full(len(pack), width), none, np.zeros((0, 2), dtype=np.int64), flat, name=pack.name)


class PSCN(nn.Module):
    """Convolutions over patches, which :func:`patches` makes of graphs.

    Args:
        in_features: width of the vertex features.
        out_features: width of the output.
        width: number of patches per graph.
        patch: number of vertices per patch.
        channels: of the convolution over each patch and of that over the sequence.
        field: kernel size of the second convolution, in patches.
        hidden: width of the dense layer.
        dropout: before the output.
    """

    def __init__(
        self,
        in_features: int,
        out_features: int,
        width: int,
        patch: int = 10,
        channels: tuple[int, int] = (16, 8),
        field: int = 10,
        hidden: int = 128,
        dropout: float = 0.5,
    ) -> None:
        super().__init__()
        field = min(field, width)
        self.shape = (width, patch * in_features)
        # A convolution whose stride is its kernel size is a linear map of every patch.
        self.first = nn.Linear(patch * in_features, channels[0])
        self.second = nn.Conv1d(channels[0], channels[1], field)
        read = nn.Linear(channels[1] * (width - field + 1), hidden)
        self.read = nn.Sequential(read, nn.ReLU(), nn.Dropout(dropout), nn.Linear(hidden, out_features))

    def forward(self, graphs: Any) -> Tensor:
        b: Batch = batch(graphs)
        x = b.features.to(self.first.weight.dtype).reshape(len(b), *self.shape)
        x = torch.relu(self.first(x)).transpose(1, 2)
        x = torch.relu(self.second(x)).flatten(1)
        out: Tensor = self.read(x)
        return out


class FittedPSCN(_FittedReference):
    module = PSCN

    @staticmethod
    def prepare(graphs: Pack, prepared: Mapping[str, Any]) -> Pack:
        return patches(graphs, prepared["width"], prepared.get("patch", _PATCH))


@dataclass(frozen=True, kw_only=True)
class PatchySAN(NetworkMethod):
    """PSCN with patches of 10 vertices; their number is the mean number of vertices of the training graphs."""

    patch: int = _PATCH

    fitted = FittedPSCN
    own_recipe = _recipe("pscn", 1e-3, 1e-5)
    own_choices = ({"learning_rate": 1e-3}, {"learning_rate": 3e-3})

    def preparation(self, graphs: Pack, inputs: Inputs) -> dict[str, Any]:
        return {"width": max(1, round(float(graphs.sizes.mean()))), "patch": self.patch}

    def options(self, graphs: Pack, task: Task, chosen: Recipe, prepared: Mapping[str, Any]) -> dict[str, Any]:
        return {"in_features": graphs.width // self.patch, "out_features": task.outputs, **prepared}


class GIN(nn.Module):
    """PyG's ``GIN``, a sum over vertices and a dense layer."""

    def __init__(
        self, in_features: int, out_features: int, layers: int = 4, hidden: int = 64, dropout: float = 0.1
    ) -> None:
        super().__init__()
        with needs("GIN", "compare"):
            from torch_geometric import nn as pyg
        self.layers: nn.Module = pyg.GIN(
            in_features, hidden, layers, jk="cat", dropout=dropout, norm="batch_norm", train_eps=True
        )
        self.read = nn.Sequential(nn.Linear(hidden, hidden), nn.ReLU(), nn.Linear(hidden, out_features))

    def forward(self, graphs: Any) -> Tensor:
        b: Batch = batch(graphs)
        to, source, of = _ends(b)
        h = self.layers(b.features.to(next(self.parameters()).dtype), torch.stack([source, to]))
        out: Tensor = self.read(h.new_zeros(len(b), h.shape[1]).index_add(0, of, h))
        return out


class FittedGIN(_FittedReference):
    module = GIN


@dataclass(frozen=True, kw_only=True)
class GraphIsomorphismNetwork(NetworkMethod):
    """GIN with the vertex features given."""

    layers: int = 4
    hidden: int = 64

    fitted = FittedGIN
    arguments = ("layers", "hidden")
    own_recipe = _recipe("gin", 3e-3, 1e-5, Network(dropout=0.0))
    own_choices = ({"learning_rate": 1e-3}, {"learning_rate": 3e-3})

    def options(self, graphs: Pack, task: Task, chosen: Recipe, prepared: Mapping[str, Any]) -> dict[str, Any]:
        return super().options(graphs, task, chosen, prepared) | {"dropout": chosen.network.dropout or 0.0}
