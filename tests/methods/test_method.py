"""The one call that fits: what it checks first, what the model knows of itself, how held-out rows are used."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from labelled import labelled

from ccn.datasets.splits import Split
from ccn.errors import ConfigurationError
from ccn.graphs.pack import Pack
from ccn.learning import model_file
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


@pytest.mark.parametrize("name", ["ridge", "wl"])
def test_intervals_on_a_bent_scale_cover_in_the_units_of_the_targets(name: str, tmp_path: Path) -> None:
    pack = Pack.of(labelled(160, seed=1))
    rng, rows = np.random.default_rng(0), np.arange(160)
    y = np.exp(0.4 * pack.sizes + 0.3 * rng.normal(size=160))[:, None]
    y[155] = 0.0  # has no logarithm, and is below every interval
    given = Examples(pack, y, Split(rows[:60], rows[60:70], rows[:0], rows[70:110]), names=("size",))
    model, _ = fit(make_method(name, classification=False, target_scale="log"), given)
    assert model.task.scale is not None
    assert model.task.scale.shapes == ("log",)
    low, high = model.interval(predicted := model.predict(pack.select(rows[110:])), 0.8)
    assert ((low > 0) & (low <= predicted.mean) & (predicted.mean <= high)).all()
    # Equally wide on the scale that was fitted, and so the wider the larger the prediction.
    np.testing.assert_allclose(high / low, (high / low)[:1].repeat(50, axis=0))
    assert 0.6 <= model.coverage(y[110:], predicted, 0.8)["coverage"] < 1  # type: ignore[index]
    again = model_file.load(model_file.save(model, tmp_path / "model.safetensors"))
    np.testing.assert_array_equal(again.interval(predicted, 0.8)[1], high)
    np.testing.assert_allclose(again.predict(pack.select(rows[110:])).mean, predicted.mean, rtol=1e-6)


def test_a_calibration_row_without_a_logarithm_is_missed_by_every_interval() -> None:
    given = examples()
    given.targets[given.split.calibration[0]] = -1.0
    model, _ = fit(make_method("ridge", classification=False, target_scale="log"), given)
    assert model.calibration is not None
    assert np.isinf(model.calibration.scores[0]).tolist() == [False] * 9 + [True]


def test_what_is_doubtful_is_said_and_known_to_the_model() -> None:
    given, said = examples(), list[str]()
    model, _ = fit(
        make_method("lasso", classification=False, settings={"alpha": 1e9}), given, Execution(say=said.append)
    )
    (line,) = model.about["warnings"]
    assert "size" in line
    assert said == [f"warning: {line}"]
    without = replace(given, split=replace(given.split, validation=given.train[:0], complete=False))
    assert (
        "training"
        in fit(make_method("lasso", classification=False, settings={"alpha": 1e9}), without)[0].about["warnings"][0]
    )
    assert fit(make_method("ridge", classification=False), given)[0].about["warnings"] == []


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
