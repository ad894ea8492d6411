"""One form, three gradients, each the derivative of the other two; and a wrong form is caught."""

from typing import Any

import pytest
import torch
from torch import Tensor
from torch.autograd import gradcheck, gradgradcheck
from torch.autograd.gradcheck import GradcheckError

from ccn.engine.trilinear import gradient


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


def test_maps_of_batches_are_taken_one_after_another() -> None:
    x, w = torch.randn(5, 4, 3), torch.randn(3, 2)
    torch.testing.assert_close(torch.func.vmap(lambda u: gradient(Product(), 0, u, w))(x), x @ w)
    jacobian = torch.func.jacrev(lambda u: gradient(Product(), 0, u, w))(x[0])
    torch.testing.assert_close(jacobian, torch.func.jacrev(lambda u: u @ w)(x[0]))
