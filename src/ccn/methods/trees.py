"""Boosted trees on counts of kinds of parts and features of the molecule as a whole.

LightGBM grows the trees. They are kept as plain arrays, which are checked when a file is read and applied by
:class:`Trees`, so that a model file needs neither LightGBM nor its format.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, softmax
from torch import Tensor

from ccn.errors import DependencyError, FileError
from ccn.graphs.pack import Pack
from ccn.learning.examples import Examples
from ccn.learning.fitted import Fitted, State, as_arrays, as_tensors
from ccn.learning.inputs import Inputs
from ccn.learning.settings import Features
from ccn.learning.task import Floats, Task
from ccn.methods.choice import joined
from ccn.methods.columns import PartColumns
from ccn.methods.method import Method, Outcome
from ccn.training.execution import Execution

__all__ = ["WHOLE", "BoostedTrees", "FittedTrees", "Trees"]

WHOLE = "full+morgan+erg+descriptors"
"""What trees and other methods of tables read of a molecule."""
_TOGETHER = 1 << 20  # rows times trees that are followed at a time


@dataclass(frozen=True)
class Trees:
    """Regression trees as arrays; the nodes of all trees stand one after another.

    Attributes:
        feature: (nodes,) the column that a node asks for; that of a leaf does not matter.
        threshold: (nodes,) rows with at most this value go left.
        left, right: (nodes,) the next node; that of a leaf is the leaf.
        value: (nodes,) of leaves.
        root: (trees,) the first node of each tree.
        depth: of the deepest tree.
    """

    feature: NDArray[np.int32]
    threshold: NDArray[np.float64]
    left: NDArray[np.int32]
    right: NDArray[np.int32]
    value: NDArray[np.float64]
    root: NDArray[np.int32]
    depth: int

    @classmethod
    def of_booster(cls, booster: Any) -> Self:
        """The trees of a model of LightGBM."""
        nodes: list[tuple[int, float, int, int, float]] = []
        root, depth = [], 0

        def add(node: Mapping[str, Any], level: int) -> int:
            nonlocal depth
            depth, at = max(depth, level), len(nodes)
            if "leaf_value" in node:
                nodes.append((0, 0.0, at, at, float(node["leaf_value"])))
                return at
            nodes.append((0, 0.0, at, at, 0.0))
            left, right = (add(node[side], level + 1) for side in ("left_child", "right_child"))
            nodes[at] = (int(node["split_feature"]), float(node["threshold"]), left, right, 0.0)
            return at

        for tree in booster.dump_model()["tree_info"]:
            root.append(len(nodes))
            add(tree["tree_structure"], 0)
        feature, threshold, left, right, value = map(np.array, zip(*nodes, strict=True))
        feature, left, right = (a.astype(np.int32) for a in (feature, left, right))
        return cls(feature, threshold, left, right, value, np.array(root, dtype=np.int32), depth)

    def leaves(self, x: NDArray[Any]) -> Floats:
        """(rows, trees) the value of the leaf that each row comes to in each tree."""
        out = np.empty((len(x), len(self.root)))
        step = max(1, _TOGETHER // max(1, len(self.root)))
        for start in range(0, len(x), step):
            rows = np.ascontiguousarray(x[start : start + step], dtype=np.float64)
            flat, offset = rows.ravel(), (np.arange(len(rows)) * rows.shape[1])[:, None]
            node = np.repeat(self.root[None], len(rows), axis=0)
            for _ in range(self.depth):
                goes_left = flat[offset + self.feature[node]] <= self.threshold[node]
                node = np.where(goes_left, self.left[node], self.right[node])
            out[start : start + step] = self.value[node]
        return out

    def state(self) -> dict[str, NDArray[Any]]:
        """The arrays."""
        return {name: getattr(self, name) for name in _ARRAYS}

    @classmethod
    def from_state(cls, arrays: Mapping[str, NDArray[Any]], depth: int, width: int) -> Self:
        """From arrays that may have been altered: an error unless every row comes to a leaf within ``depth`` steps."""
        made = cls(**{name: arrays[name] for name in _ARRAYS}, depth=depth)
        count = len(made.feature)
        here = np.arange(count)
        leaf = (made.left == here) & (made.right == here)
        later = (made.left > here) & (made.right > here) & (made.left < count) & (made.right < count)
        shapes = all(getattr(made, name).shape == (count,) for name in _ARRAYS if name != "root")
        if (
            not shapes
            or made.root.ndim != 1
            or not (leaf | later).all()
            or not ((made.feature >= 0) & (made.feature < max(1, width))).all()
            or not ((made.root >= 0) & (made.root < count)).all()
            or not np.isfinite(made.value).all()
            or not 0 <= depth <= count
        ):
            raise FileError(
                "the file holds trees that lead nowhere or ask for columns that do not exist; do not use it"
            )
        return made


_ARRAYS = ("feature", "threshold", "left", "right", "value", "root")


@dataclass
class FittedTrees(Fitted):
    """Boosted trees, for each target the mean of several runs of boosting.

    Attributes:
        columns: what they read of a graph.
        trees: for each target all trees.
        runs: runs of boosting per target.
    """

    columns: PartColumns
    trees: list[Trees]
    runs: int

    def predict(self, graphs: Pack) -> Floats:
        x = self.columns(graphs)
        return joined(self.task, [self._predicted(trees, x) for trees in self.trees])

    def _predicted(self, trees: Trees, x: NDArray[Any]) -> Floats:
        """Scaled numbers (rows,), or probabilities (rows, classes)."""
        outputs = len(self.task.classes) if self.task.kind == "multiclass" else 1
        each = trees.leaves(x).reshape(len(x), -1, outputs).sum(axis=1) / self.runs
        if self.task.kind == "regression":
            return np.asarray(each[:, 0])
        if self.task.kind == "multiclass":
            return np.asarray(softmax(each, axis=1))
        p = expit(each[:, 0])
        return np.stack([1 - p, p], axis=1)

    def state(self) -> State:
        tensors = as_tensors(self.columns.state(), "columns.")
        for t, trees in enumerate(self.trees):
            tensors |= as_tensors(trees.state(), f"{t}.")
        return tensors, {"whole": self.columns.whole, "runs": self.runs, "depth": [t.depth for t in self.trees]}

    @classmethod
    def from_state(cls, tensors: Mapping[str, Tensor], data: Mapping[str, Any], task: Task, inputs: Inputs) -> Self:
        columns = PartColumns.from_state(as_arrays(tensors, "columns."), data["whole"])
        trees = [
            Trees.from_state(as_arrays(tensors, f"{t}."), depth, columns.width) for t, depth in enumerate(data["depth"])
        ]
        outputs = len(task.classes) if task.kind == "multiclass" else 1
        if len(trees) != len(task.targets) or data["runs"] < 1 or any(len(t.root) % outputs for t in trees):
            raise FileError("the file holds another number of trees than it says; do not use it")
        return cls(task, inputs, columns, trees, data["runs"])


@dataclass(frozen=True, kw_only=True)
class BoostedTrees(Method):
    """Boosted trees of LightGBM.

    Each tree reads a tenth of the columns and seven tenths of the rows, which suits many columns and few rows. The
    number and size of trees grow with the rows; nothing is chosen.

    Attributes:
        trees: of each run; by default 400 for a thousand rows, and more for more.
        leaves: of a tree at most; by default 15, and 31 above 2,000 rows.
        learning_rate: of boosting.
        runs: runs of boosting with other draws of rows and columns, of which the mean is taken.
        depth: levels of kinds of parts that are counted.
    """

    trees: int | None = None
    leaves: int | None = None
    learning_rate: float = 0.03
    runs: int = 3
    depth: int = 2

    fitted = FittedTrees
    weighs = True
    reads_whole = True

    def reads(self) -> Features:
        return self._with_features(Features(molecules=WHOLE))

    def check(self, examples: Examples, inputs: Inputs, execution: Execution) -> None:
        super().check(examples, inputs, execution)
        _lightgbm()

    def learn(self, examples: Examples, inputs: Inputs, execution: Execution) -> Outcome:
        task = examples.task()
        columns = PartColumns.fit(examples.graphs.select(examples.train), self.depth)
        x = columns(examples.graphs.select(examples.train))
        y = task.encode(examples.targets[examples.train])
        made = []
        for t in range(len(task.targets)):
            known = ~np.isnan(y[:, t])
            weight = examples.row_weights(task, t)
            weight = None if weight is None else weight[known]
            boosters = [self._boost(x[known], y[known, t], task, weight, run) for run in range(self.runs)]
            made.append(_joined([Trees.of_booster(b) for b in boosters]))
        count = len(made[0].root) // self.runs
        return Outcome(FittedTrees(task, inputs, columns, made, self.runs), [{"trees": count}])

    def _boost(self, x: NDArray[Any], y: Floats, task: Task, weight: Floats | None, run: int) -> Any:
        lightgbm, rows = _lightgbm(), len(y)
        objective = {"regression": "regression", "multiclass": "multiclass"}.get(task.kind, "binary")
        settings = {
            "objective": objective,
            "num_class": len(task.classes) if objective == "multiclass" else 1,
            "learning_rate": self.learning_rate,
            "num_leaves": self.leaves or (15 if rows <= 2_000 else 31),
            "min_data_in_leaf": min(5, max(1, rows // 10)),
            "lambda_l2": 3.0,
            "feature_fraction": 0.1,
            "bagging_fraction": 0.7,
            "bagging_freq": 1,
            "min_data_in_bin": 1 if rows < 30 else 3,
            "seed": int(np.random.SeedSequence([self.seed, run]).generate_state(1)[0] >> 1),
            # Same seed, same trees; values are known, so that a zero is a zero.
            "deterministic": True,
            "force_col_wise": True,
            "num_threads": 1,
            "use_missing": False,
            "verbosity": -1,
        }
        data = lightgbm.Dataset(x, y, weight=weight, params={"verbosity": -1}, free_raw_data=True)
        trees = self.trees or int(np.clip(400 * (rows / 1000) ** 0.4, 200, 1_500))
        return lightgbm.train(settings, data, num_boost_round=trees)


def _joined(runs: list[Trees]) -> Trees:
    """The trees of several runs, one after another."""
    shift = np.cumsum([0, *(len(t.feature) for t in runs[:-1])]).astype(np.int32)
    moved = [
        replace(t, left=t.left + by, right=t.right + by, root=t.root + by) for t, by in zip(runs, shift, strict=True)
    ]
    arrays = {name: np.concatenate([getattr(t, name) for t in moved]) for name in _ARRAYS}
    return Trees(**arrays, depth=max(t.depth for t in runs))


def _lightgbm() -> Any:
    try:
        import lightgbm
    except (ImportError, OSError) as error:  # OSError: its library needs libgomp
        raise DependencyError(
            f"boosted trees need LightGBM ({error}); install it with pip install lightgbm, and on Linux the system's "
            "libgomp1"
        ) from None
    return lightgbm
