"""The stack: several methods, weighed by how well they predict rows that they were not fitted on.

The data that flow: rows of the training and validation parts -> folds (by scaffold where the split is) -> for every
member and fold a model of the other folds, which predicts the fold -> out-of-fold predictions ``z_m`` of all rows, on
the scale of the targets, or as log odds -> weights w with

    z = sum over m of w_m z_m + b,     w >= 0,  b = 0 for numbers,

that minimise the loss of z, drawn towards equal weights by as much as a few rows count. A member of hardly any weight
is dropped. What is kept is, for networks, the models of all folds, whose mean is an ensemble; other members are fitted
once more on all rows.

The figures of the leaderboard, the metrics and the intervals come from out-of-fold predictions; those of the stack with
weights of the other folds. So every row serves to fit and to judge, and none for both.

Every fit is a file in the run's folder: a run that is resumed does not repeat it.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import expit, log_expit, log_softmax, softmax
from torch import Tensor

from ccn.datasets.splits import Split, k_fold
from ccn.errors import ConfigurationError, FileError
from ccn.features.scaling import Shape
from ccn.files import digest
from ccn.graphs.pack import Pack
from ccn.graphs.ragged import Int
from ccn.learning import model_file
from ccn.learning.examples import Examples, fingerprint, labelled
from ccn.learning.fitted import Fitted, Prediction, State
from ccn.learning.inputs import Inputs
from ccn.learning.metrics import metrics
from ccn.learning.model import Model
from ccn.learning.settings import Features
from ccn.learning.task import Floats, Task
from ccn.methods.method import Method, Outcome, fit
from ccn.methods.network import NetworkMethod
from ccn.methods.registry import fitted_class, make_method
from ccn.methods.trees import WHOLE
from ccn.progress import progress
from ccn.training.execution import Execution, torch_threads
from ccn.training.recipe import Recipe, recipe

__all__ = ["FittedStack", "Stack"]

Budget = Literal["fast", "normal", "best"]
_LEAST_WEIGHT = 0.03  # of a member that is kept, as a share of all weights
_EQUAL_ROWS = 10.0  # rows that equal weights count for
_SMALLEST = 1e-6  # probability
_IN_PROCESS = 200  # rows up to which processes take longer to start than they save


class _Plan(NamedTuple):
    """What a budget buys: folds, and for each member the options of its method."""

    folds: int
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
_PLANS: dict[Budget, _Plan] = {
    "fast": _Plan(3, {"trees": {"runs": 1}, "gp": {}, _NETWORK: {"settings": {**_LIGHT, "epochs": 15}}}),
    "normal": _Plan(5, {"trees": {}, "gp": {}, _NETWORK: {"settings": _LIGHT}}),
    "best": _Plan(10, {"trees": {"runs": 5}, "gp": {}, _NETWORK: {"settings": {**_LIGHT, "members": 2}}}),
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
        each = [np.mean([f.predict(graphs).mean(axis=0) for f in m.fitted], axis=0) for m in self.members]
        return _combined(self.task, each, np.array([m.weight for m in self.members]), self.constant)

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
                if (its.kind, its.targets, its.classes) != (task.kind, task.targets, task.classes):
                    raise FileError("the file holds members of other tasks than its own; do not use it")
                models.append(kind.from_state(own, held["learned"], its, Inputs.from_dict(held["inputs"])))
            members.append(Member(entry["method"], float(entry["weight"]), tuple(models)))
        constant = np.array(data["constant"], dtype=np.float64)
        if not members or not all(m.fitted for m in members) or constant.shape != (task.outputs,):
            raise FileError("the file holds a stack without members; do not use it")
        return cls(task, inputs, tuple(members), constant)


def _margins(task: Task, values: Floats) -> Floats:
    """(graphs, outputs) what is summed: scaled numbers, or log odds of classes."""
    if task.kind == "regression":
        return task.encode(values)
    p = np.clip(values, _SMALLEST, 1 - _SMALLEST)
    if task.kind == "multiclass":
        return np.asarray(np.log(p))
    p = p[:, 1:] if task.kind == "binary" else p
    return np.asarray(np.log(p) - np.log1p(-p))


def _values(task: Task, z: Floats) -> Floats:
    """The inverse of :func:`_margins`."""
    if task.kind == "regression":
        return task.restore(z)
    if task.kind == "multiclass":
        return np.asarray(softmax(z, axis=1))
    p: Floats = expit(z)
    return np.concatenate([1 - p, p], axis=1) if task.kind == "binary" else p


def _combined(task: Task, each: Sequence[Floats], weights: Floats, constant: Floats) -> Prediction:
    z = np.stack([_margins(task, values) for values in each])
    mean = _values(task, np.tensordot(weights, z, axes=1) + constant)
    share = weights / max(float(weights.sum()), _SMALLEST)
    centre = np.tensordot(share, np.stack(each), axes=1)
    return Prediction(mean, np.sqrt(np.tensordot(share, (np.stack(each) - centre) ** 2, axes=1)))


def _losses(task: Task, z: Floats, y: Floats) -> Floats:
    """(rows, targets) Huber's loss of scaled numbers, or the log loss; zero where the target is missing."""
    known = ~np.isnan(y)
    y = np.where(known, y, 0.0)
    if task.kind == "regression":
        far = np.abs(z - y)
        each = np.where(far < 1, far**2 / 2, far - 0.5)
    elif task.kind == "multiclass":
        each = -log_softmax(z, axis=1)[np.arange(len(y)), y[:, 0].astype(np.int64)][:, None]
    else:
        each = -np.where(y > 0.5, log_expit(z), log_expit(-z))
    return np.where(known, each, 0.0)


