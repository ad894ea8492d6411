"""The forms that the engine can run a plan in, and the one place where one of them is chosen.

A form is a module with the functions of :class:`Backend`. To add one (Triton, C), write the module, in a folder beside
``engine/cpu/``, and list it in ``FORMS``; nothing else has to know. The ``torch`` form consists of PyTorch's operations
alone: it serves everywhere, can be differentiated any number of times, and every other form falls back on it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache, wraps
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, NamedTuple, ParamSpec, Protocol, TypeVar, cast

import torch
from torch import Tensor
from torch.autograd import forward_ad

from ccn.errors import ConfigurationError
from ccn.graphs.ragged import plain_tensors

if TYPE_CHECKING:
    from ccn.engine.matrices import Matrices
    from ccn.engine.plan import Plan
    from ccn.schemes.packed import Level, Nodes

__all__ = ["FORMS", "Backend", "Form", "Job", "choose", "is_transformed", "plain_tensors", "untraced", "using_backend"]


P = ParamSpec("P")
R = TypeVar("R")


@dataclass(frozen=True)
class Job:
    """One level to compute.

    Attributes:
        plan, level, a: what is computed, on which nodes, with which channels of A.
        relu: apply a ReLU to the result.
        keep: the activations are wanted, not their invariants alone.
        graphs: the number of graphs that invariants are summed over; None: they are wanted for each node.
    """

    plan: Plan
    level: Level
    a: Matrices
    relu: bool = False
    keep: bool = True
    graphs: int | None = None


class Backend(Protocol):
    """One form of the engine."""

    def stores_all(self) -> bool:
        """Whether it also stores activations that are wanted for their invariants alone."""

    def serves(self, like: Tensor, differentiable: bool) -> bool:
        """Whether it can work on such activations, and give gradients of A if it is ``differentiable``."""

    def prepare(self, plan: Plan, level: Level, a: Matrices) -> int:
        """Build what a plan needs on a level, which keeps it for :meth:`aggregate`; returns its bytes."""

    def aggregate(
        self, f: Tensor, weight: Tensor, bias: Tensor, basis: Tensor | None, job: Job
    ) -> tuple[Tensor, Tensor]:
        """Activations, which may have no rows unless they are wanted, and invariants."""

    def invariants(self, f: Tensor, nodes: Nodes, order: int) -> Tensor:
        """(nodes, Bell(order) * channels) the invariants of every node's tensor."""


class Form(NamedTuple):
    """The module of a form, the devices that it is for (None: all) and the package that it needs besides PyTorch."""

    module: str
    devices: tuple[str, ...] | None = None
    needs: str | None = None


FORMS = {
    "cpu": Form("ccn.engine.cpu.form", ("cpu",), "llvmlite"),
    "torch": Form("ccn.engine.torch_form"),
}
"""The forms by name; the first that serves is used."""

_preferred: ContextVar[str | None] = ContextVar("preferred", default=None)


@contextmanager
def using_backend(name: str) -> Iterator[None]:
    """Inside, the engine runs in this form where that serves, and else in PyTorch's operations.

    >>> import ccn
    >>> with using_backend("torch"):
    ...     ccn.CCN(1, 1)([ccn.Graph([(0, 1)], n=2)]).shape
    torch.Size([1, 1])
    """
    if name not in FORMS:
        raise ConfigurationError(f"backend {name!r} is not known; choose one of {', '.join(FORMS)}")
    before = _preferred.set(name)
    try:
        yield
    finally:
        _preferred.reset(before)


def choose(like: Tensor, differentiable: bool = False) -> Backend:
    """The form for such activations; ``differentiable``: gradients of A may be asked for."""
    name = _preferred.get()
    # PyTorch follows operation by operation: compile, export, torch.func, forward mode.
    traced = torch.compiler.is_compiling() or is_transformed() or forward_ad._current_level >= 0
    for form in () if traced else FORMS.values() if name is None else [FORMS[name]]:
        if (form.devices is None or like.device.type in form.devices) and _has(form.needs):
            backend = cast("Backend", import_module(form.module))
            if backend.serves(like, differentiable):
                return backend
    return cast("Backend", import_module(FORMS["torch"].module))


@cache
def _has(package: str | None) -> bool:
    return package is None or find_spec(package) is not None


def is_transformed() -> bool:
    """Whether this is inside of a transform of ``torch.func``."""
    return torch._C._are_functorch_transforms_active()


def untraced(f: Callable[P, R]) -> Callable[P, R]:
    """The same function, which ``torch.compile`` leaves as it is: it builds index maps or runs compiled code."""

    @wraps(f)
    def called(*args: P.args, **kwargs: P.kwargs) -> R:
        if torch.compiler.is_dynamo_compiling():
            return torch.compiler.disable(f)(*args, **kwargs)  # type: ignore[no-any-return]
        return f(*args, **kwargs)

    return called
