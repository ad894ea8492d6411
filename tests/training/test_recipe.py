"""Recipes: the paper's is the paper's, every field can be overridden, and all of it survives JSON and TOML."""

import json
import tomllib

import pytest
import torch

import ccn
from ccn.errors import ConfigurationError
from ccn.features.vertices import Degree, Histograms
from ccn.learning.plain import plain, unplain
from ccn.schemes.generators import Clusters, Neighbourhoods, rings
from ccn.training.recipe import RECIPES, from_dict, recipe, to_dict


def test_the_recipe_of_the_paper_is_as_the_paper_says() -> None:
    r = recipe("paper")
    o, n = r.optimiser, r.network
    assert (o.method, o.momentum, o.learning_rate, o.final_rate, o.schedule) == ("sgd", 0.9, 1e-3, 1e-6, "linear")
    assert (n.order, n.levels, n.contractions, n.adjacency, n.growth) == (2, 2, "paper10", True, 2)
    assert n.widths() == [8, 16, 32]
    assert (r.training.batch_size, r.training.epochs, r.features.vertices) == (64, 100, "histograms")
    assert not any((n.own, n.edge_features, n.norm, n.dropout, o.weight_decay, o.scaled, o.clip))


def test_the_recipe_of_the_authors_is_as_their_code_is() -> None:
    r = recipe("authors")
    n = r.network
    assert (n.order, n.levels, n.contractions, n.growth, n.hidden) == (2, 2, "paper10", 1.0, ())
    assert (n.scheme, n.diagonal, n.nonlinearity, n.activate_embedding) == ("field", True, "leaky_relu", True)
    assert (n.readout, n.readout_levels) == ("sums", "last")
    assert r.features.vertices == Histograms(depth=10, include_self=True, counts=True)
    assert r.optimiser == recipe("paper").optimiser
    x = torch.tensor([-1.0])
    assert float(ccn.CCN(1, 1, nonlinearity=n.nonlinearity).nonlinearity(x)) == pytest.approx(-0.01)


def test_fields_are_overridden_by_name_or_by_section() -> None:
    r = recipe("paper", order=1, training__epochs=7)
    assert (r.network.order, r.training.epochs) == (1, 7)
    assert r.override(**{"optimiser.learning_rate": 0.5}).optimiser.learning_rate == 0.5
    assert recipe(r) == r
    assert recipe("paper").network.order == 2


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"epoch": 3}, "epochs"),
        ({"network__epochs": 3}, "network.epochs"),
        ({"trainig.epochs": 3}, "trainig.epochs"),
        ({"epochs": 0}, "epochs=0"),
        ({"epochs": None}, "epochs=None"),
        ({"levels": "two"}, "levels.*'two'"),
        ({"method": "adam"}, "sgd, adamw"),
        ({"dropout": 1.0}, "dropout=1.0"),
        ({"loss": "l2"}, "loss='l2'"),
        ({"learning_rate": -1.0}, "learning_rate"),
    ],
)
def test_a_wrong_setting_is_named(settings: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        recipe("default", **settings)


@pytest.mark.parametrize(
    "settings",
    [
        {"order": 12}, {"order": (2, 12)},
        {"levels": 10**12}, {"channels": 10**9}, {"channels": (16, 10**9)}, {"hidden": 10**9}, {"members": 10**6},
        {"growth": 1e300}, {"growth": 2.0, "levels": 40},
    ],
    ids=str,
)  # fmt: skip
def test_no_setting_asks_for_more_than_a_machine_has(settings: dict[str, object]) -> None:
    with pytest.raises(ConfigurationError, match=str(next(iter(settings)))):
        recipe("default", **settings).network.widths()
    assert len(recipe("default", growth=0.5, levels=1000).network.widths()) == 1001


def test_auto_is_what_the_task_needs_and_none_is_off() -> None:
    names = ("learning_rate", "dropout", "head_dropout", "least_steps")
    assert [recipe("default").get(name) for name in names] == ["auto"] * 4
    for classification in (True, False):
        usual = recipe("default").for_task(classification=classification)
        assert "auto" not in [usual.get(name) for name in names]
        off = recipe("default", dropout=None, head_dropout=None, least_steps=None)
        again = from_dict(json.loads(json.dumps(to_dict(off))))
        assert again == off
        made = again.for_task(classification=classification)
        assert [made.get(name) for name in names] == [usual.get("learning_rate"), None, None, None]
        assert made.training.passes(batches=1) == (30, None)
        assert usual.training.passes(batches=1)[0] == usual.get("least_steps")
    with pytest.raises(ConfigurationError, match="learning_rate=None"):
        recipe("default", learning_rate=None)


def test_an_unknown_recipe_is_named() -> None:
    with pytest.raises(ConfigurationError, match=r"'papper'.* paper, authors, default"):
        recipe("papper")


@pytest.mark.parametrize("name", RECIPES)
def test_recipes_survive_json_and_toml(name: str) -> None:
    r = recipe(name, channels=(4, 5, 6), patience=None, max_part=9, vertices=Degree(cap=3))
    assert from_dict(json.loads(json.dumps(to_dict(r)))) == r
    lines = [f'name = "{r.name}"']
    for section, values in to_dict(r).items():
        if section != "name":
            flat = {k: v for k, v in values.items() if not isinstance(v, dict)}
            lines += [f"[{section}]", *(f"{k} = {json.dumps(v)}" for k, v in flat.items())]
    assert from_dict(tomllib.loads("\n".join(lines))).training == r.training
    with pytest.raises(ConfigurationError, match=r"\[trainig\]"):
        from_dict({"trainig": {}})


def test_values_of_the_package_are_plain_data_and_code_is_refused() -> None:
    chosen = ccn.contractions(5, 2)[:2]
    for value in (chosen, Neighbourhoods(max_part=4), (1, "a", None, 2.5), ccn.adjacency.Normalised("random_walk")):
        assert unplain(json.loads(json.dumps(plain(value)))) == (tuple(value) if isinstance(value, list) else value)
    for code in (torch.sin, Clusters(rings()), lambda g: g):
        with pytest.raises(ConfigurationError):
            plain(code)
    with pytest.raises(ConfigurationError, match="os"):
        unplain({"type": "os.system", "command": "true"})


def test_small_data_sets_have_more_epochs_unless_their_number_is_given() -> None:
    r = recipe("default").for_task(classification=True)
    assert r.training.least_steps is not None
    assert r.training.passes(batches=3)[0] * 3 == pytest.approx(r.training.least_steps, abs=3)
    assert r.training.passes(batches=10**6) == (r.training.epochs, r.training.patience)
    assert recipe("default", epochs=4).training.passes(batches=3)[0] == 4
    assert recipe("default", epochs=4, least_steps=60).training.passes(batches=3)[0] == 20
    assert (r.training.keep, recipe("default", patience=5).training.keep) == ("last", "best")
    assert recipe("default", patience=5, keep="last").training.keep == "last"
    assert from_dict(to_dict(r)) == r
