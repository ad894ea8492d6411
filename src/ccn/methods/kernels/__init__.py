"""Graph kernels: Gram matrices of packs, computed by array operations over all graphs at once."""

from __future__ import annotations

from ccn.methods.kernels.graphlet import Graphlet
from ccn.methods.kernels.kernel import BagKernel, Kernel
from ccn.methods.kernels.multiscale_laplacian import MultiscaleLaplacian
from ccn.methods.kernels.parts import PartKinds
from ccn.methods.kernels.random_walk import RandomWalk
from ccn.methods.kernels.shortest_path import ShortestPath
from ccn.methods.kernels.store import stored_gram
from ccn.methods.kernels.wl import WL, WLEdge, WLOptimalAssignment

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
