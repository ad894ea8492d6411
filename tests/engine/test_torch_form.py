"""Second derivatives against finite differences, whichever form is used, and what only the torch form can do."""

from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.autograd import forward_ad, gradgradcheck
from torch.autograd.gradcheck import GradcheckError
from torch.utils._python_dispatch import TorchDispatchMode

import ccn
from ccn.algebra import MatrixClass
from ccn.engine import torch_form, using_backend
from ccn.engine.backend import FORMS
from ccn.engine.plan import plan
from ccn.engine.torch_form import mixing, mixing_gradient
from ccn.layers import list_maps
from ccn.schemes import Neighbourhoods
from ccn.testing import random_graph


def function(order: int, weights: bool, **options: Any) -> tuple[Callable[..., Tensor], list[Tensor]]:
    """The output of a network of features, edge weights (or fixed ones) and parameters, all in float64."""
    rng = np.random.default_rng(order)
    flags: dict[str, Any] = {"directed": True, "self_loops": True}
    b = ccn.batch([random_graph(n, rng, density=0.7, weighted=True, **flags) for n in (3, 2)[: 2 if order < 3 else 1]])
    net = ccn.CCN(3, 1, order=order, channels=2, hidden=2, nonlinearity="tanh", **flags, **options).double()
    torch.manual_seed(order)
    for p in net.parameters():
        torch.nn.init.normal_(p, std=0.4)
    names = [name for name, _ in net.named_parameters()]
    assert b.weights is not None
    fixed = b.weights
    inputs = [b.features, *([fixed] if weights else []), *net.parameters()]

    def run(features: Tensor, *rest: Tensor) -> Tensor:
        b.features, b.weights = features, rest[0] if weights else fixed
        out: Tensor = torch.func.functional_call(net, dict(zip(names, rest[weights:], strict=True)), (b,))
        return out

    return run, [x.detach().clone().requires_grad_() for x in inputs]


@pytest.mark.slow
@pytest.mark.parametrize("order", [0, 1, 2, 3])
@pytest.mark.parametrize("weights", [True, False], ids=["A", "fixed A"])
@pytest.mark.parametrize("form", FORMS)
def test_second_derivatives_in_features_weights_and_parameters(order: int, weights: bool, form: str) -> None:
    run, inputs = function(order, weights)
    with using_backend(form):
        assert gradgradcheck(run, inputs, fast_mode=True)


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS)
def test_second_derivatives_with_free_children_and_own_activations(form: str) -> None:
    run, inputs = function(2, True, scheme=Neighbourhoods(closed=False), own=True, adjacency="both")
    with using_backend(form):
        assert gradgradcheck(run, inputs, fast_mode=True)


@pytest.mark.slow
@pytest.mark.parametrize("weights", [True, False], ids=["A", "fixed A"])
@pytest.mark.parametrize("form", FORMS)
def test_second_derivatives_of_mixing_that_factors(weights: bool, form: str) -> None:
    run, inputs = function(2, weights, rank=2)
    with using_backend(form):
        assert gradgradcheck(run, inputs, fast_mode=True)


