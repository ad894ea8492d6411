"""Model files: the same predictions after a round trip, and a clear word on whatever cannot be read or written."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from problem import graphs, small

import ccn
from ccn import sealed
from ccn.errors import ConfigurationError, FileError
from ccn.learning import model_file
from ccn.learning.inputs import Inputs
from ccn.learning.model import Model
from ccn.methods.fitting import fit, split


def _model(**settings: Any) -> Model:
    pack = graphs(30)
    y = np.stack([pack.sizes, pack.edge_counts], axis=1).astype(float)
    r = small(epochs=1, members=2, batch_size=16, **settings)
    parts = split(y, 0.3, 0, classification=False, calibration=True)
    inputs = Inputs.fit(pack, r.features, molecules=False)
    return fit(inputs(pack), y, parts, r, inputs, classification=False, names=["n", "m"], about={"columns": {"a": "b"}})


@pytest.fixture(scope="module")
def model() -> Model:
    return _model()


@pytest.fixture
def path(model: Model, tmp_path: Path) -> Path:
    return model_file.save(model, tmp_path / "model.safetensors")


def test_a_model_comes_back_whole(model: Model, path: Path) -> None:
    again = model_file.load(path)
    pack = graphs(9, seed=4)
    np.testing.assert_array_equal(again.each(again.inputs(pack)), model.each(model.inputs(pack)))
    for ours, theirs in zip(again.interval(pack, 0.5), model.interval(pack, 0.5), strict=True):
        np.testing.assert_array_equal(ours, theirs)
    np.testing.assert_array_equal(again.embed(pack), model.embed(pack))
    for name in ("task", "inputs", "recipe", "calibration"):
        assert getattr(again, name) == getattr(model, name)
    assert len(again.members) == 2
    assert model_file.load(path.parent).task == model.task  # the folder of a run


def test_the_header_tells_all_without_the_weights(path: Path) -> None:
    told = model_file.describe(path)
    assert told["ccn"] == ccn.__version__
    assert told["network"]["order"] == 2
    assert told["about"]["columns"] == {"a": "b"}
    assert told["about"]["graphs"] == {"train": 21, "validation": 5, "calibration": 4}
    assert len(told["about"]["fingerprint"]) == 64
    assert set(told["about"]["metrics"]["validation"]) >= {"mae", "rmse", "r2", "mae[n]"}
    json.dumps(told, allow_nan=False)


def test_cut_altered_newer_or_foreign_files_are_refused(path: Path, tmp_path: Path) -> None:
    whole = path.read_bytes()
    path.write_bytes(whole[:-1])
    with pytest.raises(FileError, match="truncated"):
        model_file.load(path)
    changed = bytearray(whole)
    changed[-5] ^= 1
    path.write_bytes(bytes(changed))
    with pytest.raises(FileError, match="altered"):
        model_file.load(path)
    path.write_bytes(whole.replace(b"ccn model 1", b"ccn model 9", 1))
    with pytest.raises(FileError, match="version 9, this ccn reads up to 1"):
        model_file.load(path)
    torch.save({}, tmp_path / "pickle.pt")
    with pytest.raises(FileError, match="not a whole safetensors file"):
        model_file.load(tmp_path / "pickle.pt")


def test_what_this_version_does_not_know_is_said(path: Path) -> None:
    _, tensors, data = sealed.read(path, "ccn model", 1)
    for key, value, said in (
        ("network", {**data["network"], "scheme": {"type": "Hypercubes"}}, "Hypercubes"),
        ("network", {**data["network"], "colour": 3}, "colour"),
        ("inputs", {**data["inputs"], "vertices": {"kind": "smell"}}, "smell"),
        ("network", {**data["network"], "levels": 1, "channels": [4, 4]}, "size mismatch|Unexpected key"),
    ):
        sealed.write(path, "ccn model", 1, tensors, {**data, key: value})
        with pytest.raises(FileError, match=rf"(?s)written by ccn .*({said})"):
            model_file.load(path)


@pytest.mark.parametrize(
    "setting", [{"nonlinearity": torch.sin}, {"scheme": ccn.schemes.Clusters(ccn.schemes.rings())}]
)
def test_code_trains_but_is_not_written(setting: dict[str, Any], model: Model, tmp_path: Path) -> None:
    made = _model(**setting) if "nonlinearity" in setting else dataclasses.replace(model, options=setting)
    with pytest.raises(ConfigurationError, match="is code, not plain data"):
        model_file.save(made, tmp_path / "model.safetensors")
    assert not list(tmp_path.iterdir())
