"""Settings: fields of frozen dataclasses that carry their help and their flags on the command line.

A setting is described once, where it is declared; :mod:`ccn.cli.options` makes the flags. Imports nothing of ccn.
"""

from __future__ import annotations

from dataclasses import field
from typing import TypeVar

__all__ = ["setting"]

T = TypeVar("T")


def setting(
    default: T,
    help: str,  # noqa: A002 (argparse's word)
    *,
    flags: tuple[str, ...] | None = None,
    commas: bool = False,
) -> T:
    """A field of a dataclass with its help.

    Args:
        default: of the field.
        help: one short line for the command line.
        flags: names of the flag; by default that of the field. Empty for a setting of configuration files only.
        commas: the flag takes several names with commas between them; quotes around a name keep its own.

    Example:
        >>> from dataclasses import dataclass, fields
        >>> @dataclass(frozen=True)
        ... class Sgd:
        ...     momentum: float = setting(0.9, "SGD momentum.")
        >>> Sgd().momentum, fields(Sgd)[0].metadata["help"]
        (0.9, 'SGD momentum.')
    """
    return field(default=default, metadata={"help": help, "flags": flags, "commas": commas})
