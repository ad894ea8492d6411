"""Sealed files: what is read is what was written, and a file with any byte changed is refused."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

from ccn import sealed
from ccn.errors import FileError

TENSORS = {"a": torch.arange(6.0).reshape(2, 3), "b": torch.tensor(3), "none": torch.zeros(0, 2)}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    file = tmp_path / "x.safetensors"
    sealed.write(file, "ccn test", 2, TENSORS, {"n": [1, 2.5, "é"]})
    return file


def test_tensors_and_data_come_back(path: Path) -> None:
    held = sealed.read(path, {"ccn test": 2, "ccn other": 1})
    assert (held.form, held.version, held.data) == ("ccn test", 2, {"n": [1, 2.5, "é"]})
    tensors = held.tensors
    assert sealed.read(path, {"ccn test": 2}, tensors=False).tensors == {}
    assert tensors.keys() == TENSORS.keys()
    assert all(torch.equal(tensors[k], TENSORS[k]) for k in TENSORS)
    assert [p.name for p in path.parent.iterdir()] == [path.name]


def test_the_same_content_gives_the_same_bytes(path: Path) -> None:
    # safetensors orders the header at random: eight files in another order are one in ten thousand.
    made = set()
    for _ in range(8):
        sealed.write(path, "ccn test", 2, TENSORS, {})
        made.add(path.read_bytes())
    assert len(made) == 1


def test_any_cut_and_any_changed_byte_is_refused(path: Path) -> None:
    whole = path.read_bytes()
    rng = np.random.default_rng(0)
    for cut in (0, 1, 7, 9, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:cut])
        with pytest.raises(FileError, match=r"x\.safetensors"):
            sealed.read(path, {"ccn test": 2})
    for place in rng.choice(len(whole), 60, replace=False):
        changed = bytearray(whole)
        changed[place] ^= int(rng.integers(1, 256))
        path.write_bytes(bytes(changed))
        try:
            held = sealed.read(path, {"ccn test": 2})
            tensors, data = held.tensors, held.data
        except FileError:
            continue
        # What is left are bytes without meaning, such as a blank in the header's padding.
        assert data == {"n": [1, 2.5, "é"]}
        assert all(torch.equal(tensors[k], TENSORS[k]) for k in TENSORS)
    path.write_bytes(whole + b"x")
    with pytest.raises(FileError):
        sealed.read(path, {"ccn test": 2})


def test_another_kind_and_a_newer_version_are_told(path: Path, tmp_path: Path) -> None:
    with pytest.raises(FileError, match=r"ccn model.*ccn test"):
        sealed.read(path, {"ccn model": 2})
    with pytest.raises(FileError, match=r"2.* up to 1"):
        sealed.read(path, {"ccn test": 1})
    with pytest.raises(FileError, match="y"):
        sealed.read(tmp_path / "y", {"ccn test": 1})


@pytest.mark.parametrize(
    "data",
    ["[" * 100_000 + "]" * 100_000, '{"a":' * 60 + "1" + "}" * 60, "[1]", "null", '{"n": ' + "9" * 5000 + "}", "{"],
)
@pytest.mark.parametrize("tensors", [True, False])
def test_forged_data_is_refused(data: str, tensors: bool, tmp_path: Path) -> None:
    path = tmp_path / "x.safetensors"
    header = {"format": "ccn test 2", "data": data}
    save_file(TENSORS, path, header | {"sha256": sealed._digest(TENSORS, header["format"], data)})
    with pytest.raises(FileError, match=r"x\.safetensors"):
        sealed.read(path, {"ccn test": 2}, tensors=tensors)


@pytest.mark.parametrize("version", ["9" * 5000, "\u00b2", "-1", "", "1.0"])
def test_a_version_is_a_short_number(version: str, tmp_path: Path) -> None:
    header: dict[str, Any] = {"format": f"ccn test {version}", "data": "{}"}
    save_file(TENSORS, tmp_path / "x.safetensors", header)
    with pytest.raises(FileError, match=r"x\.safetensors"):
        sealed.read(tmp_path / "x.safetensors", {"ccn test": 2})
