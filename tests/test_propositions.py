"""The definitions and propositions of the paper, by name, as properties of random graphs and permutations."""

from typing import Any

import numpy as np
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import ccn
from ccn.algebra import contractions, equivariant_maps
from ccn.algebra import operations as ops
from ccn.schemes import Balls, Clusters, Neighbourhoods, is_permutation_invariant, rings
from ccn.testing import assert_covariant, random_graph, random_permutation

seeds = st.integers(0, 100_000)
sizes = st.integers(1, 6)
quick = settings(deadline=None, max_examples=20)


def _draw(seed: int, m: int, *orders: int, width: int = 2) -> tuple[list[int], list[torch.Tensor]]:
    """A permutation of m places that is not the identity, and P-tensors of the given orders."""
    rng = np.random.default_rng(seed)
    return random_permutation(m, rng), [torch.from_numpy(rng.normal(size=(*[m] * k, width))) for k in orders]


def _same(a: torch.Tensor, b: torch.Tensor) -> None:
    torch.testing.assert_close(a, b, rtol=1e-12, atol=1e-12)


@quick
@given(seeds, sizes)
def test_definition_4_the_graph_schemes_are_permutation_invariant(seed: int, n: int) -> None:
    g = random_graph(n, np.random.default_rng(seed))
    for scheme in (
        Neighbourhoods(levels=2),
        Neighbourhoods(closed=False, levels=2),
        Balls((0, 2, 3)),
        Clusters(rings()),
    ):
        assert is_permutation_invariant(scheme, g, trials=2, seed=seed)


@quick
@given(seeds, sizes, st.integers(0, 2))
def test_proposition_1_and_2_representations_are_invariant(seed: int, n: int, order: int) -> None:
    rng = np.random.default_rng(seed)
    g = random_graph(n, rng, weighted=True)
    torch.manual_seed(seed)
    net = ccn.CCN(3, 2, order=order, channels=3).double()
    h = g.permute(random_permutation(n, rng))
    with torch.no_grad():
        torch.testing.assert_close(net([g]), net([h]), rtol=1e-10, atol=1e-10)
        torch.testing.assert_close(net.embed([g]), net.embed([h]), rtol=1e-10, atol=1e-10)


@quick
@given(seeds, sizes)
def test_proposition_3_the_permutation_action_is_a_representation(seed: int, m: int) -> None:
    rng = np.random.default_rng(seed)
    sigma, tau = random_permutation(m, rng), random_permutation(m, rng)
    composed = [sigma[tau[i]] for i in range(m)]
    _same(ops.permutation_matrix(composed), ops.permutation_matrix(sigma) @ ops.permutation_matrix(tau))
    f = torch.from_numpy(rng.normal(size=(m, m, m, 2)))
    _same(ops.permute(ops.permute(f, tau), sigma), ops.permute(f, composed))


@quick
@given(seeds, st.integers(1, 5), st.integers(0, 3))
def test_definitions_7_to_9_the_action_is_p_pi_along_every_axis(seed: int, m: int, k: int) -> None:
    pi, (f,) = _draw(seed, m, k)
    p = ops.permutation_matrix(pi)
    expected = f
    for axis in range(k):
        expected = torch.tensordot(p, expected, dims=([1], [axis])).movedim(0, axis)
    _same(ops.permute(f, pi), expected)
    if k == 2:
        _same(ops.permute(f, pi)[..., 0], p @ f[..., 0] @ p.T)


@quick
@given(seeds, st.integers(1, 4), st.integers(0, 3), st.integers(0, 2))
def test_proposition_4_the_operations_keep_p_tensors(seed: int, m: int, k: int, p: int) -> None:
    pi, (f, g, h) = _draw(seed, m, k, p, k)
    rng = np.random.default_rng(seed)
    moved_f, moved_g, moved_h = (ops.permute(x, pi) for x in (f, g, h))
    _same(ops.permute(ops.tensor_product(f, g), pi), ops.tensor_product(moved_f, moved_g))
    if p <= k:
        axes = rng.permutation(k)[:p].tolist()
        _same(ops.permute(ops.elementwise_product(f, g, axes), pi), ops.elementwise_product(moved_f, moved_g, axes))
        _same(ops.permute(ops.project(f, axes), pi), ops.project(moved_f, axes))
    for q in range(k + 1):
        for c in contractions(k, q):
            _same(ops.permute(ops.contract(f, c), pi), ops.contract(moved_f, c))
    combined = ops.linear_combination([f, h], [0.3, -2.0])
    _same(ops.permute(combined, pi), ops.linear_combination([moved_f, moved_h], [0.3, -2.0]))


