"""Covariant networks as methods: their recipes, what follows from the data, and what they read."""

from __future__ import annotations

from typing import Any

import pytest

from ccn.baselines import method
from ccn.graphs.adjacency import EdgeFeatures, Weights
from ccn.learning.inputs import read
from ccn.methods import make_method
from ccn.methods.covariant import network_options
from ccn.training.recipe import RECIPES, recipe

SMILES = ["C" * i + x for i in range(1, 6) for x in "ONF"]


def test_names_stand_for_recipes() -> None:
    made: dict[str, Any] = {n: make_method(n, classification=False) for n in ("ccn", "ccn-1", "ccn-2", "ccn-3-default")}
    assert made["ccn"].base_recipe() == RECIPES["default"]
    assert made["ccn-2"].base_recipe() == RECIPES["paper"].override(rising="ignore")  # as the tables were made
    assert (made["ccn-1"].resolved().network.order, made["ccn-3-default"].resolved().network.order) == (1, 3)
    assert [made[n].named_recipes for n in made] == [True, False, False, False]
    assert made["ccn-2"].chosen_fields() == {"channels"}
    assert made["ccn"].chosen_fields() == set()
    paper: Any = make_method("ccn", classification=False, recipe=recipe("paper"))
    assert paper.tried() == made["ccn-2"].tried()


def test_a_recipe_with_a_given_width_does_not_choose_it() -> None:
    made: Any = make_method("ccn-2", classification=False).with_recipe(recipe("paper", channels=8), ["channels"])
    assert made.tried() == [{}]
    assert made.resolved().network.channels == 8


@pytest.mark.parametrize("features", ["compact", "element"])
def test_bonds_are_read_only_where_the_network_has_channels_for_them(features: str) -> None:
    quick: dict[str, Any] = {"epochs": 1, "channels": 2, "hidden": 4, "levels": 1}
    for edges in (True, False):
        settings = {**quick, "edge_features": edges}
        made: Any = method("ccn", "regression", features=features, settings=settings).fit(SMILES, range(15))
        assert made.model_.fitted.reads_edges == edges
        assert made.model_.fitted.embedding_width == made.transform(SMILES[:2]).shape[1]


def test_A_is_left_out_where_edge_features_span_it() -> None:
    n = recipe("default").network
    one_hot = network_options(n, read(["CC=O"], "element", False)[0], 1)["adjacency_channels"]
    number = network_options(n, read(["CC=O"], "compact", False)[0], 1)["adjacency_channels"]
    assert one_hot == (EdgeFeatures(4),)  # one kind per bond: their sum is A
    assert number == (Weights(), EdgeFeatures(1))
