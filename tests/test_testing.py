"""The tester is tested: a network that depends on the numbering must fail."""

from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

import ccn
from ccn.testing import assert_covariant, random_graph, random_molecule_like, random_permutation


class FirstVertex(nn.Module):
    """Reads the features of vertex 0: not invariant."""

    def forward(self, graphs: Any) -> torch.Tensor:
        return torch.stack([g.features[0] for g in graphs])


class WrongLayer(ccn.CCN):
    """Adds the place in the part to every tensor: the output may be invariant, the activations are not covariant."""

    def _run(self, b: ccn.Batch, keep: bool = True, totals: bool = False) -> Any:
        for a in super()._run(b):
            if a.order and len(a.data):
                place = torch.arange(len(a.data), dtype=a.data.dtype)[:, None]
                a = ccn.layers.Activation(a.data + 1e-3 * place, a.nodes, a.order)
            yield a


def _graphs() -> list[ccn.Graph]:
    rng = np.random.default_rng(1)
    return [random_graph(5, rng), random_graph(6, rng)]


def test_a_covariant_network_passes() -> None:
    assert_covariant(ccn.CCN(3, 1, channels=4), _graphs())


@pytest.mark.parametrize("wrong", [FirstVertex(), WrongLayer(3, 1, channels=4)], ids=["output", "activations"])
def test_a_network_that_depends_on_the_numbering_fails(wrong: nn.Module) -> None:
    with pytest.raises(AssertionError, match="differs by"):
        assert_covariant(wrong, _graphs())


def test_a_scheme_that_depends_on_the_numbering_fails() -> None:
    def scheme(g: ccn.Graph) -> ccn.Scheme:
        leaves = [(i,) for i in range(g.n)]
        return ccn.Scheme([*leaves, (0, 1), range(g.n)], [*[()] * g.n, (0, 1), range(g.n + 1)], [*range(g.n), 0, None])

    with pytest.raises(AssertionError):
        assert_covariant(ccn.CCN(3, 1, channels=4, scheme=scheme), _graphs())


def test_permutations_are_never_the_identity() -> None:
    rng = np.random.default_rng(0)
    assert all(random_permutation(2, rng) == [1, 0] for _ in range(20))
    assert random_permutation(1, rng) == [0]


def test_molecule_like_graphs_are_connected_and_of_degree_at_most_four() -> None:
    rng = np.random.default_rng(0)
    for n in (18, 24, 30):
        g = random_molecule_like(n, rng)
        degree = np.bincount(g.entries[0], minlength=n)
        assert degree.max() <= 4
        assert len(g.edges) >= n - 1
