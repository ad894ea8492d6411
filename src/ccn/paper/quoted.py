"""The figures of the paper's tables as printed there (``paper.toml``)."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

__all__ = ["Quoted", "paper_notes", "quoted"]

_PTC = {"PTC_MR": "PTC"}  # the paper does not say which version it used


@dataclass(frozen=True)
class Quoted:
    """A figure of the paper.

    Attributes:
        text: as printed, such as ``TIMED OUT`` where there is no number.
        value, deviation: the numbers, or None.

    """

    text: str
    value: float | None = None
    deviation: float | None = None


@cache
def _all() -> dict[str, Any]:
    return tomllib.loads((Path(__file__).parent / "paper.toml").read_text(encoding="utf-8"))


def quoted(table: str, method: str, item: str) -> Quoted | None:
    """The paper's figure of a method.

    Args:
        table: ``kernels``, ``hcep``, ``qm9-mae`` or ``qm9-rmse``.
        method: by our name.
        item: a data set, metric or target.

    Example:
        >>> quoted("kernels", "wl", "MUTAG")
        Quoted(text='84.50 ± 2.16', value=84.5, deviation=2.16)
        >>> quoted("kernels", "random-walk", "NCI1")
        Quoted(text='TIMED OUT', value=None, deviation=None)

    """
    text = _all()[table].get(method, {}).get(_PTC.get(item, item))
    if text is None:
        return None
    try:
        return Quoted(text, *(float(part) for part in text.split("±")))
    except ValueError:
        return Quoted(text)


def paper_notes(table: str) -> tuple[str, ...]:
    """Notes on the paper's figures in a table; those of ``qm9`` are for both metrics."""
    return tuple(_all()["notes"].get(table, ()))
