"""Model files of version 0.1, which had one format for networks and another for all other methods, read as today's."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ccn.sealed import Sealed

__all__ = ["AUTO_BEFORE", "FORMS_BEFORE", "updated", "with_auto"]

AUTO_BEFORE = ("learning_rate", "dropout", "head_dropout", "least_steps")
"""Settings of which None meant what is ``auto`` today."""
FORMS_BEFORE = {"ccn baseline": 1}
_MEMBERS = ("ccn-1", "ccn-2", "ccn-2-default", "ccn-3-default", "gin", "ngf", "pscn")

_ESTIMATOR = ("method", "task", "features", "hydrogens", "random_state", "device", "time_limit", "validation_fraction")
"""Settings of a fit and not of its method."""


def updated(held: Sealed) -> Sealed:
    """The content of a file as the present version writes it."""
    if held.form in FORMS_BEFORE:
        return _method(held)
    return _network(held) if held.version < 2 else held


def with_auto(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings, by section or not, in which None and ``none`` meant ``auto``."""
    return {
        key: with_auto(v) if isinstance(v, Mapping) else "auto" if key in AUTO_BEFORE and v in (None, "none") else v
        for key, v in settings.items()
    }


def _network(held: Sealed) -> Sealed:
    """A file of networks: what was learned stood among the rest."""
    data, about = held.data, held.data["about"]
    how = with_auto(data["recipe"])
    learned = {"options": data["network"], "members": data["members"], "recipe": how, "prepared": {}}
    same = {key: data[key] for key in ("ccn", "inputs", "task", "calibration", "about")}
    settings = {k: v for k, v in with_auto(about.get("settings", {})).items() if k not in _ESTIMATOR}
    return replace(held, data={**same, "method": about.get("method", "ccn"), "settings": settings, "learned": learned})


def _method(held: Sealed) -> Sealed:
    """A file of another method: settings held the method's name, and scale and task stood with what was learned."""
    data, learned = held.data, dict(held.data["learned"])
    method = data["settings"]["method"]
    task = {**data["task"], "scale": learned.pop("scale", None)}
    tensors = held.tensors
    if method in _MEMBERS:
        task = learned.pop("task")
        learned["prepared"] = {key.removesuffix("_"): v for key, v in learned.pop("preparation").items()}
        tensors = {f"member{key}": value for key, value in tensors.items()}
    else:
        learned["name"] = method
    about = {"calibration": None, "about": {}, **data}
    made = {
        "ccn": data["ccn"],
        "method": method,
        "settings": {k: v for k, v in with_auto(data["settings"]).items() if k not in _ESTIMATOR},
        "inputs": data["inputs"],
        "task": task,
        "learned": learned,
        "calibration": about["calibration"],
        "about": {"single": data["single"], "chosen": learned.get("chosen", []), **about["about"]},
    }
    return replace(held, data=made, tensors=tensors)
