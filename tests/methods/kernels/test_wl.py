from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from labelled import labelled, products, rounds, same_as_grakel

from ccn.methods.kernels import WL

GRAPHS = labelled(12, seed=1, largest=8)


@pytest.mark.parametrize("depth", [0, 3])
def test_labels_as_nested_tuples(depth: int) -> None:
    bags = [Counter((i, x) for i, labels in enumerate(rounds(g, depth)) for x in labels) for g in GRAPHS]
    np.testing.assert_array_equal(WL(depth).gram(GRAPHS, normalise=False), products(bags))


def test_the_same_as_grakel() -> None:
    grakel = pytest.importorskip("grakel")
    same_as_grakel(WL(3), grakel.WeisfeilerLehman(n_iter=3), GRAPHS)