def fit_weights(task: Task, z: Floats, y: Floats) -> tuple[Floats, Floats]:
    """The weights (members,) and the constant (outputs,) for margins (members, rows, outputs) and encoded targets.

    Example:
        >>> task = Task("regression", ("y",), scale=None)
        >>> y = np.linspace(-1, 1, 200)[:, None]
        >>> noise = np.random.default_rng(0).normal(size=y.shape)
        >>> fit_weights(task, np.stack([y, noise]), y)[0].round(1).tolist()
        [1.0, 0.0]
    """
    members, outputs = len(z), z.shape[2]
    rows = max(1, int((~np.isnan(y)).sum()))
    free = outputs if task.kind != "regression" else 0

    def split(parameters: Floats) -> tuple[Floats, Floats]:
        return parameters[:members], parameters[members:] if free else np.zeros(outputs)

    start = np.concatenate([np.full(members, 1 / members), np.zeros(free)])
    usual = float(_losses(task, z.mean(axis=0), y).sum()) / rows

    def loss(parameters: Floats) -> float:
        w, b = split(parameters)
        pull = _EQUAL_ROWS * usual * (members * ((w - 1 / members) ** 2).sum() + (b**2).sum())
        return float((_losses(task, np.tensordot(w, z, axes=1) + b, y).sum() + pull) / rows)

    bounds = [(0.0, 3.0)] * members + [(-5.0, 5.0)] * free
    return split(np.asarray(minimize(loss, start, bounds=bounds, method="L-BFGS-B").x))


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
    bounds = True  # of the networks; fits of other members leave such rows out

    def reads(self) -> Features:
        return self._with_features(Features(molecules=WHOLE))

    def scaling(self) -> Shape:
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

    def chosen(self, graphs: Pack) -> dict[str, Method]:
        """The methods of the members by name, for graphs of this kind."""
        if self.budget not in _PLANS:
            raise ConfigurationError(f"budget={self.budget!r}: choose from {', '.join(_PLANS)}")
        plan = _PLANS[self.budget].members
        made = {}
        for name in plan if self.methods is None else self.methods:
            options = dict(plan.get(name, {}))
            if name == _NETWORK:
                settings = {} if self.recipe is not None else options.get("settings", {})
                settings = {**settings, **(self.settings or {})}
                if "graph_features" not in graphs.arrays:
                    settings["graph_features"] = False
                options = {"recipe": self.recipe, "settings": settings}
            options["target_scale"] = self.scaling()
            made[name] = make_method(name, classification=self.classification, seed=self.seed, **options)
        return made

    def check(self, examples: Examples, inputs: Inputs, execution: Execution) -> None:
        super().check(examples, inputs, execution)
        for method in self.chosen(examples.graphs).values():
            fitted = inputs.fit(method.reads().vertices, examples.graphs.select(examples.train))
            method.check(examples, fitted, execution)

    def learn(self, examples: Examples, inputs: Inputs, execution: Execution) -> Outcome:
        s = examples.split
        every_row = np.sort(np.concatenate([s.train, s.validation, s.calibration]))
        known = labelled(examples.targets[every_row])
        rows, bounded = every_row[known], every_row[~known]  # members are weighed by exact values
        task, methods = examples.task(rows), self.chosen(examples.graphs)
        folds = self._folds(examples, rows, bounded)
        jobs = [
            _Job(name, number, replace(examples, split=part), method)
            for name, method in methods.items()
            for number, part in enumerate(folds)
        ]
        done = dict(self._run(jobs, execution))
        every = range(len(folds))
        each = {name: self._out_of_fold(examples, rows, folds, [done[name, i] for i in every]) for name in methods}
        z, y = np.stack([_margins(task, p) for p in each.values()]), task.encode(examples.targets[rows])
        names = list(methods)
        weights, constant, kept = _chosen(task, z, y)
        honest = np.empty_like(z[0])
        for part in folds:
            held, fitted = np.isin(rows, part.validation), np.isin(rows, part.train)
            w, b = fit_weights(task, z[kept][:, fitted], y[fitted])
            honest[held] = np.tensordot(w, z[kept][:, held], axes=1) + b
        spread = _combined(task, [each[names[m]] for m in kept], weights, constant).spread
        predicted = Prediction(_values(task, honest), spread)
        again = [
            _Job(names[m], None, replace(examples, split=_only(every_row)), methods[names[m]])
            for m in kept
            if not isinstance(methods[names[m]], NetworkMethod)
        ]
        refitted = dict(self._run(again, execution))
        members = []
        for m, weight in zip(kept, weights, strict=True):
            whole = refitted.get((names[m], None))
            models = [done[names[m], i] for i in every] if whole is None else [whole]
            members.append(Member(names[m], float(weight), tuple(model.fitted for model in models)))
        board = _leaderboard(task, examples.targets[rows], each, {m.method: m.weight for m in members}, predicted, done)
        return Outcome(
            FittedStack(task, inputs, tuple(members), constant),
            [{m.method: round(m.weight, 4) for m in members}],
            leaderboard=board,
            held=(rows, predicted),
        )

    def _folds(self, examples: Examples, rows: Int, bounded: Int) -> list[Split]:
        """Splits whose validation parts are the folds of the rows.

        Rows with bounds alone are for training, but not where their group is held out.
        """
        count = self.folds or _PLANS[self.budget].folds
        one = self.classification and examples.targets.shape[1] == 1
        dealt = k_fold(
            len(rows),
            max(2, min(count, len(rows))),
            self.seed,
            labels=examples.targets[rows, 0] if one else None,
            groups=None if examples.groups is None else examples.groups[rows],
            validation=False,
        )
        out = []
        for part in dealt:
            held, more = rows[part.test], bounded
            if examples.groups is not None:
                more = bounded[~np.isin(examples.groups[bounded], examples.groups[held])]
            out.append(Split(np.concatenate([rows[part.train], more]), held, _none(), complete=False))
        return out

    @staticmethod
    def _out_of_fold(examples: Examples, rows: Int, folds: Sequence[Split], models: Sequence[Model]) -> Floats:
        out: Floats | None = None
        for part, model in zip(folds, models, strict=True):
            found = model.predict(examples.graphs.select(part.validation)).mean
            out = np.empty((len(rows), found.shape[1])) if out is None else out
            out[np.searchsorted(rows, part.validation)] = found
        assert out is not None
        return out

    def _run(self, jobs: Sequence[_Job], execution: Execution) -> Iterator[tuple[tuple[str, int | None], Model]]:
        """The models of all jobs, in this process or in several."""
        import joblib

        if not jobs:
            return
        bare = Execution(folder=execution.folder, resume=execution.resume, every=execution.every)
        few = max(len(job.examples.train) for job in jobs) <= _IN_PROCESS
        count = 1 if few else joblib.effective_n_jobs(-1 if self.processes is None else self.processes)
        pool = joblib.Parallel(min(count, len(jobs)), return_as="generator_unordered")
        with progress("fitting members", len(jobs), notes=True, shown=execution.verbose) as tell:
            for i, (key, model) in enumerate(pool(joblib.delayed(_fit)(job, bare) for job in jobs)):
                tell(i + 1, f"{key[0]}, {'all rows' if key[1] is None else f'fold {key[1] + 1}'}")
                yield key, model


