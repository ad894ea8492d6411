"""Settings: fields of frozen dataclasses that carry their help, their flags on the command line and their bounds.

A setting is described once, where it is declared; :mod:`ccn.cli.options` makes the flags. Imports errors only.
"""

from __future__ import annotations

import math
import types
from collections.abc import Callable, Mapping
from dataclasses import field, fields
from functools import cache
from numbers import Integral, Real
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from ccn.errors import ConfigurationError

__all__ = ["Checked", "forms", "setting"]

T = TypeVar("T")
_WORDS = {int: "an integer", float: "a number", bool: "true or false", str: "a text", type(None): "none"}
_LARGEST = 2**63  # of integers that arrays can hold


def setting(
    default: T,
    help: str,  # noqa: A002 (argparse's word)
    *,
    flags: tuple[str, ...] | None = None,
    commas: bool = False,
    least: float | None = None,
    above: float | None = None,
    below: float | None = None,
) -> T:
    """A field of a dataclass with its help.

    Args:
        default: of the field.
        help: one short line for the command line.
        flags: names of the flag; by default that of the field. Empty for a setting of configuration files only.
        commas: the flag takes several names with commas between them; quotes around a name keep its own.
        least, above, below: bounds of its numbers, which :class:`Checked` checks: at least, more than, less than.

    Example:
        >>> from dataclasses import dataclass, fields
        >>> @dataclass(frozen=True)
        ... class Sgd:
        ...     momentum: float = setting(0.9, "SGD momentum.")
        >>> Sgd().momentum, fields(Sgd)[0].metadata["help"]
        (0.9, 'SGD momentum.')
    """
    bounds = {"at least": least, "more than": above, "less than": below}
    return field(default=default, metadata={"help": help, "flags": flags, "commas": commas, "bounds": bounds})


def forms(hint: Any) -> tuple[Any, ...]:
    """The members of a union, or the type itself."""
    return get_args(hint) if get_origin(hint) in (Union, types.UnionType) else (hint,)


class Checked:
    """A dataclass of settings whose values are checked: their types, and numbers by their bounds.

    Example:
        >>> from dataclasses import dataclass
        >>> @dataclass(frozen=True)
        ... class Sgd(Checked):
        ...     momentum: float = setting(0.9, "SGD momentum.", least=0, below=1)
        >>> Sgd(momentum=2)
        Traceback (most recent call last):
        ccn.errors.ConfigurationError: momentum=2: it must be a number of at least 0 and less than 1
    """

    def __post_init__(self) -> None:
        hints: dict[str, Any] = _hints(type(self))  # type: ignore[arg-type]  # classes are hashable
        for f in fields(self):  # type: ignore[arg-type]
            if "bounds" not in f.metadata:  # not a setting
                continue
            value, bounds = getattr(self, f.name), f.metadata["bounds"]
            if not any(_fits(value, hint, bounds) for hint in forms(hints[f.name])):
                said = " and ".join(f"{words} {bound:g}" for words, bound in bounds.items() if bound is not None)
                must = " or ".join(_describe(hint, f" of {said}" * bool(said)) for hint in forms(hints[f.name]))
                raise ConfigurationError(f"{f.name}={value!r}: it must be {must}")


_hints = cache(get_type_hints)


def _fits(value: Any, hint: Any, bounds: Mapping[str, float | None]) -> bool:
    """Whether a value is of a type and, if it is a number, finite and within the bounds."""
    if get_origin(hint) is Literal:
        return isinstance(value, str) and value in get_args(hint)
    if get_origin(hint) is tuple:
        return isinstance(value, list | tuple) and all(_fits(v, get_args(hint)[0], bounds) for v in value)
    if hint is Any:
        return True
    if get_origin(hint) is Callable:
        return callable(value)
    if hint not in (int, float):
        return isinstance(value, hint)
    if isinstance(value, bool) or not isinstance(value, Integral if hint is int else Real):
        return False
    number: Any = value
    least, above, below = bounds.values()
    return (
        (abs(number) < _LARGEST if isinstance(value, Integral) else math.isfinite(number))
        and (least is None or number >= least)
        and (above is None or number > above)
        and (below is None or number < below)
    )


def _describe(hint: Any, bounds: str) -> str:
    if get_origin(hint) is Literal:
        return f"{'one of ' * (len(get_args(hint)) > 1)}{', '.join(get_args(hint))}"
    if get_origin(hint) is tuple:
        return f"a list, each {_describe(get_args(hint)[0], bounds)}"
    if get_origin(hint) is Callable:
        return "a function"
    return _WORDS[hint] + bounds * (hint in (int, float))
