from __future__ import annotations

from pathlib import Path

import pytest

from ccn.file_lock import lock

fcntl = pytest.importorskip("fcntl")


def test_nobody_else_has_it_until_the_file_is_closed(tmp_path: Path) -> None:
    path = tmp_path / "file"
    with path.open("ab") as other:
        with path.open("ab") as mine:
            lock(mine)
            with pytest.raises(BlockingIOError):
                fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
        fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
