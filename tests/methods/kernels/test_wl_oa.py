from __future__ import annotations

import numpy as np
import pytest
from labelled import labelled, rounds, same_as_grakel
from scipy.optimize import linear_sum_assignment

from ccn.methods.kernels import WLOptimalAssignment

GRAPHS = labelled(12, seed=1, largest=8)
DEPTH = 3


def test_the_best_pairing() -> None:
    k = WLOptimalAssignment(DEPTH).gram(GRAPHS, normalise=False)
    for i, g in enumerate(GRAPHS):
        for j, h in enumerate(GRAPHS):
            alike = np.zeros((g.n, h.n))
            for a, b in zip(rounds(g, DEPTH), rounds(h, DEPTH), strict=True):
                alike += [[x == y for y in b] for x in a]
            assert k[i, j] == alike[linear_sum_assignment(-alike)].sum()


def test_the_same_as_grakel() -> None:
    grakel = pytest.importorskip("grakel")
    same_as_grakel(WLOptimalAssignment(DEPTH), grakel.WeisfeilerLehmanOptimalAssignment(n_iter=DEPTH), GRAPHS)
