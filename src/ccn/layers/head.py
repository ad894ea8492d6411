"""The last layers of a network: an MLP on what the readout gives, and on graph-level features."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from ccn.layers.normalisation import RobustScale, normalisation

__all__ = ["Beside", "Rescale", "make_head"]


def make_head(
    width: int,
    out_features: int,
    *,
    hidden: Sequence[int],
    norm: str | None,
    dropout: float,
    scales: Sequence[float] | None,
    graph_features: int,
) -> nn.Sequential:
    """From rows of so many columns, and graph-level features behind them, to outputs.

    The rows are divided by their ``scales`` and normalised; without scales they are the activations of roots, which
    stand in the place of the first hidden layer and are dropped like it.
    """
    first: list[nn.Module | None] = [nn.Dropout(dropout)] if dropout else []
    if scales is not None:
        first = [Rescale(scales), normalisation(norm, width)]
    head = first
    if graph_features:
        # Not normalised: they are scaled already, and rare ones would become large again.
        whole = nn.Sequential(RobustScale(graph_features), nn.Dropout(dropout))
        head = [Beside(width, nn.Sequential(*(m for m in first if m is not None)), whole)]
        width += graph_features
    for h in hidden:
        head += [nn.Linear(width, h), normalisation(norm, h), nn.ReLU()]
        head += [nn.Dropout(dropout)] if dropout else []
        width = h
    return nn.Sequential(*(m for m in (*head, nn.Linear(width, out_features)) if m is not None))


class Rescale(nn.Module):
    """Divides every invariant by its value for activations of all ones on the reference graph.

    Sums over m^k entries of n nodes are large; the MLP sees numbers of the size of the activations.
    """

    scale: Tensor

    def __init__(self, scales: Sequence[float]) -> None:
        super().__init__()
        self.register_buffer("scale", torch.tensor([1 / s for s in scales]))

    def forward(self, z: Tensor) -> Tensor:
        return z * self.scale


class Beside(nn.Module):
    """Two modules side by side: one for the first columns, one for the others."""

    def __init__(self, width: int, first: nn.Module, others: nn.Module) -> None:
        super().__init__()
        self.width, self.first, self.others = width, first, others

    def forward(self, z: Tensor) -> Tensor:
        return torch.cat([self.first(z[:, : self.width]), self.others(z[:, self.width :])], dim=1)
