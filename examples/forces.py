"""Forces by second derivatives: energies of clusters of atoms, learned from forces, which are their gradients.

    python examples/forces.py

Features of edges, which are channels of A, may be any function of the places of atoms; here five bumps of the
distance. The network is differentiable in them, so forces are `-dE/dx`, covariant by construction. To learn from
forces, their error is differentiated by the weights of the network: a second derivative (`create_graph=True`). The
energies are those of Morse pairs. A gradient penalty, a term such as `(dE/dx)**2` in a loss, works in the same way.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

import ccn

PAIRS = [(i, j) for i in range(5) for j in range(i)]
CENTRES = torch.linspace(0.8, 2.8, 5, dtype=torch.float64)


def clusters(count: int, seed: int) -> Tensor:
    """(count, 5, 3) places of five atoms, none too close to another."""
    g = torch.Generator().manual_seed(seed)
    base = torch.tensor([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 1]], dtype=torch.float64)
    return 1.2 * base + 0.15 * torch.randn(count, 5, 3, generator=g, dtype=torch.float64)


def distances(x: Tensor) -> Tensor:
    i, j = torch.tensor(PAIRS).T
    out: Tensor = torch.linalg.vector_norm(x[:, i] - x[:, j], dim=-1)
    return out


def morse(x: Tensor) -> Tensor:
    """(count,) the energy of Morse pairs."""
    return ((1 - torch.exp(-1.5 * (distances(x) - 1.5))) ** 2).sum(dim=1)


def energy(net: ccn.CCN, x: Tensor) -> Tensor:
    """(count,) energies by the network, differentiable in the places."""
    ones = torch.ones(5, 1, dtype=torch.float64)
    bumps = torch.exp(-(((distances(x)[..., None] - CENTRES) / 0.5) ** 2))
    graphs = [ccn.Graph(PAIRS, ones, edge_features=rows) for rows in bumps]
    out: Tensor = net(graphs)
    return out[:, 0]


def forces(of: Tensor, x: Tensor, *, create_graph: bool = False) -> Tensor:
    (gradient,) = torch.autograd.grad(of.sum(), x, create_graph=create_graph)
    return -gradient


def smooth() -> ccn.CCN:
    """A network of order 1 with a smooth nonlinearity, whose forces have no jumps."""
    torch.manual_seed(0)
    bumps = ccn.adjacency.EdgeFeatures(len(CENTRES))
    settings: dict[str, Any] = {"order": 1, "levels": 1, "channels": 8, "nonlinearity": "silu"}
    return ccn.CCN(in_features=1, out_features=1, adjacency_channels=[bumps], **settings).double()


def main(steps: int = 80) -> tuple[float, float, float]:
    """The error of forces on other clusters before and after training, in units of a force of zero, and at rotation."""
    net = smooth()
    x, other = clusters(24, 0).requires_grad_(), clusters(24, 1).requires_grad_()
    true, test = forces(morse(x), x), forces(morse(other), other)

    def error() -> float:
        return float((forces(energy(net, other), other) - test).square().mean() / test.square().mean())

    before = error()
    optimiser = torch.optim.Adam(net.parameters(), lr=0.02)
    for _ in range(steps):
        loss = (forces(energy(net, x), x, create_graph=True) - true).square().mean()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    turn = torch.linalg.qr(torch.randn(3, 3, dtype=torch.float64))[0]
    turned = (other.detach() @ turn).requires_grad_()
    rotation = forces(energy(net, turned), turned) - forces(energy(net, other), other) @ turn
    return before, error(), float(rotation.abs().max())


if __name__ == "__main__":
    first, last, rotation = main()
    print(f"squared error of forces relative to their size: {first:.2f} before, {last:.3f} after training")
    print(f"forces turn with the cluster, largest difference: {rotation:.0e}")
