"""A setting is a field that carries its help and its flags."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

from ccn.settings import setting


@dataclass(frozen=True)
class Example:
    rate: float = setting(0.1, "A rate.")
    names: tuple[str, ...] = setting((), "Names.", flags=("--name",))
    code: str | None = setting(None, "Code.", flags=())


def test_a_setting_is_a_field_with_a_default() -> None:
    assert Example() == Example(0.1, (), None)
    assert replace(Example(), rate=2.0).rate == 2.0


def test_a_setting_carries_its_help_and_its_flags() -> None:
    carried = [(f.metadata["help"], f.metadata["flags"]) for f in fields(Example)]
    assert carried == [("A rate.", None), ("Names.", ("--name",)), ("Code.", ())]
