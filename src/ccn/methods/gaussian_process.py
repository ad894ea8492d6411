"""A Gaussian process on graphs: the covariant kernel of parts, and for molecules a kernel of their descriptors.

With P the mean share of parts in common (:class:`ccn.methods.kernels.PartShares`) and z the descriptors on a normal
scale, the covariance of two molecules is

    k(g, h) = w P(g, h) + (1 - w) exp(-|z_g - z_h|^2 / (2 d)),        d the number of descriptors,

and the prediction is the posterior mean ``k(g, .) (K + s I)^-1 (y - m) + m``. The share w and the noise s are chosen by
cross-validation on the training rows, of which at most :data:`_CHOSEN_ON` are drawn for it. Classes are fitted as
numbers, one against the rest; a logistic function of the posterior mean, fitted on held-out rows, gives probabilities.

Files hold hashes of the parts of the training molecules and their scaled descriptors, not the molecules.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve
from scipy.optimize import minimize
from scipy.special import expit, log_expit, log_softmax, softmax
from torch import Tensor

from ccn.datasets.splits import k_fold
from ccn.errors import FileError
from ccn.features.quantiles import QuantileScale
from ccn.graphs.pack import Pack
from ccn.graphs.ragged import Int
from ccn.learning.examples import Examples
from ccn.learning.fitted import Fitted, State, as_arrays, as_tensors
from ccn.learning.inputs import Inputs
from ccn.learning.settings import Features
from ccn.learning.task import Floats, Task
from ccn.methods.choice import joined
from ccn.methods.kernels import PartShares
from ccn.methods.kernels.bags import Bag
from ccn.methods.method import Method, Outcome
from ccn.methods.trees import WHOLE
from ccn.training.execution import Execution

__all__ = ["FittedGaussianProcess", "GaussianProcess"]

_SHARES = (0.25, 0.5, 0.75, 1.0)  # of the kernel of parts
_NOISES = (0.02, 0.05, 0.1, 0.2, 0.5)
_CHOSEN_ON = 2_000  # rows
_FOLDS = 5
_TOGETHER = 4_096  # graphs compared at a time

Seen = tuple[list[list[Bag]], NDArray[np.float32]]
"""What the covariance sees of graphs: bags of parts by view and level, and scaled descriptors (graphs, columns)."""


@dataclass(frozen=True)
class _Covariance:
    """The kernel of parts and of descriptors, before they are weighed.

    Attributes:
        parts: the kernel of parts.
        columns: of ``graph_features`` that are descriptors.
        scale: of these columns.
    """

    parts: PartShares
    columns: Int
    scale: QuantileScale

    def see(self, graphs: Pack) -> Seen:
        if not len(self.columns):
            return self.parts.see(graphs), np.zeros((len(graphs), 0), np.float32)
        return self.parts.see(graphs), self.scale(graphs.graph_features[:, self.columns])

    def between(self, a: Seen, b: Seen) -> tuple[Floats, Floats | None]:
        """(graphs of a, graphs of b) of parts and of descriptors, if there are any."""
        p, (x, y) = self.parts.compare(a[0], b[0]), (a[1].astype(np.float64), b[1].astype(np.float64))
        if not x.shape[1]:
            return p, None
        squares = (x**2).sum(axis=1)[:, None] + (y**2).sum(axis=1) - 2 * x @ y.T
        return p, np.exp(-np.maximum(squares, 0) / (2 * x.shape[1]))


def _weighed(p: Floats, r: Floats | None, share: float) -> Floats:
    return p if r is None else share * p + (1 - share) * r


@dataclass(frozen=True)
class _Process:
    """The process of one target.

    Attributes:
        rows: those of the training graphs with a known target.
        alpha: (rows, outputs) ``(K + s I)^-1 (y - m)``.
        mean: (outputs,) m.
        share: w.
        noise: s.
        slope: (2,) of the logistic function of classes.
    """

    rows: Int
    alpha: Floats
    mean: Floats
    share: float
    noise: float
    slope: Floats


@dataclass
class FittedGaussianProcess(Fitted):
    """The posterior means of all targets, and what they compare with of the training graphs."""

    covariance: _Covariance
    seen: Seen
    processes: list[_Process]

    def predict(self, graphs: Pack) -> Floats:
        found: list[list[Floats]] = [[] for _ in self.processes]
        for start in range(0, len(graphs), _TOGETHER):
            some = graphs
            if len(graphs) > _TOGETHER:
                some = graphs.select(np.arange(start, min(start + _TOGETHER, len(graphs))))
            p, r = self.covariance.between(self.covariance.see(some), self.seen)
            for t, process in enumerate(self.processes):
                k = _weighed(p, r, process.share)[:, process.rows]
                found[t].append(_outputs(self.task, k @ process.alpha + process.mean, process.slope))
        return joined(self.task, [np.concatenate(of) for of in found])

    def state(self) -> State:
        views, z = self.seen
        arrays: dict[str, NDArray[Any]] = {"descriptors": z, "quantiles": self.covariance.scale.quantiles}
        arrays["columns"] = self.covariance.columns
        for v, levels in enumerate(views):
            for level, bag in enumerate(levels):
                counts = np.bincount(bag.graph, minlength=bag.graphs)
                arrays |= {f"kind{v}.{level}": bag.key, f"count{v}.{level}": counts.astype(np.int32)}
        for t, p in enumerate(self.processes):
            arrays |= {f"rows{t}": p.rows, f"alpha{t}": p.alpha, f"mean{t}": p.mean, f"slope{t}": p.slope}
        data = {
            "parts": self.covariance.parts.settings(),
            "shares": [p.share for p in self.processes],
            "noises": [p.noise for p in self.processes],
        }
        return as_tensors(arrays, ""), data

    @classmethod
    def from_state(cls, tensors: Mapping[str, Tensor], data: Mapping[str, Any], task: Task, inputs: Inputs) -> Self:
        arrays = as_arrays(tensors, "")
        settings = dict(data["parts"])
        hidden = tuple(tuple(int(c) for c in of) for of in settings.pop("hidden"))
        parts = PartShares(**settings, hidden=hidden)  # type: ignore[arg-type]
        z = arrays["descriptors"]
        views = [
            [_bag(arrays, f"{v}.{level}", len(z)) for level in range(parts.levels + 1)] for v in range(1 + any(hidden))
        ]
        processes = []
        for t, (share, noise) in enumerate(zip(data["shares"], data["noises"], strict=True)):
            rows, alpha, mean, slope = (arrays[f"{name}{t}"] for name in ("rows", "alpha", "mean", "slope"))
            outputs = _width(task)
            if alpha.shape != (len(rows), outputs) or mean.shape != (outputs,) or slope.shape != (2,):
                raise FileError("the file holds a process whose sizes do not agree; do not use it")
            if len(rows) and not 0 <= rows.min() <= rows.max() < len(z):
                raise FileError("the file holds a process of graphs that it does not hold; do not use it")
            processes.append(_Process(rows, alpha, mean, float(share), float(noise), slope))
        if len(processes) != len(task.targets) or z.ndim != 2 or z.shape[1] != len(arrays["columns"]):
            raise FileError("the file holds another number of processes than it says; do not use it")
        scale = QuantileScale.from_state(arrays["quantiles"])
        return cls(task, inputs, _Covariance(parts, arrays["columns"], scale), (views, z), processes)


def _bag(arrays: Mapping[str, NDArray[Any]], name: str, graphs: int) -> Bag:
    """A bag of kinds that each occur once, as :func:`ccn.methods.kernels.bags.unary` makes them."""
    key, count = arrays[f"kind{name}"].view(np.uint64), arrays[f"count{name}"]
    if count.shape != (graphs,) or (count < 0).any() or count.sum() != len(key):
        raise FileError("the file holds parts whose numbers do not agree; do not use it")
    return Bag(np.repeat(np.arange(graphs), count), key, np.ones(len(key)), graphs)


def _width(task: Task) -> int:
    return len(task.classes) if task.kind == "multiclass" else 1


def _outputs(task: Task, f: Floats, slope: Floats) -> Floats:
    """From posterior means (rows, outputs) to scaled numbers (rows,), or probabilities (rows, classes)."""
    if task.kind == "regression":
        return f[:, 0]
    if task.kind == "multiclass":
        return np.asarray(softmax(slope[0] * f, axis=1))
    p = expit(slope[0] * f[:, 0] + slope[1])
    return np.stack([1 - p, p], axis=1)


@dataclass(frozen=True, kw_only=True)
class GaussianProcess(Method):
    """The Gaussian process of this module.

    Attributes:
        depth: the largest of the kernel of parts.
        max_rows: training rows above which so many are drawn, since the covariance has their square.
    """

    depth: int = 3
    max_rows: int = 8_000

    fitted = FittedGaussianProcess
    weighs = True
    reads_whole = True

    def reads(self) -> Features:
        return self._with_features(Features(molecules=WHOLE))

    def learn(self, examples: Examples, inputs: Inputs, execution: Execution) -> Outcome:
        drawn = np.arange(len(examples.train))
        if len(drawn) > self.max_rows:
            drawn = np.sort(np.random.default_rng(self.seed).choice(drawn, self.max_rows, replace=False))
        graphs = examples.graphs.select(examples.train[drawn])
        task = examples.task()
        y = task.encode(examples.targets[examples.train[drawn]])
        covariance = self._covariance(graphs, inputs)
        seen = covariance.see(graphs)
        p, r = covariance.between(seen, seen)
        processes = []
        for t in range(len(task.targets)):
            rows = np.flatnonzero(~np.isnan(y[:, t]))
            weight = examples.row_weights(task, t)
            weight = np.ones(len(rows)) if weight is None else np.maximum(weight[drawn][rows], 1e-6)
            groups = None if examples.groups is None else examples.groups[examples.train[drawn]][rows]
            processes.append(self._fit(task, p, r, rows, y[rows, t], weight, groups))
        chosen = [{"share of parts": q.share, "noise": q.noise} for q in processes]
        return Outcome(FittedGaussianProcess(task, inputs, covariance, seen, processes), chosen)

    def _covariance(self, graphs: Pack, inputs: Inputs) -> _Covariance:
        columns = inputs.dense_columns(graphs)
        z = graphs.graph_features[:, columns] if len(columns) else np.zeros((len(graphs), 0))
        return _Covariance(PartShares(levels=self.depth, hidden=inputs.stereo_columns()), columns, QuantileScale.fit(z))

    def _fit(
        self, task: Task, p: Floats, r: Floats | None, rows: Int, y: Floats, weight: Floats, groups: Int | None
    ) -> _Process:
        if task.kind == "regression":
            table = y[:, None]
        elif task.kind == "multiclass":
            table = 2.0 * (y[:, None] == np.arange(len(task.classes))) - 1
        else:
            table = 2 * y[:, None] - 1
        few = np.arange(len(rows))
        if len(few) > _CHOSEN_ON:
            few = np.sort(np.random.default_rng(self.seed).choice(few, _CHOSEN_ON, replace=False))
        share, noise, held = self._choose(
            p, r, rows[few], table[few], weight[few], None if groups is None else groups[few]
        )
        k = _weighed(p, r, share)[np.ix_(rows, rows)]
        alpha, mean = _solve(k, table, weight, noise)
        slope = np.array([1.0, 0.0])
        if task.kind != "regression" and held is not None:
            slope = _slope(held, table[few])
        return _Process(rows, alpha, mean, share, noise, slope)

    def _choose(
        self, p: Floats, r: Floats | None, rows: Int, y: Floats, weight: Floats, groups: Int | None
    ) -> tuple[float, float, Floats | None]:
        """The share, the noise, and with them the predictions of rows that were held out."""
        if len(rows) < 2 * _FOLDS:
            return 0.5, 0.1, None
        folds = k_fold(len(rows), _FOLDS, self.seed, groups=groups, validation=False)
        best: tuple[float, float, float, Floats] | None = None
        for share in _SHARES if r is not None else (1.0,):
            k = _weighed(p[np.ix_(rows, rows)], None if r is None else r[np.ix_(rows, rows)], share)
            found = np.empty((len(_NOISES), *y.shape))
            for fold in folds:
                inner = k[np.ix_(fold.train, fold.train)]
                for i, noise in enumerate(_NOISES):
                    alpha, mean = _solve(inner, y[fold.train], weight[fold.train], noise)
                    found[i, fold.test] = k[np.ix_(fold.test, fold.train)] @ alpha + mean
            for i, noise in enumerate(_NOISES):
                error = float(((found[i] - y) ** 2 * weight[:, None]).sum())
                if best is None or error < best[0]:
                    best = error, share, noise, found[i]
        assert best is not None
        return best[1:]


def _solve(k: Floats, y: Floats, weight: Floats, noise: float) -> tuple[Floats, Floats]:
    """``(K + s / weight)^-1 (y - m)`` and m, the weighted mean."""
    mean = np.average(y, axis=0, weights=weight)
    return np.asarray(cho_solve(cho_factor(k + np.diag(noise / weight), lower=True), y - mean)), mean


def _slope(f: Floats, y: Floats) -> Floats:
    """The logistic function that makes held-out rows likeliest; with Platt's correction, so that it stays finite."""
    doubt = 1 / (len(y) + 2)
    if f.shape[1] > 1:
        aim = np.where(y > 0, 1 - doubt, doubt / (f.shape[1] - 1))

        def loss(s: Floats) -> float:
            return -float((aim * log_softmax(s[0] * f, axis=1)).sum(axis=1).mean())

        return np.asarray(minimize(loss, [2.0, 0.0], bounds=[(1e-3, 100), (0, 0)]).x)
    aim = np.where(y[:, 0] > 0, 1 - doubt, doubt)

    def binary(s: Floats) -> float:
        margin = s[0] * f[:, 0] + s[1]
        return -float((aim * log_expit(margin) + (1 - aim) * log_expit(-margin)).mean())

    return np.asarray(minimize(binary, [2.0, 0.0], bounds=[(1e-3, 100), (-10, 10)]).x)
