"""Layers on their own: the list of Q's, their weights, and what is printed."""

from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
import torch

import ccn
from ccn.algebra import Contraction, EquivariantMap, MatrixClass, bell
from ccn.engine.backend import using_backend
from ccn.errors import ConfigurationError
from ccn.layers import NONLINEARITIES, Aggregation, initialisation, list_maps
from ccn.layers.initialisation import scales
from ccn.schemes import Neighbourhoods
from ccn.testing import assert_covariant, random_graph
from ccn.training.optimiser import contraction_penalty


@pytest.mark.parametrize("k", [0, 1, 2, 3])
def test_the_lists_of_both_families_follow_each_other_and_the_own_one_is_last(k: int) -> None:
    maps = list_maps("distinct", k, k, adjacency="both", own=True, classes=[MatrixClass(), MatrixClass(True, True)])
    sources = [c.source for c in maps]
    assert sources == ["T"] * (k + 1) + ["TA"] * (len(maps) - k - 2) + ["own"]
    channels = [c.channel for c in maps if c.source == "TA"]
    assert channels == sorted(channels)
    assert set(channels) == {0, 1}


def test_a_network_is_made_without_compiled_code(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that reading a model file compiles nothing; the weights are the same in any form."""
    made = []
    for compiled in (True, False):
        torch.manual_seed(0)
        scales.cache_clear()
        if compiled:
            monkeypatch.setattr(initialisation, "using_backend", lambda name: using_backend("cpu"))
        else:
            monkeypatch.undo()
            monkeypatch.setattr("ccn.engine.cpu.form.aggregate", None)
        made.append(ccn.CCN(3, order=2, adjacency="both"))
    for a, b in zip(made[0].state_dict().values(), made[1].state_dict().values(), strict=True):
        assert torch.equal(a, b)


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


def test_mixing_that_factors_has_fewer_parameters_and_the_same_strength() -> None:
    torch.manual_seed(0)
    full, factored = Aggregation(64, 64, level=2), Aggregation(64, 64, level=2, rank=2)
    assert sum(p.numel() for p in factored.parameters()) < 0.2 * sum(p.numel() for p in full.parameters())
    assert "rank=2" in repr(factored)
    written_out, _, _ = factored.expanded()
    assert written_out.shape == full.weight.shape
    ratio = written_out.std((0, 2)) / full.weight.std((0, 2))
    assert bool(((ratio > 0.8) & (ratio < 1.2)).all())
    assert bool((factored.strengths() / full.strengths() - 1).abs().max() < 0.2)
    with pytest.raises(ConfigurationError, match="rank"):
        Aggregation(4, 4, rank=0)


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
    with patch.object(ccn.layers.Aggregation, "_folds", False):
        plain = net(graphs)
    assert torch.allclose(folded, plain, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(
    "options",
    [
        {"order": 1, "contractions": "complete"},
        {"order": 1, "contractions": "complete", "adjacency": "both", "directed": True, "self_loops": True},
        {"order": 2, "contractions": ["abx,ab->ab", "abx,ax->ab", "abx,xy->ab"]},
        {"order": 1, "contractions": [EquivariantMap(2, 1, ((0, 1, 2),))], "adjacency": False},
        {"order": 1, "self_product": True, "adjacency": "both"},
        {"order": 0, "self_product": True, "adjacency": True},
    ],
)
def test_maps_that_no_plan_has_equal_the_reference(options: dict[str, Any]) -> None:
    rng = np.random.default_rng(1)
    flags = {key: options[key] for key in ("directed", "self_loops") if key in options}
    graphs = [random_graph(n, rng, density=0.6, weighted=True, **flags) for n in (4, 1, 3)]
    for scheme in (Neighbourhoods(), Neighbourhoods(closed=False)):
        net = ccn.CCN(3, 2, channels=2, scheme=scheme, **options).double()
        for p in net.parameters():
            torch.nn.init.normal_(p, std=0.3)
        torch.testing.assert_close(net(graphs), ccn.reference.forward(net, graphs), rtol=1e-10, atol=1e-10)
        net(graphs).sum().backward()
    assert_covariant(net, graphs, trials=1)


def test_a_list_names_single_maps_and_bad_ones_are_errors() -> None:
    net = ccn.CCN(1, 1, contractions=["abx,ab->ab", "abx,xy->ab"])
    assert [type(c).__name__ for c in net.layers[0].contractions] == ["EquivariantMap", "Contraction"]
    for bad in ("abx,abc->ab", "ab", "abx,ab->abc"):
        with pytest.raises(ConfigurationError):
            ccn.CCN(1, 1, contractions=[bad])
    with pytest.raises(ConfigurationError, match="0 to 2"):
        ccn.CCN(1, 1, order=3, contractions="complete")


def test_the_shares_of_contractions_follow_their_weights() -> None:
    net = ccn.CCN(1, 1, order=1, channels=4, readout="root")
    assert [len(of) for of in net.contraction_shares()] == [9, 9, 6]
    with torch.no_grad():
        net.layers[0].weight[:, 1:] = 0
    shares = net.contraction_shares()[0]
    assert next(iter(shares)) == str(net.layers[0].contractions[0])
    assert next(iter(shares.values())) == pytest.approx(1.0)


def test_the_penalty_pulls_weights_of_contractions_together() -> None:
    net = ccn.CCN(1, 1, order=1, channels=4)
    before = contraction_penalty(net)
    before.backward()
    with torch.no_grad():
        for layer in net.layers:
            assert layer.weight.grad is not None
            layer.weight.sub_(1e-3 * layer.weight.grad)
    assert contraction_penalty(net) < before


def test_the_eighteen_contractions_of_the_authors() -> None:
    layer = ccn.CCN(1, 1, contractions="authors18").layers[0]
    assert len(set(layer.contractions)) == 18
    assert str(layer.contractions[0]) == "axb,yz->ab"
    kinds = [c.kind for c in layer.contractions if isinstance(c, Contraction)]
    assert (kinds.count("1+1+1"), kinds.count("1+2"), kinds.count("3")) == (5, 10, 3)
    with pytest.raises(ConfigurationError, match="order 2 with A"):
        ccn.CCN(1, 1, order=1, contractions="authors18")


def test_the_eighteen_contractions_are_those_of_the_list() -> None:
    """As the authors' code has them: p, q of the tensor, s the stack, d, e of A; survivors, then blocks."""
    listed = (
        "sp|q,d,e sd|p,q,e pq|s,d,e pd|s,q,e de|s,p,q sp|qd,e sp|de,q sd|pq,e sd|pe,q pq|sd,e pd|sq,e pd|se,q pd|qe,s "
        "de|sp,q de|pq,s sd|pqe pd|sqe de|spq"
    )
    t, a = torch.randn(4, 4, 4, dtype=torch.float64), torch.randn(4, 4, dtype=torch.float64)
    expected = []
    for word in listed.split():
        survivors, _, blocks = word.partition("|")
        letter = {x: x for x in survivors} | {x: block[0] for block in blocks.split(",") for x in block}
        kept = "".join(x for x in "pqsde" if x in survivors)
        of_t, of_a = ("".join(letter[x] for x in axes) for axes in ("pqs", "de"))
        expected.append(torch.einsum(f"{of_t},{of_a}->{kept}", t, a))
    found = [torch.einsum(str(c), t, a) for c in ccn.CCN(1, 1, contractions="authors18").layers[0].contractions]
    torch.testing.assert_close(torch.stack(found), torch.stack(expected))
