"""Names: where they are looked for, in which order, and what is said when they are not at hand."""

import shutil
import sys
import zipfile
from pathlib import Path

import pytest

from ccn.datasets import load, registry
from ccn.datasets.archives import read_zip
from ccn.datasets.registry import ENTRIES, entry_of, fetch, find, text_sha256
from ccn.errors import DataError

SHIPPED = Path(registry.__file__).parent / "mutag" / "MUTAG.zip"


def serve(monkeypatch: pytest.MonkeyPatch, archive: Path) -> None:
    """Let every download give this archive."""

    def retrieve(url: str, path: str, fname: str, **_: object) -> str:
        return str(shutil.copy(archive, Path(path) / fname))

    monkeypatch.setattr("pooch.retrieve", retrieve)


def test_names_ignore_case_and_the_shipped_set_has_the_pinned_hashes() -> None:
    assert entry_of("nci1") is ENTRIES["NCI1"]
    assert entry_of("nowhere") is None
    inside = read_zip(SHIPPED, ".txt")
    for part, expected in ENTRIES["MUTAG"].sha256.items():
        assert text_sha256(inside[f"MUTAG/MUTAG_{part}.txt"]) == expected


def test_the_hash_is_that_of_the_text_not_of_its_spelling() -> None:
    assert text_sha256(b"1, 2\r\n3, 4\r\n") == text_sha256(b"1,2\n3,4") != text_sha256(b"1,2\n3,5")


def test_ccn_data_comes_before_the_cache_and_the_cache_before_the_package(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def place() -> str:
        found = find(ENTRIES["MUTAG"])
        assert found is not None
        return found.place

    assert place() == "ccn itself"
    for folder in (cache / "data" / "MUTAG", tmp_path / "mine" / "MUTAG"):
        folder.mkdir(parents=True)
        shutil.copy(SHIPPED, folder)
    assert place() == "cache"
    monkeypatch.setenv("CCN_DATA", str(tmp_path / "mine"))
    assert place() == "CCN_DATA"
    assert len(load("MUTAG", path=SHIPPED)) == 188


def test_a_package_is_located_without_being_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "qm9pack"
    (package / "data").mkdir(parents=True)
    (package / "__init__.py").write_text("raise RuntimeError")
    monkeypatch.syspath_prepend(str(tmp_path))
    found = find(ENTRIES["QM9"])
    assert found is not None
    assert found.path == package / "data"
    assert "qm9pack" not in sys.modules


@pytest.mark.parametrize("name", ["PTC", "HCEP", "BREC"])
def test_without_a_source_the_error_says_which_file_to_put_where(name: str, cache: Path) -> None:
    with pytest.raises(DataError, match=name) as error:
        load(name.lower())
    assert str(cache / "data" / ENTRIES[name].file) in str(error.value)
    assert "CCN_DATA" in str(error.value)


def test_offline_the_error_says_so_and_what_to_do(monkeypatch: pytest.MonkeyPatch, cache: Path) -> None:
    def offline(*_: object, **__: object) -> str:
        raise ConnectionError("no route")

    monkeypatch.setattr("pooch.retrieve", offline)
    with pytest.raises(DataError, match=r"https://.*NCI1\.zip") as error:
        load("NCI1")
    assert "NCI1_edge_labels.txt.gz" in str(error.value)
    assert not list((cache / "data").rglob("*.zip"))


def test_what_is_fetched_is_checked_and_only_what_was_checked_is_kept(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    more = tmp_path / "more.zip"
    shutil.copy(SHIPPED, more)
    with zipfile.ZipFile(more, "a") as archive:
        archive.writestr("MUTAG/MUTAG_node_attributes.txt", "1\n")
    serve(monkeypatch, more)
    found = fetch(ENTRIES["MUTAG"])
    assert found.path == cache / "data" / "MUTAG" / "MUTAG.zip"
    assert str(load(found.path)) == str(load("MUTAG"))
    assert not any("attributes" in name for name in read_zip(found.path))
    assert list(found.path.parent.iterdir()) == [found.path]


def test_what_is_fetched_and_wrong_is_refused(tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    serve(monkeypatch, SHIPPED)
    with pytest.raises(DataError, match=r"NCI1_A\.txt"):
        load("NCI1")
    inside = read_zip(SHIPPED)
    with zipfile.ZipFile(tmp_path / "bad.zip", "w") as archive:
        for name, content in inside.items():
            archive.writestr(name, content.replace(b"1", b"2", 1) if name.endswith("_A.txt") else content)
    serve(monkeypatch, tmp_path / "bad.zip")
    with pytest.raises(DataError, match=r"MUTAG_A\.txt"):
        fetch(ENTRIES["MUTAG"])
    assert not list(cache.rglob("*.zip"))
