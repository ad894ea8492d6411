"""A contraction of one's own: written as its einsum, counted, tested for covariance, trained.

    python examples/own_contraction.py

At order 2 a node holds T of order 3 (axes a, b and the stack of its children, x), and T (x) A of order 5 after the
product with the adjacency matrix restricted to its part. A contraction names what is kept, what is summed and what is
set equal. A layer takes any list of them in place of a preset. The one here, `abx,xy->ab`, weighs each child by its
degree within the part; a network of it alone counts less than the 26 distinct ones, and has a share of their weights.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

import ccn
from ccn.testing import assert_covariant, random_graph

DEGREE = "abx,xy->ab"  # sum over x, y of T[a, b, x] A[x, y]


def network(contractions: str | Sequence[str]) -> ccn.CCN:
    """A network of order 2 with these contractions, the same weights for the same seed."""
    torch.manual_seed(0)
    return ccn.CCN(in_features=1, out_features=1, order=2, levels=2, channels=4, contractions=contractions)


def check() -> None:
    """An error if outputs, embeddings or tensors do not follow a permutation of the vertices."""
    rng = np.random.default_rng(0)
    assert_covariant(network([DEGREE]), [random_graph(n, rng, features=1) for n in (4, 6)])


def same_as_einsum() -> float:
    """The largest difference between the first level of the network and the einsum, written out, at one vertex."""
    net, g = network([DEGREE]).double(), ccn.Graph([(0, 1), (1, 2), (2, 0), (2, 3)], torch.rand(4, 1).double())
    layer, leaf = net.layers[0], net.embedding(g.features)
    part = [0, 1, 2]  # vertex 0 and its neighbours
    t = torch.zeros(3, 3, 3, leaf.shape[1]).double()  # the single atoms, promoted and stacked: at [x, x, x]
    for x, v in enumerate(part):
        t[x, x, x] = leaf[v]
    q = torch.einsum("abxc,xy->abc", t, g.adjacency().double()[part][:, part])
    expected = torch.relu(q @ layer.weight[:, 0].T + layer.bias)
    return float((net.activations([g])[1].node(0) - expected).abs().max())


def triangles(steps: int = 60) -> dict[str, float]:
    """The loss of counting triangles in random graphs after some steps, with this contraction and with all."""
    rng = np.random.default_rng(1)
    graphs = [random_graph(7, rng, features=1) for _ in range(30)]
    graphs = [ccn.Graph(g.edges, n=g.n) for g in graphs]
    y = torch.tensor([[float(torch.trace(torch.linalg.matrix_power(g.adjacency(), 3))) / 6] for g in graphs])
    found, b = {}, ccn.batch(graphs)
    for name, contractions in {DEGREE: [DEGREE], "distinct": "distinct"}.items():
        net = network(contractions)
        optimiser = torch.optim.Adam(net.parameters(), lr=0.01)
        for _ in range(steps):
            loss = torch.nn.functional.mse_loss(net(b), y)
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
        found[f"{name}, {sum(p.numel() for layer in net.layers for p in layer.parameters())} weights"] = float(loss)
    return found


if __name__ == "__main__":
    check()
    print(f"covariant; largest difference from the einsum: {same_as_einsum():.0e}")
    for name, loss in triangles().items():
        print(f"triangles, {name}: squared error {loss:.2f}")
