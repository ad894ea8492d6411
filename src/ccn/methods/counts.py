"""Count features, atoms by type and bonds by the types of their ends, with four methods of scikit-learn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
from torch import Tensor

from ccn.errors import ConfigurationError, FileError
from ccn.graphs.pack import Pack
from ccn.graphs.ragged import Int, starts
from ccn.learning.contributions import Contributions, margin_of, unscaled
from ccn.learning.examples import Examples
from ccn.learning.fitted import Fitted, State, as_arrays, as_tensors
from ccn.learning.inputs import Inputs
from ccn.learning.task import Floats, Task
from ccn.methods.choice import Chosen, best, grid, joined
from ccn.methods.kernels.bags import Bag, Names, edges, graph_of, name, pair_names, tally, vertex_names
from ccn.methods.method import Outcome
from ccn.methods.objects import check_kind, from_tensor, to_tensor
from ccn.training.execution import Execution

__all__ = ["MODELS", "TREES", "CountFeatures", "FittedCounts", "count_bags"]

TREES = 400
_CLASSES = (
    "Pipeline",
    *(f"{kind}{what}" for kind in ("RandomForest", "GradientBoosting") for what in ("Classifier", "Regressor")),
)
_ARGUMENTS = {"depth": "max_depth", "leaf": "min_samples_leaf", "split": "min_samples_split"}  # of scikit-learn


def count_bags(pack: Pack) -> Bag:
    """Vertices of each label, and edges of each unordered pair of labels."""
    label, graph, (u, v, _) = vertex_names(pack), graph_of(pack), edges(pack)
    keys = [name(0, label), pair_names(1, label, u, v)]
    return tally(np.concatenate([graph, graph[u]]), np.concatenate(keys), len(pack))


@dataclass(frozen=True)
class _Model:
    """A model of scikit-learn.

    Attributes:
        kind: its class, for trees without ``Regressor`` or ``Classifier``.
        settings: the values that are tried.
        fixed: further arguments.
        classes: arguments of classifiers in place of these.
        linear: a linear model on scaled counts, or an ensemble of trees.
    """

    kind: str
    settings: Mapping[str, Sequence[Any]]
    fixed: Mapping[str, Any]
    classes: Mapping[str, Any] = field(default_factory=dict)
    linear: bool = False

    def make(self, classification: bool, seed: int, trees: int, **point: Any) -> Any:
        from sklearn import ensemble, linear_model
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import StandardScaler

        fixed = {**self.fixed, **(self.classes if classification else {}), "random_state": seed}
        given = {_ARGUMENTS.get(name, name): value for name, value in point.items()}
        if self.linear:
            return make_pipeline(StandardScaler(), getattr(linear_model, self.kind)(**fixed, **given))
        kind = getattr(ensemble, self.kind + ("Classifier" if classification else "Regressor"))
        return kind(n_estimators=trees, **fixed, **given)


MODELS: dict[str, _Model] = {
    "lasso": _Model(
        "Lasso", {"alpha": np.geomspace(1e-4, 1, 16).tolist()}, {"max_iter": 10_000, "tol": 1e-3}, linear=True
    ),
    "ridge": _Model("Ridge", {"alpha": np.geomspace(1e-3, 1e4, 16).tolist()}, {}, linear=True),
    "forest": _Model(
        "RandomForest",
        {"depth": (None, 10), "leaf": (1, 3), "split": (2, 8)},
        {"max_features": 1 / 3},
        {"max_features": "sqrt"},
    ),
    "boosting": _Model(
        "GradientBoosting",
        {"depth": (3, 12), "leaf": (1, 10), "split": (2, 20), "learning_rate": (0.05, 0.1)},
        {"subsample": 0.5},
    ),
}


def _distinct(points: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The points without those that grow the trees of an earlier one: less than two leaves' rows are never split."""
    made: dict[str, dict[str, Any]] = {}
    for p in points:
        least = {"split": max(p["split"], 2 * p["leaf"])} if {"leaf", "split"} <= p.keys() else {}
        made.setdefault(repr(p | least), p)
    return list(made.values())


