from __future__ import annotations

import pytest

from ccn.errors import ConfigurationError
from ccn.learning.fitted import Fitted
from ccn.methods import METHODS, fitted_class, make_method
from ccn.methods.method import Method


@pytest.mark.parametrize("name", METHODS)
def test_every_name_has_a_class_with_one_interface(name: str) -> None:
    made = make_method(name, classification=True, seed=3)
    assert isinstance(made, Method)
    assert (made.name, made.classification, made.seed) == (name, True, 3)
    assert issubclass(fitted_class(name), Fitted)
    assert made.reads().molecules
    assert "molecules" in made.recipe_fields()["features"]


def test_options_and_names_that_are_not_known_are_named() -> None:
    with pytest.raises(ConfigurationError, match=r"'wll'.*ccn, lasso"):
        make_method("wll", classification=True)
    with pytest.raises(ConfigurationError, match=r"'depth'.*folds"):
        make_method("wl", classification=True, depth=3)
