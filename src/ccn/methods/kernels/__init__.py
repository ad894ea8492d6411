"""Graph kernels: Gram matrices of packs, computed by array operations over all graphs at once."""

from __future__ import annotations

from ccn.methods.kernels.counting import WL, Graphlet, RandomWalk, ShortestPath, WLEdge, WLOptimalAssignment
from ccn.methods.kernels.kernel import BagKernel, Kernel, stored_gram
from ccn.methods.kernels.multiscale_laplacian import MultiscaleLaplacian
from ccn.methods.kernels.parts import PartKinds, PartShares

__all__ = [
    "WL",
    "BagKernel",
    "Graphlet",
    "Kernel",
    "MultiscaleLaplacian",
    "PartKinds",
    "PartShares",
    "RandomWalk",
    "ShortestPath",
    "WLEdge",
    "WLOptimalAssignment",
    "stored_gram",
]
