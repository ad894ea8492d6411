"""Normalisations of activations and of invariants."""

from __future__ import annotations

from torch import Tensor, nn

from ccn.errors import ConfigurationError

__all__ = ["BatchNorm", "normalisation"]


def normalisation(choice: str | None, channels: int) -> nn.Module | None:
    """Normalisations that keep covariance: they treat every entry of a channel alike."""
    if choice is None:
        return None
    if choice == "batch":
        return BatchNorm(channels)
    if choice == "layer":
        return nn.LayerNorm(channels)
    raise ConfigurationError(f"norm={choice!r} is not known; choose 'batch', 'layer' or None")


class BatchNorm(nn.BatchNorm1d):
    """Batch normalisation that takes a single row, which has no deviation, as it does outside of training."""

    def forward(self, x: Tensor) -> Tensor:
        if len(x) > 1 or not self.training:
            return super().forward(x)
        return nn.functional.batch_norm(x, self.running_mean, self.running_var, self.weight, self.bias, eps=self.eps)
