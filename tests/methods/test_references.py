"""The order of vertices and patches is that of the graph, not of its numbering."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from labelled import SIZE, SMILES, label, labelled, near, permuted

import ccn
from ccn.baselines import method
from ccn.methods.references import GIN, NGF, PSCN, patches, sequence
from ccn.testing import random_molecule_like

igraph = pytest.importorskip("igraph")


def molecules(count: int, seed: int) -> list[ccn.Graph]:
    rng = np.random.default_rng(seed)
    made = []
    for _ in range(count):
        g = random_molecule_like(int(rng.integers(3, 20)), rng)
        made.append(ccn.Graph(g.edges, torch.eye(3)[torch.from_numpy(rng.integers(0, 3, g.n))]))
    return made


@pytest.mark.parametrize("make", [labelled, molecules])
def test_one_order_for_all_numberings(make: Any) -> None:
    graphs = make(15, seed=9)
    for seed in range(3):
        a, b = (patches(ccn.Pack.of(x), 8, 5) for x in (graphs, permuted(graphs, seed)))
        np.testing.assert_array_equal(a.arrays["features"], b.arrays["features"])
    assert a.sizes.tolist() == [8] * 15


def test_the_sequence_makes_isomorphic_graphs_equal() -> None:
    for g, h in zip(molecules(10, 10), permuted(molecules(10, 10)), strict=True):
        matrices = []
        for x in (g, h):
            order = sequence(igraph.Graph(n=x.n, edges=x.edges.tolist()), np.array(label(x)))
            assert sorted(order) == list(range(x.n))
            matrices.append(x.adjacency().numpy()[np.ix_(order, order)])
        assert (matrices[0] == matrices[1]).all()


def test_patches_of_a_path() -> None:
    # C-O-N-C-C: the middle is the most central vertex; its patch begins with itself and goes outwards.
    path = ccn.Graph([(0, 1), (1, 2), (2, 3), (3, 4)], torch.eye(3)[[0, 1, 2, 0, 0]])
    first = patches(ccn.Pack.of([path]), 6, 4).arrays["features"].reshape(6, 4, 3)
    assert first[0, 0].tolist() == [0, 0, 1]
    assert first[0, 1:3].sum(axis=0).tolist() == [1, 1, 0]
    assert first[0, 3].tolist() == [1, 0, 0]
    assert first[5].sum() == 0  # there is no sixth vertex
    assert (first[:5].sum(axis=(1, 2)) == 4).all()


def test_the_first_layer_is_a_convolution_over_patches() -> None:
    net = PSCN(3, 2, width=12, patch=5).double().eval()
    graphs = patches(ccn.Pack.of(molecules(6, 11)), 12, 5)
    x = graphs.batch().features.double().reshape(6, 12 * 5, 3).transpose(1, 2)
    weight = net.first.weight.reshape(16, 5, 3).transpose(1, 2)
    convolved = torch.nn.functional.conv1d(x, weight, net.first.bias, stride=5)
    expected = net.read(torch.relu(net.second(torch.relu(convolved))).flatten(1))
    torch.testing.assert_close(net(graphs), expected)


def test_as_many_patches_as_vertices_on_average() -> None:
    made: Any = method("pscn", "regression", settings={"epochs": 1}, choices=({},)).fit(
        SMILES[:30], SIZE[:30], validation=(SMILES[30:], SIZE[30:])
    )
    assert made.model_.fitted.prepared["width"] == round(SIZE[:30].mean())


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


def test_numberings_do_not_count_for_fingerprints() -> None:
    net = NGF(3, 2).double()
    graphs = labelled(10, seed=8)
    torch.testing.assert_close(net(permuted(graphs)), net(graphs))
    assert not torch.allclose(net(graphs[:1]), net(graphs[1:2]))


def test_numberings_do_not_count_for_gin() -> None:
    pytest.importorskip("torch_geometric")
    net = GIN(3, 2).double().eval()
    graphs = labelled(10, seed=8)
    torch.testing.assert_close(net(permuted(graphs)), net(graphs))
    assert not torch.allclose(net(graphs[:1]), net(graphs[1:2]))
