"""What every kernel must be: symmetric, positive semidefinite, blind to numberings, the same for parts of a pack."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from labelled import labelled, permuted

import ccn
from ccn.errors import ConfigurationError
from ccn.methods.kernels import (
    WL,
    Graphlet,
    Kernel,
    MultiscaleLaplacian,
    PartKinds,
    RandomWalk,
    ShortestPath,
    WLEdge,
    WLOptimalAssignment,
)

KERNELS: list[Kernel[Any]] = [
    WL(3),
    WLEdge(3),
    WLOptimalAssignment(3),
    ShortestPath(),
    Graphlet(3),
    Graphlet(4),
    Graphlet(4, connected=True),
    RandomWalk(3),
    MultiscaleLaplacian(levels=2, anchors=40),
    PartKinds(order=1),
    PartKinds(order=2, levels=2, counted=False),
]
PACK = ccn.Pack.of(labelled(30))


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_gram_matrices(kernel: Kernel[Any]) -> None:
    fitted = kernel.fit(PACK)
    raw, k = fitted.gram(PACK, normalise=False), fitted.gram(PACK)
    np.testing.assert_allclose(k, k.T, atol=1e-10)
    assert np.linalg.eigvalsh(k)[0] > -1e-9
    square = np.diag(raw)
    np.testing.assert_allclose(np.diag(k), square > 0, atol=1e-10)
    there = square > 0
    length = np.sqrt(square[there])
    np.testing.assert_allclose(k[np.ix_(there, there)], raw[np.ix_(there, there)] / np.outer(length, length))


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_numberings_do_not_count(kernel: Kernel[Any]) -> None:
    other = ccn.Pack.of(permuted(labelled(30)))
    np.testing.assert_allclose(kernel.fit(other).gram(other), kernel.fit(PACK).gram(PACK), atol=1e-6)


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_graphs_are_seen_one_by_one(kernel: Kernel[Any]) -> None:
    fitted, whole = kernel.fit(PACK), kernel.fit(PACK).gram(PACK)
    rows, columns = [3, 17, 5], [0, 29, 8, 8]
    part = fitted.gram(PACK.select(rows), [PACK[i] for i in columns])
    np.testing.assert_allclose(part, whole[np.ix_(rows, columns)], atol=1e-8)


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_state_comes_back(kernel: Kernel[Any]) -> None:
    fitted = kernel.fit(PACK)
    again = type(kernel)(**fitted.settings()).with_state(fitted.state())
    np.testing.assert_array_equal(again.gram(PACK.select([1]), PACK), fitted.gram(PACK.select([1]), PACK))


def test_two_sides_need_common_anchors() -> None:
    with pytest.raises(ConfigurationError, match="fit"):
        MultiscaleLaplacian().gram(PACK, PACK)
