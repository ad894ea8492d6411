"""What can be fitted, and the one call that fits it.

A :class:`Method` is a name with settings. :func:`fit` is the way from examples to a trained model that every command,
estimator and experiment takes: check, read, learn, measure on held-out rows, calibrate.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, Self

import numpy as np

from ccn.errors import ConfigurationError
from ccn.features.scaling import Scale
from ccn.files import digest
from ccn.graphs.pack import Pack
from ccn.graphs.ragged import Int
from ccn.learning.examples import Examples, fingerprint
from ccn.learning.fitted import Fitted, Prediction
from ccn.learning.inputs import Inputs
from ccn.learning.measured import Measured
from ccn.learning.model import Model
from ccn.learning.seen import Seen
from ccn.learning.settings import Features
from ccn.learning.task import Per
from ccn.methods.domain import fit_domain
from ccn.training.execution import Execution, Machine
from ccn.training.recipe import Recipe
from ccn.version import __version__

__all__ = ["Method", "Outcome", "fit"]


@dataclass(frozen=True)
class Outcome:
    """What a fit came to.

    Attributes:
        fitted: what was learned.
        chosen: what was chosen on validation data; one for each target, or one for all.
        members: how the training of each network ended.
        history: for each network the figures of its epochs.
        earlier: seconds of training that were done before this fit resumed it.
        leaderboard: of a method of several, the metrics of each on held-out rows.
        held: rows, and predictions of them that were made out of fold; such a method needs no other held-out rows.
        folds: for each of these rows the number of its fold.

    Example:
        >>> import ccn
        >>> wl = ccn.CCNClassifier(method="wl").fit(["CO", "CCO", "CCCO", "CN", "CCN", "CCCN"], [1, 1, 1, 0, 0, 0])
        >>> sorted(wl.outcome_.chosen[0])
        ['C', 'depth']
    """

    fitted: Fitted
    chosen: Sequence[Mapping[str, Any]]
    members: Sequence[Mapping[str, Any]] = ()
    history: Sequence[Sequence[Mapping[str, float]]] = ()
    earlier: float = 0.0
    leaderboard: Sequence[Mapping[str, Any]] = ()
    held: tuple[Int, Prediction] | None = None
    folds: Int | None = None


@dataclass(frozen=True, kw_only=True)
class Method(ABC):
    """A method with its settings; subclasses add their own.

    Attributes:
        name: in the registry.
        classification: of classes, or of numbers.
        seed: same seed, same result.
        features: the set of properties of atoms where the rows are SMILES or molecules; by default the method's own.
        hydrogens: then hydrogens are vertices too.
        target_scale: on which numbers are fitted, see :class:`ccn.features.TargetScale`; by default linear, or as a
            recipe says.
    """

    name: str
    classification: bool
    seed: int = 0
    features: str | None = None
    hydrogens: bool | None = None
    target_scale: Scale | None = None

    fitted: ClassVar[type[Fitted]]
    """The class of what it learns."""
    validates: ClassVar[bool] = False
    """Whether it needs a validation part; others cross-validate."""
    named_recipes: ClassVar[bool] = False
    """Whether one of the recipes with a name may be asked for."""
    reads_whole: ClassVar[bool] = False
    """Whether it reads features of graphs as a whole, and so the extra columns of a table."""
    weighs: ClassVar[bool] = False
    """Whether it can weigh rows and classes."""
    resumes: ClassVar[bool] = False
    """Whether a fit that was cut goes on from files in its folder."""
    bounds: ClassVar[bool] = False
    """Whether it learns from the bounds of censored targets; others leave out the rows that have nothing else."""
    targets_per: ClassVar[tuple[Per, ...]] = ("graph",)
    """What may have targets."""
    joint: ClassVar[bool] = False
    """Whether it can learn auxiliary columns together with the targets."""
    distributes: ClassVar[bool] = False
    """Whether it consists of several fits, which may run on a cluster."""
    grouped: ClassVar[bool] = False
    """Whether it cross-validates, in folds that keep the groups of the examples together."""
    compiles: ClassVar[bool] = False
    """Whether it runs kernels that are compiled on the first use of a machine."""

    @abstractmethod
    def learn(self, examples: Examples, inputs: Inputs, execution: Execution) -> Outcome:
        """Learn from examples; ``inputs`` is fitted on their training rows."""

    def per(self) -> Per:
        """What has targets by the settings of the method."""
        return "graph"

    def reads(self) -> Features:
        """What vertices and edges of molecules carry, where the method is given SMILES."""
        return self._with_features(Features(molecules="element"))

    def _with_features(self, usual: Features) -> Features:
        given = {"molecules": self.features, "hydrogens": self.hydrogens}
        return replace(usual, **{k: v for k, v in given.items() if v is not None})  # type: ignore[arg-type]

    def scaling(self) -> Scale:
        """The scale on which numbers are fitted; :func:`fit` hands it to the examples."""
        return self.target_scale or "linear"

    def check(self, examples: Examples, inputs: Inputs, execution: Execution) -> None:
        """An error about anything that would stop the fit or the saving of its model later on."""
        if not self.weighs and (examples.class_weight is not None or examples.weights is not None):
            raise self.refusal("it weighs neither rows nor classes; leave out their weights")
        if replace(execution.machine, device="cpu") != Machine():
            raise self.refusal(
                "it runs in one process and in full precision; leave out --devices, --nodes, --strategy and --precision"
            )
        if execution.machine.device not in ("cpu", "auto"):
            raise self.refusal("it computes on the CPU; leave out --device")
        if execution.tensorboard:
            raise self.refusal("it writes no TensorBoard log; leave out --tensorboard")
        if execution.time_limit is not None:
            raise self.refusal("it cannot be stopped midway; leave out --time-limit")

    def refusal(self, why: str) -> ConfigurationError:
        """The error for what this method cannot do."""
        return ConfigurationError(f"method {self.name}: {why}")

    def base_recipe(self) -> Recipe:
        """The recipe whose fields a configuration overrides; of most methods the features alone matter."""
        return Recipe(name=self.name, features=self.reads())

    def recipe_fields(self) -> Mapping[str, Collection[str]]:
        """The fields of a recipe that change what the method does, by section."""
        return {"features": ("molecules", "hydrogens"), "training": ("target_scale",)}

    def chosen_fields(self) -> set[str]:
        """The fields of a recipe that the method chooses on validation where they are not given."""
        return set()

    def with_recipe(self, recipe: Recipe, given: Collection[str] = ()) -> Self:
        """The same by a recipe; the fields ``given`` are not chosen on validation."""
        f = recipe.features
        return replace(self, features=f.molecules, hydrogens=f.hydrogens, target_scale=recipe.training.target_scale)

    def fit_inputs(self, examples: Examples, graphs: Pack) -> Inputs:
        """How graphs are read, fitted on those of training."""
        return examples.inputs.fit(self.reads().vertices, graphs)

    def seen_before(self) -> Seen | None:
        """The molecules of a model that this one starts from."""
        return None

    def settings_given(self) -> dict[str, Any]:
        """The settings that differ from the defaults, for the model file."""
        known = [f for f in fields(self) if f.name not in ("name", "classification", "seed")]
        return {f.name: value for f in known if (value := getattr(self, f.name)) != f.default}


def fit(
    method: Method,
    examples: Examples,
    execution: Execution = Execution(),  # noqa: B008 (frozen)
    about: Mapping[str, Any] | None = None,
    *,
    domain: bool = True,
) -> tuple[Model, Outcome]:
    """Fit a method: the model, with intervals where rows were kept for them, and what the fit came to.

    Args:
        method: what is fitted.
        examples: what it is fitted on.
        execution: devices, checkpoints, limits, progress.
        about: what else the model should know of itself, such as column names.
        domain: whether the model shall know how far new graphs are from those that it has learned from.

    Example:
        >>> import ccn
        >>> from ccn.learning.examples import Examples
        >>> from ccn.methods import make_method
        >>> data = ccn.datasets.load("MUTAG").subset(range(40))
        >>> examples = Examples.of_dataset(data, ccn.datasets.splits.Split(range(30), range(30, 40), []))
        >>> model, outcome = fit(make_method("ridge", classification=True), examples)
        >>> model.method, model.about["graphs"]
        ('ridge', {'train': 30, 'validation': 10, 'calibration': 0})
    """
    if examples.bounds is not None and not method.bounds:
        exact = examples.exact()
        left = len(examples.train) - len(exact.train)
        execution.say(f"method {method.name}: it cannot use censored values; {left:,} training rows are left out")
        examples = exact
    if examples.per not in method.targets_per:
        raise method.refusal(
            f"it predicts one row per graph, and the targets are of each {examples.per}; the method ccn learns them "
            "(--method ccn)"
        )
    examples = replace(examples, target_scale=method.scaling())
    graphs = examples.graphs.select(examples.train)
    inputs = method.fit_inputs(examples, graphs)
    if inputs.columns and not method.reads_whole:
        named = ", ".join(inputs.columns)
        raise method.refusal(f"it reads no columns beside the molecule; leave out --extra-columns ({named})")
    if examples.auxiliary is not None and not method.joint:
        named = ", ".join(examples.auxiliary_names)
        raise method.refusal(f"it learns nothing beside the targets; leave out --auxiliary ({named})")
    if execution.client is not None and not method.distributes:
        raise method.refusal("it is one fit, which runs here; leave out --cluster")
    method.check(examples, inputs, execution)
    execution.begin()
    outcome = method.learn(examples, inputs, execution)
    learned = (examples.targets, examples.bounds, examples.auxiliary)
    known = {
        "ccn": __version__,
        "seed": method.seed,
        "graphs": examples.sizes,
        "fingerprint": fingerprint(graphs, *(a[examples.train] for a in learned if a is not None)),
        "chosen": outcome.chosen,
        "members": outcome.members,
        **({} if examples.auxiliary is None else {"auxiliary": list(examples.auxiliary_names)}),
        **({"leaderboard": list(outcome.leaderboard)} if outcome.leaderboard else {}),
        **(about or {}),
    }
    seen = None
    if examples.molecules is not None:  # the same data and seed give the same salt, and so the same file
        before = method.seen_before()
        salt = bytes.fromhex(digest(str(method.seed), known["fingerprint"])) if before is None else before.salt
        seen = Seen.of(examples.molecules, examples.split, salt)
        seen = seen if before is None else seen.after(before)
    model = Model(method.name, method.settings_given(), outcome.fitted, about=known, seen=seen)
    if domain and examples.per == "graph":  # distances are of graphs, and so must errors be
        model = _with_domain(model, examples, outcome)
    if outcome.held is None:
        model = model.held_out(examples)
    else:
        model = model.cross_validated(examples, *outcome.held, outcome.folds)
    for line in model.about["warnings"]:
        execution.say(f"warning: {line}")
    return model, outcome


def _with_domain(model: Model, examples: Examples, outcome: Outcome) -> Model:
    """The model with the domain of the rows that it was fitted to; as it is where their parts cannot be compared."""
    s = examples.split
    rows = s.train if outcome.held is None else np.sort(np.concatenate([s.train, s.validation, s.calibration]))
    seed, salt = int(model.about["seed"]), int(digest("domain", str(model.about["fingerprint"]))[:15], 16)
    edges = outcome.fitted.reads_edges
    made = fit_domain(examples.graphs.select(rows), outcome.fitted.inputs, edges=edges, seed=seed, salt=salt)
    if made is None:
        return model
    measured = Measured.of(rows[made[1]], model.task, examples.targets, examples.molecules)
    return replace(model, domain=made[0], measured=measured)
