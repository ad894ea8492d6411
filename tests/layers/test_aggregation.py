"""Layers on their own: the list of Q's, their weights, and what is printed."""

from unittest.mock import patch

import numpy as np
import pytest
import torch

import ccn
from ccn.algebra import MatrixClass, bell
from ccn.errors import ConfigurationError
from ccn.layers import NONLINEARITIES, Aggregation, list_maps
from ccn.testing import random_graph


@pytest.mark.parametrize("k", [0, 1, 2, 3])
def test_the_lists_of_both_families_follow_each_other_and_the_own_one_is_last(k: int) -> None:
    maps = list_maps("distinct", k, k, adjacency="both", own=True, classes=[MatrixClass(), MatrixClass(True, True)])
    sources = [c.source for c in maps]
    assert sources == ["T"] * (k + 1) + ["TA"] * (len(maps) - k - 2) + ["own"]
    channels = [c.channel for c in maps if c.source == "TA"]
    assert channels == sorted(channels)
    assert set(channels) == {0, 1}


def test_children_without_an_anchor_lack_the_stacking_axis() -> None:
    maps = list_maps("all", 2, 2, stacked=False)
    assert {len(c.einsum.split(",")[0]) for c in maps} == {2}
    assert list_maps("distinct", 1, 2, stacked=False, adjacency=False) == ()


def test_the_complete_basis_has_bell_many_maps() -> None:
    assert len(list_maps("complete", 2, 1, adjacency=False)) == bell(4)


def test_a_layer_says_what_it_is_and_has_the_documented_shapes() -> None:
    layer = Aggregation(3, 5, order=1, order_out=2, free=True)
    assert layer.weight.shape == (5, len(layer.contractions), 3)
    assert layer.weight_free is not None
    assert layer.weight_free.shape == (5, len(layer.contractions_free), 3)
    assert "order 1 -> 2, channels 3 -> 5" in repr(layer)


def test_initial_weights_are_smaller_where_a_contraction_sums_more() -> None:
    torch.manual_seed(0)
    layer = Aggregation(64, 64, order=2, level=2)
    spread = {str(c): float(layer.weight[:, i].detach().std()) for i, c in enumerate(layer.contractions)}
    assert spread["xyz,ab->ab"] < spread["axb,xy->ab"]


@pytest.mark.parametrize("name", NONLINEARITIES)
def test_every_named_nonlinearity_is_pointwise(name: str) -> None:
    x = torch.linspace(-2, 2, 9)
    assert NONLINEARITIES[name](x).shape == x.shape
    torch.testing.assert_close(NONLINEARITIES[name](x)[3:5], NONLINEARITIES[name](x[3:5]))


def test_unknown_choices_are_errors() -> None:
    with pytest.raises(ConfigurationError, match="tanh"):
        Aggregation(1, 1, nonlinearity="nonsense")
    with pytest.raises(ConfigurationError, match="nonlinearity="):
        Aggregation(1, 1, nonlinearity={})  # type: ignore[arg-type]


@pytest.mark.parametrize("nonlinearity", ["relu", "tanh"])
def test_batch_normalisation_outside_of_training_goes_into_the_weights(nonlinearity: str) -> None:
    rng = np.random.default_rng(3)
    graphs = [random_graph(n, rng) for n in (4, 6)]
    net = ccn.CCN(3, 2, channels=4, norm="batch", nonlinearity=nonlinearity).double()
    net(graphs)  # moves the running statistics
    net.eval()
    folded = net(graphs)
    with patch.object(ccn.layers.Aggregation, "_affine", return_value=None):
        plain = net(graphs)
    assert torch.allclose(folded, plain, rtol=1e-12, atol=1e-12)
