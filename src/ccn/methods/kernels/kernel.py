"""The interface of graph kernels: a frozen dataclass of settings that computes Gram matrices of packs.

The Gram matrices of large packs are computed once and kept in the cache folder, keyed by kernel and graphs.
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, ClassVar, Generic, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from ccn.errors import FileError
from ccn.files import cache_folder, digest, lock, write_atomically
from ccn.graphs.pack import Pack
from ccn.learning.examples import fingerprint
from ccn.methods.kernels.bags import Bag, matrices
from ccn.settings import Checked

__all__ = ["BagKernel", "Floats", "Kernel", "gram_path", "stored_gram"]

Floats = NDArray[np.float64]
Seen = TypeVar("Seen")


@dataclass(frozen=True)
class Kernel(Checked, ABC, Generic[Seen]):
    """A positive semidefinite function of two graphs that does not depend on how their vertices are numbered.

    Vertices are compared by their features, which must therefore be discrete; directed edges count both ways and
    weights are ignored. A kernel first extracts from each pack what it sees of it, then compares that.

    The settings are bounded: beyond, a kernel would take hours or all memory. ``version`` changes whenever the kernel
    of the same settings does, so that matrices and machines of an earlier version are not used.
    """

    version: ClassVar[int] = 1

    def fit(self, graphs: Pack) -> Self:
        """The kernel fitted to graphs; most learn nothing."""
        return self

    @abstractmethod
    def see(self, graphs: Pack) -> Seen:
        """What the kernel sees of the graphs."""

    @abstractmethod
    def compare(self, a: Seen, b: Seen) -> Floats:
        """(graphs of a, graphs of b) the kernel, not normalised."""

    @abstractmethod
    def squares(self, a: Seen) -> Floats:
        """(graphs,) the kernel of each graph with itself."""

    def gram(self, a: Any, b: Any = None, *, normalise: bool = True) -> Floats:
        """(graphs of a, graphs of b) the Gram matrix, that of a with itself by default.

        Normalised it is ``k(g, h) / sqrt(k(g, g) k(h, h))``, and zero where ``k(g, g)`` is zero.
        """
        first = self.see(Pack.of(a))
        return self.between(first, first if b is None else self.see(Pack.of(b)), normalise=normalise)

    def between(self, first: Seen, second: Seen, *, normalise: bool = True) -> Floats:
        """The same from what :meth:`see` returned."""
        found = self.compare(first, second)
        if not normalise:
            return found
        for axis, seen in enumerate((first, second)):
            square = self.squares(seen)
            found /= np.expand_dims(np.sqrt(np.where(square > 0, square, np.inf)), 1 - axis)
        return found

    def settings(self) -> dict[str, Any]:
        """The settings as plain values."""
        return asdict(self)

    def state(self) -> dict[str, NDArray[Any]]:
        """What :meth:`fit` has learned, as arrays."""
        return {}

    def with_state(self, arrays: Mapping[str, NDArray[Any]]) -> Self:
        """The kernel with what :meth:`state` returned."""
        return self


class BagKernel(Kernel[Bag]):
    """A kernel that is the inner product of bags: ``k(g, h) = sum over names of count_g * count_h``."""

    def compare(self, a: Bag, b: Bag) -> Floats:
        left, right = matrices(a, b)
        return np.asarray((left @ right.T).toarray())

    def squares(self, a: Bag) -> Floats:
        return np.bincount(a.graph, a.count**2, minlength=a.graphs).astype(np.float64)


def gram_path(kernel: Kernel[Any], graphs: Pack) -> Path:
    """The file of the normalised Gram matrix of these graphs with this kernel."""
    what = [kernel.version, type(kernel).__name__, kernel.settings(), True, fingerprint(graphs)]
    learned = [part for item in sorted(kernel.state().items()) for part in item]
    return cache_folder() / "grams" / f"{type(kernel).__name__}-{digest(what, *learned)[:32]}.npy"


def stored_gram(kernel: Kernel[Any], graphs: Pack) -> NDArray[np.float32]:
    """The Gram matrix of all graphs in single precision, read from the cache or computed and written there.

    Processes that need the same matrix at the same time wait for the one that computes it. If it cannot be written,
    there is a warning and it stays in memory.
    """
    path = gram_path(kernel, graphs)
    if (found := _read(path, len(graphs))) is not None:
        return found
    made: NDArray[np.float32] | None = None
    try:
        with lock(path):
            if (found := _read(path, len(graphs))) is not None:
                return found
            made = kernel.gram(graphs).astype(np.float32)
            write_atomically(path, lambda file: np.save(file, made, allow_pickle=False))
    except (OSError, FileError) as error:
        warnings.warn(
            f"the Gram matrix is kept in memory only ({error}); set CCN_CACHE to a folder with space", stacklevel=2
        )
    return kernel.gram(graphs).astype(np.float32) if made is None else made


def _read(path: Path, rows: int) -> NDArray[np.float32] | None:
    try:
        found: NDArray[np.float32] = np.load(path, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError):  # there is none, or an unfinished one
        return None
    return found if found.shape == (rows, rows) and found.dtype == np.float32 else None
