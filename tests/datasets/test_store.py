"""The packed store: what was stored comes back, and nothing that is old or damaged is trusted."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ccn import datasets
from ccn.datasets import Dataset
from ccn.datasets.dataset import STRINGS
from ccn.datasets.store import VERSION, read_store, store_folder, stored
from ccn.errors import DataError

OPTIONS = {"reader": "read_molecules"}


def load(path: Path, **options: Any) -> Dataset:
    """A data set through its store, however small."""
    return datasets.load(path, store_from=0, **options)


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "t.csv"
    path.write_text(
        "smiles,y,g,w\n" + "".join(f"{'C' * i}O,{i}.5,g{i % 2},{i}\n" for i in range(1, 100)) + "bad,1,g,1\n"
    )
    return path


def folders(cache: Path) -> list[Path]:
    return sorted(p for p in (cache / "stores").iterdir() if p.suffix != ".lock")


def same(a: Dataset, b: Dataset) -> None:
    np.testing.assert_array_equal(a.targets, b.targets)
    for key, value in a.pack.arrays.items():
        np.testing.assert_array_equal(value, b.pack.arrays[key])
        assert value.dtype == b.pack.arrays[key].dtype
    for name in ("name", "target_names", "task", "classes", "dropped", "noted", "vertex_names", "options", "note"):
        assert getattr(a, name) == getattr(b, name), name
    for name in STRINGS:
        x, y = getattr(a, name), getattr(b, name)
        assert (x is None) == (y is None)
        assert x is None or list(x) == list(y)


def test_what_was_stored_comes_back_mapped(table: Path, cache: Path) -> None:
    options: dict[str, Any] = {"group_column": "g", "weight_column": "w"}
    plain = load(table, store=False, **options)
    assert not cache.exists()
    first, second = load(table, **options), load(table, **options)
    same(plain, first)
    same(plain, second)
    assert second.weights is not None
    assert second.weights.tolist() == [float(i) for i in range(1, 100)]
    assert len(folders(cache)) == 1
    assert isinstance(second.pack.arrays["features"].base, np.memmap)
    # A batch of a mapped pack owns its values.
    second.pack.select([3, 1]).batch().features.add_(1)
    same(plain, second)
    with pytest.raises(DataError, match="row 100"):
        load(table, strict=True, **options)


def test_the_second_time_nothing_is_built(table: Path) -> None:
    load(table)
    folder = store_folder("t.csv", [table], OPTIONS)

    def never() -> Dataset:
        raise AssertionError

    assert len(stored(never, "t.csv", [table], OPTIONS)) == 99
    assert folder.is_dir()


def test_a_change_of_source_or_options_or_version_makes_it_anew(table: Path, cache: Path) -> None:
    load(table)
    table.write_text(table.read_text().replace("CO,1.5", "CO,7.5"))
    assert load(table).targets[0, 0] == 7.5
    assert len(folders(cache)) == 1, "the old store is replaced"
    # The same size and content at another time is the same source; the same size and time is not looked into.
    os.utime(table, ns=(1, 1))
    assert read_store(folders(cache)[0], [table], OPTIONS) is not None
    assert read_store(folders(cache)[0], [table], OPTIONS, version=VERSION + 1) is None
    assert load(table, hydrogens=True).pack.sizes[0] == 6
    assert len(folders(cache)) == 2


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1])


def flip(path: Path) -> None:
    raw = bytearray(path.read_bytes())
    raw[len(raw) // 2] ^= 1
    path.write_bytes(raw)


@pytest.mark.parametrize("name", ["store.json", "targets.npy", "graphs.features.npy", "smiles.text.npy"])
@pytest.mark.parametrize("damage", [cut, flip, Path.unlink])
def test_a_damaged_store_is_found_and_made_anew(
    table: Path, cache: Path, name: str, damage: Callable[[Path], None]
) -> None:
    good = load(table, store=False)
    load(table)
    folder = folders(cache)[0]
    damage(folder / name)
    assert read_store(folder, [table], OPTIONS) is None
    same(good, load(table))
    assert read_store(folder, [table], OPTIONS) is not None
    assert folders(cache) == [folder]


def test_a_store_says_what_it_was_made_of(table: Path, cache: Path) -> None:
    load(table)
    meta = json.loads((folders(cache)[0] / "store.json").read_text())
    assert meta["sources"][0]["path"] == str(table)
    assert meta["version"] == VERSION
    assert not list(cache.rglob("*.pkl"))


def test_where_nothing_can_be_written_there_is_a_warning_and_the_data(
    table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("CCN_CACHE", str(tmp_path / "file"))
    with pytest.warns(UserWarning, match="CCN_CACHE"):
        assert len(load(table)) == 99


def test_a_full_disk_leaves_nothing_behind(table: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np, "save", full)
    with pytest.warns(UserWarning, match="No space left"):
        assert len(load(table)) == 99
    assert folders(cache) == []


_LOAD = """
import sys, warnings
from ccn import datasets
warnings.simplefilter("error")
print(len(datasets.load(sys.argv[1], store_from=0)))
"""


@pytest.mark.slow
def test_two_processes_at_once_both_get_the_data(table: Path, cache: Path) -> None:
    command = [sys.executable, "-c", _LOAD, str(table)]
    both = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    assert [p.communicate(timeout=120)[0] for p in both] == ["99\n", "99\n"]
    assert len(folders(cache)) == 1
    assert read_store(folders(cache)[0], [table], OPTIONS) is not None


def test_a_featuriser_of_ones_own_is_not_stored(table: Path, cache: Path) -> None:
    from dataclasses import replace

    from ccn.chemistry.properties import molecule_features

    assert len(load(table, features=replace(molecule_features(), name="mine"))) == 99
    assert not cache.exists()


def test_extra_columns_have_a_store_of_their_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CCN_CACHE", str(tmp_path / "cache"))
    path = tmp_path / "t.csv"
    path.write_text("smiles,pH,T,y\nCCO,7.5,20,1.5\nCC,6,21,2.5\n")
    for _ in range(2):
        for extra in (["pH"], ["T"], ["T", "pH"]):
            data = datasets.load(path, target_columns="y", extra_columns=extra, features="compact", store_from=0)
            known = {"pH": [7.5, 6.0], "T": [20.0, 21.0]}
            assert data.pack.graph_features.T.tolist() == [known[name] for name in extra]
            assert data.options["extra_columns"] == extra
        assert (
            "graph_features"
            not in datasets.load(path, target_columns="y", features="compact", store_from=0).pack.arrays
        )
