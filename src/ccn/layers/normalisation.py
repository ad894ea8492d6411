"""Normalisations that keep covariance: they treat every entry of a channel alike; and the scaling of plain columns."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, distributed, nn

from ccn.errors import ConfigurationError

__all__ = ["BatchNorm", "RobustScale", "normalisation"]

_QUARTILES = 1.349  # their distance in a normal distribution of deviation 1
_LARGEST = 5.0


class BatchNorm(nn.BatchNorm1d):
    """Batch normalisation with the statistics of the entire batch, also where several processes share it.

    PyTorch's ``SyncBatchNorm`` is for CUDA only.

    Attributes:
        counts: whether the rows of this process are part of the batch; not where it was given a graph only to take
            part in the step.
    """

    counts = True

    def forward(self, x: Tensor) -> Tensor:
        several = distributed.is_available() and distributed.is_initialized() and distributed.get_world_size() > 1
        if not (self.training and several):
            return self._as_before(x) if self.training and len(x) == 1 else super().forward(x)
        wide = x.to(self.weight.dtype)
        counted = wide if self.counts else wide[:0]
        count, mean = _everywhere(torch.cat([counted.new_tensor([len(counted)]), counted.sum(0)])).split(
            [1, x.shape[1]]
        )
        if count.item() == 1:
            return self._as_before(x)
        mean = mean / count
        variance = _everywhere((counted - mean).square().sum(0)) / count
        assert self.running_mean is not None  # track_running_stats and momentum are as they are by default
        assert self.running_var is not None
        assert self.momentum is not None
        with torch.no_grad():
            self.running_mean.lerp_(mean, self.momentum)
            self.running_var.lerp_(variance * count / (count - 1).clamp(min=1), self.momentum)
        out: Tensor = (wide - mean) * torch.rsqrt(variance + self.eps) * self.weight + self.bias
        return out.to(x.dtype)

    def _as_before(self, x: Tensor) -> Tensor:
        """By the statistics of earlier batches: a single row has no deviation."""
        return nn.functional.batch_norm(x, self.running_mean, self.running_var, self.weight, self.bias, eps=self.eps)


class RobustScale(nn.Module):
    """Columns less their median, in units of the deviation that their quartiles imply, and clipped to -5 and 5.

    Columns of counts (integers from 0 on) become log(1 + x) first. A column whose quartiles are equal has its
    standard deviation as unit; one with a single value gives 0. The statistics are buffers, which :meth:`fit` sets.

    Example:
        >>> scale = RobustScale(1)
        >>> scale.fit(np.array([[-1.0], [0.0], [0.5], [1.0], [900.0]]))
        >>> scale(torch.tensor([[0.5], [900.0]])).tolist()
        [[0.0], [5.0]]
    """

    counts: Tensor
    centre: Tensor
    factor: Tensor

    def __init__(self, width: int) -> None:
        super().__init__()
        self.register_buffer("counts", torch.zeros(width, dtype=torch.bool))
        self.register_buffer("centre", torch.zeros(width))
        self.register_buffer("factor", torch.ones(width))

    def fit(self, rows: NDArray[Any]) -> None:
        """Set the statistics to those of training rows (rows, width)."""
        x = rows.astype(np.float64)
        counts = ((x >= 0) & (x == np.floor(x))).all(axis=0)
        x[:, counts] = np.log1p(x[:, counts])
        low, centre, high = np.percentile(x, (25, 50, 75), axis=0)
        deviation = np.where(high > low, (high - low) / _QUARTILES, x.std(axis=0))
        varied = (x.min(axis=0) < x.max(axis=0)) & (deviation > np.finfo(np.float32).tiny)
        factor = np.divide(1.0, deviation, out=np.zeros_like(deviation), where=varied)
        for name, value in (("counts", counts), ("centre", centre), ("factor", factor)):
            getattr(self, name).copy_(torch.from_numpy(value))

    def forward(self, x: Tensor) -> Tensor:
        x = torch.where(self.counts, torch.log1p(x.clamp(min=0)), x)
        return ((x - self.centre) * self.factor).clamp(-_LARGEST, _LARGEST)


class _Sum(torch.autograd.Function):
    """The sum over all processes; a gradient of it is one of every process's share."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        out = x.clone()
        distributed.all_reduce(out)
        return out

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Any:
        return _everywhere(gradient)


def _everywhere(x: Tensor) -> Tensor:
    out: Tensor = _Sum.apply(x)  # type: ignore[no-untyped-call]
    return out


def normalisation(choice: str | None, channels: int) -> nn.Module | None:
    """The normalisation of this name."""
    kinds = {"batch": BatchNorm, "layer": nn.LayerNorm}
    if choice is not None and choice not in kinds:
        raise ConfigurationError(f"norm={choice!r} is not known; choose 'batch', 'layer' or None")
    return None if choice is None else kinds[choice](channels)
