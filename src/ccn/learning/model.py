"""A trained model: what a method has learned, its calibrated intervals, and how it was made."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from ccn.errors import ConfigurationError
from ccn.graphs.pack import Pack
from ccn.learning.conformal import Calibration, calibrate
from ccn.learning.examples import Examples
from ccn.learning.fitted import Fitted
from ccn.learning.inputs import Inputs
from ccn.learning.metrics import metrics
from ccn.learning.task import Floats, Task

__all__ = ["Model", "Prediction"]


@dataclass(frozen=True)
class Prediction:
    """Predictions of some graphs, computed once and passed on.

    Attributes:
        mean: (graphs, columns) the mean over the members of an ensemble.
        spread: (graphs, columns) their standard deviation.
    """

    mean: Floats
    spread: Floats


@dataclass(frozen=True)
class Model:
    """A fitted method and what stands around it.

    Attributes:
        method: the name of the method in the registry.
        settings: what the method was made with, as plain data.
        fitted: what it has learned.
        calibration: of intervals; None for classification and where no rows were left for it.
        about: how it was made: version, seed, parts, metrics, fingerprint of the data, columns.
    """

    method: str
    settings: Mapping[str, Any]
    fitted: Fitted
    calibration: Calibration | None = None
    about: Mapping[str, Any] = field(default_factory=dict)

    @property
    def task(self) -> Task:
        """What the predictions mean."""
        return self.fitted.task

    @property
    def inputs(self) -> Inputs:
        """How graphs are read. ``graphs`` in all methods here are as :meth:`Inputs.read` gives them."""
        return self.fitted.inputs

    def predict(self, graphs: Pack) -> Prediction:
        """Predictions in the targets' units, or probabilities."""
        each = self.fitted.predict(graphs)
        return Prediction(each.mean(axis=0), each.std(axis=0))

    def interval(self, predicted: Prediction, level: float) -> tuple[Floats, Floats]:
        """Lower and upper end of prediction intervals with coverage ``level``, each (graphs, targets).

        Infinite for targets with too few calibration rows for this level; :meth:`check_interval` says which.
        """
        half = self.check_interval(level, warn=False).half_width(level, predicted.spread)
        return predicted.mean - half, predicted.mean + half

    def check_interval(self, level: float, *, warn: bool = True) -> Calibration:
        """The calibration; an error if it has no intervals of this level, a warning if it has none of some targets."""
        if self.calibration is None:
            raise ConfigurationError(
                "this model has no calibrated intervals: they need a regression and a validation part, half of which "
                "is kept for calibration"
            )
        few, why = self.calibration.shortage(level, self.task.targets)
        if len(few) == len(self.task.targets):
            raise ConfigurationError(why)
        if few and warn:
            warnings.warn(why, stacklevel=3)
        return self.calibration

    def metrics(self, targets: Floats, predicted: Prediction) -> dict[str, float]:
        """The metrics of the task for rows with known targets."""
        return metrics(self.task, targets, predicted.mean, each=True)

    def embed(self, graphs: Pack) -> NDArray[np.floating[Any]]:
        """The invariant embedding, one row per graph; those of the members side by side."""
        return self.fitted.embed(graphs)

    def to(self, device: torch.device) -> Model:
        """The model, moved to a device."""
        self.fitted.to(device)
        return self

    def held_out(self, examples: Examples) -> Model:
        """The model with metrics on the rows that were not fitted, and calibrated on those kept for it."""
        predicted = {
            part: self.predict(examples.graphs.select(rows))
            for part in ("validation", "calibration")
            if len(rows := getattr(examples.split, part))
        }
        found = {
            part: self.metrics(examples.targets[getattr(examples.split, part)], p) for part, p in predicted.items()
        }
        made = replace(self, about={**self.about, "metrics": found})
        if self.task.kind != "regression" or "calibration" not in predicted:
            return made
        kept, floor = predicted["calibration"], self._floor(predicted.get("validation"))
        return replace(
            made, calibration=calibrate(examples.targets[examples.split.calibration], kept.mean, kept.spread, floor)
        )

    def _floor(self, usual: Prediction | None) -> Sequence[float]:
        """Half of the usual spread of an ensemble: allowed for where its members agree."""
        scale = self.task.scale
        if usual is None or scale is None or not usual.spread.any():
            return ()
        least = np.maximum(0.5 * np.median(usual.spread, axis=0), 1e-6 * np.array(scale.deviation))
        return [float(x) for x in least]
