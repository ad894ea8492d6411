"""Model files from strangers: a right seal on a wrong header is refused in one line, quickly."""

from __future__ import annotations

import copy
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

import ccn
from ccn import sealed
from ccn.errors import FileError
from ccn.learning import model_file

SMILES = ["C" * i + x for i in range(1, 6) for x in "ONF"]
FORMS = {model_file.FORM: model_file.VERSION}


@pytest.fixture(scope="module")
def content(tmp_path_factory: pytest.TempPathFactory) -> sealed.Sealed:
    made = ccn.CCNRegressor(epochs=1, channels=2, settings={"hidden": 4}, random_state=0).fit(SMILES, range(15))
    return sealed.read(made.save(tmp_path_factory.mktemp("m") / "m.safetensors"), FORMS)


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (("learned", "options", "levels"), 2000),
        (("learned", "options", "order"), 12),
        (("learned", "options", "order"), [2, 2, 9]),
        (("learned", "options", "in_features"), 10**9),
        (("learned", "options", "out_features"), 10**9),
        (("learned", "options", "channels"), [2, 10**9, 2]),
        (("learned", "options", "hidden"), 10**9),
        (("learned", "options", "adjacency_channels"), [{"type": "EdgeFeatures", "width": 10**9}]),
        (("learned", "options", "colour"), 3),
        (("learned", "members"), 0),
        (("learned", "members"), 10**9),
        (("learned", "members"), "x"),
        (("learned", "options"), None),
        (("learned",), []),
        (("method",), "nothing"),
        (("method",), 3),
        (("task",), None),
        (("task", "kind"), None),
        (("task", "scale"), {"mean": "x"}),
        (("inputs", "molecules"), "smell"),
        (("inputs", "vertices"), {"kind": "smell"}),
        (("calibration",), {"scores": 3}),
        (("about",), None),
        (("about", "metrics"), 3),
        (("settings",), 3),
        (("task", "targets"), []),
        (("task", "targets"), [3]),
        (("task", "targets"), ["a", "b"]),
        (("about", "overlap"), 3),
        (("seen",), 3),
        (("seen", "salt"), 3),
        (("seen", "salt"), "00" * 10**6),
        (("seen", "rdkit"), 3),
    ],
)
def test_a_forged_header_is_refused(place: tuple[str, ...], value: Any, content: sealed.Sealed, tmp_path: Path) -> None:
    data = copy.deepcopy(content.data)
    part = data
    for key in place[:-1]:
        part = part[key]
    part[place[-1]] = value
    path = tmp_path / "m.safetensors"
    sealed.write(path, model_file.FORM, model_file.VERSION, content.tensors, data)
    began = time.monotonic()
    with pytest.raises(FileError, match=r"m\.safetensors"):
        model_file.load(path)
    assert time.monotonic() - began < 20


@pytest.mark.parametrize("key", ["ccn", "method", "settings", "inputs", "task", "learned", "calibration", "about"])
def test_a_missing_key_is_refused_by_all_who_read_headers(key: str, content: sealed.Sealed, tmp_path: Path) -> None:
    path = tmp_path / "m.safetensors"
    data = {k: v for k, v in content.data.items() if k != key}
    sealed.write(path, model_file.FORM, model_file.VERSION, content.tensors, data)
    for read in (model_file.describe, model_file.load):
        with pytest.raises(FileError, match=key):
            read(path)


def test_weights_of_other_shapes_are_refused(content: sealed.Sealed, tmp_path: Path) -> None:
    path = tmp_path / "m.safetensors"
    for name, tensor in content.tensors.items():
        if tensor.ndim and not name.startswith("seen/"):
            sealed.write(path, model_file.FORM, model_file.VERSION, {**content.tensors, name: tensor[:0]}, content.data)
            with pytest.raises(FileError):
                model_file.load(path)
            break


def _set(name: str, value: float) -> Callable[[dict[str, Tensor]], None]:
    def change(tensors: dict[str, Tensor]) -> None:
        tensors[name] = tensors[name].clone()
        tensors[name].view(-1)[0] = value

    return change


