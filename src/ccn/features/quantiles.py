"""Columns of numbers on a normal scale, by the quantiles of the training rows: what outliers cannot stretch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from ccn.errors import FileError

__all__ = ["QuantileScale"]

_POINTS = 101
_MOST = 3.0  # deviations

Table = NDArray[np.float32]


@dataclass(frozen=True)
class QuantileScale:
    """The map of a value to the normal deviate of its share among the training rows, column by column.

    Equal values share the middle of their ranks. A column with one value in training becomes zero.

    Attributes:
        quantiles: (points, columns) of the training rows, ascending.

    Example:
        >>> scale = QuantileScale.fit(np.array([[1.0], [2.0], [4.0], [800.0]]))
        >>> scale(np.array([[1.0], [4.0], [9999.0]])).round(1).ravel().tolist()
        [-3.0, 0.4, 3.0]
    """

    quantiles: Table

    @classmethod
    def fit(cls, rows: NDArray[np.floating]) -> Self:
        """From the training rows (rows, columns)."""
        points = np.linspace(0, 1, _POINTS)
        return cls(np.quantile(rows, points, axis=0, method="linear").astype(np.float32))

    def __call__(self, rows: NDArray[np.floating]) -> Table:
        """(rows, columns) in normal deviates, at most three."""
        rows = np.asarray(rows, dtype=np.float32)
        points = np.linspace(0, 1, len(self.quantiles))
        out = np.empty(rows.shape, dtype=np.float32)
        for j, q in enumerate(self.quantiles.T):
            # The mean over both ends of a run of equal quantiles.
            low = np.interp(rows[:, j], q, points)
            high = -np.interp(-rows[:, j], -q[::-1], -points[::-1])
            out[:, j] = ndtri((low + high) / 2) if q[0] < q[-1] else 0.0
        return np.clip(out, -_MOST, _MOST, out=out)

    @classmethod
    def from_state(cls, quantiles: NDArray[np.float32]) -> Self:
        """From an array that may have been altered."""
        if quantiles.ndim != 2 or not np.isfinite(quantiles).all() or (np.diff(quantiles, axis=0) < 0).any():
            raise FileError("the file holds quantiles that are not ascending; do not use it")
        return cls(quantiles)
