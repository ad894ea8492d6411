"""From a recipe and the data to a network, by way of plain options that a file can hold."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from ccn.graphs.adjacency import EdgeFeatures, Weights
from ccn.graphs.pack import Pack
from ccn.models import CCN
from ccn.schemes.generators import Neighbourhoods
from ccn.training.recipe import Network

__all__ = ["make_network", "network_options"]


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


def make_network(options: dict[str, Any], seed: int) -> CCN:
    """The network with weights drawn from the seed; the random numbers of the process are left as they were."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return CCN(**options)