@quick
@given(seeds, st.integers(1, 4), st.integers(1, 3), st.integers(0, 2))
def test_beyond_proposition_4_the_complete_basis_keeps_p_tensors(seed: int, m: int, k: int, k_out: int) -> None:
    pi, (f,) = _draw(seed, m, k)
    for e in equivariant_maps(k, k_out):
        _same(ops.permute(ops.equivariant_map(f, e), pi), ops.equivariant_map(ops.permute(f, pi), e))


@quick
@given(seeds, st.integers(1, 4), st.integers(0, 3), st.integers(0, 3))
def test_proposition_5_promotion_keeps_p_tensors(seed: int, m: int, more: int, k: int) -> None:
    rng = np.random.default_rng(seed)
    atoms = rng.permutation(20)[: m + more].tolist()
    part, to = atoms[:m], rng.permutation(atoms).tolist()
    f = torch.from_numpy(rng.normal(size=(*[m] * k, 2)))
    promoted = ops.promote(f, part, to)
    # Reordering the parent's part permutes the promotion.
    pi = random_permutation(len(to), rng)
    reordered = [to[i] for i in np.argsort(pi)]
    _same(ops.promote(f, part, reordered), ops.permute(promoted, pi))
    # Reordering the child's part, with its tensor, changes nothing.
    rho = random_permutation(m, rng)
    _same(ops.promote(ops.permute(f, rho), [part[i] for i in np.argsort(rho)], to), promoted)


@quick
@given(seeds, st.integers(2, 5), st.integers(0, 2))
def test_proposition_6_stacking_gives_a_p_tensor(seed: int, m: int, k: int) -> None:
    rng = np.random.default_rng(seed)
    part = rng.permutation(9)[:m].tolist()
    anchors = rng.choice(part, size=3).tolist()
    children = [torch.from_numpy(rng.normal(size=(*[m] * k, 2))) for _ in anchors]
    pi = random_permutation(m, rng)
    stacked = ops.stack(children, anchors, part)
    assert stacked.ndim == k + 2
    reordered = [part[i] for i in np.argsort(pi)]
    _same(ops.stack([ops.permute(f, pi) for f in children], anchors, reordered), ops.permute(stacked, pi))


@quick
@given(seeds, st.integers(1, 4), st.integers(0, 2))
def test_proposition_7_the_adjacency_product_is_a_p_tensor(seed: int, m: int, k: int) -> None:
    pi, (f, a) = _draw(seed, m, k, 2)
    moved_a = ops.permute(a[..., :1], pi)[..., 0]
    product = ops.adjacency_product(f, a[..., 0])
    assert product.ndim == k + 3
    _same(ops.permute(product, pi), ops.adjacency_product(ops.permute(f, pi), moved_a))


@settings(deadline=None, max_examples=12)
@given(seeds, st.integers(0, 3), st.sampled_from([True, False, "both"]), st.booleans(), st.booleans(), st.booleans())
def test_definition_6_networks_are_covariant(
    seed: int, order: int, adjacency: Any, closed: bool, own: bool, directed: bool
) -> None:
    rng = np.random.default_rng(seed)
    graphs = [random_graph(int(n), rng, weighted=True, directed=directed) for n in rng.integers(1, 6, size=2)]
    torch.manual_seed(seed)
    options: dict[str, Any] = {"order": order, "adjacency": adjacency, "own": own, "directed": directed}
    net = ccn.CCN(3, 1, channels=3, scheme=Neighbourhoods(closed=closed), **options)
    assert_covariant(net, graphs, trials=1, seed=seed)
