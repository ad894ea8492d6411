"""Gram matrices that are computed once and kept, by what they are made of, in the user's cache."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ccn.baselines.kernels.kernel import Kernel
from ccn.datasets.store import cache_folder
from ccn.file_lock import lock
from ccn.pack import Pack
from ccn.training.examples import fingerprint

__all__ = ["gram_path", "stored_gram"]


def gram_path(kernel: Kernel[Any], graphs: Pack, *, normalise: bool = True) -> Path:
    """Where the Gram matrix of these graphs with this kernel is kept."""
    learned = [hashlib.sha256(np.ascontiguousarray(a).tobytes()).hexdigest() for _, a in sorted(kernel.state().items())]
    what = [kernel.version, type(kernel).__name__, kernel.settings(), learned, normalise, fingerprint(graphs)]
    digest = hashlib.sha256(json.dumps(what, sort_keys=True).encode()).hexdigest()[:32]
    return cache_folder() / "grams" / f"{type(kernel).__name__}-{digest}.npy"


def stored_gram(kernel: Kernel[Any], graphs: Pack, *, normalise: bool = True) -> NDArray[np.float32]:
    """The Gram matrix of all graphs, read from the cache or computed and put there, in single precision.

    Processes that want the same matrix at the same time wait for the one that computes it. Where it cannot be written
    there is a warning, and it stays in memory.
    """
    path = gram_path(kernel, graphs, normalise=normalise)
    if (found := _read(path, len(graphs))) is not None:
        return found
    made: NDArray[np.float32] | None = None
    try:
        with _alone(path):
            if (found := _read(path, len(graphs))) is not None:
                return found
            made = kernel.gram(graphs, normalise=normalise).astype(np.float32)
            _write(path, made)
    except OSError as error:
        warnings.warn(
            f"the Gram matrix is kept in memory only ({error}); set CCN_CACHE to a folder with space", stacklevel=2
        )
    return kernel.gram(graphs, normalise=normalise).astype(np.float32) if made is None else made


def _read(path: Path, rows: int) -> NDArray[np.float32] | None:
    try:
        found: NDArray[np.float32] = np.load(path, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError):  # there is none, or half of one
        return None
    return found if found.shape == (rows, rows) and found.dtype == np.float32 else None


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    """No other process is here for this matrix."""
    path.parent.mkdir(parents=True, exist_ok=True)
    mark = path.with_suffix(".lock")
    with mark.open("ab") as file:
        lock(file)
        yield
        mark.unlink(missing_ok=True)  # who waits for it finds the matrix


def _write(path: Path, made: NDArray[np.float32]) -> None:
    with tempfile.NamedTemporaryFile(dir=path.parent, suffix=".part", delete=False) as file:
        try:
            np.save(file, made, allow_pickle=False)
            file.close()
            os.replace(file.name, path)
        finally:
            Path(file.name).unlink(missing_ok=True)
