"""Schemes by name: their parts, their way into models and files, and what is refused."""

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import ccn
from ccn.errors import CCNError, ConfigurationError, GraphError
from ccn.schemes import SCHEMES, is_permutation_invariant, named_scheme, register_scheme
from ccn.schemes.named import resolve_scheme
from ccn.testing import assert_covariant
from ccn.training.recipe import from_dict, recipe, to_dict

SMILES = ["CCO", "CC(=O)O", "c1ccccc1O", "CCN", "CC(=O)NC", "C1CCCCC1", "ClCC", "CC#N", "c1ccncc1", "c1ccc2ccccc2c1"]


@pytest.mark.filterwarnings("ignore:the graphs have edge features")
@pytest.mark.parametrize("name", SCHEMES)
def test_every_name_is_a_permutation_invariant_scheme(name: str) -> None:
    g = ccn.Graph.from_smiles("Oc1ccc2ccccc2c1C(=O)O")
    assert is_permutation_invariant(named_scheme(name, 2), g, trials=2)
    assert_covariant(ccn.CCN(g.features.shape[1], 1, order=1, channels=3, scheme=name), [g], trials=1)


def test_parts_are_what_the_names_say() -> None:
    path = ccn.Graph([(0, 1), (1, 2), (2, 3)], n=4)
    assert set(named_scheme("edges", 2)(path).parts[8:11]) == {(0, 1), (1, 2), (2, 3)}
    assert (0, 1, 2) in named_scheme("edges", 2)(path).parts
    acid = ccn.Graph.from_smiles("CC(=O)O")
    assert (1, 2, 3) in named_scheme("functional-groups", 1)(acid).parts
    with pytest.raises(GraphError, match=r"\+groups"):
        named_scheme("functional-groups", 1)(path)
    with pytest.raises(ConfigurationError, match="nonsense"):
        named_scheme("nonsense", 2)


def test_packs_keep_the_groups_of_molecules() -> None:
    from ccn.datasets.molecules import pack_molecules

    pack = pack_molecules(["CC(=O)O", "CCC", "CCO"], "compact+groups").pack
    find = named_scheme("functional-groups", 1)
    for made in (pack, pack.select([2, 0]), ccn.Pack.join([pack, pack]), ccn.Pack.of(list(pack))):
        for g in made:
            assert g.groups is not None
            find(g)
    assert (1, 2, 3) in find(pack[0]).parts
    sigma = [3, 2, 1, 0]
    assert (0, 1, 2) in find(pack[0].permute(sigma)).parts


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["rings", "functional-groups", "balls"])
def test_estimators_save_and_load_names(name: str, tmp_path: Path) -> None:
    options: dict[str, Any] = {"order": 1, "channels": 3, "epochs": 1, "random_state": 0, "scheme": name}
    model = ccn.CCNRegressor(**options).fit(SMILES * 2, np.arange(20.0))
    path = model.save(tmp_path / "model.safetensors")
    np.testing.assert_array_equal(ccn.CCNRegressor.load(path).predict(SMILES), model.predict(SMILES))
    assert model.model_.fitted.state()[1]["options"]["scheme"] == name


@pytest.mark.filterwarnings("ignore")
def test_a_scheme_of_ones_own_by_import_path_never_enters_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "my_schemes.py").write_text(
        "from ccn.schemes import Clusters, rings\nmine = Clusters(rings(6), lambda g: [range(g.n)])\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    options: dict[str, Any] = {"order": 1, "channels": 3, "epochs": 1, "random_state": 0}
    model = ccn.CCNRegressor(**options, scheme="my_schemes:mine").fit(SMILES * 2, np.arange(20.0))
    path = model.save(tmp_path / "model.safetensors")
    assert b"my_schemes" not in path.read_bytes()
    np.testing.assert_array_equal(ccn.CCNRegressor.load(path).predict(SMILES), model.predict(SMILES))
    monkeypatch.setattr("ccn.schemes.named._registered", {})
    named_scheme.cache_clear()
    with pytest.raises(CCNError, match="register"):
        ccn.CCNRegressor.load(path)
    forged = to_dict(recipe("default"))
    forged["network"]["scheme"] = "antigravity:fly"
    assert from_dict(json.loads(json.dumps(forged))).network.scheme == "antigravity:fly"
    with pytest.raises(ConfigurationError, match="not known"):
        ccn.CCN(1, scheme="antigravity:fly")
    assert "antigravity" not in sys.modules


def test_bad_names_are_errors() -> None:
    for text in ("no.such.module:x", "ccn:nonsense", ":x"):
        with pytest.raises(ConfigurationError, match=r"module|named|scheme"):
            resolve_scheme(text)
    with pytest.raises(ConfigurationError, match="word"):
        register_scheme("rings", lambda g: g)
    with pytest.raises(ConfigurationError, match="function"):
        register_scheme("mine", 3)  # type: ignore[arg-type]
    with pytest.raises(ConfigurationError, match="max_part"):
        ccn.CCNRegressor(scheme="rings", settings={"max_part": 5}).fit(SMILES, range(10))


def test_relations_between_rings_enter() -> None:
    """Two triangles that share a vertex, and two that a bond joins: equal but for how their rings are related."""
    from ccn import reference

    torch.manual_seed(0)
    shared = ccn.Graph([(0, 1), (1, 2), (2, 0), (2, 3), (3, 4), (4, 2)], torch.randn(5, 3))
    joined = ccn.Graph([(0, 1), (1, 2), (2, 0), (2, 3), (3, 4), (4, 5), (5, 3)], torch.randn(6, 3))
    scheme = ccn.schemes.Clusters(ccn.schemes.rings(), lambda g: [range(g.n)])
    assert [reference.relation("shared", (0, 1, 2), (2, 3, 4), range(5), shared.adjacency()[None])] == [1]
    assert reference.relation("bonds", (0, 1, 2), (3, 4, 5), range(6), joined.adjacency()[None]) == 1
    for order, rank in ((0, None), (1, None), (2, None), (1, 2)):
        related: dict[str, Any] = {"relations": ("shared", "bonds"), "rank": rank}
        net = ccn.CCN(3, 2, order=order, channels=3, scheme=scheme, **related).double()
        for p in net.parameters():
            torch.nn.init.normal_(p, std=0.4)
        expected = reference.forward(net, [shared, joined])
        for form in ("cpu", "torch"):
            with ccn.engine.using_backend(form):
                torch.testing.assert_close(net([shared, joined]), expected, rtol=1e-10, atol=1e-10)
        assert net.layers[1].weight_related is not None
        (gradient,) = torch.autograd.grad(net([shared, joined]).sum(), [net.layers[1].weight_related])
        assert gradient.abs().sum() > 0
    with pytest.raises(ConfigurationError, match="relations"):
        ccn.CCN(3, relations=("nonsense",))
