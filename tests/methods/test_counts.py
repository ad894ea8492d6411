from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from labelled import SMILES

import ccn
from ccn.baselines import method
from ccn.methods.choice import grid
from ccn.methods.counts import MODELS, TREES, CountFeatures, _distinct, count_bags
from ccn.methods.kernels.bags import matrices


def test_atoms_by_type_and_bonds_by_pair() -> None:
    (counts,) = matrices(count_bags(ccn.Pack.of([ccn.Graph.from_smiles(s) for s in ("CCO", "OCC", "COC", "C")])))
    rows = counts.toarray()
    assert (rows[0] == rows[1]).all()
    assert sorted(rows[0]) == [1, 1, 1, 2]  # one C-C, one C-O, one O, two C
    assert sorted(rows[2]) == [0, 1, 2, 2]
    assert sorted(rows[3]) == [0, 0, 0, 1]


def test_what_training_never_saw_is_left_out() -> None:
    made = method("ridge", "regression", settings={"alpha": (1e-6,)}).fit(
        ["C", "CC", "CCC", "CCCC"], [1.0, 2.0, 3.0, 4.0]
    )
    np.testing.assert_allclose(made.predict(["CCC", "CCCBr"]), [3.0, 3.0], atol=1e-3)


def test_the_paper_has_400_trees() -> None:
    assert TREES == 400
    y = np.arange(len(SMILES), dtype=float)
    forest = method("forest", "regression", settings={"depth": (2,), "leaf": (1,), "split": (2,)}).fit(SMILES, y)
    fitted: Any = forest.model_.fitted
    assert len(fitted.models[0]) == 400


def test_trees_are_cross_validated_where_kernels_are_not(monkeypatch: pytest.MonkeyPatch) -> None:
    fitted: list[int] = []
    make = CountFeatures._model

    def watched(self: CountFeatures, point: dict[str, Any], x: Any, y: Any, task: Any) -> Any:
        fitted.append(len(x))
        return make(self, point, x, y, task)

    monkeypatch.setattr(CountFeatures, "_model", watched)
    settings = {"depth": (2, 3), "leaf": (1,), "split": (2,)}
    y = np.arange(len(SMILES), dtype=float)
    method("forest", "regression", settings=settings, trees=2).fit(SMILES[5:], y[5:], validation=(SMILES[:5], y[:5]))
    assert fitted == [28] * 10 + [30]  # five folds of all 35 rows for each point, then the training rows


def test_points_that_grow_the_same_trees_are_tried_once() -> None:
    tried = _distinct(grid(MODELS["boosting"].settings))
    assert len(tried) == 12
    assert {(p["leaf"], p["split"]) for p in tried} == {(1, 2), (1, 20), (10, 2)}
    x = np.random.default_rng(0).integers(0, 5, (80, 4)).astype(float)
    y = (x.sum(axis=1) % 2).astype(float)
    one, other = (
        MODELS["boosting"].make(True, depth=12, leaf=10, split=s, learning_rate=0.1, seed=0, trees=5).fit(x, y)
        for s in (2, 20)
    )
    np.testing.assert_array_equal(one.predict_proba(x), other.predict_proba(x))
    assert _distinct(grid({"alpha": (1.0, 2.0)})) == [{"alpha": 1.0}, {"alpha": 2.0}]
