"""Comp-nets with several Φ: Propositions 1 and 2, quasi-invariance, and a Φ for which they fail."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import ccn
from ccn.errors import SchemeError
from ccn.schemes import Balls, Clusters, CompNet, Neighbourhoods, Node, rings
from ccn.testing import random_graph, random_permutation

RNG = np.random.default_rng(0)
W, B = RNG.normal(size=(3, 3)), RNG.normal(size=3)


def _linear(f: Sequence[Any], node: Node) -> Any:
    return np.maximum(W @ np.sum(f, axis=0) + B, 0)


def _largest(f: Sequence[Any], node: Node) -> Any:
    return np.tanh(W @ np.max(f, axis=0) + B)


def _attention(f: Sequence[Any], node: Node) -> Any:
    x = np.stack(f)
    weight = np.exp(x @ B)
    return np.tanh(weight @ (x @ W) / weight.sum())


def _weisfeiler_lehman(f: Sequence[Any], node: Node) -> Any:
    return tuple(sorted(map(repr, f)))


def _overlaps(f: Sequence[Any], node: Node) -> Any:
    """Depends on how the subparts are related: pairs are weighted by the atoms that they share."""
    shared = np.array([[len(set(a) & set(b)) for b in node.children] for a in node.children])
    return np.tanh(W @ (shared @ np.stack(f)).sum(0) / len(f) ** 2)


SYMMETRIC: list[Callable[..., Any]] = [_linear, _largest, _attention, _weisfeiler_lehman, _overlaps]
SCHEMES: list[Any] = [
    Neighbourhoods(levels=2), Neighbourhoods(closed=False, levels=2), Balls((0, 2, 3)), Clusters(rings())
]  # fmt: skip


def _close(a: Any, b: Any) -> bool:
    return a == b if isinstance(a, tuple) else bool(np.allclose(a, b, rtol=1e-10, atol=1e-12))


def _pair(seed: int) -> tuple[ccn.Graph, ccn.Graph, list[int]]:
    rng = np.random.default_rng(seed)
    g = random_graph(7, rng, density=0.4)
    sigma = random_permutation(7, rng)
    return g, g.permute(sigma), sigma


def _labels(g: ccn.Graph) -> Any:
    return g.features.double().numpy().round(6)


@pytest.mark.parametrize("phi", SYMMETRIC)
@pytest.mark.parametrize("scheme", SCHEMES)
def test_proposition_1_a_symmetric_phi_on_an_invariant_scheme_is_invariant(phi: Any, scheme: Any) -> None:
    for seed in range(3):
        g, h, _ = _pair(seed)
        net = CompNet(phi, (lambda x: tuple(x.tolist())) if phi is _weisfeiler_lehman else (lambda x: x))
        assert _close(net(scheme(g), _labels(g)), net(scheme(h), _labels(h)))


@pytest.mark.parametrize("phi", SYMMETRIC[:3])
def test_proposition_2_label_propagation_is_the_comp_net_of_neighbourhoods_and_quasi_invariant(phi: Any) -> None:
    g, h, sigma = _pair(5)
    levels, scheme = 2, Neighbourhoods(closed=False, levels=2)
    f = list(_labels(g))
    neighbours = [[j for j in range(7) if g.adjacency()[i, j]] or [i] for i in range(7)]
    made = CompNet(phi).activations(scheme(g), _labels(g))
    for level in range(1, levels + 1):  # Algorithm 1
        f = [phi([f[j] for j in neighbours[i]], None) for i in range(7)]
        assert all(_close(a, b) for a, b in zip(f, made[7 * level : 7 * level + 7], strict=True))
    assert _close(phi(f, None), made[-1])
    other = CompNet(phi).activations(scheme(h), _labels(h))
    for node, activation in enumerate(made[:-1]):  # Definition 5
        assert _close(activation, other[node - node % 7 + sigma[node % 7]])


def test_a_phi_that_reads_its_arguments_in_order_is_not_invariant() -> None:
    net = CompNet(lambda f, node: np.tanh(sum((i + 1) * x for i, x in enumerate(f))))
    g, h, _ = _pair(1)
    scheme = Neighbourhoods(levels=2)
    assert not _close(net(scheme(g), _labels(g)), net(scheme(h), _labels(h)))


def test_order_zero_of_the_network_is_a_comp_net() -> None:
    g, _, _ = _pair(2)
    net = ccn.CCN(3, 1, order=0, adjacency=False, channels=4).double()
    w, b = net.layers[0].weight[:, 0].detach().numpy(), net.layers[0].bias.detach().numpy()
    made = CompNet(lambda f, node: np.maximum(w @ np.sum(f, axis=0) + b, 0) if node.level == 1 else None)
    labels = net.embedding(g.features.double()).detach().numpy()
    found = made.activations(Neighbourhoods(levels=1)(g), labels)[7:14]
    expected = [net.activations([g])[1].node(v).detach().numpy() for v in range(7)]
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-12)


def test_labels_must_be_those_of_the_atoms() -> None:
    with pytest.raises(SchemeError, match="7 atoms"):
        CompNet(_linear)(Neighbourhoods(levels=1)(_pair(0)[0]), [1.0])
