"""All methods by name: one line each. The class of a method is imported when it is made."""

from __future__ import annotations

from dataclasses import fields
from importlib import import_module
from typing import TYPE_CHECKING, Any

from ccn.errors import ConfigurationError

if TYPE_CHECKING:
    from ccn.learning.fitted import Fitted
    from ccn.methods.method import Method

__all__ = ["METHODS", "fitted_class", "make_method", "register"]

_COUNTS, _KERNELS = "ccn.methods.counts:CountFeatures", "ccn.methods.kernel_machine:KernelMachine"
METHODS: dict[str, str | type[Method]] = {
    "ccn": "ccn.methods.covariant:Covariant",
    **dict.fromkeys(("lasso", "ridge", "forest", "boosting"), _COUNTS),
    **dict.fromkeys(
        ("wl", "wl-edge", "wl-oa", "shortest-path", "graphlet", "random-walk", "multiscale-laplacian"), _KERNELS
    ),
    "ngf": "ccn.methods.references:NeuralFingerprints",
    "pscn": "ccn.methods.references:PatchySAN",
    "gin": "ccn.methods.references:GraphIsomorphismNetwork",
    **dict.fromkeys(
        ("ccn-1", "ccn-2", "ccn-2-authors", "ccn-1-default", "ccn-2-default", "ccn-3-default"),
        "ccn.methods.covariant:NamedCovariant",
    ),
    "ccn-2-kernel": _KERNELS,
    "gp": "ccn.methods.gaussian_process:GaussianProcess",
    "auto": "ccn.methods.stack:Stack",
    "trees": "ccn.methods.trees:BoostedTrees",
}
"""The class of each method, or where it is."""


def _class(name: str) -> type[Method]:
    if name not in METHODS:
        raise ConfigurationError(f"method {name!r} is not known; choose from {', '.join(METHODS)}")
    found = METHODS[name]
    if isinstance(found, str):
        module, _, kind = found.partition(":")
        found = METHODS[name] = getattr(import_module(module), kind)
    return found


def register(name: str, kind: type[Method]) -> None:
    """Add a method of your own, for this process; an error if the name is taken by another.

    Example:
        >>> register("wl-again", _class("wl"))
        >>> make_method("wl-again", classification=True).name, METHODS.pop("wl-again").__name__
        ('wl-again', 'KernelMachine')
    """
    if METHODS.get(name, kind) is not kind:
        raise ConfigurationError(f"method {name!r}: there is one of this name already; choose another")
    METHODS[name] = kind


def make_method(name: str, *, classification: bool, seed: int = 0, **options: Any) -> Method:
    """A method by name; the options are those of its class.

    Example:
        >>> make_method("wl", classification=True, C=(1.0, 10.0)).C
        (1.0, 10.0)
    """
    kind = _class(name)
    known = [f.name for f in fields(kind) if f.name not in ("name", "classification", "seed")]
    for key in options:
        if key not in known:
            raise ConfigurationError(f"method {name!r}: there is no option {key!r}; choose from {', '.join(known)}")
    return kind(name=name, classification=classification, seed=seed, **options)


def fitted_class(name: str) -> type[Fitted]:
    """The class of what a method learns, for reading it from a file.

    Example:
        >>> fitted_class("wl").__name__
        'FittedKernelMachine'
    """
    return _class(name).fitted
