"""A method of the registry in the place of a network: for the folder of a run and for the commands that read it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

from ccn import sealed
from ccn.datasets import Dataset
from ccn.errors import ConfigurationError
from ccn.graphs.pack import Pack
from ccn.learning.conformal import Calibration
from ccn.learning.inputs import Inputs
from ccn.learning.metrics import check_monitor
from ccn.learning.model import Model
from ccn.learning.task import Floats, make_task
from ccn.methods.covariant import Covariant
from ccn.methods.fitting import Parts, Run, finished
from ccn.methods.method import FORM, VERSION, Baseline
from ccn.methods.network import NetworkMethod
from ccn.methods.networks import make_network, network_options
from ccn.methods.registry import load as load_method
from ccn.methods.registry import method
from ccn.runs.config import Config
from ccn.training.history import write_history
from ccn.training.machine import Machine
from ccn.training.recipe import SECTIONS, Recipe, plain

__all__ = ["MethodModel", "choices_of", "describe", "learn", "load", "recipe_of", "save", "settings_of"]


@dataclass(frozen=True)
class MethodModel(Model):
    """A model without networks of its own: a fitted method answers."""

    method: Baseline | None = None

    @classmethod
    def of(cls, made: Baseline) -> Model:
        """A fitted method as a model."""
        if isinstance(made, Covariant):
            return made.to_model()
        return cls((), {}, made.task_of(), made.inputs_, Recipe(), method=made)

    def each(self, graphs: Pack) -> Floats:
        assert self.method is not None
        return self.method.answers(graphs)[None]


def save(model: Model, path: Path) -> Path:
    """Write the file of a method with what the model knows beside it."""
    assert isinstance(model, MethodModel)
    assert model.method is not None
    calibration = None if model.calibration is None else asdict(model.calibration)
    return model.method.save(path, calibration=calibration, about=plain(model.about))


def load(path: Path) -> Model:
    """A model from the file of a method."""
    made, data = load_method(path), describe(path)
    return replace(
        MethodModel.of(made),
        calibration=None if data["calibration"] is None else Calibration.from_dict(data["calibration"]),
        about=data["about"],
    )


def describe(path: Path) -> dict[str, Any]:
    """What the header of the file says."""
    return {"calibration": None, "about": {}, **sealed.read_header(path, FORM, VERSION)[1]}


def recipe_of(name: str) -> Recipe:
    """The recipe that a method has of itself; only the features of it where the method is no network."""
    made = method(name, "regression")
    return made.resolved_recipe() if isinstance(made, NetworkMethod) else Recipe(features=made.feature_definition())


def settings_of(name: str) -> dict[str, Collection[str]]:
    """The fields of a recipe that change what a method does, by section."""
    made = method(name, "regression")
    if not isinstance(made, NetworkMethod):
        return {"features": ("molecules", "hydrogens")}
    own = SECTIONS if isinstance(made, Covariant) else ("features", "optimiser", "training")
    return {section: [f.name for f in fields(SECTIONS[section])] for section in own}


def choices_of(name: str) -> set[str]:
    """The fields of a recipe that a method chooses on validation where they are not given."""
    made = method(name, "regression")
    return {key for tried in made.own_choices() for key in tried} if isinstance(made, NetworkMethod) else set()


def learn(config: Config, data: Dataset, parts: Parts, run: Run, about: Mapping[str, Any]) -> Model:
    """Fit the method that a configuration names."""
    task: Any = data.task
    made = method(config.method, task, random_state=config.seed)
    _check(made, config, data, parts, run)
    run.begin()
    if isinstance(made, NetworkMethod):
        given = choices_of(config.method) - set(config.left)
        made.settings = _differing(config.recipe, made.resolved_recipe(), given)
        made.time_limit, made.device = run.time_limit, config.machine.device
    held = data.subset(parts.validation) if len(parts.validation) else None
    made.fit(data.subset(parts.train), validation=held)
    if run.folder is not None and (history := getattr(made, "history_", None)):
        (run.folder / "member0").mkdir(parents=True, exist_ok=True)
        write_history(run.folder / "member0" / "history.csv", history)
    model = MethodModel.of(made)
    known = {"method": config.method, "chosen": plain(made.chosen_), **about}
    return finished(model, model.inputs.vertices(data.pack), data.targets, parts, config.seed, [], known)


def _check(made: Baseline, config: Config, data: Dataset, parts: Parts, run: Run) -> None:
    """An error about anything that the method has not, or that fitting or saving it would stop at."""
    if config.data.class_weight is not None or data.weights is not None:
        raise ConfigurationError(f"method {config.method}: it weighs neither rows nor classes; leave out their weights")
    if replace(config.machine, device="cpu") != Machine():
        raise ConfigurationError(
            f"method {config.method}: in one process and in full precision; leave out --devices, --nodes, --strategy "
            "and --precision"
        )
    if run.tensorboard:
        raise ConfigurationError(f"method {config.method}: it writes no TensorBoard log; leave out --tensorboard")
    made.check_packages()
    if isinstance(made, NetworkMethod):
        _check_network(made, config, data, parts)
    else:
        _check_no_network(config, run)


def _check_network(made: NetworkMethod, config: Config, data: Dataset, parts: Parts) -> None:
    """An error about what a network of a method cannot be trained with."""
    classification = data.task == "classification"
    task = make_task(
        data.targets[parts.train], classification=classification, names=data.target_names, classes=data.classes
    )
    check_monitor(task, config.recipe.training.monitor)
    config.machine.check()
    if isinstance(made, Covariant):
        one = Inputs.of_dataset(data, parts.train, config.recipe.features).vertices(data.pack.select(parts.train[:1]))
        make_network(network_options(config.recipe.network, one, task.outputs), config.seed)


def _check_no_network(config: Config, run: Run) -> None:
    """An error about what only networks have."""
    if run.time_limit is not None:
        raise ConfigurationError(f"method {config.method}: it cannot be stopped half way; leave out --time-limit")
    if config.machine.device not in ("cpu", "auto"):
        raise ConfigurationError(f"method {config.method}: it works on the processor; leave out --device")


def _differing(recipe: Recipe, base: Recipe, also: Collection[str]) -> dict[str, Any]:
    """The fields of a recipe that are not as in another, and some more."""
    return {
        f.name: value
        for section, kind in SECTIONS.items()
        for f in fields(kind)
        if (value := getattr(getattr(recipe, section), f.name)) != getattr(getattr(base, section), f.name)
        or f.name in also
    }
