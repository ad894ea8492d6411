"""CCN in a custom PyTorch training loop: it is a plain module from a batch of graphs to a tensor.

Trains on half of MUTAG, which is included in the package, and prints the accuracy on the other half::

    python examples/own_loop.py
"""

from __future__ import annotations

import torch

import ccn


def main(epochs: int = 15) -> float:
    """Train for some epochs and return the accuracy on held-out graphs."""
    torch.manual_seed(0)
    data = ccn.datasets.load("MUTAG")
    order = torch.randperm(len(data)).numpy()
    graphs, y = ccn.Pack.of(data.graphs).without_edge_features(), torch.from_numpy(data.targets).float()

    # What a network computes from the structure of a batch is cached with the batch: make the batches once.
    batches = [(graphs.select(rows).batch(), y[rows]) for rows in order[:94].reshape(-1, 47)]
    net = ccn.CCN(in_features=graphs.width, out_features=1, order=2, levels=2, channels=8, norm="batch")
    optimiser = torch.optim.Adam(net.parameters(), lr=0.01)
    for _ in range(epochs):
        for batch, target in batches:
            loss = torch.nn.functional.binary_cross_entropy_with_logits(net(batch), target)
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()

    net.eval()
    with torch.no_grad():
        right = (net(graphs.select(order[94:])) > 0) == (y[order[94:]] > 0.5)
    return float(right.float().mean())


if __name__ == "__main__":
    print(f"accuracy on 94 held-out graphs: {main():.2f}")
