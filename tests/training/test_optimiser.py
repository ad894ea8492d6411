"""Rates against their formula, and scaled steps against training in the other variable."""

import pytest
import torch

import ccn
from ccn.training.optimiser import make_optimiser, rate, step_scales
from ccn.training.recipe import Optimiser, recipe


def test_the_rate_of_the_paper_falls_along_a_line() -> None:
    o = recipe("paper").optimiser
    rates = [rate(o, step, 101) for step in range(101)]
    assert rates[0] == 1e-3
    assert rates[-1] == pytest.approx(1e-6)
    assert rates[50] == pytest.approx((1e-3 + 1e-6) / 2)


def test_warm_up_then_a_cosine() -> None:
    o = Optimiser(learning_rate=1.0, warmup=0.1, schedule="cosine", final_rate=0.2)
    rates = [rate(o, step, 101) for step in range(101)]
    assert rates[:3] == pytest.approx([0.1, 0.2, 0.3])
    assert max(rates) == rates[10] == rates[9] == 1.0
    assert rates[-1] == pytest.approx(0.2)
    assert rates[55] == pytest.approx(0.6)
    assert rate(Optimiser(learning_rate=1e-3, schedule="constant"), 50, 100) == 1e-3
    assert rate(Optimiser(learning_rate=1e-3), 0, 1) == 1e-3


def test_a_scaled_step_is_a_step_in_the_other_variable() -> None:
    torch.manual_seed(0)
    net = ccn.CCN(2, 1, channels=3, levels=1, adjacency="both").double()
    graphs = [ccn.Graph([(0, 1), (1, 2), (2, 0), (2, 3)], torch.randn(4, 2).double())]
    layer = net.layers[0]
    s = step_scales(net)[layer.weight].double()
    assert bool((s > 0).all())
    assert bool((s <= 1).all())
    assert float(s.min()) < 0.5
    o = Optimiser(method="adamw", learning_rate=0.01, scaled=True)
    net(graphs).sum().backward()
    before, gradient = layer.weight.detach().clone(), layer.weight.grad
    assert gradient is not None
    make_optimiser(net, o).step()
    v = torch.nn.Parameter(before / s)
    v.grad = gradient * s
    torch.optim.AdamW([v], lr=0.01, weight_decay=0.0, eps=0.0).step()
    moved = gradient.abs() > 1e-3  # against these Adam's epsilon is nothing
    torch.testing.assert_close(layer.weight.detach()[moved], (v.detach() * s)[moved], rtol=1e-4, atol=1e-7)


def test_biases_do_not_decay() -> None:
    made = make_optimiser(ccn.CCN(2, 1), Optimiser(learning_rate=1e-3, weight_decay=0.1))
    assert [(g["weight_decay"], {p.ndim > 1 for p in g["params"]}) for g in made.param_groups] == [
        (0.1, {True}),
        (0.0, {False}),
    ]
