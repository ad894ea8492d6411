"""Targets scaled to mean 0 and deviation 1, with the statistics of the training part alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ccn.errors import ConfigurationError

__all__ = ["TargetScale"]

Float = NDArray[np.float64]


@dataclass(frozen=True)
class TargetScale:
    """The map ``(y - mean) / deviation``, target by target. A missing value (NaN) stays missing.

    Example:
        >>> scale = TargetScale.fit([[1.0, 7.0], [3.0, 7.0], [float("nan"), 7.0]])
        >>> scale
        TargetScale(mean=(2.0, 7.0), deviation=(1.0, 1.0))
        >>> scale.restore(scale.scale([[5.0, 7.0]])).tolist()
        [[5.0, 7.0]]
    """

    mean: tuple[float, ...]
    deviation: tuple[float, ...]

    def __post_init__(self) -> None:
        finite = all(isinstance(x, int | float) and np.isfinite(x) for x in (*self.mean, *self.deviation))
        if len(self.mean) != len(self.deviation) or not finite:
            raise ConfigurationError("a scale of targets needs one finite mean and deviation for each target")
        if any(d <= 0 for d in self.deviation):
            raise ConfigurationError(f"deviation={self.deviation} of targets must be positive")

    @classmethod
    def fit(cls, targets: ArrayLike) -> TargetScale:
        """From the targets (rows, targets) of the training part.

        The deviation is that of the rows themselves (divided by their number, not by one less). A target with one
        value only, to rounding, is shifted and not scaled.
        """
        y = _table(targets)
        known = ~np.isnan(y)
        for column in range(y.shape[1]):
            if not known[:, column].any():
                raise ConfigurationError(f"target {column} has no value in the training part; leave this target out")
            if not np.isfinite(y[known[:, column], column]).all():
                raise ConfigurationError(f"target {column} has an infinite value in the training part; remove it")
        low, high, deviation = np.nanmin(y, axis=0), np.nanmax(y, axis=0), np.nanstd(y, axis=0)
        # The mean of equal numbers can miss them by a rounding error, and so can the deviation miss 0.
        mean = np.clip(np.nanmean(y, axis=0), low, high)
        deviation[deviation <= 1e-12 * np.maximum(abs(low), abs(high))] = 1.0
        return cls(tuple(mean.tolist()), tuple(deviation.tolist()))

    def scale(self, targets: ArrayLike) -> Float:
        """(rows, targets) in units of the training part."""
        out: Float = (self._checked(targets) - np.array(self.mean)) / np.array(self.deviation)
        return out

    def restore(self, scaled: ArrayLike) -> Float:
        """The inverse of :meth:`scale`."""
        out: Float = self._checked(scaled) * np.array(self.deviation) + np.array(self.mean)
        return out

    def _checked(self, table: ArrayLike) -> Float:
        y = _table(table)
        if y.shape[1] != len(self.mean):
            raise ConfigurationError(f"{y.shape[1]} targets, but the scale is of {len(self.mean)}")
        return y

    def to_json(self) -> dict[str, Any]:
        """The statistics as plain JSON values."""
        return {"mean": list(self.mean), "deviation": list(self.deviation)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> TargetScale:
        """The inverse of :meth:`to_json`."""
        try:
            return cls(tuple(data["mean"]), tuple(data["deviation"]))
        except (KeyError, TypeError):
            raise ConfigurationError("a scale of targets is written as its lists 'mean' and 'deviation'") from None


def _table(targets: ArrayLike) -> Float:
    y = np.asarray(targets, dtype=np.float64)
    if y.ndim != 2:
        raise ConfigurationError(f"targets have shape (rows, targets), got {y.shape}; for one target use y[:, None]")
    return y