@pytest.mark.slow
@pytest.mark.parametrize("weights", [True, False])
def test_the_tester_notices_a_wrong_derivative(weights: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    run, inputs = function(2, weights)
    right = torch_form._Gathering.gradient
    monkeypatch.setattr(
        torch_form._Gathering, "gradient", lambda self, i, u, v: right(self, i, u, v) * (1.01 if i == 1 else 1)
    )
    with using_backend("torch"), pytest.raises(GradcheckError):
        gradgradcheck(run, inputs, fast_mode=True)


@pytest.mark.parametrize("form", FORMS)
def test_a_gradient_penalty_trains_with_a_relu_and_reads_invariants_twice(form: str) -> None:
    """What users do: the norm of a gradient as a part of the loss; the same numbers in both forms."""
    torch.manual_seed(0)
    net = ccn.CCN(3, 1, channels=3).double()
    b = ccn.batch([random_graph(n, np.random.default_rng(n)) for n in (5, 4)])
    b.features = b.features.detach().requires_grad_()
    found = []
    for name in (form, "torch"):
        with using_backend(name):
            read = sum(a.invariants.square().sum() for a in net.activations(b))
            (slope,) = torch.autograd.grad(net(b).sum() + read, b.features, create_graph=True)
            found.append(torch.autograd.grad(slope.square().sum(), list(net.parameters()), allow_unused=True))
    for one, other in zip(*found, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-10, atol=1e-12)


def test_the_gradient_is_of_the_forward_pass_though_weights_have_changed_since() -> None:
    net = ccn.CCN(1, 1, channels=3).double()
    b = ccn.batch([ccn.Graph([(0, 1), (1, 2)], n=3, weights=[0.5, 2.0])])
    b.features = b.features.double().requires_grad_()
    out = net(b).sum()
    (expected,) = torch.autograd.grad(out, b.features, retain_graph=True)
    b.weights = torch.tensor([3.0, 4.0])
    (found,) = torch.autograd.grad(out, b.features, create_graph=True)
    torch.testing.assert_close(found, expected)


@pytest.mark.slow
def test_transforms_of_functions() -> None:
    """Also nested, in forward mode, and of what is only built inside of them."""
    net = ccn.CCN(3, 1, channels=13, nonlinearity="tanh").double()  # a number for which nothing has been built
    b = ccn.batch([random_graph(n, np.random.default_rng(n), weighted=True) for n in (4, 2)])
    given = {name: p.detach() for name, p in net.named_parameters()}

    def loss(changed: dict[str, Tensor]) -> Tensor:
        out: Tensor = torch.func.functional_call(net, {**given, **changed}, (b,))
        return out.square().sum()

    def of_bias(bias: Tensor) -> Tensor:
        return loss({"layers.1.bias": bias})

    bias = given["layers.1.bias"]
    hessian = torch.func.hessian(of_bias)(bias)
    torch.testing.assert_close(hessian, torch.func.jacrev(torch.func.jacrev(of_bias))(bias))
    torch.testing.assert_close(torch.func.vmap(of_bias)(torch.stack([bias, -bias]))[1], of_bias(-bias))
    with forward_ad.dual_level():
        slope = forward_ad.unpack_dual(of_bias(forward_ad.make_dual(bias, torch.ones_like(bias)))).tangent
    gradients = torch.func.grad(loss)(given)
    torch.testing.assert_close(slope, gradients["layers.1.bias"].sum())
    with using_backend("torch"):
        net(b).square().sum().backward()
    for name, p in net.named_parameters():
        torch.testing.assert_close(gradients[name], p.grad)


def test_shapes_on_the_meta_device() -> None:
    net = ccn.CCN(1, 2).to("meta")
    out = net(ccn.batch([ccn.Graph([(0, 1), (1, 2)], n=3)]).to(torch.device("meta")))
    assert (out.shape, out.device.type) == ((1, 2), "meta")
    with torch.device("meta"):  # levels that no other test measures, so that nothing is kept from one
        made = ccn.CCN(1, 2, levels=4, order=(0, 1, 2, 1, 2))
    assert {p.device.type for p in made.parameters()} == {"meta"}
    assert ccn.CCN(1, 2, levels=4, order=(0, 1, 2, 1, 2))(ccn.batch([ccn.Graph([(0, 1)], n=2)])).isfinite().all()


SIMPLE = (MatrixClass(),)


@pytest.mark.parametrize("k", [0, 1, 2])
@pytest.mark.parametrize("choice", ["all", "distinct"])
def test_every_weight_is_in_the_cell_of_its_contraction(k: int, choice: str) -> None:
    p = plan(list_maps(choice, k, k), k, k, SIMPLE)
    out, width = 3, 2
    weight = torch.randn(out, len(p.cells), width)
    flat, start = mixing(p, weight), 0
    for s, stage in enumerate(p.stages):
        shape = (stage.end - stage.first, width, len(stage.slots), out)
        matrix = torch.zeros(shape)
        for i, cell in enumerate(p.cells):
            if cell is not None and cell[0] == s:
                matrix[cell[1], :, cell[2]] += weight[:, i].T
        torch.testing.assert_close(flat[start : start + matrix.numel()].view(shape), matrix)
        start += matrix.numel()
    assert start == len(flat)


def test_the_gradient_is_that_of_the_function() -> None:
    p = plan(list_maps("all", 2, 2), 2, 2, SIMPLE)
    weight = torch.randn(2, len(p.cells), 3, requires_grad=True)
    flat = mixing(p, weight)
    g = torch.randn_like(flat)
    (expected,) = torch.autograd.grad(flat, weight, g)
    torch.testing.assert_close(mixing_gradient(p, g, weight), expected)


class _Called(TorchDispatchMode):
    """The names of PyTorch's operations that run, and ``copied`` for a copy to another device."""

    names: Counter[str]

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = func._schema.name.removeprefix("aten::")
        self.names["copied" if name == "_to_copy" and "device" in (kwargs or {}) else name] += 1
        return func(*args, **(kwargs or {}))


@pytest.mark.parametrize("readout", ["invariants", "sums", "root", "vertex", "edge"])
@pytest.mark.parametrize("order", [0, 1, 2, 3])
def test_a_step_waits_for_nothing(order: int, readout: Any) -> None:
    """On a GPU the host would wait for a number, for a result of unknown size, and for what it copies there."""
    rng = np.random.default_rng(0)
    b = ccn.batch([random_graph(n, rng, weighted=True) for n in (5, 4)])
    net = ccn.CCN(3, 1, order=order, channels=4, readout=readout, norm="batch", dropout=0.1)
    with using_backend("torch"):
        net(b).sum().backward()  # builds what the batch keeps
        called = _Called()  # type: ignore[no-untyped-call]
        called.names = Counter()
        with called:
            net(b).sum().backward()
    waits = {"_local_scalar_dense", "nonzero", "_unique2", "unique_dim", "masked_select", "lift_fresh", "copied"}
    assert set(called.names).isdisjoint(waits)
    assert called.names["_embedding_bag_forward_only"] > 0
