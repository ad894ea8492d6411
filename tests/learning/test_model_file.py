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
from ccn.datasets.splits import Split
from ccn.errors import ConfigurationError, FileError
from ccn.learning import model_file
from ccn.learning.examples import Examples
from ccn.learning.model import Model
from ccn.methods.method import fit
from ccn.methods.registry import make_method


def _model(**settings: Any) -> Model:
    pack = graphs(30)
    y = np.stack([pack.sizes, pack.edge_counts], axis=1).astype(float)
    r = small(epochs=1, members=2, batch_size=16, **settings)
    examples = Examples(pack, y, Split(np.arange(30), np.arange(0), np.arange(0)), names=("n", "m")).with_validation(
        0.3, 0, calibration=True
    )
    method = make_method("ccn", classification=False, recipe=r)
    return fit(method, examples, about={"columns": {"a": "b"}})[0]


@pytest.fixture(scope="module")
def model() -> Model:
    return _model()


@pytest.fixture
def path(model: Model, tmp_path: Path) -> Path:
    return model_file.save(model, tmp_path / "model.safetensors")


def test_a_model_comes_back_whole(model: Model, path: Path) -> None:
    again = model_file.load(path)
    pack = graphs(9, seed=4)
    np.testing.assert_array_equal(again.fitted.predict(pack), model.fitted.predict(pack))
    ours, theirs = (m.interval(m.predict(pack), 0.5) for m in (again, model))
    np.testing.assert_array_equal(ours, theirs)
    np.testing.assert_array_equal(again.embed(pack), model.embed(pack))
    for name in ("method", "task", "inputs", "calibration"):
        assert getattr(again, name) == getattr(model, name)
    assert len(again.fitted.networks) == 2  # type: ignore[attr-defined]
    assert model_file.load(path.parent).task == model.task  # the folder of a run


def test_the_header_tells_all_without_the_weights(path: Path) -> None:
    told = model_file.describe(path)
    assert told["ccn"] == ccn.__version__
    assert told["learned"]["options"]["order"] == 2
    assert told["about"]["columns"] == {"a": "b"}
    assert told["about"]["graphs"] == {"train": 21, "validation": 5, "calibration": 4}
    assert len(told["about"]["fingerprint"]) == 64
    assert set(told["about"]["metrics"]["validation"]) >= {"mae", "rmse", "r2", "mae[n]"}
    json.dumps(told, allow_nan=False)


def test_cut_altered_newer_or_foreign_files_are_refused(path: Path, tmp_path: Path) -> None:
    whole = path.read_bytes()
    path.write_bytes(whole[:-1])
    with pytest.raises(FileError):
        model_file.load(path)
    changed = bytearray(whole)
    changed[-5] ^= 1
    path.write_bytes(bytes(changed))
    with pytest.raises(FileError):
        model_file.load(path)
    path.write_bytes(whole.replace(b"ccn model 2", b"ccn model 9", 1))
    with pytest.raises(FileError, match=r"version 9.*up to 2"):
        model_file.load(path)
    torch.save({}, tmp_path / "pickle.pt")
    with pytest.raises(FileError):
        model_file.load(tmp_path / "pickle.pt")


def test_what_this_version_does_not_know_is_said(path: Path) -> None:
    held = sealed.read(path, {"ccn model": 2})
    tensors, data = held.tensors, held.data
    for key, value, said in (
        ("options", {**data["learned"]["options"], "scheme": {"type": "Hypercubes"}}, "Hypercubes"),
        ("options", {**data["learned"]["options"], "colour": 3}, "colour"),
        ("inputs", {**data["inputs"], "vertices": {"kind": "smell"}}, "smell"),
        ("options", {**data["learned"]["options"], "levels": 1, "channels": [4, 4]}, "size mismatch|Unexpected key"),
    ):
        changed = {"inputs": value} if key == "inputs" else {"learned": {**data["learned"], key: value}}
        sealed.write(path, "ccn model", 2, tensors, {**data, **changed})
        with pytest.raises(FileError, match=rf"(?s)ccn .*({said})"):
            model_file.load(path)


@pytest.mark.parametrize(
    "setting", [{"nonlinearity": torch.sin}, {"scheme": ccn.schemes.Clusters(ccn.schemes.rings())}]
)
def test_code_trains_but_is_not_written(setting: dict[str, Any], model: Model, tmp_path: Path) -> None:
    made = _model(**setting) if "nonlinearity" in setting else dataclasses.replace(model, settings=setting)
    with pytest.raises(ConfigurationError):
        model_file.save(made, tmp_path / "model.safetensors")
    assert not list(tmp_path.iterdir())
