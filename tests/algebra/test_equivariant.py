"""The complete basis of equivariant linear maps."""

from itertools import product

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from ccn.algebra import EquivariantMap, bell, contractions, equivariant_maps
from ccn.algebra.operations import contract, equivariant_map, permute
from ccn.errors import ConfigurationError
from ccn.reference import Child, aggregate

ORDERS = [(1, 0), (1, 1), (1, 2), (2, 1), (2, 2), (3, 1), (3, 2)]


@pytest.mark.parametrize(("n", "out"), [*ORDERS, (0, 3), (4, 3)])
def test_there_are_bell_of_all_axes_each_once(n: int, out: int) -> None:
    maps = equivariant_maps(n, out)
    assert len(set(maps)) == len(maps) == bell(n + out)


@pytest.mark.parametrize(("n", "out"), [(1, 2), (2, 1), (2, 2)])
def test_a_map_is_its_definition_index_by_index(n: int, out: int) -> None:
    m = 3
    f = np.random.default_rng(0).normal(size=[m] * n + [2])
    for e in equivariant_maps(n, out):
        expected = np.zeros([m] * out + [2])
        for index in product(range(m), repeat=n + out):
            if all(len({index[a] for a in block}) == 1 for block in e.blocks):
                expected[index[n:]] += f[index[:n]]
        np.testing.assert_allclose(equivariant_map(torch.from_numpy(f), e).numpy(), expected, rtol=1e-12, atol=1e-12)


def test_from_order_zero_the_size_of_the_part_is_given_and_else_it_is_that_of_the_axes() -> None:
    f = torch.randn(2, dtype=torch.float64)
    apart, together = equivariant_maps(0, 2)[::-1]
    torch.testing.assert_close(equivariant_map(f, apart, m=3), f.expand(3, 3, 2))
    torch.testing.assert_close(equivariant_map(f, together, m=3), torch.eye(3).double()[..., None] * f)
    for tensor, e, m, message in [
        (f, apart, None, "order 0.*pass m="),
        (torch.randn(3, 2), equivariant_maps(1, 1)[0], 4, "m=4, but the axes of the tensor have length 3"),
        (f, equivariant_maps(1, 1)[0], 3, "takes order 1, got a tensor of order 0"),
    ]:
        with pytest.raises(ConfigurationError, match=message):
            equivariant_map(tensor, e, m)


def test_a_scalar_without_an_anchor_is_spread_over_the_whole_part() -> None:
    part, f = (4, 2, 7), torch.ones(2, dtype=torch.float64)
    weight = torch.zeros(1, 2, 2, dtype=torch.float64)
    weight_free = torch.tensor([[[2.0, 3.0]]], dtype=torch.float64)
    stacked, free = equivariant_maps(1, 1), equivariant_maps(0, 1, "U")
    bias = torch.zeros(1, dtype=torch.float64)
    out = aggregate(
        part, [Child((2,), f, None)], weight, bias, stacked, weight_free=weight_free, contractions_free=free
    )
    assert out.tolist() == [[5.0]] * 3


@given(orders=st.sampled_from(ORDERS), pi=st.permutations(range(4)), data=st.data())
@settings(deadline=None, max_examples=40)
def test_every_map_commutes_with_every_permutation(orders: tuple[int, int], pi: list[int], data: st.DataObject) -> None:
    e = data.draw(st.sampled_from(equivariant_maps(*orders)))
    f = torch.randn(*[4] * orders[0], 2, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    torch.testing.assert_close(equivariant_map(permute(f, pi), e), permute(equivariant_map(f, e), pi))


@pytest.mark.parametrize(("n", "out"), ORDERS)
def test_the_maps_are_linearly_independent_on_enough_atoms(n: int, out: int) -> None:
    m = n + out
    generator = torch.Generator().manual_seed(0)
    # Channels are separate inputs to one linear map: as many samples as a map that only spreads scalars needs.
    f = torch.randn(*[m] * n, 16, dtype=torch.float64, generator=generator)
    rows = torch.stack([equivariant_map(f, e).flatten() for e in equivariant_maps(n, out)])
    assert int(torch.linalg.matrix_rank(rows / rows.norm(dim=1, keepdim=True), atol=1e-9)) == bell(m)


@pytest.mark.parametrize(("n", "out"), [(1, 0), (2, 1), (3, 1), (3, 2)])
def test_the_contractions_are_among_them(n: int, out: int) -> None:
    maps = set(equivariant_maps(n, out))
    f = torch.randn(*[3] * n, 2, dtype=torch.float64)
    for c in contractions(n, out):
        # A survivor shares its block with its place in the result.
        blocks = [*c.blocks, *((axis, n + place) for place, axis in enumerate(c.survivors))]
        e = EquivariantMap(n, out, tuple(sorted(blocks)))
        assert e in maps
        torch.testing.assert_close(equivariant_map(f, e), contract(f, c))


def test_the_einsum_shows_sums_copies_and_new_indices() -> None:
    assert EquivariantMap(2, 2, ((0, 2), (1,), (3,))).einsum == "ab->ac"
    assert str(EquivariantMap(1, 2, ((0, 1, 2),))) == "a->aa"
    with pytest.raises(ConfigurationError, match="53 indices have no einsum form"):
        _ = EquivariantMap(53, 0, tuple((a,) for a in range(53))).einsum
