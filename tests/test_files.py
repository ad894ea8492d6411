"""Files: whatever fails, a file or folder is the old one or the new one."""

import math
import os
import stat
import threading
from pathlib import Path
from typing import IO, Any

import numpy as np
import pytest

from ccn.errors import FileError
from ccn.files import (
    digest,
    file_digest,
    json_safe,
    lock,
    new_folder,
    private_folder,
    remove_unfinished,
    write_atomically,
    write_figure,
    write_json,
)


def test_a_failed_write_keeps_the_old_file_and_leaves_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    write_atomically(path, b"old")

    def fail(file: IO[bytes]) -> None:
        file.write(b"half")
        raise OSError(28, "No space left on device")

    with pytest.raises(FileError, match="No space left"):
        write_atomically(path, fail)
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]
    write_atomically(path, lambda file: None)
    assert path.read_bytes() == b""


def test_what_fails_after_the_move_is_no_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.fsync

    def fail(what: int | str | Path) -> None:
        if isinstance(what, int) and not stat.S_ISDIR(os.fstat(what).st_mode):
            return real(what)
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(os, "fsync", fail)
    monkeypatch.setattr(os, "unlink", fail)
    write_atomically(tmp_path / "a.txt", b"new")
    assert (tmp_path / "a.txt").read_bytes() == b"new"


def test_a_figure_that_cannot_be_drawn_keeps_the_old_one(tmp_path: Path) -> None:
    class Figure:
        def savefig(self, file: IO[bytes], **how: Any) -> None:
            file.write(how["format"].encode())
            if how["dpi"] == 1:
                raise OSError(28, "No space left on device")

    path = tmp_path / "a.SVG"
    write_figure(path, Figure())
    with pytest.raises(FileError, match=r"a\.SVG"):
        write_figure(path, Figure(), dpi=1)
    assert path.read_bytes() == b"svg"


def test_a_folder_is_replaced_in_one_step_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "store"
    for content in ("old", "new"):
        with new_folder(path) as folder:
            (folder / "a.txt").write_text(content)
    assert (path / "a.txt").read_text() == "new"

    def fail() -> None:
        with new_folder(path) as folder:
            (folder / "a.txt").write_text("half")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert (path / "a.txt").read_text() == "new"
    assert list(tmp_path.iterdir()) == [path]


def test_what_a_killed_process_left_is_removed(tmp_path: Path) -> None:
    for name in (".store.new", ".store.old"):
        (tmp_path / name).mkdir()
    with new_folder(tmp_path / "store"):
        pass
    assert [p.name for p in tmp_path.iterdir()] == ["store"]
    (tmp_path / "store" / ".a.txt.7.part").write_text("")
    (tmp_path / "store" / ".b.part").mkdir()
    (tmp_path / "store" / ".b.part" / "c").touch()
    remove_unfinished(tmp_path)
    assert not list((tmp_path / "store").iterdir())


def test_a_lock_makes_its_folder_and_is_free_again_afterwards(tmp_path: Path) -> None:
    for _ in range(2):
        with lock(tmp_path / "a" / "b"):
            assert (tmp_path / "a").is_dir()


def test_a_lock_that_is_held_is_refused_or_waited_for(tmp_path: Path) -> None:
    path = tmp_path / "a"
    with lock(path, wait=False):
        with pytest.raises(FileError), lock(path, wait=False):
            pass
        assert list(tmp_path.iterdir())  # the refused one has not removed the file
    assert not list(tmp_path.iterdir())
    with lock(path, wait=False):
        pass


def test_a_process_waits_for_a_lock(tmp_path: Path) -> None:
    order = []

    def second() -> None:
        with lock(tmp_path / "a"):
            order.append(2)

    other = threading.Thread(target=second)
    with lock(tmp_path / "a"):
        other.start()
        other.join(0.1)  # time enough for one that does not wait
        order.append(1)
    other.join()
    assert order == [1, 2]


@pytest.mark.skipif(os.name != "posix", reason="modes of POSIX")
def test_a_private_folder_is_writable_by_us_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "cache" / "kernels" / "abc"
    for _ in range(2):
        assert private_folder(path) == path
    assert path.stat().st_mode & 0o777 == 0o700
    for folder, mode in ((path, 0o720), (path, 0o702), (path.parent, 0o757), (path.parents[1], 0o757)):
        before = folder.stat().st_mode
        folder.chmod(mode)
        with pytest.warns(UserWarning, match="CCN_CACHE"):
            other = private_folder(path)
        assert other != path
        assert other.stat().st_mode & 0o777 == 0o700
        folder.chmod(before)
    path.parent.chmod(0o1777)  # as /tmp, where nobody can exchange what is ours
    assert private_folder(path) == path
    monkeypatch.setattr(os, "geteuid", lambda: path.stat().st_uid + 1)
    with pytest.warns(UserWarning, match="CCN_CACHE"):
        assert private_folder(path) != path
    (tmp_path / "file").touch()
    assert private_folder(tmp_path / "file" / "a").is_dir()  # where it cannot be made


def test_digests_delimit_their_parts(tmp_path: Path) -> None:
    assert digest(b"ab") == digest("ab") != digest("a", "b")
    assert digest(np.zeros(2)) != digest(np.zeros((2, 1))) != digest(np.zeros(2, dtype=int))
    assert digest({"a": 1, "b": 2}) == digest({"b": 2, "a": 1})
    (tmp_path / "a").write_bytes(b"abc")
    assert file_digest(tmp_path / "a").startswith("ba7816bf")


def test_json_has_null_for_what_is_not_finite(tmp_path: Path) -> None:
    assert json_safe({1: [math.inf, 2.5]}) == {"1": [None, 2.5]}
    write_json(tmp_path / "a.json", {"x": math.nan})
    assert (tmp_path / "a.json").read_text() == '{\n "x": null\n}\n'