class _Job(NamedTuple):
    """One fit of a member: the rows of all folds but one, or of all."""

    name: str
    fold: int | None
    examples: Examples
    method: Method

    @property
    def title(self) -> str:
        return f"{self.name}-{'all' if self.fold is None else self.fold}"

    @property
    def key(self) -> str:
        """Identifies the fit by the method's settings and the data."""
        e = self.examples
        whole = e.graphs.arrays.get("graph_features")
        rows = (e.targets, e.bounds, e.train, e.validation, e.weights, None if whole is None else np.asarray(whole))
        return digest(repr(self.method), str(e.class_weight), fingerprint(e.graphs, *rows))


def _fit(job: _Job, execution: Execution) -> tuple[tuple[str, int | None], Model]:
    """The model of a job; of a resumed run that of the file, if there is one of the same method and rows."""
    file = None if execution.folder is None else execution.folder / f"{job.title}.safetensors"
    key = "" if file is None else job.key
    if file is not None and execution.resume and file.is_file():
        model = model_file.load(file)
        if model.about.get("job") == key:
            return (job.name, job.fold), model
    began = time.process_time()
    examples = job.examples
    if not job.method.reads_whole:
        examples = replace(examples, inputs=replace(examples.inputs, columns=()))
    with torch_threads(1):
        model, _ = fit(job.method, examples, execution.part(job.title, None))
    model = replace(model, about={**model.about, "seconds": time.process_time() - began, "job": key})
    if file is not None:
        file.parent.mkdir(parents=True, exist_ok=True)
        model_file.save(model, file)
    return (job.name, job.fold), model


