"""Count features, atoms by type and bonds by the types of their ends, with four methods of scikit-learn."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from torch import Tensor

from ccn.features.vertices import neighbours
from ccn.graphs.pack import Pack
from ccn.learning.examples import Examples
from ccn.learning.fitted import Fitted, State, as_arrays, as_tensors
from ccn.learning.inputs import Inputs
from ccn.learning.task import Floats, Task
from ccn.methods.choice import MANY, Round, best, grid, rounds, success
from ccn.methods.kernels.bags import Bag, Names, graph_of, matrices, name, tally, vertex_names
from ccn.methods.method import Method, Outcome
from ccn.methods.objects import from_tensor, need_skops, to_tensor
from ccn.training.execution import Execution

__all__ = ["MODELS", "TREES", "CountFeatures", "FittedCounts", "count_bags"]

TREES = 400


def count_bags(pack: Pack) -> Bag:
    """Vertices of each label, and edges of each unordered pair of labels."""
    label, graph = vertex_names(pack), graph_of(pack)
    a = neighbours(pack).tocoo()
    once = a.row < a.col
    u, v = a.row[once], a.col[once]
    edges = name(1, np.minimum(label[u], label[v]), np.maximum(label[u], label[v]))
    return tally(np.concatenate([graph, graph[u]]), np.concatenate([name(0, label), edges]), len(pack))


def _lasso(_: bool, alpha: float, seed: int) -> Any:
    from sklearn.linear_model import Lasso

    return _scaled(Lasso(alpha=alpha, max_iter=10_000, tol=1e-3, random_state=seed))


def _ridge(_: bool, alpha: float, seed: int) -> Any:
    from sklearn.linear_model import Ridge

    return _scaled(Ridge(alpha=alpha))


def _scaled(model: Any) -> Any:
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    return make_pipeline(StandardScaler(), model)


def _forest(classification: bool, depth: int | None, leaf: int, split: int, seed: int, trees: int) -> Any:
    from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

    kind, share = (RandomForestClassifier, "sqrt") if classification else (RandomForestRegressor, 1 / 3)
    return kind(
        trees,
        max_depth=depth,
        min_samples_leaf=leaf,
        min_samples_split=split,
        max_features=share,
        random_state=seed,
    )


def _boosting(
    classification: bool, depth: int, leaf: int, split: int, learning_rate: float, seed: int, trees: int
) -> Any:
    from sklearn.ensemble import GradientBoostingClassifier, GradientBoostingRegressor

    return (GradientBoostingClassifier if classification else GradientBoostingRegressor)(
        n_estimators=trees,
        max_depth=depth,
        min_samples_leaf=leaf,
        min_samples_split=split,
        learning_rate=learning_rate,
        subsample=0.5,
        random_state=seed,
    )


@dataclass(frozen=True)
class _Model:
    """How a method is made, and the values that are tried."""

    make: Callable[..., Any]
    settings: Mapping[str, Sequence[Any]]
    linear: bool = False


MODELS: dict[str, _Model] = {
    "lasso": _Model(_lasso, {"alpha": tuple(np.geomspace(1e-4, 1, 16).tolist())}, linear=True),
    "ridge": _Model(_ridge, {"alpha": tuple(np.geomspace(1e-3, 1e4, 16).tolist())}, linear=True),
    "forest": _Model(_forest, {"depth": (None, 10), "leaf": (1, 3), "split": (2, 8)}),
    "boosting": _Model(_boosting, {"depth": (3, 12), "leaf": (1, 10), "split": (2, 20), "learning_rate": (0.05, 0.1)}),
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
        x = _counts(count_bags(graphs), self.columns)
        kind = self.task.kind
        if kind == "regression":
            found = np.stack([np.asarray(model.predict(x)).reshape(len(x)) for model in self.models], axis=1)
            return self.task.restore(found)[None]
        each = [self._probabilities(model, x) for model in self.models]
        return (np.stack([p[:, 1] for p in each], axis=1) if kind == "multilabel" else each[0])[None]

    def _probabilities(self, model: Any, x: Floats) -> Floats:
        """(rows, classes); linear models have none, and put all on one class."""
        classes = len(self.task.classes)
        if self.linear:
            return np.asarray(np.eye(classes)[_guess(model, x, linear=True).astype(np.int64)])
        found = np.zeros((len(x), classes))
        found[:, model.classes_.astype(np.int64)] = model.predict_proba(x)
        return found

    def state(self) -> State:
        tensors = as_tensors({"columns": self.columns}, "")
        tensors |= {f"model{t}": to_tensor(model) for t, model in enumerate(self.models)}
        return tensors, {"chosen": self.chosen, "linear": self.linear}

    @classmethod
    def from_state(cls, tensors: Mapping[str, Tensor], data: Mapping[str, Any], task: Task, inputs: Inputs) -> Self:
        columns = as_arrays(tensors, "")["columns"].view(np.uint64)
        chosen = list(data["chosen"])
        models = [from_tensor(tensors[f"model{t}"]) for t in range(len(chosen))]
        # Files of 0.1 do not say; forests and boosted trees hold their trees.
        linear = data.get("linear", not any(hasattr(model, "estimators_") for model in models))
        return cls(task, inputs, columns, models, chosen, linear)


def _counts(bag: Bag, columns: Names) -> Floats:
    """(graphs, columns) counts of what the training rows have."""
    known = np.isin(bag.key, columns)
    kept = Bag(bag.graph[known], bag.key[known], bag.count[known], bag.graphs)
    # One more bag, with every column, so that the columns are always the same.
    every = Bag(np.zeros(len(columns), dtype=np.int64), columns, np.ones(len(columns)), 1)
    return np.asarray(matrices(kept, every)[0].toarray())


def _guess(model: Any, x: Floats, *, linear: bool) -> Floats:
    """(rows,) numbers, scaled, or numbers of classes; ``linear`` for a linear model of classes."""
    found = np.asarray(model.predict(x), dtype=np.float64)
    return found.argmax(axis=1).astype(np.float64) if linear else found.reshape(len(x))


@dataclass(frozen=True, kw_only=True)
class CountFeatures(Method):
    """Lasso, ridge, random forest or gradient boosted trees on counts of vertices and edges by label.

    Attributes:
        settings: values of the method's settings that are tried, in place of its own.
        folds: of cross-validation.
        many: rows above which the validation part alone decides.
        trees: of a forest and of boosting.

    """

    settings: Mapping[str, Any] | None = None
    folds: int = 5
    many: int = MANY
    trees: int = TREES

    fitted = FittedCounts

    def check(self, examples: Examples, inputs: Inputs, execution: Execution) -> None:
        super().check(examples, inputs, execution)
        need_skops()

    def learn(self, examples: Examples, inputs: Inputs, execution: Execution) -> Outcome:
        train, rows = len(examples.train), np.concatenate([examples.train, examples.validation])
        task = examples.task()
        bag = count_bags(examples.graphs.select(rows))
        columns: Names = np.unique(bag.key[bag.graph < train])
        x, y = _counts(bag, columns), task.encode(examples.targets[rows])
        known = MODELS[self.name].settings
        points = _distinct(grid(known if self.settings is None else self.settings, known))
        linear = MODELS[self.name].linear and self.classification
        models, chosen = [], []
        for column in y.T:
            parts = rounds(column, train, self.folds, self.seed, classification=self.classification, many=self.many)

            def judge(point: dict[str, Any], y: Floats = column, parts: list[Round] = parts) -> float:
                tried = [(self._model(point, x[rows], y[rows], task), held) for rows, held in parts]
                right = [
                    success(y[held], _guess(model, x[held], linear=linear), classification=self.classification)
                    for model, held in tried
                ]
                return float(np.mean(right))

            point, _ = best(points, judge)
            there = np.flatnonzero(~np.isnan(column[:train]))
            models.append(self._model(point, x[there], column[there], task))
            chosen.append(point)
        return Outcome(FittedCounts(task, inputs, columns, models, chosen, linear), chosen)

    def _model(self, point: dict[str, Any], x: Floats, y: Floats, task: Task) -> Any:
        kind = MODELS[self.name]
        if kind.linear:
            columns = y[:, None] == np.arange(len(task.classes)) if self.classification else y[:, None]
            return kind.make(self.classification, **point, seed=self.seed).fit(x, columns.astype(np.float64))
        return kind.make(self.classification, **point, seed=self.seed, trees=self.trees).fit(x, y)
