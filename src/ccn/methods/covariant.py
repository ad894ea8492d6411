"""The package's own networks as methods: the paper's two, and two by the default recipe."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np
from sklearn.utils.validation import check_is_fitted
from torch import nn

from ccn.errors import ConfigurationError
from ccn.graphs.pack import Pack
from ccn.learning import model_file
from ccn.learning.model import Model
from ccn.learning.task import Task
from ccn.methods.method import TaskName
from ccn.methods.network import NetworkMethod
from ccn.methods.networks import network_options
from ccn.models import CCN
from ccn.training.recipe import PAPER_WIDTHS, Recipe, recipe, unplain
from ccn.version import __version__

__all__ = ["Covariant"]

_NAMED: dict[str, Recipe] = {
    "ccn-1": recipe("paper", order=1, adjacency=False, contractions="all"),
    "ccn-2": recipe("paper"),
    "ccn-2-default": recipe("default"),
    "ccn-3-default": recipe("default", order=3),
}


@dataclass(eq=False, repr=False, kw_only=True)
class Covariant(NetworkMethod):
    """CCN by a recipe; that of the paper chooses its first width from 4, 8 and 16 on the validation part."""

    METHODS = tuple(_NAMED)

    def _recipe(self) -> Recipe:
        return _NAMED[self.method]

    def own_choices(self) -> tuple[dict[str, Any], ...]:
        paper = self.resolved_recipe().name == "paper"
        return tuple({"channels": c} for c in PAPER_WIDTHS) if paper else ({},)

    def _options(self, graphs: Pack, task: Task, chosen: Recipe) -> dict[str, Any]:
        return network_options(chosen.network, graphs, task.outputs)

    def _make(self, options: dict[str, Any]) -> nn.Module:
        return CCN(**options)

    def to_model(self) -> Model:
        """The network as a model of the package."""
        check_is_fitted(self, "networks_")
        about = {
            "ccn": __version__,
            "method": self.method,
            "settings": self._settings(),
            "chosen": self.chosen_,
            "single": self._single,
        }
        members = cast(tuple[CCN, ...], self.networks_)
        return Model(members, self.options_, self.task_, self.inputs_, self.recipe_, None, about)

    def save(self, path: str | Path, **more: Any) -> Path:
        """Write a model file, which :meth:`ccn.CCNClassifier.load` and :meth:`ccn.CCNRegressor.load` read too."""
        return model_file.save(self.to_model(), path)

    @classmethod
    def of_model(cls, model: Model) -> Covariant:
        """The fitted method that a model file of :meth:`save` holds."""
        if "method" not in model.about:
            raise ConfigurationError(
                "the model was not made by a method of the registry; load it with ccn.CCNClassifier or ccn.CCNRegressor"
            )
        kind: TaskName = "regression" if model.task.kind == "regression" else "classification"
        settings = model.about.get("settings", {}) | {"method": model.about["method"], "task": kind}
        made = cls(**{k: unplain(v) for k, v in settings.items()})
        made.inputs_, made.task_, made.recipe_ = model.inputs, model.task, model.recipe
        made.networks_, made.options_ = model.members, dict(model.options)
        made._names, made._single = model.task.targets, bool(model.about["single"])
        made.chosen_ = list(model.about["chosen"])
        if made._classifies:
            made.classes_ = np.array(model.task.classes)
        return made
