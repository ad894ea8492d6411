"""The one call that fits: what it checks first, what the model knows of itself, how held-out rows are used."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from labelled import labelled

from ccn.datasets.splits import Split
from ccn.errors import ConfigurationError
from ccn.graphs.pack import Pack
from ccn.learning.examples import Examples, fingerprint
from ccn.methods import make_method
from ccn.methods.method import fit
from ccn.training.execution import Execution, Machine

pytest.importorskip("skops")


def examples(count: int = 40) -> Examples:
    pack = Pack.of(labelled(count, seed=1))
    rows = np.arange(count)
    split = Split(rows[:20], rows[20:30], rows[:0], rows[30:])
    return Examples(pack, pack.sizes[:, None].astype(float), split, names=("size",))


def test_the_model_knows_how_it_was_made() -> None:
    given = examples()
    begun: list[bool] = []
    method = make_method("ridge", classification=False, seed=4, folds=3)
    model, outcome = fit(method, given, Execution(begin=lambda: begun.append(True)), {"single": True})
    assert begun == [True]
    assert model.method == "ridge"
    assert model.settings == {"folds": 3}
    assert model.about["graphs"] == {"train": 20, "validation": 10, "calibration": 10}
    assert (model.about["seed"], model.about["single"], model.about["chosen"]) == (4, True, outcome.chosen)
    assert model.about["fingerprint"] == fingerprint(given.graphs.select(given.train), given.targets[given.train])
    predicted = model.predict(given.graphs.select(given.validation))
    assert model.about["metrics"]["validation"] == model.metrics(given.targets[given.validation], predicted)


def test_intervals_come_from_the_calibration_rows_alone() -> None:
    given = examples()
    model, _ = fit(make_method("ridge", classification=False), given)
    kept = model.predict(given.graphs.select(given.split.calibration))
    away = np.abs(kept.mean - given.targets[given.split.calibration])[:, 0]
    assert model.calibration is not None
    np.testing.assert_allclose(model.calibration.scores[0], np.sort(away))
    low, high = model.interval(kept, 0.5)
    np.testing.assert_allclose((high - low) / 2, np.sort(away)[5])  # the sixth of ten scores: ceil(11 / 2)
    without = replace(given, split=replace(given.split, calibration=given.train[:0]))
    assert fit(make_method("ridge", classification=False), without)[0].calibration is None


@pytest.mark.parametrize(
    ("execution", "flag"),
    [
        (Execution(Machine(devices=2)), "--devices"),
        (Execution(Machine(device="cuda")), "--device"),
        (Execution(tensorboard=True), "--tensorboard"),
        (Execution(time_limit=1.0), "--time-limit"),
    ],
)
def test_what_only_networks_have_is_refused_before_anything_begins(execution: Execution, flag: str) -> None:
    begun: list[bool] = []
    with pytest.raises(ConfigurationError, match=flag):
        fit(
            make_method("ridge", classification=False),
            examples(),
            replace(execution, begin=lambda: begun.append(True)),
        )
    assert not begun


def test_weights_that_a_method_would_ignore_are_refused() -> None:
    weighted = replace(examples(), weights=np.ones(40))
    with pytest.raises(ConfigurationError, match="weight"):
        fit(make_method("ridge", classification=False), weighted)
