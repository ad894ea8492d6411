from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
import torch

import ccn
from ccn.errors import ConfigurationError
from ccn.learning.plain import plain, unplain
from ccn.schemes import Clusters, Neighbourhoods, rings
from ccn.training.recipe import from_dict, recipe


@pytest.mark.parametrize(
    "value", [1, 2.5, "a", None, True, (1, (2, "b")), {"a": (1,)}, Neighbourhoods(max_part=4), ccn.adjacency.Power(2)]
)
def test_values_come_back_through_json(value: Any) -> None:
    assert unplain(json.loads(json.dumps(plain(value)))) == value


def test_numbers_of_numpy_are_plain_numbers() -> None:
    assert json.dumps(plain([np.int64(2), np.float64(0.5), np.True_])) == "[2, 0.5, true]"


def test_a_recipe_is_plain_data() -> None:
    r = recipe("default", order=(2, 1, 1), scheme=Neighbourhoods(max_part=9))
    assert from_dict(json.loads(json.dumps(plain(r)))) == r


@pytest.mark.parametrize("code", [torch.sin, Clusters(rings()), lambda g: g])
def test_code_is_refused(code: Any) -> None:
    with pytest.raises(ConfigurationError):
        plain({"x": code})


def test_a_type_that_is_not_known_is_not_made() -> None:
    with pytest.raises(ConfigurationError, match="Popen"):
        unplain({"type": "Popen", "args": "ls"})
