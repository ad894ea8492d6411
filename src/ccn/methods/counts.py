"""Count features, atoms by type and bonds by the types of their ends, with four methods of scikit-learn."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from torch import Tensor

from ccn.features.scaling import TargetScale
from ccn.features.vertices import neighbours
from ccn.graphs.pack import Pack
from ccn.graphs.ragged import Int
from ccn.learning.task import Floats
from ccn.methods.choice import best, grid, rounds, success
from ccn.methods.kernels.bags import Bag, Names, graph_of, matrices, name, tally, vertex_names
from ccn.methods.method import Baseline, Given, as_arrays, as_tensors
from ccn.methods.objects import from_tensor, need_skops, to_tensor

__all__ = ["TREES", "CountFeatures", "count_bags"]

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


@dataclass(eq=False, repr=False, kw_only=True)
class CountFeatures(Baseline):
    """Lasso, ridge, random forest or gradient boosted trees on counts of vertices and edges by label.

    The linear methods learn a class as a number for each class, 1 for its rows and 0 for others, and predict the
    largest.

    Args:
        settings: values of the method's settings that are tried, in place of its own.
        folds: of cross-validation.
        trees: of a forest and of boosting.

    """

    settings: Mapping[str, Any] | None = None
    folds: int = 5
    trees: int = TREES

    METHODS = tuple(MODELS)

    def check_packages(self) -> None:
        need_skops()

    def _learn(self, given: Given) -> None:
        bag = count_bags(given.graphs)
        self.columns_: Names = np.unique(bag.key[bag.graph < given.train])
        x, train = self._counts(bag), np.arange(given.train)
        y = given.targets
        self.scale_ = None if self._classifies else TargetScale.fit(y[train])
        y = y if self.scale_ is None else self.scale_.scale(y)
        own = MODELS[self.method].settings
        points = _distinct(grid(own if self.settings is None else self.settings, own))
        self.model_: list[Any] = []
        self.chosen_: list[dict[str, Any]] = []
        for column in y.T:
            parts = rounds(column, given.train, self.folds, self.random_state, classification=self._classifies)

            def judge(point: dict[str, Any], y: Floats = column, parts: list[tuple[Int, Int]] = parts) -> float:
                tried = [(self._fitted(point, x[rows], y[rows]), held) for rows, held in parts]
                return float(
                    np.mean(
                        [
                            success(y[held], self._guess(model, x[held]), classification=self._classifies)
                            for model, held in tried
                        ]
                    )
                )

            point, _ = best(points, judge)
            rows = train[~np.isnan(column[train])]
            self.model_.append(self._fitted(point, x[rows], column[rows]))
            self.chosen_.append(point)

    def _fitted(self, point: dict[str, Any], x: Floats, y: Floats) -> Any:
        of = MODELS[self.method]
        if of.linear:
            columns = y[:, None] == np.arange(len(self.classes_)) if self._classifies else y[:, None]
            return of.make(self._classifies, **point, seed=self.random_state).fit(x, columns.astype(np.float64))
        return of.make(self._classifies, **point, seed=self.random_state, trees=self.trees).fit(x, y)

    def _guess(self, model: Any, x: Floats) -> Floats:
        found = np.asarray(model.predict(x), dtype=np.float64)
        if MODELS[self.method].linear and self._classifies:
            return np.asarray(found.argmax(axis=1), dtype=np.float64)
        return found.reshape(len(x))

    def _counts(self, bag: Bag) -> Floats:
        """(graphs, columns) counts of what the training rows have."""
        known = np.isin(bag.key, self.columns_)
        kept = Bag(bag.graph[known], bag.key[known], bag.count[known], bag.graphs)
        # One more bag, with every column, so that the columns are always the same.
        every = Bag(np.zeros(len(self.columns_), dtype=np.int64), self.columns_, np.ones(len(self.columns_)), 1)
        return np.asarray(matrices(kept, every)[0].toarray())

    def _infer(self, graphs: Pack) -> Floats:
        x = self._counts(count_bags(graphs))
        found = np.stack([self._guess(model, x) for model in self.model_], axis=1)
        return found if self.scale_ is None else self.scale_.restore(found)

    def answers(self, graphs: Pack) -> Floats:
        if not self._classifies or MODELS[self.method].linear:
            return super().answers(graphs)
        x = self._counts(count_bags(graphs))
        found = []
        for model in self.model_:
            known = np.zeros((len(x), len(self.classes_)))
            known[:, model.classes_.astype(np.int64)] = model.predict_proba(x)
            found.append(known)
        return np.stack([p[:, 1] for p in found], axis=1) if self._multilabel else found[0]

    def _state(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        tensors = as_tensors({"columns": self.columns_}, "")
        tensors |= {f"model{t}": to_tensor(model) for t, model in enumerate(self.model_)}
        return tensors, {"chosen": self.chosen_, "scale": None if self.scale_ is None else self.scale_.to_json()}

    def _restore(self, tensors: Mapping[str, Tensor], data: Mapping[str, Any]) -> None:
        self.columns_ = as_arrays(tensors, "")["columns"].view(np.uint64)
        self.chosen_ = list(data["chosen"])
        self.scale_ = None if data["scale"] is None else TargetScale.from_json(data["scale"])
        self.model_ = [from_tensor(tensors[f"model{t}"]) for t in range(len(self.chosen_))]
