"""The Weisfeiler-Lehman optimal assignment kernel (Kriege et al. 2016).

Two vertices are as similar as the number of rounds in which their labels agree, and the kernel is the best sum of
similarities over all ways to pair the vertices of two graphs. Refinement makes the labels a tree, in which the best
pairing takes ``min(count_g, count_h)`` pairs at every label: the kernel is the histogram intersection over all rounds.
"""

from __future__ import annotations

from dataclasses import dataclass

from ccn.graphs.pack import Pack
from ccn.methods.kernels.bags import Bag, unary
from ccn.methods.kernels.kernel import BagKernel
from ccn.methods.kernels.wl import label_bags

__all__ = ["WLOptimalAssignment"]


@dataclass(frozen=True)
class WLOptimalAssignment(BagKernel):
    """The best pairing of vertices by the labels of rounds 0 to ``depth``."""

    title = "Weisfeiler-Lehman optimal assignment"
    depth: int = 3

    def see(self, graphs: Pack) -> Bag:
        return unary(label_bags(graphs, self.depth))
