"""Work on all threads at once: on those of PyTorch's own operations, where they can be had.

PyTorch's threads are those of OpenMP. After each operation they wait for the next for some milliseconds without giving
up the processor, so that other threads, with as many of them as there are cores, would start late and be interrupted.
``GOMP_parallel`` is what compilers make of ``#pragma omp parallel``: it runs a function once on each thread of the team
that PyTorch uses from this thread. Where the library does not have it (macOS, Windows) the threads are Python's.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache, lru_cache
from itertools import count
from typing import Any

__all__ = ["together"]

_BODY = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


def together(threads: int, work: Callable[[int], None]) -> None:
    """Call ``work(i)`` on up to so many threads, each with another number i from 0; this thread is one of them.

    There may be fewer, so that the work must be shared out by what is left of it.
    """
    parallel = _parallel()
    if threads == 1:
        work(0)
    elif parallel is None:
        # This thread works too: one that only waits would be woken beside one that works.
        others = [_pool(threads - 1).submit(work, i) for i in range(1, threads)]
        work(0)
        for other in others:
            other.result()
    else:
        number, failed = count(), []

        def body(_: int | None) -> None:
            try:
                work(next(number))
            except BaseException as error:  # which must not leave a function that C calls
                failed.append(error)

        parallel(_BODY(body), None, threads, 0)
        if failed:
            raise failed[0]


@cache
def _parallel() -> Any:
    """``GOMP_parallel`` of the library that PyTorch has loaded for all, or None."""
    try:
        found = ctypes.CDLL(None).GOMP_parallel
    except (AttributeError, OSError, TypeError):  # TypeError: on Windows
        return None
    found.argtypes, found.restype = (_BODY, ctypes.c_void_p, ctypes.c_uint, ctypes.c_uint), None
    return found


@lru_cache(maxsize=4)
def _pool(threads: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(threads, thread_name_prefix="ccn")
