"""Values that JSON can hold: it has no numbers that are not finite."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

__all__ = ["json_safe"]


def json_safe(value: Any) -> Any:
    """The same with null for what is not a number, which JSON does not have.

    Example:
        >>> json_safe({"mae": float("nan"), "rows": (1, 2)})
        {'mae': None, 'rows': [1, 2]}

    """
    if isinstance(value, Mapping):
        return {str(k): json_safe(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [json_safe(v) for v in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
