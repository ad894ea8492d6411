"""Covariant networks as methods: their recipes, what follows from the data, and what they read."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ccn import Graph, Pack, sealed
from ccn.baselines import load, method
from ccn.datasets.splits import Split
from ccn.errors import ConfigurationError, FileError, GraphError
from ccn.estimators import CCNRegressor
from ccn.graphs.adjacency import Closed, EdgeFeatures, Weights
from ccn.layers import RobustScale
from ccn.learning import model_file
from ccn.learning.examples import Examples
from ccn.learning.inputs import Inputs, read
from ccn.methods import make_method
from ccn.methods.covariant import network_options
from ccn.methods.method import fit
from ccn.schemes import Neighbourhoods
from ccn.training.recipe import RECIPES, Network, recipe

SMILES = ["C" * i + x for i in range(1, 6) for x in "ONF"]


def test_names_stand_for_recipes() -> None:
    made: dict[str, Any] = {n: make_method(n, classification=False) for n in ("ccn", "ccn-1", "ccn-2", "ccn-3-default")}
    assert made["ccn"].base_recipe() == RECIPES["default"]
    assert made["ccn-2"].base_recipe() == RECIPES["paper"].override(rising="ignore")  # as the tables were made
    assert (made["ccn-1"].resolved().network.order, made["ccn-3-default"].resolved().network.order) == (1, 3)
    assert [made[n].named_recipes for n in made] == [True, False, False, False]
    assert made["ccn-2"].chosen_fields() == {"channels"}
    assert made["ccn"].chosen_fields() == set()
    authors: Any = make_method("ccn-2-authors", classification=True)
    assert authors.base_recipe() == RECIPES["authors"].override(rising="ignore")
    assert authors.chosen_fields() == {"channels"}
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


def test_a_channel_of_a_for_each_of_thousands_of_edge_labels_is_refused() -> None:
    pack = Pack.of([Graph([(0, 1)], n=2, edge_features=[[1.0]])]).with_labels(np.array([4]), 5000, "edge_features")
    with pytest.raises(ConfigurationError, match="5,000 columns"):
        network_options(Network(edge_features=True), pack, 1)
    assert network_options(Network(edge_features=False), pack, 1)["in_features"] == 1


WHOLE: dict[str, Any] = {
    "features": "compact+morgan",
    "settings": {"epochs": 1, "channels": 2, "hidden": 4, "levels": 1, "graph_features": True},
}


@pytest.fixture(scope="module")
def whole() -> Any:
    return method("ccn", "regression", **WHOLE).fit(SMILES, range(15))


def test_features_of_graphs_as_a_whole_are_scaled_by_training_rows_alone() -> None:
    x = np.random.default_rng(0).normal(size=(15, 3)).astype(np.float32)
    graphs, rows = read(SMILES, "element", False)[0].with_graph_features(x), np.arange(15)
    examples = Examples(graphs, x[:, :1].astype(float), Split(rows[4:], rows[:2], rows[:0], rows[2:4]))
    made = make_method("ccn", classification=False, settings={**WHOLE["settings"], "members": 2})
    model, _ = fit(made, examples)
    expected = RobustScale(3)
    expected.fit(x[4:])
    fitted: Any = model.fitted
    scales = [m for net in fitted.networks for m in net.modules() if isinstance(m, RobustScale)]
    assert [(s.centre.tolist(), s.factor.tolist()) for s in scales] == 2 * [
        (expected.centre.tolist(), expected.factor.tolist())
    ]


def test_features_of_molecules_as_a_whole_are_part_of_the_file(whole: Any, tmp_path: Path) -> None:
    fitted = whole.model_.fitted
    assert fitted.options["graph_features"] == 1024
    again = load(whole.save(tmp_path / "m.safetensors"))
    new = ["CCCCCCO", "c1ccccc1O"]
    np.testing.assert_array_equal(again.predict(new), whole.predict(new))
    turned = ["OCCCCCC", "Oc1ccccc1"]
    np.testing.assert_allclose(again.predict(turned), whole.predict(new), rtol=1e-5)
    width = fitted.embedding_width
    assert again.transform(new).shape == (2, width) == (2, sum(fitted.networks[0].readout_widths))


def test_descriptors_and_columns_are_read_in_place_of_fingerprints() -> None:
    @dataclass(frozen=True)
    class Named(Inputs):
        def columns_of(self) -> dict[str, slice]:
            return {"morgan": slice(0, 4), "descriptors": slice(4, 6), "columns": slice(9, 10)}

    made: Any = make_method("ccn", classification=False, settings={"graph_features": True})
    graphs = read(SMILES, "element", False)[0].with_graph_features(np.tile(np.arange(10), (15, 1)))
    prepared = made.preparation(graphs, Named())
    assert made.fitted.prepare(graphs, prepared).graph_features[3].tolist() == [4, 5, 9]
    assert made.preparation(graphs, Inputs()) == {"graph_columns": [[0, 10]]}
    assert make_method("ccn", classification=False).preparation(graphs, Named()) == {}  # type: ignore[attr-defined]


def test_molecules_without_features_as_a_whole_are_refused_before_training() -> None:
    with pytest.raises(GraphError, match="morgan"):
        method("ccn", "regression", settings=WHOLE["settings"]).fit(SMILES, range(15))


@pytest.mark.parametrize("spans", [[[0, 7]], [[0, 10**30]], [[0.0, 1024.0]], "abc", [[0, 1024, 0]]])
def test_other_columns_than_the_networks_read_are_refused(whole: Any, tmp_path: Path, spans: Any) -> None:
    held = sealed.read(whole.save(tmp_path / "m.safetensors"), {model_file.FORM: model_file.VERSION})
    held.data["learned"]["prepared"]["graph_columns"] = spans
    sealed.write(tmp_path / "forged", model_file.FORM, model_file.VERSION, held.tensors, held.data)
    with pytest.raises(FileError, match="forged"):
        model_file.load(tmp_path / "forged")


@pytest.mark.parametrize("name", ["counts", "centre", "factor"])
def test_statistics_of_other_shapes_are_refused(whole: Any, tmp_path: Path, name: str) -> None:
    held = sealed.read(whole.save(tmp_path / "m.safetensors"), {model_file.FORM: model_file.VERSION})
    (key,) = (key for key in held.tensors if key.endswith(f".{name}"))
    tensors = {**held.tensors, key: held.tensors[key][:7]}
    sealed.write(tmp_path / "forged", model_file.FORM, model_file.VERSION, tensors, held.data)
    with pytest.raises(FileError, match="forged"):
        model_file.load(tmp_path / "forged")


def test_the_network_of_the_authors_is_read_from_its_file(tmp_path: Path) -> None:
    y = [float(len(s)) for s in SMILES]
    how: dict[str, Any] = {"recipe": "authors", "epochs": 1, "channels": 2}
    model = CCNRegressor(**how).fit(SMILES, y)
    again = CCNRegressor.load(model.save(tmp_path / "model.safetensors"))
    np.testing.assert_array_equal(again.predict(SMILES[:3]), model.predict(SMILES[:3]))
    fitted: Any = model.model_.fitted
    (net,) = fitted._nets
    assert (net.adjacency_channels, net.readout.kind, len(net.head)) == ((Closed(),), "sums", 2)
    assert net.scheme == Neighbourhoods(levels=2, field=True)
