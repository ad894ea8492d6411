"""What a network is trained on: graphs, targets, and which of them are for what."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ccn.errors import ConfigurationError
from ccn.graphs.pack import Pack
from ccn.graphs.ragged import Int
from ccn.learning.task import Floats

__all__ = ["Examples", "fingerprint"]


@dataclass(frozen=True)
class Examples:
    """Graphs with targets, cut into a part to fit and a part to stop and choose by.

    Attributes:
        graphs: all of them.
        targets: (graphs, targets); NaN where missing, a class as its number.
        train, validation: numbers of rows.
        weights: (graphs,), by default 1.

    """

    graphs: Pack
    targets: Floats
    train: Int
    validation: Int
    weights: Floats | None = None

    def __post_init__(self) -> None:
        if self.targets.ndim != 2 or len(self.targets) != len(self.graphs):
            raise ConfigurationError(f"{len(self.graphs)} graphs, but targets of shape {self.targets.shape}")
        if not len(self.train):
            raise ConfigurationError("the training part is empty; give more rows or a smaller validation part")
        if np.isinf(self.targets).any():
            row, column = np.argwhere(np.isinf(self.targets))[0]
            raise ConfigurationError(f"target {column} of row {row} is infinite; leave it blank or correct it")
        if self.weights is not None and (
            self.weights.shape != (len(self.graphs),)
            or not (self.weights >= 0).all()
            or not np.isfinite(self.weights).all()
        ):
            raise ConfigurationError("sample weights: one finite number per graph is needed, none of them negative")


def fingerprint(graphs: Pack, *others: NDArray[np.generic] | None) -> str:
    """A SHA-256 of graphs and arrays: the same data, the same text."""
    sha = hashlib.sha256()
    arrays = graphs.bare().compact().arrays
    for name, array in [*sorted(arrays.items()), *((str(i), a) for i, a in enumerate(others) if a is not None)]:
        sha.update(f"{name} {array.dtype} {array.shape}\n".encode())
        sha.update(np.ascontiguousarray(array).tobytes())
    return sha.hexdigest()
