"""Compressed files from anywhere: what is refused."""

import gzip
import stat
import zipfile
from pathlib import Path

import pytest

from ccn.datasets import archives, load
from ccn.datasets.archives import check_zip, open_binary, read_zip
from ccn.errors import DataError


def zipped(path: Path, **files: bytes) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return path


@pytest.mark.parametrize("name", ["../evil.txt", "/etc/evil.txt", "a/../../evil.txt", "C:\\evil.txt", "..\\evil.txt"])
def test_a_path_outside_the_folder_is_refused(tmp_path: Path, name: str) -> None:
    path = zipped(tmp_path / "x.zip", **{"good.txt": b"1", name: b"2"})
    with pytest.raises(DataError, match="evil"):
        read_zip(path)
    with pytest.raises(DataError, match="evil"):
        load(path)


def test_a_symbolic_link_is_refused(tmp_path: Path) -> None:
    entry = zipfile.ZipInfo("link.txt")
    entry.external_attr = (stat.S_IFLNK | 0o777) << 16
    with zipfile.ZipFile(tmp_path / "x.zip", "w") as archive:
        archive.writestr(entry, "/etc/passwd")
    with pytest.raises(DataError, match=r"link.txt"):
        read_zip(tmp_path / "x.zip")


def test_a_bomb_is_refused_in_zip_and_gzip(tmp_path: Path) -> None:
    zeros = bytes(archives.ALWAYS + 1)
    with pytest.raises(DataError, match="bomb"):
        load(zipped(tmp_path / "bomb.zip", **{"DS/DS_A.txt": zeros}))
    path = tmp_path / "bomb.csv.gz"
    path.write_bytes(gzip.compress(zeros))
    with pytest.raises(DataError, match="bomb"), open_binary(path) as stream:
        stream.read()


def test_a_bomb_of_several_files_is_found_while_reading(tmp_path: Path) -> None:
    path = zipped(tmp_path / "x.zip", **{"a.txt": bytes(50_000), "b.txt": bytes(50_000)})
    with pytest.raises(DataError, match="60,000"):
        read_zip(path, always=60_000, ratio=1)


def test_a_zip_for_another_reader_is_checked_by_its_sizes(tmp_path: Path) -> None:
    half = bytes(archives.ALWAYS // 2 + 1)
    check_zip(zipped(tmp_path / "x.zip", a=half))
    with pytest.raises(DataError, match="decompression bomb"):
        check_zip(zipped(tmp_path / "x.zip", a=half, b=half))


def test_small_files_may_be_as_repetitive_as_they_like(tmp_path: Path) -> None:
    assert read_zip(zipped(tmp_path / "x.zip", **{"a.txt": b"1\n" * 100_000, "b.md": b""}), ".txt").keys() == {"a.txt"}


def test_what_is_damaged_is_an_error_that_names_the_file(tmp_path: Path) -> None:
    path = tmp_path / "cut.csv.gz"
    path.write_bytes(gzip.compress(b"smiles,y\n" + b"CCO,1\n" * 5000)[:-60])
    with pytest.raises(DataError, match=r"cut\.csv\.gz"):
        load(path)
    good = zipped(tmp_path / "x.zip", **{"a.txt": bytes(range(256)) * 40}).read_bytes()
    (tmp_path / "x.zip").write_bytes(good[:45] + b"\xff\xff\xff" + good[48:])
    with pytest.raises(DataError, match=r"x\.zip"):
        read_zip(tmp_path / "x.zip")


def test_an_entry_without_a_name_is_passed_over(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "x.zip", "w") as archive:
        archive.writestr("a.txt", b"1")
        entry = zipfile.ZipInfo("x")
        entry.filename = ""
        archive.writestr(entry, b"2")
    assert read_zip(tmp_path / "x.zip", ".txt") == {"a.txt": b"1"}