FORGED: dict[str, Callable[[dict[str, Tensor]], object]] = {
    "row": _set("graphs.row", 200),
    "edge": _set("graphs.edge", 200),
    "start": _set("graphs.vertex_start", 5),
    "features": lambda t: t.update({"graphs.features": t["graphs.features"][:, 0].clone()}),
    "missing": lambda t: t.pop("graphs.features"),
    "types": lambda t: t.update({"graphs.row": t["graphs.row"].double()}),
    "rows": _set("0.rows", 99),
    "fewer rows": lambda t: t.update({"0.rows": t["0.rows"][1:].clone()}),
    "kinds of rows": lambda t: t.update({"0.rows": t["0.rows"].double()}),
}


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> sealed.Sealed:
    pytest.importorskip("skops")
    made = ccn.CCNRegressor(method="wl", settings={"C": 1.0, "depth": (1,)}).fit(SMILES, range(15))
    return sealed.read(made.save(tmp_path_factory.mktemp("k") / "m.safetensors"), FORMS)


@pytest.mark.parametrize("name", FORGED)
def test_graphs_in_the_file_of_a_kernel_machine_are_checked(name: str, machine: sealed.Sealed, tmp_path: Path) -> None:
    tensors = dict(machine.tensors)
    path = tmp_path / "m.safetensors"
    sealed.write(path, model_file.FORM, model_file.VERSION, tensors, machine.data)
    assert len(model_file.load(path).predict(model_file.load(path).inputs.read(["CCO"])).mean) == 1
    FORGED[name](tensors)
    sealed.write(path, model_file.FORM, model_file.VERSION, tensors, machine.data)
    with pytest.raises(FileError, match=r"m\.safetensors"):
        model_file.load(path)


@pytest.mark.parametrize(
    ("part", "value"),
    [
        ("kernels", [{"depth": 10**9}]),
        ("kernels", [{"depth": 1}, {"depth": 1}]),
        ("kernels", []),
        ("sharpness", ["x"]),
        ("name", "graphlet"),
    ],
)
def test_settings_of_a_kernel_machine_are_checked(
    part: str, value: Any, machine: sealed.Sealed, tmp_path: Path
) -> None:
    data = {**machine.data, "learned": {**machine.data["learned"], part: value}}
    path = tmp_path / "m.safetensors"
    sealed.write(path, model_file.FORM, model_file.VERSION, machine.tensors, data)
    with pytest.raises(FileError, match=r"m\.safetensors"):
        model_file.load(path)


def test_a_model_that_cannot_answer_is_refused(content: sealed.Sealed, tmp_path: Path) -> None:
    path = tmp_path / "m.safetensors"
    for vertices in ({"kind": "constant"}, {"kind": "given", "width": 3}, {"kind": "degree", "cap": 2}):
        data = {**content.data, "inputs": {**content.data["inputs"], "vertices": vertices}}
        sealed.write(path, model_file.FORM, model_file.VERSION, content.tensors, data)
        with pytest.raises(FileError, match=r"m\.safetensors"):
            model_file.load(path)
    scores = {"scores": [[1.0], [2.0]], "floor": []}
    sealed.write(path, model_file.FORM, model_file.VERSION, content.tensors, {**content.data, "calibration": scores})
    with pytest.raises(FileError, match=r"m\.safetensors"):
        model_file.load(path)


@pytest.mark.parametrize(
    "hashes", [torch.zeros(3), torch.zeros(3, 8, dtype=torch.uint8), torch.zeros(2, 2).long(), None]
)
def test_other_hashes_than_integers_in_a_row_are_refused(
    hashes: torch.Tensor | None, content: sealed.Sealed, tmp_path: Path
) -> None:
    tensors = {k: v for k, v in content.tensors.items() if k != "seen/train"}
    tensors |= {} if hashes is None else {"seen/train": hashes}
    sealed.write(tmp_path / "m.safetensors", model_file.FORM, model_file.VERSION, tensors, content.data)
    with pytest.raises(FileError, match=r"m\.safetensors"):
        model_file.load(tmp_path / "m.safetensors")


def test_too_many_hashes_are_refused(content: sealed.Sealed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sealed.write(tmp_path / "m.safetensors", model_file.FORM, model_file.VERSION, content.tensors, content.data)
    assert model_file.load(tmp_path / "m.safetensors").seen is not None
    monkeypatch.setattr("ccn.learning.seen._MOST", 5)
    with pytest.raises(FileError, match=r"m\.safetensors"):
        model_file.load(tmp_path / "m.safetensors")
