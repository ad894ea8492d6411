"""The figures of the paper's own tables, as printed there (``paper.toml``)."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

__all__ = ["Quoted", "notes", "quoted"]

_PTC = {"PTC_MR": "PTC"}  # the paper does not say which it means


@dataclass(frozen=True)
class Quoted:
    """A figure of the paper.

    Attributes:
        text: as it is printed; words where there is no number.
        value, deviation: what it says, or None.

    """

    text: str
    value: float | None = None
    deviation: float | None = None

    @classmethod
    def parse(cls, text: str) -> Quoted:
        """Read what is printed.

        Example:
            >>> Quoted.parse("84.50 ± 2.16")
            Quoted(text='84.50 ± 2.16', value=84.5, deviation=2.16)
            >>> Quoted.parse("TIMED OUT").value is None
            True

        """
        try:
            return cls(text, *(float(part) for part in text.split("±")))
        except ValueError:
            return cls(text)


@cache
def _all() -> dict[str, Any]:
    return tomllib.loads((Path(__file__).parent / "paper.toml").read_text(encoding="utf-8"))


def quoted(table: str, method: str, item: str) -> Quoted | None:
    """What the paper says of a method.

    Args:
        table: ``kernels``, ``hcep``, ``qm9-mae`` or ``qm9-rmse``.
        method: our name.
        item: a data set, metric or target.

    Example:
        >>> quoted("kernels", "ccn-2", "MUTAG").value
        91.64

    """
    text = _all()[table].get(method, {}).get(_PTC.get(item, item))
    return None if text is None else Quoted.parse(text)


def notes(table: str) -> tuple[str, ...]:
    """What a reader of the paper's figures must know; of ``qm9`` for both of its tables."""
    return tuple(_all()["notes"].get(table, ()))