@dataclass
class FittedCounts(Fitted):
    """Models of scikit-learn on counts, one per target.

    Attributes:
        columns: the names of what is counted.
        models: fitted objects of scikit-learn.
        chosen: the settings of each.
        linear: a class is a number for each class, 1 for its rows and 0 for others, of which the largest is predicted.
    """

    columns: Names
    models: list[Any]
    chosen: list[dict[str, Any]]
    linear: bool

    reads_edges = False

    def predict(self, graphs: Pack) -> Floats:
        x = count_bags(graphs).table(self.columns)
        return joined(self.task, [self._predicted(model, x) for model in self.models])

    def _predicted(self, model: Any, x: Floats) -> Floats:
        """Scaled numbers (rows,), or probabilities (rows, classes); linear models put all on one class."""
        classes = len(self.task.classes)
        if self.task.kind == "regression":
            return _guess(model, x, linear=False)
        if self.linear:
            return np.asarray(np.eye(classes)[_guess(model, x, linear=True).astype(np.int64)])
        found = np.zeros((len(x), classes))
        found[:, model.classes_.astype(np.int64)] = model.predict_proba(x)
        return found

    def contributions(self, graphs: Pack, output: int = 0) -> Contributions:
        """Of counts: products with their coefficients, or Shapley values of trees (:mod:`ccn.methods.shapley`).

        The count of a label is shared by its vertices, that of a pair of labels by its edges. The baseline of a linear
        model is that of a graph without vertices; that of trees is the mean over the training rows.
        """
        if self.linear:
            raise ConfigurationError(
                "lasso and ridge have contributions to numbers, not to classes; use another method"
            )
        model = self.models[0 if self.task.kind == "multiclass" else output]
        x = count_bags(graphs).table(self.columns)
        if hasattr(model, "steps"):
            (_, scale), (_, linear) = model.steps
            values = x * (linear.coef_.reshape(-1) / scale.scale_)
            predicted = _guess(model, x, linear=False)
            made = self._carried(graphs, values, predicted, predicted - values.sum(axis=1))
        else:
            made = self._of_trees(graphs, model, x, output)
        return unscaled(self.task, output, made)

    def _of_trees(self, graphs: Pack, model: Any, x: Floats, output: int) -> Contributions:
        from ccn.methods.shapley import leaves_of

        numbers, several = self.task.kind == "regression", self.task.kind == "multiclass"
        boosted = np.ndim(model.estimators_) == 2
        if boosted and several:
            raise ConfigurationError("boosting has contributions to numbers and to two classes, not to more; use trees")
        shares = not numbers and not boosted  # leaves hold the share of each class that they saw
        chosen = int(np.searchsorted(model.classes_, output if several else 1)) if shares else 0
        leaves = leaves_of(*_nodes([part.tree_ for part in np.ravel(model.estimators_)], chosen))
        factor = model.learning_rate if boosted else 1 / len(model.estimators_)
        values = factor * leaves.shapley(x)[:, 0]
        if shares:
            made = self._carried(graphs, values, model.predict_proba(x)[:, chosen], factor * leaves.baseline()[0])
            return made.through(margin_of(self.task, output))
        predicted = _guess(model, x, linear=False) if numbers else np.asarray(model.decision_function(x))
        return self._carried(graphs, values, predicted, predicted - values.sum(axis=1))

    def _carried(self, graphs: Pack, values: Floats, predicted: Floats, baseline: Any) -> Contributions:
        """From columns to the vertices and edges that are counted."""
        of, (u, v, once) = graph_of(graphs), edges(graphs)
        made = Contributions.none(graphs, predicted, baseline)
        label, held = vertex_names(graphs), np.zeros(len(graphs))
        a = graphs.compact().arrays
        number = (a["edge"] + np.repeat(a["edge_start"][:-1], np.diff(a["entry_start"])))[once]
        for graph, key, into, place in (
            (of, name(0, label), made.atoms, np.arange(len(of))),
            (of[u], pair_names(1, label, u, v), made.bonds, number),
        ):
            bag = tally(graph, key, len(graphs))
            each = bag.taken(self.columns, values)
            held += np.bincount(bag.graph, each, minlength=len(graphs))
            order = np.lexsort((key, graph))
            into[place[order]] = np.repeat(each / bag.count, bag.count.astype(np.int64))
        return replace(made, lacking=values.sum(axis=1) - held)

    def state(self) -> State:
        tensors = as_tensors({"columns": self.columns}, "")
        tensors |= {f"model{t}": to_tensor(model) for t, model in enumerate(self.models)}
        return tensors, {"chosen": self.chosen, "linear": self.linear}

    @classmethod
    def from_state(cls, tensors: Mapping[str, Tensor], data: Mapping[str, Any], task: Task, inputs: Inputs) -> Self:
        columns = as_arrays(tensors, "")["columns"].view(np.uint64)
        if columns.ndim != 1 or (columns[1:] <= columns[:-1]).any():
            raise FileError("the names of what is counted are not in order: the file was altered; do not use it")
        chosen = list(data["chosen"])
        models = [from_tensor(tensors[f"model{t}"], _CLASSES) for t in range(len(chosen))]
        for model in models:
            if hasattr(model, "steps"):
                for (_, step), kinds in zip(model.steps, (("StandardScaler",), ("Lasso", "Ridge")), strict=True):
                    check_kind(step, kinds)
        # Files of 0.1 do not say; forests and boosted trees hold their trees.
        linear = data.get("linear", not any(hasattr(model, "estimators_") for model in models))
        return cls(task, inputs, columns, models, chosen, linear)


