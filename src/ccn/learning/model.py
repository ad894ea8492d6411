"""A trained model: networks, and all that is needed to use them on new molecules or graphs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ccn.errors import ConfigurationError
from ccn.graphs.pack import Pack
from ccn.learning.conformal import Calibration
from ccn.learning.inputs import Inputs
from ccn.learning.metrics import metrics
from ccn.learning.task import Floats, Task
from ccn.models import CCN
from ccn.training.batches import Batches
from ccn.training.machine import torch_device
from ccn.training.outputs import outputs
from ccn.training.recipe import Recipe

__all__ = ["Model"]

_TOGETHER = 256  # graphs of a batch of predictions


@dataclass(frozen=True)
class Model:
    """An ensemble of one or more networks with one task.

    Attributes:
        members: the networks.
        options: the arguments that each was made with.
        task: what the outputs mean.
        inputs: how graphs are read.
        recipe: how it was trained.
        calibration: of intervals; None for classification and where no rows were left for it.
        about: what is known of its training: version, metrics, fingerprint of the data, columns.

    """

    members: tuple[CCN, ...]
    options: Mapping[str, Any]
    task: Task
    inputs: Inputs
    recipe: Recipe
    calibration: Calibration | None = None
    about: Mapping[str, Any] = field(default_factory=dict)

    def each(self, graphs: Pack) -> Floats:
        """(members, graphs, ..) predictions of every member in the targets' units, or probabilities.

        ``graphs`` are as :attr:`inputs` gives them; so in all methods here.
        """
        return np.stack([self.task.decode(self._run(net, graphs)) for net in self.members])

    def _run(self, net: CCN, graphs: Pack, embed: bool = False) -> Tensor:
        # Graphs of like size together: a batch is as slow as its largest parts are many.
        batches = Batches(graphs, np.argsort(graphs.sizes, kind="stable"), _TOGETHER)
        found = outputs(net, batches, net.embed if embed else None)
        back = torch.empty_like(found)
        back[torch.from_numpy(batches.rows)] = found
        return back

    def predict(self, graphs: Pack) -> Floats:
        """The mean of the members' predictions."""
        return np.asarray(self.each(graphs).mean(axis=0))

    def interval(self, graphs: Pack, level: float) -> tuple[Floats, Floats, Floats]:
        """Prediction, lower and upper end of intervals of probability ``level``, each (graphs, targets)."""
        if self.calibration is None:
            raise ConfigurationError(
                "this model has no calibrated intervals: they need a regression and a validation part, half of which "
                "is kept for calibration"
            )
        each = self.each(graphs)
        middle, spread = each.mean(axis=0), each.std(axis=0)
        half = self.calibration.half_width(level, spread)
        return middle, middle - half, middle + half

    def embed(self, graphs: Pack) -> NDArray[np.floating[Any]]:
        """The invariant embedding, one row per graph; the members' side by side."""
        return np.concatenate([self._run(net, graphs, embed=True).cpu().numpy() for net in self.members], axis=1)

    def evaluate(self, graphs: Pack, targets: Floats, each: bool = True) -> dict[str, float]:
        """The metrics of the task on graphs with known targets."""
        return metrics(self.task, targets, self.predict(graphs), each)

    @property
    def device(self) -> str:
        """The kind of device that the networks are on."""
        return next(self.members[0].parameters()).device.type if self.members else "cpu"

    def to(self, device: str | torch.device) -> Model:
        """The networks moved to a device."""
        place = torch_device(str(device))
        for net in self.members:
            net.to(place)
        return self
