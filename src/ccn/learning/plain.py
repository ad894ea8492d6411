"""Plain data: settings as numbers, strings, lists and dictionaries that JSON and TOML can hold, and back.

The package's own values become tagged dictionaries; nothing else is ever made from a file.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

import numpy as np

from ccn.errors import ConfigurationError

__all__ = ["plain", "unplain"]


def plain(value: Any) -> Any:
    """Plain data from settings: numbers, strings, lists, and tagged dictionaries for the package's own values."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, Mapping):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [plain(v) for v in value]
    if hasattr(value, "to_json"):
        return value.to_json()  # a definition of vertex features
    if type(value) in _kinds().values():
        given = {f.name: plain(v) for f in fields(value) if (v := getattr(value, f.name)) is not None}
        return {"type": type(value).__name__, **given}
    raise ConfigurationError(
        f"{value!r} is code, not plain data, and cannot be written to a file: name a built-in choice instead, or "
        "keep the network's state_dict() and make the network anew from your own code"
    )


def unplain(value: Any) -> Any:
    """What :func:`plain` was given; lists become tuples."""
    if isinstance(value, Mapping):
        items = {k: unplain(v) for k, v in value.items() if k != "type"}
        if "type" in value:
            if not isinstance(value["type"], str) or value["type"] not in _kinds():
                raise ConfigurationError(
                    f"{value['type']!r} is not known to this version of ccn; a newer one may know it"
                )
            try:
                return _kinds()[value["type"]](**items)
            except TypeError as error:
                raise ConfigurationError(f"{value['type']} cannot be made of {items} ({error})") from None
        if "kind" in value:
            from ccn.features.vertices import vertex_features

            return vertex_features(value)
        return items
    return tuple(unplain(v) for v in value) if isinstance(value, list | tuple) else value


def _kinds() -> dict[str, Any]:
    """The values of the package that a file may name; nothing else is ever made from a file."""
    from ccn.algebra.contractions import Contraction, EquivariantMap
    from ccn.graphs.adjacency import Closed, EdgeFeatures, Normalised, Power, Weights
    from ccn.schemes.generators import Balls, Neighbourhoods

    channels = (Closed, EdgeFeatures, Normalised, Power, Weights)
    return {kind.__name__: kind for kind in (Balls, Contraction, EquivariantMap, Neighbourhoods, *channels)}