def _chosen(task: Task, z: Floats, y: Floats) -> tuple[Floats, Floats, list[int]]:
    """The weights and the constant without the members of hardly any weight, and which members are left."""
    kept = list(range(len(z)))
    while True:
        weights, constant = fit_weights(task, z[kept], y)
        enough = weights >= _LEAST_WEIGHT * weights.sum()
        if enough.all() or not enough.any():
            return weights, constant, kept
        kept = [m for m, stays in zip(kept, enough, strict=True) if stays]


def _leaderboard(
    task: Task,
    targets: Floats,
    each: Mapping[str, Floats],
    weights: Mapping[str, float],
    stack: Prediction,
    done: Mapping[tuple[str, int | None], Model],
) -> list[dict[str, Any]]:
    """A row for the stack, each member and the best constant: metrics on rows that were held out, weight and time."""
    board: list[dict[str, Any]] = [{"method": "stack", "metrics": metrics(task, targets, stack.mean)}]
    for name, values in each.items():
        seconds = sum(float(m.about.get("seconds", 0.0)) for (of, _), m in done.items() if of == name)
        row = {"method": name, "metrics": metrics(task, targets, values), "weight": float(weights.get(name, 0.0))}
        board.append({**row, "seconds": round(seconds, 2)})
    board.append({"method": "constant", "metrics": metrics(task, targets, _constant(task, targets))})
    return board


def _constant(task: Task, targets: Floats) -> Floats:
    """The prediction that does not look at the graph: the median of numbers, the share of each class."""
    if task.kind == "regression":
        best = np.nanmedian(targets, axis=0)
    elif task.kind == "multilabel":
        best = np.nanmean(targets, axis=0)
    else:
        known = targets[~np.isnan(targets)].astype(np.int64)
        best = np.bincount(known, minlength=len(task.classes)) / len(known)
    return np.repeat(best[None], len(targets), axis=0)


def _only(rows: Int) -> Split:
    return Split(rows, _none(), _none(), complete=False)


def _none() -> NDArray[np.int64]:
    return np.zeros(0, dtype=np.int64)
