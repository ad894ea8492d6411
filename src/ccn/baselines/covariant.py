"""The package's own networks as methods: the paper's two, and two by the default recipe."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torch import nn

import ccn
from ccn.baselines.network import NetworkMethod
from ccn.models import CCN
from ccn.pack import Pack
from ccn.training import model_file
from ccn.training.model import Model
from ccn.training.network import network_options
from ccn.training.recipe import Features, Recipe, recipe
from ccn.training.task import Task

__all__ = ["Covariant"]

_NAMED: dict[str, Recipe] = {
    "ccn-1": recipe("paper", order=1, adjacency=False, contractions="all"),
    "ccn-2": recipe("paper"),
    "ccn-2-default": recipe("default"),
    "ccn-3-default": recipe("default", order=3),
}


@dataclass(eq=False, repr=False)
class Covariant(NetworkMethod):
    """CCN by a recipe; that of the paper chooses its first width from 4, 8 and 16 on the validation part.

    ``features`` and ``hydrogens`` are those of the recipe unless they are given.
    """

    features: str = ""

    METHODS = tuple(_NAMED)

    def _recipe(self) -> Recipe:
        return _NAMED[self.method]

    def _tried(self) -> tuple[dict[str, Any], ...]:
        paper = self.resolved_recipe().name == "paper" and "channels" not in (self.settings or {})
        return tuple({"channels": c} for c in (4, 8, 16)) if paper else ({},)

    def _feature_definition(self) -> Features:
        own = self.resolved_recipe().features
        return Features(self.features or own.molecules, self.hydrogens or own.hydrogens, own.vertices)

    def _options(self, graphs: Pack, task: Task, chosen: Recipe) -> dict[str, Any]:
        return network_options(chosen.network, graphs, task.outputs)

    def _make(self, options: dict[str, Any]) -> nn.Module:
        return CCN(**options)

    def save(self, path: str | Path) -> Path:
        """Write a model file, which :meth:`ccn.CCNClassifier.load` and :meth:`ccn.CCNRegressor.load` read."""
        about = {"ccn": ccn.__version__, "method": self.method, "chosen": self.chosen_, "single": self._single}
        assert isinstance(self.network_, CCN)
        made = Model((self.network_,), self.options_, self.task_, self.inputs_, self.recipe_, None, about)
        return model_file.save(made, path)
