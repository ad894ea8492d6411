"""The stack: several methods, weighed by how well they predict rows that they were not fitted on.

The data that flow: rows of the training and validation parts -> folds (by scaffold where the split is) -> for every
member and fold a model of the other folds, which predicts the fold -> out-of-fold predictions ``z_m`` of all rows, on
the scale of the targets, or as log odds -> weights w with

    z = sum over m of w_m z_m + b,     w >= 0,  b = 0 for numbers,

that minimise the loss of z, drawn towards equal weights by as much as a few rows count. A member of hardly any weight
is dropped. What is kept is, for networks, the models of all folds, whose mean is an ensemble; other members are fitted
once more on all rows.

Networks take most of the time, and add nothing on many data sets. So they are fitted on the first folds alone at
first, and left out unless, by the rows of these folds, the others predict better with them than without.

The figures of the leaderboard, the metrics and the intervals come from out-of-fold predictions; those of the stack with
weights of the other folds. So every row serves to fit and to judge, and none for both.

Every fit is a file in the run's folder: a run that is resumed does not repeat it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf
from typing import Any, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from ccn.datasets.splits import Split
from ccn.errors import ConfigurationError, FileError
from ccn.features.scaling import Scale
from ccn.graphs.pack import Pack
from ccn.graphs.ragged import Int
from ccn.learning.contributions import Contributions, pooled
from ccn.learning.examples import Examples, labelled
from ccn.learning.fitted import Fitted, Prediction, State
from ccn.learning.inputs import Inputs
from ccn.learning.metrics import metrics
from ccn.learning.model import Model
from ccn.learning.settings import Features
from ccn.learning.task import Floats, Task
from ccn.methods.choice import folds_of
from ccn.methods.fits import Job, fit_all
from ccn.methods.method import Method, Outcome
from ccn.methods.network import NetworkMethod
from ccn.methods.registry import fitted_class, make_method
from ccn.methods.simple import simple_predictions
from ccn.methods.target_scale import Fold, choose_shapes, quick_columns
from ccn.methods.trees import WHOLE
from ccn.methods.weighing import choose_weights, combined, fit_weights, held_out_loss, margins, values_of
from ccn.training.execution import Execution
from ccn.training.recipe import Recipe, recipe

__all__ = ["FittedStack", "Stack"]

Budget = Literal["fast", "normal", "best"]


class _Plan(NamedTuple):
    """What a budget buys.

    Attributes:
        folds: their number.
        probed: rows, of the first folds, by which it is decided whether networks are fitted on the other folds.
        members: for each the options of its method.
    """

    folds: int
    probed: float
    members: Mapping[str, Mapping[str, Any]]


_NETWORK = "ccn"
# Without histogram features, which are memorised where there are few rows.
_LIGHT: dict[str, Any] = {
    "order": 1,
    "levels": 3,
    "channels": 16,
    "vertices": "given",
    "graph_features": True,
    "head_dropout": 0.2,
    "least_steps": 400,
}
_CLASSES = {"epochs": 12}  # classification overfits quickly
_PLANS: dict[Budget, _Plan] = {
    "fast": _Plan(
        3, 100, {"trees": {}, "gp": {}, _NETWORK: {"settings": {**_LIGHT, "epochs": 15, "least_steps": 200}}}
    ),
    "normal": _Plan(5, 100, {"trees": {}, "gp": {}, _NETWORK: {"settings": _LIGHT}}),
    "best": _Plan(10, inf, {"trees": {"runs": 6}, "gp": {}, _NETWORK: {"settings": {**_LIGHT, "members": 2}}}),
}


@dataclass(frozen=True)
class Member:
    """A method of the stack: its weight, and what it has learned, from all rows or from the rows of each fold."""

    method: str
    weight: float
    fitted: tuple[Fitted, ...]


@dataclass
class FittedStack(Fitted):
    """The members and the constant b, one per output."""

    members: tuple[Member, ...]
    constant: Floats

    def predict(self, graphs: Pack) -> Floats:
        return self.prediction(graphs).mean[None]

    def prediction(self, graphs: Pack) -> Prediction:
        """The weighed sum, and how far the members are apart."""
        each = [type(m.fitted[0]).predict_all(m.fitted, graphs).mean(axis=0) for m in self.members]
        return combined(self.task, each, np.array([m.weight for m in self.members]), self.constant)

    def contributions(self, graphs: Pack, output: int = 0) -> Contributions:
        """The weighed sum of those of the members, each of the mean over its models."""
        total = None
        for member in self.members:
            each = pooled(self.task, output, [(f.task, f.contributions(graphs, output)) for f in member.fitted])
            # Weighed on the scale where targets have mean 0.
            centre = 0.0 if self.task.scale is None else self.task.scale.mean[output]
            each = each.times(1.0, -centre).times(member.weight)
            total = each if total is None else total + each
        assert total is not None
        shift = self.constant[output]
        if self.task.scale is not None:
            shift = shift * self.task.scale.deviation[output] + self.task.scale.mean[output]
        return total.times(1.0, shift)

    def embed(self, graphs: Pack) -> NDArray[np.floating[Any]]:
        """Those of the members that have one, side by side."""
        if not self.embedding_width:
            return super().embed(graphs)
        return np.concatenate([f.embed(graphs) for f in self._embedded], axis=1)

    @property
    def _embedded(self) -> list[Fitted]:
        return [f for member in self.members for f in member.fitted if f.embedding_width]

    @property
    def embedding_width(self) -> int:  # type: ignore[override]
        return sum(f.embedding_width for f in self._embedded)

    def state(self) -> State:
        tensors: dict[str, Tensor] = {}
        listed = []
        for i, member in enumerate(self.members):
            models = []
            for j, fitted in enumerate(member.fitted):
                learned, data = fitted.state()
                tensors |= {f"{i}.{j}.{key}": value for key, value in learned.items()}
                models.append({"learned": data, "task": fitted.task.to_dict(), "inputs": fitted.inputs.to_dict()})
            listed.append({"method": member.method, "weight": member.weight, "models": models})
        return tensors, {"members": listed, "constant": self.constant.tolist()}

    @classmethod
    def from_state(cls, tensors: Mapping[str, Tensor], data: Mapping[str, Any], task: Task, inputs: Inputs) -> Self:
        members = []
        for i, entry in enumerate(data["members"]):
            kind, models = fitted_class(entry["method"]), []
            if issubclass(kind, FittedStack):
                raise FileError("the file holds a stack within a stack, which ccn does not write; do not use it")
            for j, held in enumerate(entry["models"]):
                prefix = f"{i}.{j}."
                own = {k.removeprefix(prefix): v for k, v in tensors.items() if k.startswith(prefix)}
                its = Task.from_dict(held["task"])
                if not its.like(task):
                    raise FileError("the file holds members of other tasks than its own; do not use it")
                models.append(kind.from_state(own, held["learned"], its, Inputs.from_dict(held["inputs"])))
            members.append(Member(entry["method"], float(entry["weight"]), tuple(models)))
        constant = np.array(data["constant"], dtype=np.float64)
        if not members or not all(m.fitted for m in members) or constant.shape != (task.outputs,):
            raise FileError("the file holds a stack without members; do not use it")
        return cls(task, inputs, tuple(members), constant)


@dataclass(frozen=True, kw_only=True)
class Stack(Method):
    """Networks, a Gaussian process and boosted trees, weighed together.

    Attributes:
        budget: ``fast``, ``normal`` or ``best``: how many folds and how large members are.
        recipe: of the network, in place of the budget's.
        settings: fields of the recipe of the network in place of its own.
        methods: names of the members, in place of the budget's.
        folds: in place of the budget's.
        processes: fits at a time; by default one per core.
    """

    budget: Budget = "normal"
    recipe: Recipe | None = None
    settings: Mapping[str, Any] | None = None
    methods: tuple[str, ...] | None = None
    folds: int | None = None
    processes: int | None = None

    fitted = FittedStack
    named_recipes = True
    compiles = True
    resumes = True
    weighs = True
    reads_whole = True
    grouped = True
    bounds = True  # of the networks; fits of other members leave such rows out
    joint = True
    distributes = True

    def reads(self) -> Features:
        return self._with_features(Features(molecules=WHOLE))

    def scaling(self) -> Scale:
        return self.target_scale or "auto"

    def base_recipe(self) -> Recipe:
        return recipe("default", **_LIGHT, molecules=WHOLE)

    def recipe_fields(self) -> Mapping[str, Collection[str]]:
        network = make_method(_NETWORK, classification=self.classification)
        return network.recipe_fields()

    def with_recipe(self, recipe: Recipe, given: Collection[str] = ()) -> Self:
        same = recipe.for_task(classification=self.classification) == self.base_recipe().for_task(
            classification=self.classification
        )
        return replace(super().with_recipe(recipe), recipe=None if same else recipe)

    def chosen(self, graphs: Pack, scale: Scale | None = None) -> dict[str, Method]:
        """The methods of the members by name, for graphs of this kind and targets on this scale."""
        if self.budget not in _PLANS:
            raise ConfigurationError(f"budget={self.budget!r}: choose from {', '.join(_PLANS)}")
        plan = _PLANS[self.budget].members
        made = {}
        for name in plan if self.methods is None else self.methods:
            options = dict(plan.get(name, {}))
            if name == _NETWORK:
                settings = {} if self.recipe is not None else options.get("settings", {})
                if settings and self.classification:
                    settings = {**settings, **_CLASSES}
                settings = {**settings, **(self.settings or {})}
                if "graph_features" not in graphs.arrays:
                    settings["graph_features"] = False
                options = {"recipe": self.recipe, "settings": settings}
            options["target_scale"] = scale or self.scaling()
            made[name] = make_method(name, classification=self.classification, seed=self.seed, **options)
        return made

    def check(self, examples: Examples, inputs: Inputs, execution: Execution) -> None:
        super().check(examples, inputs, execution)
        chosen = self.chosen(examples.graphs)
        if examples.auxiliary is not None and not any(m.joint for m in chosen.values()):
            raise ConfigurationError(f"none of {', '.join(chosen)} learns auxiliary columns; leave these out")
        for method in chosen.values():
            fitted = inputs.fit(method.reads().vertices, examples.graphs.select(examples.train))
            method.check(examples, fitted, execution)

    def learn(self, examples: Examples, inputs: Inputs, execution: Execution) -> Outcome:
        s = examples.split
        every_row = np.sort(np.concatenate([s.train, s.validation, s.calibration]))
        known = labelled(examples.targets[every_row])
        rows, bounded = every_row[known], every_row[~known]  # members are weighed by exact values
        folds = self._folds(examples, rows, bounded)
        x = quick_columns(examples.graphs.select(rows), inputs)
        examples = replace(examples, target_scale=self._scale(examples, x, rows, folds))
        task = examples.task(rows)
        methods = _jointly(self.chosen(examples.graphs, examples.target_scale), examples)
        done, each = self._fitted_on_folds(task, examples, methods, rows, folds, execution)
        names = [name for name in methods if (name, len(folds) - 1) in done]
        z, y = np.stack([margins(task, each[name]) for name in names]), task.encode(examples.targets[rows])
        weights, constant, kept = choose_weights(task, z, y)
        honest, number = np.empty_like(z[0]), np.empty(len(rows), dtype=np.int64)
        for i, part in enumerate(folds):
            held, fitted = np.isin(rows, part.validation), np.isin(rows, part.train)
            w, b = fit_weights(task, z[kept][:, fitted], y[fitted])
            number[held] = i
            honest[held] = np.tensordot(w, z[kept][:, held], axes=1) + b
        spread = combined(task, [each[names[m]] for m in kept], weights, constant).spread
        predicted = Prediction(values_of(task, honest), spread)
        again = [
            Job(names[m], None, replace(examples, split=_only(every_row)), methods[names[m]])
            for m in kept
            if not isinstance(methods[names[m]], NetworkMethod)
        ]
        refitted = dict(fit_all(again, execution, self.processes))
        members = []
        for m, weight in zip(kept, weights, strict=True):
            whole = refitted.get((names[m], None))
            models = [done[names[m], i] for i in range(len(folds))] if whole is None else [whole]
            members.append(Member(methods[names[m]].name, float(weight), tuple(model.fitted for model in models)))
        weighed = {names[m]: float(weight) for m, weight in zip(kept, weights, strict=True)}
        simple = simple_predictions(task, x, examples.targets[rows], _numbered(folds, rows))
        board = _leaderboard(task, examples.targets[rows], each, weighed, predicted, simple, done, len(folds))
        return Outcome(
            FittedStack(task, inputs, tuple(members), constant),
            [{name: round(weight, 4) for name, weight in weighed.items()}],
            history=[
                epochs
                for name in methods
                for i in range(len(folds))
                if (name, i) in done
                for epochs in done[name, i].about.get("history", ())
            ],
            leaderboard=board,
            held=(rows, predicted),
            folds=number,
        )

    def _fitted_on_folds(
        self,
        task: Task,
        examples: Examples,
        methods: Mapping[str, Method],
        rows: Int,
        folds: Sequence[Split],
        execution: Execution,
    ) -> tuple[dict[tuple[str, int | None], Model], dict[str, Floats]]:
        """The models of all members and folds, and for each member (rows, columns) what they predict of the rows that
        they were not fitted on.

        Networks that do not help are fitted on the first folds alone; their predictions of the other rows are NaN.
        """
        dear = [name for name, method in methods.items() if isinstance(method, NetworkMethod)]
        cheap = [name for name in methods if name not in dear]
        count = np.cumsum([len(part.validation) for part in folds])
        probed = int((count < _PLANS[self.budget].probed).sum()) + 1 if cheap else len(folds)
        done: dict[tuple[str, int | None], Model] = {}
        each: dict[str, Floats] = {}

        def fit_on(names: Collection[str], numbers: Collection[int]) -> list[Job]:
            parts = [replace(examples, split=part) for part in folds]
            return [Job(name, i, parts[i], methods[name]) for name in names for i in numbers]

        def add(jobs: Sequence[Job]) -> None:
            done.update(fit_all(jobs, execution, self.processes))
            for job in jobs:
                held = job.examples.validation
                found = done[job.name, job.fold].predict(examples.graphs.select(held)).mean
                out = each.setdefault(job.name, np.full((len(rows), found.shape[1]), np.nan))
                out[np.searchsorted(rows, held)] = found

        add(fit_on(cheap, range(len(folds))) + fit_on(dear, range(len(folds))[:probed]))
        if dear and probed < len(folds):
            few = np.isin(rows, np.concatenate([part.validation for part in folds[:probed]]))
            y = task.encode(examples.targets[rows[few]])

            def loss(*names: str) -> float:
                return held_out_loss(task, np.stack([margins(task, each[name][few]) for name in names]), y)

            without = loss(*cheap)
            add(fit_on([name for name in dear if loss(*cheap, name) < without], range(probed, len(folds))))
        return done, {name: each[name] for name in methods}

    def _folds(self, examples: Examples, rows: Int, bounded: Int) -> list[Split]:
        """Splits whose validation parts are the folds of the rows.

        Rows with bounds or auxiliary values alone are for training, but not where their group is held out.
        """
        count = self.folds or _PLANS[self.budget].folds
        one = self.classification and examples.targets.shape[1] == 1
        labels = examples.targets[rows, 0] if one else None
        dealt = folds_of(len(rows), count, self.seed, labels=labels, groups=examples.groups_of(rows))
        out = []
        for part in dealt:
            held, more = rows[part.test], bounded
            if examples.groups is not None:
                more = bounded[~np.isin(examples.groups[bounded], examples.groups[held])]
            out.append(Split(np.concatenate([rows[part.train], more]), held, _none(), complete=False))
        return out

    def _scale(self, examples: Examples, x: NDArray[np.float32], rows: Int, folds: Sequence[Split]) -> Scale:
        """The scale of the targets: as given, or chosen for each on held-out rows."""
        if self.classification or self.scaling() != "auto":
            return self.scaling()
        return choose_shapes(x, examples.targets[rows], _numbered(folds, rows), self.seed)


def _numbered(folds: Sequence[Split], rows: Int) -> list[Fold]:
    """The folds as places among the rows, without those that have bounds or auxiliary values alone."""
    exact = [part.train[np.isin(part.train, rows)] for part in folds]
    return [
        (np.searchsorted(rows, train), np.searchsorted(rows, part.validation))
        for train, part in zip(exact, folds, strict=True)
    ]


def _jointly(methods: Mapping[str, Method], examples: Examples) -> dict[str, Method]:
    """The members; where there are auxiliary columns, a network without and one with them, to be weighed."""
    out: dict[str, Method] = {}
    for name, method in methods.items():
        if examples.auxiliary is None or not isinstance(method, NetworkMethod):
            out[name] = method
        else:
            out |= {name: replace(method, auxiliary=False), f"{name}+auxiliary": replace(method, auxiliary=True)}
    return out


def _leaderboard(
    task: Task,
    targets: Floats,
    each: Mapping[str, Floats],
    weights: Mapping[str, float],
    stack: Prediction,
    simple: Mapping[str, Floats],
    done: Mapping[tuple[str, int | None], Model],
    folds: int,
) -> list[dict[str, Any]]:
    """A row for the stack, each member and the simple predictions: metrics on rows that were held out, weight and time.

    A member that was fitted on the first folds alone is judged by the rows of these, as its row says.
    """
    board: list[dict[str, Any]] = [{"method": "stack", "metrics": metrics(task, targets, stack.mean)}]
    for name, values in each.items():
        seconds = sum(float(m.about.get("seconds", 0.0)) for (of, _), m in done.items() if of == name)
        judged = ~np.isnan(values).any(axis=1)
        row: dict[str, Any] = {"method": name, "metrics": metrics(task, targets[judged], values[judged])}
        row |= {"weight": float(weights.get(name, 0.0)), "seconds": round(seconds, 2)}
        if not judged.all():
            row["folds"] = f"{sum(of == name for of, _ in done)} of {folds}"
        board.append(row)
    return board + [{"method": name, "metrics": metrics(task, targets, values)} for name, values in simple.items()]


def _only(rows: Int) -> Split:
    return Split(rows, _none(), _none(), complete=False)


def _none() -> NDArray[np.int64]:
    return np.zeros(0, dtype=np.int64)
