"""The operations on single P-tensors, each against its definition written with numpy."""

from itertools import product

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from ccn.algebra import Contraction, contractions
from ccn.algebra.operations import (
    adjacency_product,
    contract,
    elementwise_product,
    linear_combination,
    permutation_matrix,
    permute,
    project,
    promote,
    stack,
    tensor_product,
)
from ccn.errors import ConfigurationError

M, CHANNELS = 4, 2
orders = st.integers(0, 3)
permutations = st.permutations(range(M))


def _random(order: int, m: int = M, seed: int = 0) -> NDArray[np.float64]:
    return np.random.default_rng([seed, order, m]).normal(size=[m] * order + [CHANNELS])


def _equal(ours: torch.Tensor, expected: NDArray[np.float64]) -> None:
    assert ours.shape == expected.shape
    np.testing.assert_allclose(ours.numpy(), expected, rtol=1e-12, atol=1e-12)


@given(k=orders, pi=permutations)
@settings(deadline=None, max_examples=30)
def test_permute_moves_the_entry_at_a_to_pi_of_a_on_every_axis(k: int, pi: list[int]) -> None:
    f = _random(k)
    expected = np.empty_like(f)
    along = torch.from_numpy(f)
    for index in product(range(M), repeat=k):
        expected[tuple(pi[a] for a in index)] = f[index]
    for axis in range(k):
        along = torch.tensordot(permutation_matrix(pi), along, dims=([1], [axis])).movedim(0, axis)
    _equal(permute(torch.from_numpy(f), pi), expected)
    _equal(along, expected)


@given(k=orders, pi=permutations, rho=permutations)
@settings(deadline=None, max_examples=30)
def test_permute_is_a_group_action(k: int, pi: list[int], rho: list[int]) -> None:
    f = torch.from_numpy(_random(k))
    torch.testing.assert_close(permute(permute(f, pi), rho), permute(f, [rho[a] for a in pi]))
    torch.testing.assert_close(permute(f, range(M)), f)
    torch.testing.assert_close(
        permutation_matrix(rho) @ permutation_matrix(pi), permutation_matrix([rho[a] for a in pi])
    )


@pytest.mark.parametrize("k", range(3))
@pytest.mark.parametrize("p", range(3))
def test_tensor_product_is_channel_by_channel_and_that_with_a_meets_every_channel(k: int, p: int) -> None:
    f, g, a = _random(k), _random(p, seed=1), _random(2)[..., 0]
    left, right = "abc"[:k], "xyz"[:p]
    _equal(
        tensor_product(torch.from_numpy(f), torch.from_numpy(g)), np.einsum(f"{left}Z,{right}Z->{left}{right}Z", f, g)
    )
    _equal(adjacency_product(torch.from_numpy(f), torch.from_numpy(a)), np.einsum(f"{left}Z,xy->{left}xyZ", f, a))


@pytest.mark.parametrize("axes", [(), (1,), (2, 0), (0, 1, 2)])
def test_elementwise_product_along_chosen_axes(axes: tuple[int, ...]) -> None:
    f, g = _random(3), _random(len(axes), seed=1)
    expected = np.empty_like(f)
    for index in product(range(M), repeat=3):
        expected[index] = f[index] * g[tuple(index[a] for a in axes)]
    _equal(elementwise_product(torch.from_numpy(f), torch.from_numpy(g), axes), expected)


@pytest.mark.parametrize("axes", [(), (1,), (0, 2), (0, 1, 2)])
def test_projection_sums_over_the_axes(axes: tuple[int, ...]) -> None:
    f = _random(3)
    kept = "".join("abc"[a] for a in range(3) if a not in axes)
    _equal(project(torch.from_numpy(f), axes), np.einsum(f"abcZ->{kept}Z", f))


@pytest.mark.parametrize(("n", "out"), [(1, 0), (2, 0), (3, 1), (4, 2)])
def test_contraction_is_its_definition_index_by_index(n: int, out: int) -> None:
    f = _random(n, m=3)
    for c in contractions(n, out):
        expected = np.zeros([3] * out + [CHANNELS])
        for index in product(range(3), repeat=n):
            if all(len({index[a] for a in block}) == 1 for block in c.blocks):
                expected[tuple(index[a] for a in c.survivors)] += f[index]
        _equal(contract(torch.from_numpy(f), c), expected)
    with pytest.raises(ConfigurationError, match=f"order {n}, .*order {n + 1}"):
        contract(torch.from_numpy(_random(n + 1)), contractions(n, out)[0])


def test_the_channel_axis_takes_no_letter_from_the_indices() -> None:
    f = torch.arange(2.0).expand(*[1] * 52, 2)
    c = Contraction(tuple(range(51)), ((51,),))
    assert contract(f, c).shape == (*[1] * 51, 2)
    assert elementwise_product(f, f, range(52)).flatten().tolist() == [0.0, 1.0]


def test_linear_combination() -> None:
    f, g = _random(2), _random(2, seed=1)
    _equal(linear_combination([torch.from_numpy(f), torch.from_numpy(g)], [2.0, -0.5]), 2 * f - 0.5 * g)


@given(
    k=orders,
    to=st.lists(st.integers(0, 9), min_size=1, max_size=4, unique=True),
    part=st.lists(st.integers(0, 9), min_size=1, max_size=4, unique=True),
)
@settings(deadline=None, max_examples=40)
def test_promotion_moves_child_places_to_parent_places(k: int, to: list[int], part: list[int]) -> None:
    f = _random(k, m=len(part))
    expected = np.zeros([len(to)] * k + [CHANNELS])
    for index in product(range(len(to)), repeat=k):
        if all(to[a] in part for a in index):
            expected[index] = f[tuple(part.index(to[a]) for a in index)]
    chi = np.array([[float(q == p) for p in part] for q in to])
    words = ",".join(f"{x}{y}" for x, y in zip("abc"[:k], "xyz"[:k], strict=True))
    by_chi = np.einsum(f"{words}{',' if k else ''}{'xyz'[:k]}Z->{'abc'[:k]}Z", *[chi] * k, f)
    ours = promote(torch.from_numpy(f), part, to)
    _equal(ours, expected)
    _equal(ours, by_chi)


@given(k=st.integers(0, 2), anchors=st.lists(st.sampled_from([7, 3, 5, 0]), min_size=1, max_size=6))
@settings(deadline=None, max_examples=30)
def test_stacking_sums_promotions_at_the_place_of_their_anchor(k: int, anchors: list[int]) -> None:
    part = [7, 3, 5, 0]
    promoted = [_random(k, seed=i) for i in range(len(anchors))]
    expected = np.zeros([M] * (k + 1) + [CHANNELS])
    for f, anchor in zip(promoted, anchors, strict=True):
        expected[(..., part.index(anchor), slice(None))] += f
    _equal(stack([torch.from_numpy(f) for f in promoted], anchors, part), expected)
