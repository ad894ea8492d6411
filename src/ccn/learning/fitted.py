"""The interface of everything that has been fitted: what a method must give so that all else works.

The estimators, runs, model files, predictions, intervals and reports know a fitted method by this interface alone.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ccn.errors import ConfigurationError
from ccn.graphs.pack import Pack
from ccn.learning.contributions import Contributions
from ccn.learning.inputs import Inputs
from ccn.learning.task import Floats, Task

__all__ = ["Fitted", "Prediction", "State", "as_arrays", "as_tensors", "under"]

State = tuple[dict[str, Tensor], dict[str, Any]]
"""What was learned: tensors, and plain data for JSON."""


@dataclass(frozen=True)
class Prediction:
    """Predictions of some graphs, computed once and passed on.

    Attributes:
        mean: (graphs, columns) the mean over the members of an ensemble.
        spread: (graphs, columns) their standard deviation.
    """

    mean: Floats
    spread: Floats

    def select(self, rows: NDArray[Any]) -> Prediction:
        """Those of some rows, by their numbers or a mask."""
        return Prediction(self.mean[rows], self.spread[rows])


@dataclass
class Fitted(ABC):
    """What a method has learned.

    Attributes:
        task: what the predictions mean.
        inputs: how graphs are read.
    """

    task: Task
    inputs: Inputs

    embedding_width: ClassVar[int] = 0
    """Columns of :meth:`embed`; 0 where there is no embedding."""
    reads_edges: ClassVar[bool] = True
    """Whether edge features are read; if not, properties of bonds need not be computed."""

    @abstractmethod
    def predict(self, graphs: Pack) -> Floats:
        """(members, graphs, columns) predictions of every member of an ensemble, or of the one method there is.

        Columns are the targets in their units, or probabilities: of each class, or of each label where there are
        several. ``graphs`` are as :meth:`Inputs.read` gives them.
        """

    def prediction(self, graphs: Pack) -> Prediction:
        """The mean of :meth:`predict` over the members, and their spread."""
        each = self.predict(graphs)
        return Prediction(each.mean(axis=0), each.std(axis=0))

    @classmethod
    def predict_all(cls, several: Sequence[Self], graphs: Pack) -> Floats:
        """(members of all, graphs, columns) predictions of several that were fitted by one method."""
        return np.concatenate([one.predict(graphs) for one in several])

    @abstractmethod
    def state(self) -> State:
        """Tensors and plain data from which :meth:`from_state` makes the same again."""

    @classmethod
    @abstractmethod
    def from_state(cls, tensors: Mapping[str, Tensor], data: Mapping[str, Any], task: Task, inputs: Inputs) -> Self:
        """The way back from :meth:`state`; runs no code from the file."""

    def embed(self, graphs: Pack) -> NDArray[np.floating[Any]]:
        """(graphs, embedding_width) features for other methods."""
        raise ConfigurationError("this method has no embedding; a network of ccn has one")

    def contributions(self, graphs: Pack, output: int = 0) -> Contributions:
        """What vertices, edges and molecule-level features contribute to an output, on its margin.

        ``output`` is the number of a target, or of a class where there are more than two. The contributions permute
        with the vertices.
        """
        raise ConfigurationError(
            "this method has no contributions of atoms; those of auto have, and ccn, gp, trees, ccn-2-kernel, lasso, "
            "ridge, forest and boosting"
        )

    @property
    def device(self) -> str:
        """The kind of device it computes on."""
        return "cpu"

    def to(self, device: torch.device) -> None:
        """Compute on another device; an error where the method cannot."""
        if device.type != "cpu":
            raise ConfigurationError(f"device {device}: this method computes on the CPU; leave out the device")


def as_tensors(arrays: Mapping[str, NDArray[Any]], prefix: str) -> dict[str, Tensor]:
    """Arrays as tensors of a file; unsigned 64-bit integers as signed ones, which torch can hold."""
    return {
        f"{prefix}{key}": torch.from_numpy(np.array(a.view(np.int64) if a.dtype == np.uint64 else a))
        for key, a in arrays.items()
    }


def as_arrays(tensors: Mapping[str, Tensor], prefix: str) -> dict[str, NDArray[Any]]:
    """The tensors :func:`under` a prefix as arrays."""
    return {key: t.numpy() for key, t in under(prefix, tensors).items()}


def under(prefix: str, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The tensors whose names begin with ``prefix``, by the rest of their names."""
    return {key.removeprefix(prefix): t for key, t in tensors.items() if key.startswith(prefix)}
