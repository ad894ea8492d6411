"""Sparse maps against the dense matrices that they stand for."""

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from torch import Tensor
from torch.autograd import gradcheck, gradgradcheck
from torch.autograd.gradcheck import GradcheckError

from ccn.engine.sparse import SparseMap, gradient

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


@pytest.mark.slow
def test_second_derivatives_in_everything() -> None:
    s, _ = drawn(0, True)
    x, q = torch.randn(COLUMNS, 2, dtype=torch.float64), torch.randn(LENGTH, dtype=torch.float64)
    assert torch.autograd.gradgradcheck(lambda *u: gradient(s, 0, *u), (x.requires_grad_(), q.requires_grad_()))


def test_a_map_without_entries_gives_zeros() -> None:
    s = SparseMap.of(sp.csr_array((3, 2), dtype=np.int32), CPU, 2)
    assert not s.product(torch.ones(2, 4), torch.ones(2)).any()
    assert s.back(torch.ones(3, 4), torch.ones(2)).shape == (2, 4)
    assert s.sums(torch.ones(3, 4), torch.ones(2, 4)).tolist() == [0, 0]


class Product:
    """``<g, x w>`` for matrices."""

    def gradient(self, i: int, u: Tensor, v: Tensor | None) -> Tensor:
        assert v is not None
        return u @ v if i == 0 else u @ v.T if i == 1 else v.T @ u


class Wrong(Product):
    """The same, with a mistake in the gradient of x."""

    def gradient(self, i: int, u: Tensor, v: Tensor | None) -> Tensor:
        result = super().gradient(i, u, v)
        return 2 * result if i == 1 else result


@pytest.fixture
def given() -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(0)
    x, w = (torch.randn(s, dtype=torch.float64, generator=generator) for s in ((4, 3), (3, 2)))
    return x.requires_grad_(), w.requires_grad_()


def test_derivatives_of_every_order(given: tuple[Tensor, Tensor]) -> None:
    def table(*u: Tensor) -> Tensor:
        return gradient(Product(), 0, *u)

    def third(x: Tensor, w: Tensor) -> Any:
        return torch.autograd.grad(table(x, w).pow(3).sum(), (x, w), create_graph=True)

    assert gradcheck(table, given)
    assert gradgradcheck(table, given)
    assert gradgradcheck(third, given)


def test_a_wrong_form_is_caught(given: tuple[Tensor, Tensor]) -> None:
    with pytest.raises(GradcheckError):
        gradcheck(lambda *u: gradient(Wrong(), 0, *u), given)


@pytest.mark.slow
def test_maps_of_batches_are_taken_one_after_another() -> None:
    x, w = torch.randn(5, 4, 3), torch.randn(3, 2)
    torch.testing.assert_close(torch.func.vmap(lambda u: gradient(Product(), 0, u, w))(x), x @ w)
    jacobian = torch.func.jacrev(lambda u: gradient(Product(), 0, u, w))(x[0])
    torch.testing.assert_close(jacobian, torch.func.jacrev(lambda u: u @ w)(x[0]))
