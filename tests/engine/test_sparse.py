"""Sparse maps against the dense matrices that they stand for."""

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from torch import Tensor

from ccn.engine.sparse import SparseMap
from ccn.engine.trilinear import gradient

ROWS, COLUMNS, LENGTH = 6, 5, 4
CPU = torch.device("cpu")


def drawn(seed: int, valued: bool) -> tuple[SparseMap, Tensor]:
    """A map, and its matrix for each number of q: (LENGTH, ROWS, COLUMNS)."""
    rng = np.random.default_rng(seed)
    places = rng.permutation(ROWS * COLUMNS)[:11]
    number = rng.integers(0, LENGTH, len(places))
    row, column = places // COLUMNS, places % COLUMNS
    matrix = sp.csr_array((number, (row, column)), shape=(ROWS, COLUMNS))
    dense = torch.zeros(LENGTH, ROWS, COLUMNS, dtype=torch.float64)
    dense[number if valued else 0, row, column] = 1
    return SparseMap.of(matrix, CPU, LENGTH if valued else 0), dense


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("valued", [True, False])
def test_products_and_sums(seed: int, valued: bool) -> None:
    s, dense = drawn(seed, valued)
    x, g = torch.randn(COLUMNS, 3, dtype=torch.float64), torch.randn(ROWS, 3, dtype=torch.float64)
    q = torch.randn(LENGTH, dtype=torch.float64) if valued else None
    matrix = torch.einsum("lrc,l->rc", dense, q) if q is not None else dense[0]
    torch.testing.assert_close(s.product(x, q), matrix @ x)
    torch.testing.assert_close(s.back(g, q), matrix.T @ g)
    if valued:
        torch.testing.assert_close(s.sums(g, x), torch.einsum("ri,lrc,ci->l", g, dense, x))


def test_second_derivatives_in_everything() -> None:
    s, _ = drawn(0, True)
    x, q = torch.randn(COLUMNS, 2, dtype=torch.float64), torch.randn(LENGTH, dtype=torch.float64)
    assert torch.autograd.gradgradcheck(lambda *u: gradient(s, 0, *u), (x.requires_grad_(), q.requires_grad_()))


def test_a_map_without_entries_gives_zeros() -> None:
    s = SparseMap.of(sp.csr_array((3, 2), dtype=np.int32), CPU, 2)
    assert not s.product(torch.ones(2, 4), torch.ones(2)).any()
    assert s.back(torch.ones(3, 4), torch.ones(2)).shape == (2, 4)
    assert s.sums(torch.ones(3, 4), torch.ones(2, 4)).tolist() == [0, 0]
