"""Graph kernels: Gram matrices of packs, computed by array code over all graphs at once."""

from __future__ import annotations

from ccn.baselines.kernels.graphlet import Graphlet
from ccn.baselines.kernels.kernel import BagKernel, Kernel
from ccn.baselines.kernels.multiscale_laplacian import MultiscaleLaplacian
from ccn.baselines.kernels.parts import PartKinds
from ccn.baselines.kernels.random_walk import RandomWalk
from ccn.baselines.kernels.shortest_path import ShortestPath
from ccn.baselines.kernels.store import stored_gram
from ccn.baselines.kernels.wl import WL
from ccn.baselines.kernels.wl_edge import WLEdge
from ccn.baselines.kernels.wl_oa import WLOptimalAssignment

__all__ = [
    "WL",
    "BagKernel",
    "Graphlet",
    "Kernel",
    "MultiscaleLaplacian",
    "PartKinds",
    "RandomWalk",
    "ShortestPath",
    "WLEdge",
    "WLOptimalAssignment",
    "stored_gram",
]
