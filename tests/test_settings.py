"""A setting is a field that carries its help and its flags."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

from ccn.settings import setting


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
