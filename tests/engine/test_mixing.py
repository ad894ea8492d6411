"""The mixing matrices: every weight in its cell, and the gradient back to the weights."""

import pytest
import torch

from ccn.algebra import MatrixClass
from ccn.engine.mixing import mixing, mixing_gradient
from ccn.engine.plan import plan
from ccn.layers import list_maps

SIMPLE = (MatrixClass(),)


@pytest.mark.parametrize("k", [0, 1, 2])
@pytest.mark.parametrize("choice", ["all", "distinct"])
def test_every_weight_is_in_the_cell_of_its_contraction(k: int, choice: str) -> None:
    p = plan(list_maps(choice, k, k), k, k, SIMPLE)
    out, width = 3, 2
    weight = torch.randn(out, len(p.cells), width)
    flat, start = mixing(p, weight), 0
    for s, stage in enumerate(p.stages):
        shape = (stage.end - stage.first, width, len(stage.slots), out)
        matrix = torch.zeros(shape)
        for i, cell in enumerate(p.cells):
            if cell is not None and cell[0] == s:
                matrix[cell[1], :, cell[2]] += weight[:, i].T
        torch.testing.assert_close(flat[start : start + matrix.numel()].view(shape), matrix)
        start += matrix.numel()
    assert start == len(flat)


def test_the_gradient_is_that_of_the_function() -> None:
    p = plan(list_maps("all", 2, 2), 2, 2, SIMPLE)
    weight = torch.randn(2, len(p.cells), 3, requires_grad=True)
    flat = mixing(p, weight)
    g = torch.randn_like(flat)
    (expected,) = torch.autograd.grad(flat, weight, g)
    torch.testing.assert_close(mixing_gradient(p, g, weight), expected)
