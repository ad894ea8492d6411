"""The hash that stands for a nonlinearity."""

import numpy as np
import pytest
import torch

from ccn.errors import GraphError
from ccn.layers import Aggregation
from ccn.methods.kernels.bags import name
from ccn.methods.kernels.integers import code, draw_integers, hash_of


@pytest.mark.parametrize("bits", [8, 12])
def test_codes_are_integers_from_one_to_two_to_the_bits(bits: int) -> None:
    found = code(name(np.arange(100_000)), bits)
    assert found.min() == 1
    assert found.max() == 2**bits
    np.testing.assert_array_equal(found, np.round(found))


def test_a_hash_depends_on_the_entry_alone_and_keeps_the_shape() -> None:
    x = torch.arange(200_000, dtype=torch.float64).view(-1, 2)
    found = hash_of(12)(x)
    assert found.shape == x.shape
    torch.testing.assert_close(hash_of(12)(x.flip(0)), found.flip(0), rtol=0, atol=0)


def test_sums_beyond_exact_are_refused() -> None:
    with pytest.raises(GraphError, match="levels"):
        hash_of(8)(torch.tensor([[1.0], [2.0**53]], dtype=torch.float64))


def test_layers_have_weights_of_their_own() -> None:
    one, other = Aggregation(2, 2, 1).double(), Aggregation(2, 2, 1).double()
    draw_integers([one, other], 8)
    assert not torch.equal(one.weight, other.weight)
    draw_integers([other], 8)
    assert torch.equal(one.weight, other.weight)
    assert torch.equal(one.weight, one.weight.round())
