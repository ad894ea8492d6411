"""Fitted scikit-learn objects in files, through skops, with an explicit list of what may be in them."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from ccn.errors import DependencyError, FileError

__all__ = ["TRUSTED", "from_tensor", "to_tensor"]

TRUSTED = (
    "sklearn._loss._loss.CyHalfBinomialLoss",
    "sklearn._loss._loss.CyHalfMultinomialLoss",
    "sklearn._loss._loss.CyHalfSquaredError",
    "sklearn._loss.link.IdentityLink",
    "sklearn._loss.link.Interval",
    "sklearn._loss.link.LogitLink",
    "sklearn._loss.link.MultinomialLogit",
    "sklearn._loss.loss.HalfBinomialLoss",
    "sklearn._loss.loss.HalfMultinomialLoss",
    "sklearn._loss.loss.HalfSquaredError",
    "sklearn.tree._tree.Tree",
)
"""Types beyond those that skops itself takes to be safe, which fitted objects of this package consist of."""


def _skops() -> Any:
    try:
        import skops.io
    except ImportError:
        raise DependencyError("files of scikit-learn methods need skops: pip install 'ccn[baselines]'") from None
    return skops.io


def to_tensor(thing: Any) -> Tensor:
    """A fitted object as the bytes of a file of skops."""
    return torch.from_numpy(np.frombuffer(_skops().dumps(thing), dtype=np.uint8).copy())


def from_tensor(held: Tensor) -> Any:
    """The object; an error names what it holds that is not trusted."""
    io, content = _skops(), held.numpy().tobytes()
    strange = sorted(set(io.get_untrusted_types(data=content)) - set(TRUSTED))
    if strange:
        raise FileError(
            f"the file holds objects of the type {strange[0]}, which no method of ccn writes; do not use it"
        )
    return io.loads(content, trusted=list(TRUSTED))
