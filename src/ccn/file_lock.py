"""One process at a time: a lock on an open file, which ends when the file is closed or the process dies."""

from __future__ import annotations

import os
from typing import IO

__all__ = ["lock"]


def lock(file: IO[bytes]) -> None:
    """Wait until no other process has the file locked, and lock it until it is closed; nothing without flock."""
    if os.name == "posix":
        import fcntl

        fcntl.flock(file, fcntl.LOCK_EX)
