"""Gram matrices that are computed once and kept, by what they are made of, in the user's cache."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ccn.baselines.kernels.kernel import Kernel
from ccn.datasets.store import cache_folder
from ccn.pack import Pack
from ccn.training.examples import fingerprint

__all__ = ["gram_path", "stored_gram"]

_VERSION = 1  # of what kernels compute


def gram_path(kernel: Kernel[Any], graphs: Pack, *, normalise: bool = True) -> Path:
    """Where the Gram matrix of these graphs with this kernel is kept."""
    learned = [hashlib.sha256(np.ascontiguousarray(a).tobytes()).hexdigest() for _, a in sorted(kernel.state().items())]
    what = [_VERSION, type(kernel).__name__, kernel.settings(), learned, normalise, fingerprint(graphs)]
    digest = hashlib.sha256(json.dumps(what, sort_keys=True).encode()).hexdigest()[:32]
    return cache_folder() / "grams" / f"{type(kernel).__name__}-{digest}.npy"


def stored_gram(kernel: Kernel[Any], graphs: Pack, *, normalise: bool = True) -> NDArray[np.float32]:
    """The Gram matrix of all graphs, read from the cache or computed and put there, in single precision.

    Where it cannot be written there is a warning, and it stays in memory.
    """
    path = gram_path(kernel, graphs, normalise=normalise)
    try:
        found: NDArray[np.float32] = np.load(path, mmap_mode="r", allow_pickle=False)
        if found.shape == (len(graphs), len(graphs)) and found.dtype == np.float32:
            return found
    except (OSError, ValueError):  # there is none, or half of one
        pass
    made = kernel.gram(graphs, normalise=normalise).astype(np.float32)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=path.parent, suffix=".part", delete=False) as file:
            try:
                np.save(file, made, allow_pickle=False)
                file.close()
                os.replace(file.name, path)
            finally:
                Path(file.name).unlink(missing_ok=True)
    except OSError as error:
        warnings.warn(
            f"the Gram matrix is kept in memory only ({error}); set CCN_CACHE to a folder with space", stacklevel=2
        )
    return made
