"""Functions compiled by Numba, and the folder of ours alone where their code is kept."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any

import numba
from numba.core import event
from numba.core.types.misc import unliteral

from ccn.files import cache_folder, private_folder

__all__ = ["compiled", "inlined", "kept_kernels", "kernel_folder", "when_compiling", "woven"]

_OPTIONS: dict[str, Any] = {"nogil": True, "_nrt": False, "error_model": "numpy", "fastmath": {"contract"}}


@cache
def kernel_folder() -> str:
    """Where compiled code is kept, under a name that stands for all the code that it is made of.

    Numba itself looks at the module of a function only, and not at those that it calls into. Its own setting,
    ``NUMBA_CACHE_DIR``, comes first. Since Numba unpickles what it reads, the folder must be private.
    """
    digest = hashlib.blake2b(digest_size=8)
    for path in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(path.read_bytes())
    base = Path(numba.config.CACHE_DIR or cache_folder())
    return str(private_folder(base / "kernels" / digest.hexdigest()))


def kept_kernels() -> bool:
    """Whether compiled code is on disk, from an earlier use on this machine."""
    return any(Path(kernel_folder()).rglob("*.nbi"))


@contextmanager
def when_compiling(tell: Callable[[], None]) -> Iterator[None]:
    """Call a function at the first kernel that is compiled, not read from disk, while the block runs."""

    class First(event.Listener):  # type: ignore[misc]
        told = False

        def on_start(self, event: Any) -> None:
            if not self.told:
                self.told = True
                tell()

        def on_end(self, event: Any) -> None:
            pass

    with event.install_listener("numba:compile", First()):
        yield


def compiled(f: Callable[..., Any]) -> Any:
    """Compile when first called, without reference counts, and keep the result on disk where that is possible."""
    given = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = kernel_folder()
    try:
        return _general(_tolerant(numba.njit(cache=True, forceinline=False, **_OPTIONS)(f)))
    except RuntimeError:  # no folder that can be written to
        return _general(numba.njit(forceinline=False, **_OPTIONS)(f))
    finally:
        numba.config.CACHE_DIR = given


def _tolerant(made: Any) -> Any:
    """The same function; where its code cannot be kept, or was damaged, it is compiled instead of an error."""
    kept = made._cache
    load, save = kept.load_overload, kept.save_overload

    def loaded(*of: Any) -> Any:
        try:
            return load(*of)
        except Exception:  # of pickle: any
            with suppress(OSError):
                kept.flush()
            return None

    def saved(*of: Any) -> None:
        with suppress(OSError):
            save(*of)

    kept.load_overload, kept.save_overload = loaded, saved
    return made


def inlined(f: Callable[..., Any]) -> Any:
    """Compile it by itself, and then into its callers: for what is small and called in many places."""
    return _general(numba.njit(forceinline=True, **_OPTIONS)(f))


def woven(f: Callable[..., Any]) -> Any:
    """Make it part of its callers before they are compiled: what takes many arrays takes long to compile by itself."""
    return numba.njit(inline="always", **_OPTIONS)(f)


def _general(made: Any) -> Any:
    """The same function, compiled once, not for every combination of constants that it is called with.

    LLVM still knows the constants where the function is inlined.
    """
    resolve = made.get_call_template

    def resolved(args: Sequence[Any], kws: dict[str, Any]) -> Any:
        return resolve(tuple(unliteral(a) for a in args), {k: unliteral(a) for k, a in kws.items()})

    made.get_call_template = resolved
    return made
