"""Pairs, receptive fields and contractions of networks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from rdkit import Chem

from ccn.errors import ConfigurationError
from ccn.estimators import CCNRegressor
from ccn.explain.network import contraction_shares, networks_of, pair_contributions, receptive_fields


def test_pairs_add_up_to_the_prediction_less_that_without_atoms(network: Any) -> None:
    model = network.model_
    graphs = model.inputs.read(["CC(C)O", "CCCN"])
    ((net, fitted, weight),) = networks_of(model)
    with torch.no_grad():
        b = fitted.inputs.vertices(graphs).batch()
        nothing = net.read(torch.zeros(2, sum(net.readout_widths)), b)[:, 0].double().numpy()
    scale = fitted.task.scale
    assert scale is not None
    start = nothing * scale.deviation[0] + scale.mean[0]
    found = pair_contributions(model, graphs)
    assert weight == 1
    assert [x.shape for x in found] == [(4, 4), (4, 4)]
    np.testing.assert_allclose([x.sum() for x in found] + start, model.predict(graphs).mean[:, 0], rtol=0.02)


def test_pairs_permute_with_the_atoms(network: Any) -> None:
    mol, order = Chem.MolFromSmiles("CC(C)OCN"), [3, 1, 5, 0, 4, 2]
    model = network.model_
    one, other = (pair_contributions(model, model.inputs.read([m]))[0] for m in (mol, Chem.RenumberAtoms(mol, order)))
    np.testing.assert_allclose(one[np.ix_(order, order)], other, rtol=1e-4, atol=1e-6)
    e = network.explain(["CCO"])[0]
    assert e.pairs is None


def test_receptive_fields_grow_by_a_bond_at_each_level(network: Any) -> None:
    graphs = network.model_.inputs.read(["CCCCCO"])
    assert receptive_fields(network.model_, graphs, 5) == [[5], [4, 5], [3, 4, 5]]
    with pytest.raises(ConfigurationError):
        receptive_fields(network.model_, graphs, 6)


def test_shares_of_contractions_add_up_by_level(network: Any) -> None:
    found = contraction_shares(network.model_, network.model_.inputs.read(["CCCO", "CCN"]))
    for level in (1, 2):
        assert abs(sum(c.share for c in found if c.level == level) - 1) < 1e-9
    assert [c.share for c in found] == sorted((c.share for c in found), reverse=True)


def test_pairs_need_the_invariants_of_all_levels() -> None:
    how: dict[str, Any] = {"recipe": "authors", "epochs": 1, "channels": 2}
    model = CCNRegressor(**how).fit(["CCO", "CCN", "CCC", "CCCl"] * 3, [float(i) for i in range(12)])
    with pytest.raises(ConfigurationError, match="invariants"):
        pair_contributions(model.model_, model.model_.inputs.read(["CCO"]))


def test_methods_without_networks_refuse(numbers: Any) -> None:
    graphs = numbers.model_.inputs.read(["CCO"])
    for ask in (
        lambda: pair_contributions(numbers.model_, graphs),
        lambda: receptive_fields(numbers.model_, graphs, 0),
    ):
        with pytest.raises(ConfigurationError):
            ask()
