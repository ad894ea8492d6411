"""Every public name is documented with an example; pytest runs the examples with the docstrings."""

from __future__ import annotations

import names
import pytest

import ccn

PUBLIC = list(names.documented())


@pytest.mark.parametrize(("place", "name"), [pytest.param(p, n, id=f"{p}.{n}") for p, n, _ in PUBLIC])
def test_a_public_name_has_an_example(place: str, name: str) -> None:
    assert names.example_of(place, name, getattr(names.module(place), name))


def test_every_public_module_is_walked() -> None:
    walked = names.modules()
    assert set(walked["ccn"]) <= set(ccn.__all__)
    assert {"ccn.schemes", "ccn.interop", "ccn.learning.model"} <= walked.keys()
    assert len(PUBLIC) > 100


def test_methods_of_a_private_base_are_documented() -> None:
    (page,) = (text for text in names.pages().values() if "autoclass:: ccn.CCNRegressor\n" in text)
    described = page.partition("ccn.CCNRegressor\n")[2].partition("```")[0]
    assert all(f" {method}" in described for method in ("fit", "predict", "save", "nearest"))


def test_a_name_without_an_example_is_found() -> None:
    def bare() -> None:
        """No example."""

    assert not names.example_of("ccn", "bare", bare)
    assert not names.example_of("ccn.errors", "HIDDEN", 3)