def _nodes(trees: Sequence[Any], chosen: int) -> tuple[Any, ...]:
    """The nodes of trees of scikit-learn as arrays, one after another, with the value of an output or class."""
    start, parts = 0, []
    for tree in trees:
        here = np.arange(tree.node_count)
        leaf = tree.children_left == -1
        left, right = (np.where(leaf, here, child) + start for child in (tree.children_left, tree.children_right))
        value = tree.value[:, 0, chosen]
        parts.append((tree.feature, tree.threshold, left, right, value, tree.weighted_n_node_samples))
        start += tree.node_count
    root = starts([tree.node_count for tree in trees])[:-1]
    return (*(np.concatenate(column) for column in zip(*parts, strict=True)), root)


def _guess(model: Any, x: Floats, *, linear: bool) -> Floats:
    """(rows,) numbers, scaled, or numbers of classes; ``linear`` for a linear model of classes."""
    found = np.asarray(model.predict(x), dtype=np.float64)
    return found.argmax(axis=1).astype(np.float64) if linear else found.reshape(len(x))


@dataclass(frozen=True, kw_only=True)
class CountFeatures(Chosen):
    """Lasso, ridge, random forest or gradient boosted trees on counts of vertices and edges by label.

    Attributes:
        trees: of a forest and of boosting.
    """

    trees: int = TREES

    fitted = FittedCounts

    def learn(self, examples: Examples, inputs: Inputs, execution: Execution) -> Outcome:
        train, rows = len(examples.train), np.concatenate([examples.train, examples.validation])
        task = examples.task()
        bag = count_bags(examples.graphs.select(rows))
        columns: Names = np.unique(bag.key[bag.graph < train])
        x, y = bag.table(columns), task.encode(examples.targets[rows])
        known = MODELS[self.name].settings
        points = _distinct(grid(known if self.settings is None else self.settings, known))
        linear = MODELS[self.name].linear and self.classification
        groups = examples.groups_of(rows)
        models, chosen = [], []
        for column in y.T:

            def judge(point: dict[str, Any], rows: Int, held: Int, y: Floats = column) -> float:
                model = self._model(point, x[rows], y[rows], task)
                return self.success(y[held], _guess(model, x[held], linear=linear))

            point = best(points, self.rounds(column, train, groups), judge)
            there = np.flatnonzero(~np.isnan(column[:train]))
            models.append(self._model(point, x[there], column[there], task))
            chosen.append(point)
        return Outcome(FittedCounts(task, inputs, columns, models, chosen, linear), chosen)

    def _model(self, point: dict[str, Any], x: Floats, y: Floats, task: Task) -> Any:
        model = MODELS[self.name].make(self.classification, self.seed, self.trees, **point)
        if MODELS[self.name].linear:
            y = y[:, None] == np.arange(len(task.classes)) if self.classification else y[:, None]
        return model.fit(x, y.astype(np.float64))
