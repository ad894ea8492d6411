"""Networks as methods: a fit that was cut goes on, and ends where one that was not ends."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from labelled import labelled

import ccn
from ccn.baselines import load, method
from ccn.errors import ConfigurationError, FileError

SETTINGS = {"epochs": 4, "batch_size": 8, "members": 2}


def made(**options: Any) -> Any:
    return method("ngf", "regression", settings=SETTINGS, **options)


@pytest.mark.slow
def test_a_fit_that_was_cut_goes_on_from_its_checkpoints(tmp_path: Path) -> None:
    graphs = labelled(30, seed=3)
    y = np.array([float(g.n) for g in graphs])
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        whole = made().fit(graphs, y)
        folder = str(tmp_path / "kept")
        made(folder=folder, time_limit=1e-9).fit(graphs, y)
        assert len(list(Path(folder).glob("choice0-*/checkpoint-*"))) >= 2
        again = made(folder=folder).fit(graphs, y)
    finally:
        torch.set_num_threads(before)
    np.testing.assert_array_equal(again.predict(graphs), whole.predict(graphs))
    assert [row["epoch"] for row in again.outcome_.history[0]] == [1, 2, 3, 4]
    assert again.outcome_.earlier >= 0
    done = made(folder=folder).fit(graphs, y)  # nothing is left to do
    np.testing.assert_array_equal(done.predict(graphs), whole.predict(graphs))
    with pytest.raises(FileError):
        made(folder=folder).fit(graphs, -y)
    assert load(done.save(tmp_path / "model")).folder is None


@pytest.mark.slow
def test_with_many_rows_a_draw_of_them_decides_and_all_are_learned_from(tmp_path: Path) -> None:
    graphs = labelled(30, seed=3)
    y = np.array([float(g.n) for g in graphs])
    rates: tuple[dict[str, Any], ...] = ({"learning_rate": 1e-5}, {"learning_rate": 1e-2})
    alone = made(choices=rates[1:]).fit(graphs, y)
    drawn = made(choices=rates, folder=str(tmp_path), many=20, few=(20, 20)).fit(graphs, y)
    assert drawn.chosen_ == [rates[1]]
    assert {f.name for f in tmp_path.iterdir()} == {
        *(f"choice{c}-member{m}-few" for c in (0, 1) for m in (0, 1)),
        *(f"choice1-member{m}" for m in (0, 1)),
    }
    np.testing.assert_allclose(drawn.predict(graphs), alone.predict(graphs), rtol=1e-5)


def test_a_model_to_start_from_must_fit() -> None:
    rows, y = ["CCO", "CCN", "CC", "CCC", "CCCC", "CO"] * 3, np.arange(18.0)
    how: dict[str, Any] = {"epochs": 1, "order": 1, "levels": 1, "channels": 4, "random_state": 0}
    made = ccn.CCNRegressor(features="element", **how).fit(rows, y).model_
    for kind, features, fact in (("ccn", "atoms", "atoms"), ("ngf", "element", "ccn")):
        given = {} if kind == "ngf" else {k: how[k] for k in ("order", "levels", "channels")}
        other = ccn.CCNRegressor(features=features, method=kind, options={"start": made}, epochs=1, **given)
        with pytest.raises(ConfigurationError, match=fact):
            other.fit(rows, y)
    again = ccn.CCNRegressor(features="element", options={"start": made}, **how).fit(rows, y)
    assert again.model_.task.scale == made.task.scale
    assert "start" not in again.model_.settings
