from __future__ import annotations

import numpy as np
import torch
from labelled import labelled, near, permuted

from ccn.methods.ngf import NGF


def test_the_formula_vertex_by_vertex() -> None:
    torch.manual_seed(0)
    net = NGF(3, 2, layers=2, hidden=4, length=6, degrees=2).double()
    graphs = labelled(4, seed=7)
    with torch.no_grad():
        for w in net.biases:
            w.normal_()
        for g, found in zip(graphs, net.fingerprint(graphs), strict=True):
            h, around = g.features.double(), near(g)
            total = net.write[0](h).softmax(1).sum(0)
            for weight, bias, write in zip(net.weights, net.biases, net.write[1:], strict=True):
                degree = [min(2, len(x)) for x in around]
                sums = [h[i] + sum((h[j] for j in around[i]), torch.zeros(h.shape[1])) for i in range(g.n)]
                h = torch.stack([torch.relu(weight[d] @ s + bias[d]) for d, s in zip(degree, sums, strict=True)])
                total = total + write(h).softmax(1).sum(0)
            torch.testing.assert_close(found, total)
            # A vertex writes what adds up to one in every layer.
            np.testing.assert_allclose(found.sum(), 3 * g.n)


def test_numberings_do_not_count() -> None:
    net = NGF(3, 2).double()
    graphs = labelled(10, seed=8)
    torch.testing.assert_close(net(permuted(graphs)), net(graphs))
    assert not torch.allclose(net(graphs[:1]), net(graphs[1:2]))
