"""A setting is a field that carries its help and its flags."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any, Literal

import numpy as np
import pytest

from ccn.errors import ConfigurationError
from ccn.settings import Checked, forms, setting


@dataclass(frozen=True)
class Example:
    rate: float = setting(0.1, "A rate.")
    names: tuple[str, ...] = setting((), "Names.", flags=("--name",), commas=True)
    code: str | None = setting(None, "Code.", flags=())


def test_a_setting_is_a_field_with_a_default() -> None:
    assert Example() == Example(0.1, (), None)
    assert replace(Example(), rate=2.0).rate == 2.0


def test_a_setting_carries_its_help_and_its_flags() -> None:
    carried = [tuple(f.metadata[key] for key in ("help", "flags", "commas")) for f in fields(Example)]
    assert carried == [("A rate.", None, False), ("Names.", ("--name",), True), ("Code.", (), False)]


@dataclass(frozen=True)
class Bounded(Checked):
    rate: float | Literal["auto"] | None = setting("auto", "A rate.", least=0, below=1)
    widths: int | tuple[int, ...] = setting(8, "Widths.", least=1)
    shape: str | Callable[..., Any] = setting("round", "A shape.")
    on: bool = setting(False, "Whether.")


@pytest.mark.parametrize(
    "given",
    [
        *({"rate": v} for v in (0, 0.5, "auto", None, np.float32(0.5))),
        *({"widths": v} for v in (1, (1, 2), [3], np.int64(4))),
        *({"shape": v} for v in ("x", round)),
        {"on": True},
    ],
)
def test_values_of_a_form_within_bounds_are_taken(given: dict[str, Any]) -> None:
    assert getattr(Bounded(**given), *given) is next(iter(given.values()))


RATES: list[Any] = [1, -1e-9, "x", True, float("nan"), float("inf"), []]
WIDTHS: list[Any] = [0, 1.5, "2", None, (1, 0), (1, "x"), 10**400, True]


@pytest.mark.parametrize(
    ("given", "must"),
    [
        *(({"rate": v}, "at least 0 and less than 1") for v in RATES),
        *(({"widths": v}, "an integer of at least 1") for v in WIDTHS),
        *(({"shape": v}, "a text or a function") for v in (None, b"x", 1)),
        *(({"on": v}, "true or false") for v in (1, "true", None)),
    ],
)
def test_other_values_are_named(given: dict[str, Any], must: str) -> None:
    with pytest.raises(ConfigurationError, match=rf"^{next(iter(given))}=.*{must}"):
        Bounded(**given)


def test_the_forms_of_a_type() -> None:
    assert forms(int) == (int,)
    assert forms(int | None) == (int, type(None))
