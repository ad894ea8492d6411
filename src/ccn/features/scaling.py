"""Targets scaled to mean 0 and standard deviation 1, with the statistics of the training part alone.

A heavy-tailed target may be transformed first, by its logarithm, the power transform of Yeo and Johnson or its ranks,
so that rare and huge values do not dominate the loss. The transforms are increasing, so that they map intervals to
intervals.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ccn.errors import ConfigurationError

__all__ = ["Bend", "Scale", "Shape", "TargetScale", "choose", "heavy_tailed"]

Float = NDArray[np.float64]
Shape = Literal["linear", "log", "power", "rank", "auto"]
"""How targets are transformed; ``auto`` chooses for each target, see :func:`choose`."""
Scale = Shape | tuple[Shape, ...]
"""One shape for all targets, or one for each."""

_MARGIN = 0.5  # of the training range, by which predictions of a transformed target may exceed it
_LOGARITHM = 1e-12  # powers that are a logarithm to rounding
_POWERS = (-3.0, 5.0)  # symmetric to 1, the identity; beyond them powers of outliers overflow
_KNOTS = 101  # of ranks at most
_LEAST = 20  # fewer values do not show the tail of a distribution


@dataclass(frozen=True)
class Bend:
    """An increasing map of one target: none, its logarithm, the power transform of ``(y - centre) / size``, or ranks.

    Ranks are the normal deviates of the shares of training values below, between ``knots`` by straight lines and
    beyond them with the slope ``1 / size``.

    Attributes:
        knots: pairs of a value and its deviate, both ascending.
        low, high: predictions are within these, the range of training extended by half of it (a logarithm: down to
            half of the smallest value), since the inverse of a moderate extrapolation can be huge.
    """

    kind: Literal["linear", "log", "power", "rank"] = "linear"
    power: float = 1.0
    centre: float = 0.0
    size: float = 1.0
    low: float = -np.inf
    high: float = np.inf
    knots: tuple[tuple[float, float], ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "knots", tuple(map(tuple, self.knots)))
        numbers = (self.power, self.centre, self.size, *(x for pair in self.knots for x in pair))
        if not all(isinstance(x, int | float) for x in (*numbers, self.low, self.high)) or not (
            self.kind in ("linear", "log", "power", "rank")
            and np.isfinite(numbers).all()
            and self.size > 0
            and self.low <= self.high
            and all(len(pair) == 2 for pair in self.knots)
            and (self.kind == "rank") == (len(self.knots) > 1)
            and all(a < c and b < d for (a, b), (c, d) in pairwise(self.knots))
        ):
            raise ConfigurationError(f"{self}: not a scale of a target")

    @classmethod
    def fit(cls, y: Float, shape: Shape) -> Bend:
        """For the known values of one target, which must be positive for ``log``."""
        kind = choose(y) if shape == "auto" else shape
        low, high = float(y.min()), float(y.max())
        if kind == "linear" or low == high:
            return cls()
        more = _MARGIN * (high - low)
        if kind == "log":
            return cls("log", low=low * (1 - _MARGIN), high=high + more)
        if kind == "rank":
            return cls("rank", size=float(y.std()), low=low - more, high=high + more, knots=_ranks(y))
        centre, size = _middle(y)
        power = _likeliest_power((y - centre) / size)
        made = cls("power", power, centre, size, low - more, high + more)
        return made if np.isfinite(made.bend(y)).all() else cls()

    def bend(self, y: Float) -> Float:
        """The map; a value that has no logarithm is below all others, minus infinity."""
        from scipy.special import boxcox1p

        if self.kind == "linear":
            return y
        with np.errstate(all="ignore"):
            if self.kind == "log":
                return np.where(y <= 0, -np.inf, np.log(y))
            if self.kind == "rank":
                return _broken_line(y, *self._knots, 1 / self.size)
            x = (y - self.centre) / self.size
            return np.asarray(np.where(x < 0, -boxcox1p(-x, 2 - self.power), boxcox1p(x, self.power)))

    def unbend(self, z: Float) -> Float:
        """The inverse; beyond what :meth:`bend` can reach it is infinite."""
        if self.kind == "linear":
            return z
        with np.errstate(all="ignore"):
            if self.kind == "log":
                return np.exp(z)
            if self.kind == "rank":
                return _broken_line(z, *self._knots[::-1], self.size)
            x = np.where(z < 0, -_root(-z, 2 - self.power), _root(z, self.power))
            return x * self.size + self.centre

    def finite(self, y: Float) -> Float:
        """:meth:`bend`; what has no logarithm counts as the least prediction."""
        return self.bend(np.maximum(y, self.low) if self.kind == "log" else y)

    def predicted(self, z: Float) -> Float:
        """:meth:`unbend`, within ``low`` and ``high``."""
        return z if self.kind == "linear" else np.clip(self.unbend(z), self.low, self.high)

    def slope(self, y: Float) -> Float:
        """The derivative of :meth:`bend`."""
        if self.kind == "linear":
            return np.ones_like(y)
        if self.kind == "log":
            return 1 / y
        if self.kind == "rank":
            at, to = self._knots
            slopes = np.concatenate([[1 / self.size], np.diff(to) / np.diff(at), [1 / self.size]])
            return np.where(np.isnan(y), np.nan, slopes[np.searchsorted(at, y)])
        x = (y - self.centre) / self.size
        return (1 + np.abs(x)) ** np.where(x < 0, 1 - self.power, self.power - 1) / self.size

    @property
    def _knots(self) -> tuple[Float, Float]:
        at, to = np.array(self.knots).T
        return at, to


def _ranks(y: Float) -> tuple[tuple[float, float], ...]:
    """Values and the normal deviates of their shares of ranks; equal values have the middle of theirs."""
    from scipy.special import ndtri

    values, count = np.unique(y, return_counts=True)
    share = (np.cumsum(count) - count / 2) / len(y)
    kept = np.unique(np.searchsorted(share, np.linspace(share[0], share[-1], _KNOTS)))
    return tuple(zip(values[kept].tolist(), ndtri(share[kept]).tolist(), strict=True))


def _broken_line(x: Float, at: Float, to: Float, slope: float) -> Float:
    """From knots ``at`` to ``to``, and beyond them with a slope."""
    beyond = np.minimum(x - at[0], 0) + np.maximum(x - at[-1], 0)
    return np.asarray(np.interp(x, at, to) + slope * beyond, dtype=np.float64)


def _root(z: Float, power: float) -> Float:
    """The inverse of ``boxcox1p(x, power)`` for x >= 0, infinite beyond its range."""
    from scipy.special import inv_boxcox1p

    power = power if abs(power) > _LOGARITHM else 0.0  # scipy returns z itself where power * z is tiny
    return np.where(power * z <= -1, np.inf, inv_boxcox1p(z, power))


def _middle(y: Float) -> tuple[float, float]:
    """The median, and the distance of the quartiles; where that is 0, the deviation."""
    first, median, third = np.quantile(y, (0.25, 0.5, 0.75))
    return float(median), float(third - first) or float(y.std()) or 1.0


def _likeliest_power(x: Float) -> float:
    from scipy.optimize import minimize_scalar
    from scipy.stats import yeojohnson_llf

    def loss(power: float) -> float:
        with np.errstate(all="ignore"):
            found = float(yeojohnson_llf(power, x))
        return -found if np.isfinite(found) else 1e300

    return float(minimize_scalar(loss, bounds=_POWERS, method="bounded").x)


def _skewness(y: Float) -> float:
    z = y - y.mean()
    deviation = z.std()
    return float(((z / deviation) ** 3).mean()) if deviation > 0 else 0.0


def heavy_tailed(y: Float) -> bool:
    """Whether known values of a target have a heavy tail.

    So if the skewness is beyond 2 and at least one value of a hundred lies outside of the quartiles by more than three
    times their distance, where a normal distribution has one of 400,000. Fewer than 20 values are never heavy-tailed.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> heavy_tailed(rng.normal(size=500)), heavy_tailed(np.exp(rng.normal(size=500)))
        (False, True)
    """
    if len(y) < _LEAST or abs(_skewness(y)) <= 2:
        return False
    _, size = _middle(y)
    first, third = np.quantile(y, (0.25, 0.75))
    return bool(np.mean((y < first - 3 * size) | (y > third + 3 * size)) >= 0.01)


def choose(y: Float) -> Literal["linear", "log", "power"]:
    """The shape for known values of a target: linear unless they are heavy-tailed.

    Then the logarithm, if it exists and halves the skewness, else a power.
    """
    if not heavy_tailed(y):
        return "linear"
    if y.min() > 0 and abs(_skewness(np.log(y))) <= 0.5 * abs(_skewness(y)):
        return "log"
    return "power"


@dataclass(frozen=True)
class TargetScale:
    """The map ``(bend(y) - mean) / deviation``, target by target. A missing value (NaN) stays missing.

    Attributes:
        mean, deviation: of the transformed targets.
        bends: one per target; none where all are linear.

    Example:
        >>> scale = TargetScale.fit([[1.0, 7.0], [3.0, 7.0], [float("nan"), 7.0]])
        >>> scale
        TargetScale(mean=(2.0, 7.0), deviation=(1.0, 1.0), bends=())
        >>> scale.restore(scale.scale([[5.0, 7.0]])).tolist()
        [[5.0, 7.0]]
        >>> TargetScale.fit([[1.0], [10.0], [100.0]], "log").scale([[10.0]]).tolist()
        [[0.0]]
    """

    mean: tuple[float, ...]
    deviation: tuple[float, ...]
    bends: tuple[Bend, ...] = ()

    def __post_init__(self) -> None:
        finite = all(isinstance(x, int | float) and np.isfinite(x) for x in (*self.mean, *self.deviation))
        if len({len(self.mean), len(self.deviation), len(self.bends or self.mean)}) > 1 or not finite:
            raise ConfigurationError("a scale of targets needs one finite mean and deviation for each target")
        if any(d <= 0 for d in self.deviation):
            raise ConfigurationError(f"deviation={self.deviation} of targets must be positive")

    @classmethod
    def fit(cls, targets: ArrayLike, shape: Scale = "linear") -> TargetScale:
        """From the targets (rows, targets) of the training part, with one transform for all or one for each.

        The deviation is that of the rows themselves (divided by their number, not by one less). A target with one
        value only, to rounding, is shifted and not scaled.
        """
        y = _table(targets)
        shapes = [shape] * y.shape[1] if isinstance(shape, str) else shape
        if len(shapes) != y.shape[1] or not set(shapes) <= set(get_args(Shape)):
            raise ConfigurationError(
                f"target_scale={shape!r}: choose from {', '.join(get_args(Shape))}, for all targets or for each"
            )
        bends = []
        for column, (values, kind) in enumerate(zip(y.T, shapes, strict=True)):
            known = values[~np.isnan(values)]
            if not len(known):
                raise ConfigurationError(f"target {column} has no value in the training part; leave this target out")
            if not np.isfinite(known).all():
                raise ConfigurationError(f"target {column} has an infinite value in the training part; remove it")
            if kind == "log" and known.min() <= 0:
                raise ConfigurationError(
                    f"target {column} has the value {known.min():g} in the training part, which has no logarithm; use "
                    "--target-scale power or auto"
                )
            bends.append(Bend.fit(known, kind))
        if all(b.kind == "linear" for b in bends):
            bends = []
        y = _columns(y, [b.bend for b in bends])
        low, high, deviation = np.nanmin(y, axis=0), np.nanmax(y, axis=0), np.nanstd(y, axis=0)
        # The mean of equal numbers can miss them by a rounding error, and so can the deviation miss 0.
        mean = np.clip(np.nanmean(y, axis=0), low, high)
        deviation[deviation <= 1e-12 * np.maximum(abs(low), abs(high))] = 1.0
        return cls(tuple(mean.tolist()), tuple(deviation.tolist()), tuple(bends))

    @property
    def shapes(self) -> tuple[str, ...]:
        """How each target is transformed."""
        return tuple(b.kind for b in self.bends) or ("linear",) * len(self.mean)

    def scale(self, targets: ArrayLike) -> Float:
        """(rows, targets) in units of the training part."""
        y = _columns(self._checked(targets), [b.finite for b in self.bends])
        out: Float = (y - np.array(self.mean)) / np.array(self.deviation)
        return out

    def restore(self, scaled: ArrayLike) -> Float:
        """The inverse of :meth:`scale`, within the range of predictions (:class:`Bend`)."""
        out: Float = self._checked(scaled) * np.array(self.deviation) + np.array(self.mean)
        return _columns(out, [b.predicted for b in self.bends])

    def bend(self, values: Float) -> Float:
        """Values in the targets' units, transformed and not scaled; those of a linear target are unchanged."""
        return _columns(self._checked(values), [b.bend for b in self.bends])

    def unbend(self, values: Float) -> Float:
        """The inverse of :meth:`bend`, infinite beyond what it can reach."""
        return _columns(self._checked(values), [b.unbend for b in self.bends])

    def slope(self, values: Float) -> Float:
        """The derivative of :meth:`bend`, for small differences between values."""
        y = self._checked(values)
        return _columns(y, [b.slope for b in self.bends]) if self.bends else np.ones_like(y)

    def _checked(self, table: ArrayLike) -> Float:
        y = _table(table)
        if y.shape[1] != len(self.mean):
            raise ConfigurationError(f"{y.shape[1]} targets, but the scale is of {len(self.mean)}")
        return y

    def to_json(self) -> dict[str, Any]:
        """The statistics as plain JSON values."""
        plain = {"mean": list(self.mean), "deviation": list(self.deviation)}
        bends = [{"kind": "linear"} if b.kind == "linear" else asdict(b) for b in self.bends]
        return {**plain, "bends": bends} if bends else plain

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> TargetScale:
        """The inverse of :meth:`to_json`."""
        try:
            bends = tuple(Bend(**b) for b in data.get("bends", ()))
            return cls(tuple(data["mean"]), tuple(data["deviation"]), bends)
        except (KeyError, TypeError):
            raise ConfigurationError("a scale of targets is written as its lists 'mean' and 'deviation'") from None


def _table(targets: ArrayLike) -> Float:
    y = np.asarray(targets, dtype=np.float64)
    if y.ndim != 2:
        raise ConfigurationError(f"targets have shape (rows, targets), got {y.shape}; for one target use y[:, None]")
    return y


def _columns(y: Float, maps: Sequence[Callable[[Float], Float]]) -> Float:
    """Each column by its map; unchanged without maps."""
    return np.stack([f(column) for f, column in zip(maps, y.T, strict=True)], axis=1) if maps else y
