"""Worker processes that end with the process that started them, however that ends.

A process that is killed cannot end its workers, which would go on with their work, hold its memory and wait for more.
"""

from __future__ import annotations

import os
import threading
import time
from functools import cache

__all__ = ["end_with"]

EVERY = 2.0  # seconds between looks at the parent


@cache
def end_with(parent: int) -> None:
    """End this process soon after the ``parent`` that started it has ended; in the parent itself, do nothing."""
    if os.name == "posix" and os.getpid() != parent:
        threading.Thread(target=_watch, args=(parent,), daemon=True).start()


def _watch(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(EVERY)
    os._exit(1)
