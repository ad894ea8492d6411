"""What everything is compared with in the same run: a copy, a GIN, and the naive dense form."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn

import ccn
from ccn.algebra.contractions import preset
from ccn.algebra.operations import promote, stack


def training_step(forward: Callable[[], Tensor], parameters: Sequence[nn.Parameter]) -> Callable[[], None]:
    """Forward, backward and one step of Adam on a squared loss."""
    optimiser = torch.optim.Adam(parameters)

    def step() -> None:
        optimiser.zero_grad()
        forward().pow(2).mean().backward()
        optimiser.step()

    return step


def copy_of(activations: Sequence[Tensor]) -> Callable[[], None]:
    """Copy all activations of all levels once."""
    targets = [torch.empty_like(a) for a in activations]

    def run() -> None:
        for target, source in zip(targets, activations, strict=True):
            target.copy_(source)

    return run


class GIN(nn.Module):
    """Two layers of 64 hidden channels from PyTorch Geometric, sum readout, one linear layer."""

    def __init__(self, graphs: Sequence[ccn.Graph]) -> None:
        super().__init__()
        from torch_geometric import nn as pyg
        from torch_geometric.data import Batch

        self.data: Any = Batch.from_data_list([ccn.graphs.exchange.to_pyg(g) for g in graphs])
        self.network = pyg.GIN(graphs[0].features.shape[1], 64, num_layers=2)
        self.head = nn.Linear(64, 1)
        self.pool: Any = pyg.global_add_pool

    def forward(self) -> Tensor:
        x = self.network(self.data.x, self.data.edge_index)
        out: Tensor = self.head(self.pool(x, self.data.batch, self.data.num_graphs))
        return out


class Naive(nn.Module):
    """What a researcher writes first: a loop over nodes, T (x) A stored, the ten projections as einsums."""

    def __init__(self, channels: int = 16, levels: int = 2) -> None:
        super().__init__()
        self.contractions = preset("paper10", 5, 2, "TA")
        self.weights = nn.ParameterList(
            nn.Parameter(torch.randn(channels, len(self.contractions), channels) / 1000) for _ in range(levels)
        )
        self.head = nn.Linear(channels * 2 * (levels + 1), 1)

    def forward(self, graphs: Sequence[ccn.Graph]) -> Tensor:
        return torch.stack([self._one(g) for g in graphs])

    def _one(self, g: ccn.Graph) -> Tensor:
        a = g.adjacency()
        near = [[v, *torch.nonzero(a[v]).flatten().tolist()] for v in range(g.n)]
        parts, f = [[v] for v in range(g.n)], [g.features[v].reshape(1, 1, -1) for v in range(g.n)]
        read = [self._read(f)]
        for weight in self.weights:
            above = [sorted({u for w in near[v] for u in parts[w]}) for v in range(g.n)]
            new = []
            for v in range(g.n):
                t = stack([promote(f[w], parts[w], above[v]) for w in near[v]], near[v], above[v])
                h = torch.einsum("abcz,de->abcdez", t, a[above[v]][:, above[v]])
                q = torch.stack([torch.einsum(f"{c.letters}...->ab...", h) for c in self.contractions], dim=2)
                new.append(torch.relu(torch.einsum("abqi,oqi->abo", q, weight)))
            parts, f = above, new
            read.append(self._read(f))
        out: Tensor = self.head(torch.cat(read))
        return out

    @staticmethod
    def _read(f: Sequence[Tensor]) -> Tensor:
        sums = torch.stack([x.sum((0, 1)) for x in f]).sum(0)
        traces = torch.stack([x.diagonal().sum(-1) for x in f]).sum(0)
        return torch.cat([sums, traces])
