from __future__ import annotations

import numpy as np
from labelled import SMILES

import ccn
from ccn.baselines import method
from ccn.baselines.counts import TREES, count_bags
from ccn.baselines.kernels.bags import matrices


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
    assert len(forest.model_[0]) == 400
