"""All methods by name."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

from ccn import sealed
from ccn.errors import ConfigurationError, FileError
from ccn.learning import model_file
from ccn.methods.method import FORM, VERSION, Baseline, TaskName

__all__ = ["METHODS", "load", "method"]

_COUNTS, _KERNELS = "ccn.methods.counts:CountFeatures", "ccn.methods.kernel_machine:KernelMachine"
METHODS: dict[str, str] = {
    **dict.fromkeys(("lasso", "ridge", "forest", "boosting"), _COUNTS),
    **dict.fromkeys(
        ("wl", "wl-edge", "wl-oa", "shortest-path", "graphlet", "random-walk", "multiscale-laplacian"), _KERNELS
    ),
    "ngf": "ccn.methods.ngf:NeuralFingerprints",
    "pscn": "ccn.methods.pscn:PatchySAN",
    "gin": "ccn.methods.gin:GraphIsomorphismNetwork",
    **dict.fromkeys(("ccn-1", "ccn-2", "ccn-2-default", "ccn-3-default"), "ccn.methods.covariant:Covariant"),
    "ccn-2-kernel": _KERNELS,
}
"""The class of each method, imported when it is made."""
_OTHER_NAMES = {"ccn": "ccn-2-default"}


def _class(name: str) -> type[Baseline]:
    if name not in METHODS:
        raise ConfigurationError(f"method {name!r} is not known; choose from {', '.join(METHODS)}")
    module, _, kind = METHODS[name].partition(":")
    found: type[Baseline] = getattr(import_module(module), kind)
    return found


def method(name: str, task: TaskName, **options: Any) -> Baseline:
    """A method by name, not fitted yet; the options are those of its class. ``ccn`` stands for ``ccn-2-default``.

    Example:
        >>> method("wl", "classification", C=(1.0, 10.0)).C
        (1.0, 10.0)

    """
    name = _OTHER_NAMES.get(name, name)
    kind = _class(name)
    try:
        return kind(name, task, **options)
    except TypeError as error:
        raise ConfigurationError(f"method {name!r}: {error}") from None


def load(path: str | Path) -> Baseline:
    """A fitted method from the file that its ``save`` wrote, or from the folder of a run; no code of it is run."""
    path = model_file.model_path(path)
    if sealed.form_of(path) == model_file.FORM:
        from ccn.methods.covariant import Covariant

        return Covariant.of_model(model_file.load(path))
    _, tensors, about = sealed.read(path, FORM, VERSION)
    try:
        return _class(about["settings"]["method"]).from_file(tensors, about)
    except (KeyError, TypeError, RuntimeError) as error:
        raise FileError(
            f"{path}: written by ccn {about.get('ccn', '?')}, and cannot be used by this version ({error})"
        ) from None
