"""Which form runs is decided in one place, and users need not care."""

import numpy as np
import pytest
import torch

import ccn
from ccn.engine import torch_form, using_backend
from ccn.engine.backend import FORMS, choose
from ccn.engine.cpu import form as compiled
from ccn.errors import ConfigurationError, GraphError
from ccn.testing import random_graph


def test_compiled_kernels_serve_plain_numbers_on_cpus() -> None:
    for dtype in (torch.float32, torch.float64):
        assert choose(torch.empty(0, dtype=dtype)) is compiled
    with using_backend("torch"):
        assert choose(torch.empty(0)) is torch_form
        with using_backend("cpu"):
            assert choose(torch.empty(0)) is compiled
        assert choose(torch.empty(0)) is torch_form
    assert choose(torch.empty(0)) is compiled


def test_torch_serves_where_they_cannot() -> None:
    with using_backend("cpu"):
        assert choose(torch.empty(0), differentiable=True) is torch_form
        assert choose(torch.empty(0, dtype=torch.bfloat16)) is torch_form
        assert choose(torch.empty(0, device="meta")) is torch_form

        def inside(x: torch.Tensor) -> torch.Tensor:
            assert choose(torch.empty(0)) is torch_form
            return x

        torch.func.vmap(inside)(torch.zeros(2))


def test_an_unknown_form_is_an_error_that_lists_those_there_are() -> None:
    with pytest.raises(ConfigurationError, match="tritn") as error, using_backend("tritn"):
        pass
    assert all(name in str(error.value) for name in FORMS)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("norm", [None, "batch"])
def test_autocast_trains_and_gives_nearly_the_same(form: str, norm: str | None) -> None:
    torch.manual_seed(0)
    net = ccn.CCN(3, 2, channels=4, norm=norm)
    graphs = [random_graph(n, np.random.default_rng(n), weighted=True) for n in (5, 3)]
    expected = net(graphs)
    with using_backend(form), torch.autocast("cpu", dtype=torch.bfloat16):
        out = net(graphs)
    out.float().sum().backward()
    torch.testing.assert_close(out.float(), expected, rtol=0.05, atol=0.02)
    assert all(p.grad is not None and p.grad.dtype == torch.float32 for p in net.parameters())
    assert all(torch.isfinite(p.grad).all() for p in net.parameters() if p.grad is not None)


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore:The .grad attribute:UserWarning")
@pytest.mark.parametrize("form", FORMS)
def test_torch_compile_leaves_the_engine_as_it_is(form: str) -> None:
    net = ccn.CCN(3, 2, channels=4)
    graphs = [random_graph(n, np.random.default_rng(n), weighted=True) for n in (5, 3)]
    with using_backend(form):
        expected = net(graphs)
        made = torch.compile(net, backend="eager")
        torch.testing.assert_close(made(graphs), expected)
        made(graphs).sum().backward()
        found = [p.grad for p in net.parameters()]
        for got, again in zip(found, torch.autograd.grad(expected.sum(), list(net.parameters())), strict=True):
            torch.testing.assert_close(got, again)
        with pytest.raises(GraphError, match="in_features=3"):
            made([ccn.Graph([(0, 1)], torch.ones(2, 5))])
