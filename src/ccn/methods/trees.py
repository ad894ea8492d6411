"""Boosted trees on counts of kinds of parts and features of the molecule as a whole.

LightGBM grows the trees. They are kept as plain arrays, which are checked when a file is read and applied by
:class:`Trees`, so that a model file needs neither LightGBM nor its format.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, softmax
from torch import Tensor

from ccn.errors import ConfigurationError, DependencyError, FileError
from ccn.graphs.pack import Pack
from ccn.learning.contributions import Contributions, softmaxed, unscaled
from ccn.learning.examples import Examples
from ccn.learning.fitted import Fitted, State, as_arrays, as_tensors
from ccn.learning.inputs import Inputs
from ccn.learning.settings import Features
from ccn.learning.task import Floats, Task
from ccn.methods.choice import joined
from ccn.methods.columns import MOST_LEVELS, PartColumns
from ccn.methods.method import Method, Outcome
from ccn.training.execution import Execution

if TYPE_CHECKING:
    from ccn.methods.shapley import Leaves

__all__ = ["WHOLE", "BoostedTrees", "FittedTrees", "Trees", "boosted"]

WHOLE = "full+morgan+erg+descriptors"
"""What trees and other methods of tables read of a molecule."""
_DEEPEST = 1_000  # steps in a tree; LightGBM's have fewer than leaves, of which a tree has a few dozen


@dataclass(frozen=True)
class Trees:
    """Regression trees as arrays; the nodes of all trees stand one after another.

    Attributes:
        feature: (nodes,) the column that a node asks for; that of a leaf does not matter.
        threshold: (nodes,) rows with at most this value go left.
        left, right: (nodes,) the next node; that of a leaf is the leaf.
        value: (nodes,) of leaves.
        root: (trees,) the first node of each tree.
        cover: (nodes,) training rows at each node; None in files of 0.1.
    """

    feature: NDArray[np.int32]
    threshold: NDArray[np.float64]
    left: NDArray[np.int32]
    right: NDArray[np.int32]
    value: NDArray[np.float64]
    root: NDArray[np.int32]
    cover: NDArray[np.float64] | None = None

    @classmethod
    def of_booster(cls, booster: Any) -> Self:
        """The trees of a model of LightGBM."""
        nodes: list[tuple[int, float, int, int, float, float]] = []
        root = []

        def add(node: Mapping[str, Any]) -> int:
            at = len(nodes)
            if "leaf_value" in node:
                nodes.append((0, 0.0, at, at, float(node["leaf_value"]), float(node.get("leaf_count") or 1)))
                return at
            nodes.append((0, 0.0, at, at, 0.0, 1.0))
            left, right = (add(node[side]) for side in ("left_child", "right_child"))
            rows = nodes[left][-1] + nodes[right][-1]
            nodes[at] = (int(node["split_feature"]), float(node["threshold"]), left, right, 0.0, rows)
            return at

        for tree in booster.dump_model()["tree_info"]:
            root.append(len(nodes))
            add(tree["tree_structure"])
        feature, threshold, left, right, value, cover = map(np.array, zip(*nodes, strict=True))
        feature, left, right = (a.astype(np.int32) for a in (feature, left, right))
        return cls(feature, threshold, left, right, value, np.array(root, dtype=np.int32), cover)

    def sums(self, x: NDArray[Any], outputs: int = 1) -> Floats:
        """(rows, outputs) the sum of the leaves that each row comes to; tree i adds to output ``i % outputs``."""
        from ccn.methods.tree_walk import walk  # compiled when it is first called

        out = np.zeros((len(x), outputs))
        walk(np.ascontiguousarray(x), self.feature, self.threshold, self.left, self.right, self.value, self.root, out)
        return out

    def conditions(self, outputs: int) -> Leaves:
        """The leaves with their conditions; trees add to so many outputs in turn."""
        from ccn.methods.shapley import leaves_of

        cover = self.cover
        if cover is None:  # every leaf counts alike
            cover = (self.left == np.arange(len(self.left))).astype(np.float64)
            for node in range(len(cover) - 1, -1, -1):
                if not cover[node]:
                    cover[node] = cover[self.left[node]] + cover[self.right[node]]
        shape = (self.feature, self.threshold, self.left, self.right)
        return leaves_of(*shape, self.value, cover, self.root, outputs)

    @property
    def depth(self) -> int:
        """The steps from a root to the farthest leaf; counted up to one more than :data:`_DEEPEST`."""
        at, steps = self.root, 0
        while len(at := at[self.left[at] != at]) and steps <= _DEEPEST:
            at, steps = np.concatenate([self.left[at], self.right[at]]), steps + 1
        return steps

    def state(self) -> dict[str, NDArray[Any]]:
        """The arrays."""
        found = {name: getattr(self, name) for name in _ARRAYS}
        return found if self.cover is None else {**found, "cover": self.cover}

    @classmethod
    def from_state(cls, arrays: Mapping[str, NDArray[Any]], width: int) -> Self:
        """From arrays that may have been altered: an error unless they are trees.

        Every node then is the root of one tree or the child of one node before it, so that no row can take more steps
        than there are nodes in all trees together, nor :data:`_DEEPEST` in one.
        """
        made = cls(**{name: arrays[name] for name in _ARRAYS}, cover=arrays.get("cover"))
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
            or not (np.bincount(np.concatenate([made.left[later], made.right[later], made.root])) == 1).all()
            or not np.isfinite(made.value).all()
            or (made.cover is not None and (made.cover.shape != (count,) or not (made.cover > 0).all()))
            or not made.depth <= _DEEPEST
        ):
            raise FileError(
                "the file holds trees that are none, or that ask for columns that do not exist; do not use it"
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
    _leaves: dict[int, Leaves] = field(default_factory=dict, repr=False)

    def predict(self, graphs: Pack) -> Floats:
        x = self.columns(graphs)
        return joined(self.task, [self._predicted(trees, x) for trees in self.trees])

    def contributions(self, graphs: Pack, output: int = 0) -> Contributions:
        """Shapley values of the columns (:mod:`ccn.methods.shapley`); those of kinds go to the atoms that form them.

        The baseline is the mean over the training rows.
        """
        several = self.task.kind == "multiclass"
        which, outputs = (0, self._outputs) if several else (output, 1)
        if which not in self._leaves:
            self._leaves[which] = self.trees[which].conditions(outputs)
        x, leaves = self.columns(graphs), self._leaves[which]
        each, base = self._margins(self.trees[which], x), leaves.baseline(outputs) / self.runs
        values = leaves.shapley(x, outputs) / self.runs
        made = []
        for k in range(outputs):
            atoms, lacking, whole = self.columns.carried(graphs, values[:, k])
            bare = Contributions.none(graphs, each[:, k], base[k])
            made.append(replace(bare, atoms=atoms, lacking=lacking, whole=whole))
        return softmaxed(made, output) if several else unscaled(self.task, output, made[0])

    @property
    def _outputs(self) -> int:
        return len(self.task.classes) if self.task.kind == "multiclass" else 1

    def _margins(self, trees: Trees, x: NDArray[Any]) -> Floats:
        """(rows, outputs)."""
        return trees.sums(x, self._outputs) / self.runs

    def _predicted(self, trees: Trees, x: NDArray[Any]) -> Floats:
        """Scaled numbers (rows,), or probabilities (rows, classes)."""
        each = self._margins(trees, x)
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
        return tensors, {"whole": self.columns.whole, "runs": self.runs}

    @classmethod
    def from_state(cls, tensors: Mapping[str, Tensor], data: Mapping[str, Any], task: Task, inputs: Inputs) -> Self:
        columns = PartColumns.from_state(as_arrays(tensors, "columns."), data["whole"])
        trees = [Trees.from_state(as_arrays(tensors, f"{t}."), columns.width) for t in range(len(task.targets))]
        outputs = len(task.classes) if task.kind == "multiclass" else 1
        if data["runs"] < 1 or any(len(t.root) % outputs for t in trees):
            raise FileError("the file holds another number of trees than it says; do not use it")
        return cls(task, inputs, columns, trees, data["runs"])


@dataclass(frozen=True, kw_only=True)
class BoostedTrees(Method):
    """Boosted trees of LightGBM.

    Each tree reads seven tenths of the rows and a tenth of the columns, or, in every second run, three tenths of them
    with thresholds that are drawn: such trees err elsewhere, and their mean is better than either on most tasks. The
    number of trees grows with the rows; nothing is chosen.

    Attributes:
        trees: of each run; by default 400 for a thousand rows, and more for more.
        leaves: of a tree at most.
        learning_rate: of boosting.
        runs: runs of boosting with other draws of rows and columns, of which the mean is taken.
        depth: levels of kinds of parts that are counted.
    """

    trees: int | None = None
    leaves: int = 31
    learning_rate: float = 0.03
    runs: int = 2
    depth: int = 2

    fitted = FittedTrees
    weighs = True
    reads_whole = True

    def reads(self) -> Features:
        return self._with_features(Features(molecules=WHOLE))

    def check(self, examples: Examples, inputs: Inputs, execution: Execution) -> None:
        super().check(examples, inputs, execution)
        if not 0 <= self.depth <= MOST_LEVELS:
            raise ConfigurationError(f"depth={self.depth}: choose from 0 to {MOST_LEVELS}")
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
        rows, drawn = len(y), run % 2 == 1
        objective = {"regression": "regression", "multiclass": "multiclass"}.get(task.kind, "binary")
        return boosted(
            x,
            y,
            weight,
            trees=self.trees or int(np.clip(400 * (rows / 1000) ** 0.4, 200, 1_500)),
            objective=objective,
            num_class=len(task.classes) if objective == "multiclass" else 1,
            learning_rate=self.learning_rate,
            num_leaves=self.leaves,
            min_data_in_leaf=min(2 if drawn else 3, max(1, rows // 10)),
            feature_fraction=0.3 if drawn else 0.1,
            extra_trees=drawn,
            seed=int(np.random.SeedSequence([self.seed, run]).generate_state(1)[0] >> 1),
        )


def boosted(x: NDArray[Any], y: Floats, weight: Floats | None, *, trees: int, **settings: Any) -> Any:
    """LightGBM's booster of so many trees with these settings; the others suit many columns and few rows."""
    lightgbm, rows = _lightgbm(), len(y)
    usual = {
        "min_data_in_leaf": min(5, max(1, rows // 10)),
        "lambda_l2": 3.0,
        "bagging_fraction": 0.7,
        "bagging_freq": 1,
        "min_data_in_bin": 1 if rows < 30 else 3,
        # Same seed, same trees; values are known, so that a zero is a zero.
        "deterministic": True,
        "force_col_wise": True,
        "num_threads": 1,
        "use_missing": False,
        "verbosity": -1,
    }
    data = lightgbm.Dataset(x, y, weight=weight, params={"verbosity": -1}, free_raw_data=True)
    return lightgbm.train({**usual, **settings}, data, num_boost_round=trees)


def _joined(runs: list[Trees]) -> Trees:
    """The trees of several runs, one after another."""
    shift = np.cumsum([0, *(len(t.feature) for t in runs[:-1])]).astype(np.int32)
    moved = [
        replace(t, left=t.left + by, right=t.right + by, root=t.root + by) for t, by in zip(runs, shift, strict=True)
    ]
    arrays = {name: np.concatenate([getattr(t, name) for t in moved]) for name in (*_ARRAYS, "cover")}
    return Trees(**arrays)


def _lightgbm() -> Any:
    try:
        import lightgbm
    except (ImportError, OSError) as error:  # OSError: its library needs libgomp
        raise DependencyError(
            f"boosted trees need LightGBM ({error}); install it with pip install lightgbm, and on Linux the system's "
            "libgomp1"
        ) from None
    return lightgbm
