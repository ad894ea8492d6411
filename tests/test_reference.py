"""The oracle itself, against numpy.einsum on tensors written down index by index."""

from itertools import product

import numpy as np
import pytest
import torch

import ccn
from ccn.algebra.contractions import MatrixClass, preset
from ccn.reference import Child, aggregate, invariants


@pytest.mark.parametrize("k", [0, 1, 2, 3])
@pytest.mark.parametrize("adjacency", [False, True])
def test_aggregate_is_the_six_steps_entry_by_entry(k: int, adjacency: bool) -> None:
    rng = np.random.default_rng(k)
    part, m, width, out = (3, 0, 7, 5), 4, 2, 3
    children = [((0, 3), 3), ((5,), 5), ((7, 0, 5), 0), ((3, 5), None)]
    arrays = [rng.normal(size=(*[len(p)] * k, width)) for p, _ in children]
    a = rng.normal(size=(m, m))
    a = np.triu(a, 1) + np.triu(a, 1).T
    t = np.zeros((*[m] * (k + 1), width))
    u = np.zeros((*[m] * k, width))
    for (p, anchor), f in zip(children, arrays, strict=True):
        for index in product(range(m), repeat=k):
            if all(part[i] in p for i in index):
                value = f[tuple(p.index(part[i]) for i in index)]
                if anchor is None:
                    u[index] += value
                else:
                    t[(*index, part.index(anchor))] += value
    stacked = preset("all", k + (3 if adjacency else 1), k, "TA" if adjacency else "T")
    free = preset("all", k + (2 if adjacency else 0), k, "UA" if adjacency else "U")
    weight, weight_free = rng.normal(size=(out, len(stacked), width)), rng.normal(size=(out, len(free), width))
    bias = rng.normal(size=out)
    total = np.zeros((*[m] * k, out)) + bias
    for maps, h, w in ((stacked, t, weight), (free, u, weight_free)):
        for j, c in enumerate(maps):
            factors, result = c.einsum.split("->")
            names = factors.split(",")
            operands = [h, a] if adjacency else [h]
            words = [names[0] + "Z", *names[1:]]
            q = np.einsum(f"{','.join(words)}->{result}Z", *operands)
            total += q @ w[:, j].T
    got = aggregate(
        part,
        [Child(p, torch.from_numpy(f), anchor) for (p, anchor), f in zip(children, arrays, strict=True)],
        torch.from_numpy(weight),
        torch.from_numpy(bias),
        stacked,
        torch.from_numpy(a)[None] if adjacency else None,
        weight_free=torch.from_numpy(weight_free),
        contractions_free=free,
    )
    np.testing.assert_allclose(got.numpy(), np.maximum(total, 0), rtol=1e-12, atol=1e-12)


def test_invariants_are_sum_and_trace_at_order_two() -> None:
    f = torch.randn(4, 4, 3, dtype=torch.float64)
    expected = torch.cat([f.sum((0, 1)), torch.einsum("aac->c", f)])
    torch.testing.assert_close(invariants(f), expected)
    assert invariants(torch.randn(3, 3, 3, 2)).shape == (10,)


def test_first_order_without_adjacency_is_the_formula_of_the_paper() -> None:
    """F = relu(w1 T^T 1 + w2 T 1 + b 1) for order 1; our contractions are listed survivors first."""
    g = ccn.Graph([(0, 1), (1, 2), (2, 0), (2, 3)], torch.randn(4, 1, dtype=torch.float64))
    net = ccn.CCN(1, 1, order=1, levels=2, channels=1, adjacency=False).double()
    below, above = net.activations([g])[1:]
    layer = net.layers[1]
    for v in range(4):
        part = above.part(v)
        t = torch.zeros(len(part), len(part), dtype=torch.float64)
        for c in [v, *(j for i, j in g.entries.T.tolist() if i == v)]:
            for a, atom in enumerate(below.part(c)):
                t[part.index(atom), part.index(c)] += below.node(c)[a, 0]
        columns, rows = t.sum(1), t.sum(0)
        expected = torch.relu(layer.weight[0, 0, 0] * columns + layer.weight[0, 1, 0] * rows + layer.bias[0])
        torch.testing.assert_close(above.node(v)[:, 0], expected)


def test_matrix_class_covers_narrower_classes() -> None:
    assert MatrixClass(True, True).covers(MatrixClass(False, False))
    assert not MatrixClass(False, True).covers(MatrixClass(True, False))
