"""Gram matrices that are computed once and kept in the cache folder, keyed by kernel and graphs."""

from __future__ import annotations

import hashlib
import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ccn.errors import FileError
from ccn.files import cache_folder, lock, write_atomically
from ccn.graphs.pack import Pack
from ccn.learning.examples import fingerprint
from ccn.methods.kernels.kernel import Kernel

__all__ = ["gram_path", "stored_gram"]


def gram_path(kernel: Kernel[Any], graphs: Pack, *, normalise: bool = True) -> Path:
    """The file of the Gram matrix of these graphs with this kernel."""
    learned = [hashlib.sha256(np.ascontiguousarray(a).tobytes()).hexdigest() for _, a in sorted(kernel.state().items())]
    what = [kernel.version, type(kernel).__name__, kernel.settings(), learned, normalise, fingerprint(graphs)]
    digest = hashlib.sha256(json.dumps(what, sort_keys=True).encode()).hexdigest()[:32]
    return cache_folder() / "grams" / f"{type(kernel).__name__}-{digest}.npy"


def stored_gram(kernel: Kernel[Any], graphs: Pack, *, normalise: bool = True) -> NDArray[np.float32]:
    """The Gram matrix of all graphs in single precision, read from the cache or computed and written there.

    Processes that need the same matrix at the same time wait for the one that computes it. If it cannot be written,
    there is a warning and it stays in memory.
    """
    path = gram_path(kernel, graphs, normalise=normalise)
    if (found := _read(path, len(graphs))) is not None:
        return found
    made: NDArray[np.float32] | None = None
    try:
        with lock(path):
            if (found := _read(path, len(graphs))) is not None:
                return found
            made = kernel.gram(graphs, normalise=normalise).astype(np.float32)
            write_atomically(path, lambda file: np.save(file, made, allow_pickle=False))
    except (OSError, FileError) as error:
        warnings.warn(
            f"the Gram matrix is kept in memory only ({error}); set CCN_CACHE to a folder with space", stacklevel=2
        )
    return kernel.gram(graphs, normalise=normalise).astype(np.float32) if made is None else made


def _read(path: Path, rows: int) -> NDArray[np.float32] | None:
    try:
        found: NDArray[np.float32] = np.load(path, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError):  # there is none, or an unfinished one
        return None
    return found if found.shape == (rows, rows) and found.dtype == np.float32 else None
