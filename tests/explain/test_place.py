"""Whether a model has seen anything like a molecule."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from ccn.explain.neighbours import similarities
from ccn.explain.place import places
from tests.explain.conftest import SMILES

NEW = [SMILES[0], "OB(O)c1ccccc1"]


def test_a_training_molecule_is_its_own_neighbour_and_boron_is_new(numbers: Any) -> None:
    model = numbers.model_
    own, new = places(model, model.inputs.read(NEW), NEW)
    assert (own.word, own.distance, own.similarity, own.unseen) == ("inside", 0.0, 1.0, "")
    assert own.nearest == SMILES[0]
    assert float(own.value) == len(SMILES[0]) - 3.0
    assert "element B" in new.unseen
    assert new.word != "inside"
    assert own.lines()[0] == "inside the applicability domain (distance 0.00)"
    assert any("nearest training molecule" in line for line in own.lines())


def test_similarity_by_morgan_is_that_of_the_neighbour(numbers: Any) -> None:
    model = numbers.model_
    for smiles, place in zip(NEW, places(model, model.inputs.read(NEW), NEW), strict=True):
        assert place.morgan == pytest.approx(similarities(smiles, [place.nearest])[0])


def test_structures_are_not_shown_where_they_are_not_at_hand(numbers: Any) -> None:
    model = replace(numbers.model_, measured=None)
    for place in places(model, model.inputs.read(NEW), NEW):
        assert (place.nearest, place.value) == ("", "")
    assert places(replace(model, domain=None), model.inputs.read(NEW), NEW) == []
