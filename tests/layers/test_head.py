"""The last layers of a network."""

import numpy as np
import pytest
import torch

import ccn
from ccn.errors import ConfigurationError, GraphError
from ccn.layers import RobustScale
from ccn.testing import random_graph, random_permutation


@pytest.mark.parametrize("norm", ["batch", "layer", None])
def test_the_head_may_be_deep_and_normalised_and_takes_one_graph(norm: str | None) -> None:
    torch.manual_seed(0)
    net = ccn.CCN(1, 2, channels=4, hidden=(8, 6), head_norm=norm, head_dropout=0.1).double()
    graphs = [ccn.Graph([(0, 1), (1, 2)], n=3), ccn.Graph([(0, 1)], n=2)]
    assert net(graphs).shape == (2, 2)
    assert torch.isfinite(net(graphs[:1])).all()  # a single row has no deviation
    net.eval()
    torch.testing.assert_close(net(graphs)[:1], net(graphs[:1]))
    widths = [m.out_features for m in net.head if isinstance(m, torch.nn.Linear)]
    assert widths == [8, 6, 2]


def test_the_head_reads_features_of_graphs_as_a_whole_beside_the_invariants() -> None:
    rng = np.random.default_rng(3)
    graphs = [random_graph(n, rng) for n in (5, 4, 6)]
    turned = [g.permute(random_permutation(g.n, rng)) for g in graphs]
    whole = rng.normal(size=(3, 4)).astype(np.float32)
    pack, other = (ccn.Pack.of(made).with_graph_features(whole) for made in (graphs, turned))
    net = ccn.CCN(3, 2, channels=4, head_norm="batch", head_dropout=0.5, graph_features=4).double().eval()
    (scale,) = (m for m in net.modules() if isinstance(m, RobustScale))
    scale.fit(whole)
    torch.testing.assert_close(net(other), net(pack), rtol=1e-10, atol=1e-10)
    torch.testing.assert_close(net(pack), ccn.reference.forward(net, pack), rtol=1e-10, atol=1e-10)
    assert (net(pack) - net(pack.with_graph_features(whole[[1, 2, 0]]))).abs().min() > 0
    torch.testing.assert_close(net.embed(pack), net.embed(graphs))
    assert net.embed(pack).shape == (3, sum(net.readout_widths))
    for bad in (graphs, pack.with_graph_columns([slice(3)])):
        with pytest.raises(GraphError, match="4 features of a graph as a whole"):
            net(bad)
    with pytest.raises(ConfigurationError, match="graph_features=-1"):
        ccn.CCN(3, graph_features=-1)
