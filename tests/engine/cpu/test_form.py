"""The compiled form: what only it does. Its results are compared with the oracle in test_aggregate.py."""

import numpy as np
import torch

import ccn
from ccn.testing import random_graph


def test_threads_share_a_batch() -> None:
    rng = np.random.default_rng(6)
    graphs = [random_graph(int(n), rng) for n in rng.integers(1, 8, 12)]
    net = ccn.CCN(3, 2, channels=4).double()
    found = []
    before = torch.get_num_threads()
    try:
        for threads in (1, 3):
            torch.set_num_threads(threads)
            out = net(graphs)
            found.append([out, *torch.autograd.grad(out.square().sum(), list(net.parameters()))])
    finally:
        torch.set_num_threads(before)
    for a, b in zip(*found, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-10, atol=1e-10)
