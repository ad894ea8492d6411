"""PSCN, convolution over the neighbourhoods of a sequence of vertices (Niepert et al. 2016).

A graph becomes ``width`` patches of ``patch`` vertices each. The sequence orders vertices by betweenness, and those of
equal betweenness by a canonical numbering of the graph. The patch of a vertex is the smallest ball around it with
enough vertices, ordered by distance and, at equal distance, by a canonical numbering of the ball; it is truncated to
``patch`` vertices or padded with zeros. Canonical numberings come from igraph. They make the order independent of how
the graph is numbered, up to automorphisms.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from ccn.errors import DependencyError
from ccn.graphs.graph import Batch, batch
from ccn.graphs.pack import Pack
from ccn.graphs.ragged import Int
from ccn.learning.settings import Features
from ccn.learning.task import Task
from ccn.methods.network import FittedNetworks, NetworkMethod
from ccn.training.recipe import Optimiser, Recipe, Training

__all__ = ["PSCN", "PatchySAN", "patches", "sequence"]

_PATCH = 10  # vertices of a patch, in the paper


def _igraph() -> Any:
    """Import igraph, or say how to install it."""
    try:
        import igraph
    except ImportError:
        raise DependencyError("PSCN needs igraph: pip install 'ccn[baselines]'") from None
    return igraph


@cache
def _numbers_places() -> bool:
    """Whether igraph's permutations hold the new index of each vertex, as before 1.0, or the vertex at each index.

    ``permute_vertices`` uses the same convention; the middle of a path tells which it is.
    """
    path = _igraph().Graph(n=3, edges=[(0, 1), (1, 2)])
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
    igraph = _igraph()
    whole = pack.compact()
    a = whole.arrays
    rows: NDArray[Any] = a["features"]
    _, label = np.unique(rows, axis=0, return_inverse=True)
    label = label.reshape(-1)
    index = np.full((len(whole), width, size), len(rows), dtype=np.int64)
    for i in range(len(whole)):
        first, last = a["vertex_start"][i : i + 2].tolist()
        entry = slice(*a["entry_start"][i : i + 2].tolist())
        u, v = a["row"][entry].astype(np.int64), a["column"][entry].astype(np.int64)
        pairs = np.unique(np.stack([np.minimum(u, v), np.maximum(u, v)], axis=1)[u != v], axis=0)
        graph = igraph.Graph(n=last - first, edges=pairs.tolist())
        own = label[first:last]
        for j, root in enumerate(sequence(graph, own)[:width]):
            found = _patch(graph, own, int(root), size)
            index[i, j, : len(found)] = found + first
    padded = np.concatenate([rows, np.zeros((1, rows.shape[1]), dtype=rows.dtype)])
    flat = padded[index].reshape(len(whole) * width, -1)
    none = np.zeros(len(whole), dtype=np.int64)
    return Pack.of_edges(np.full(len(whole), width), none, np.zeros((0, 2), dtype=np.int64), flat, name=pack.name)


class PSCN(nn.Module):
    """From a batch of patches to (graphs, out_features).

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
        self.read = nn.Sequential(
            nn.Linear(channels[1] * (width - field + 1), hidden),
            nn.ReLU(),
            nn.Dropout(dropout),
            nn.Linear(hidden, out_features),
        )

    def forward(self, graphs: Any) -> Tensor:
        b: Batch = batch(graphs)
        x = b.features.to(self.first.weight.dtype).reshape(len(b), *self.shape)
        x = torch.relu(self.first(x)).transpose(1, 2)
        x = torch.relu(self.second(x)).flatten(1)
        out: Tensor = self.read(x)
        return out


class FittedPSCN(FittedNetworks):
    """PSCNs, whose graphs are sequences of patches; ``prepared`` has the number of patches and of their vertices."""

    module = PSCN
    reads_edges = False

    @staticmethod
    def prepare(graphs: Pack, prepared: Mapping[str, Any]) -> Pack:
        return patches(graphs, prepared["width"], prepared.get("patch", _PATCH))


@dataclass(frozen=True, kw_only=True)
class PatchySAN(NetworkMethod):
    """PSCN with patches of 10 vertices; their number is the mean number of vertices of the training graphs."""

    patch: int = _PATCH

    fitted = FittedPSCN
    own_recipe = Recipe(
        name="pscn",
        features=Features(molecules="element", vertices="given"),
        optimiser=Optimiser(learning_rate=1e-3, final_rate=1e-5, weight_decay=1e-4, clip=5.0),
        training=Training(epochs=100, least_steps=0, batch_size=32, keep="last"),
    )
    own_choices = ({"learning_rate": 1e-3}, {"learning_rate": 3e-3})

    def preparation(self, graphs: Pack) -> dict[str, Any]:
        return {"width": max(1, round(float(graphs.sizes.mean()))), "patch": self.patch}

    def options(self, graphs: Pack, task: Task, chosen: Recipe, prepared: Mapping[str, Any]) -> dict[str, Any]:
        return {
            "in_features": graphs.width // self.patch,
            "out_features": task.outputs,
            "width": prepared["width"],
            "patch": self.patch,
        }
