"""A Gaussian process on graphs: the covariant kernel of parts, and for molecules kernels of their features as a whole.

With P the mean share of parts in common (:class:`ccn.methods.kernels.PartShares`), e the pairs of pharmacophore points
(ErG) and z the descriptors on a normal scale, the covariance of two molecules is

    k(g, h) = w ((1 - v) P(g, h) + v T(g, h)) + (1 - w) exp(-|z_g - z_h|^2 / (2 d)),
    T(g, h) = e_g . e_h / (|e_g|^2 + |e_h|^2 - e_g . e_h),             d the number of descriptors,

and the prediction is the posterior mean ``k(g, .) (K + s I)^-1 (y - m) + m``. The shares w and v and the noise s are
chosen by cross-validation on the training rows, of which at most :data:`_CHOSEN_ON` are drawn for it. Classes are
fitted as numbers, one against the rest; a logistic function of the posterior mean, fitted on held-out rows, gives
probabilities.

Files hold hashes of the parts of the training molecules and their features as a whole, not the molecules.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import product
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve
from scipy.optimize import minimize
from scipy.special import erf, expit, log_expit, log_softmax, softmax
from torch import Tensor

from ccn.errors import FileError
from ccn.features.quantiles import QuantileScale
from ccn.graphs.pack import Pack
from ccn.graphs.ragged import Int
from ccn.learning.contributions import Contributions, softmaxed, unscaled
from ccn.learning.examples import Examples
from ccn.learning.fitted import Fitted, State, as_arrays, as_tensors
from ccn.learning.inputs import Inputs
from ccn.learning.settings import Features
from ccn.learning.task import Floats, Task
from ccn.methods.choice import folds_of, joined
from ccn.methods.kernels import PartShares
from ccn.methods.kernels.bags import Bag
from ccn.methods.kernels.carrying import shares_of
from ccn.methods.method import Method, Outcome
from ccn.methods.trees import WHOLE
from ccn.training.execution import Execution

__all__ = ["FittedGaussianProcess", "GaussianProcess"]

_SHARES = (0.25, 0.5, 0.75, 1.0)  # w
_PAIRED = (0.0, 0.5)  # v
_NOISES = (0.02, 0.05, 0.1, 0.2, 0.5)
_CHOSEN_ON = 1_000  # rows: the time of a choice grows with their cube
_FOLDS = 5
_TOGETHER = 4_096  # graphs compared at a time

_TENTHS = 10  # ErG counts in tenths, which fit into a byte


class _Seen(NamedTuple):
    """What the covariance sees of graphs.

    Attributes:
        parts: bags of parts by view and level.
        descriptors: (graphs, columns), scaled.
        pairs: (graphs, columns) of pharmacophore points, in tenths.
    """

    parts: list[list[Bag]]
    descriptors: NDArray[np.float32]
    pairs: NDArray[np.uint8]


class _Kernels(NamedTuple):
    """(graphs, others) P, T and the kernel of descriptors; None where there is nothing to compare."""

    parts: Floats
    pairs: Floats | None
    descriptors: Floats | None

    def weighed(self, shares: Shares) -> Floats:
        whole, paired = shares
        k = self.parts if self.pairs is None or not paired else (1 - paired) * self.parts + paired * self.pairs
        return k if self.descriptors is None else whole * k + (1 - whole) * self.descriptors

    def select(self, rows: Int) -> _Kernels:
        """Of some rows with each other."""
        return _Kernels(*(None if k is None else k[np.ix_(rows, rows)] for k in self))  # type: ignore[arg-type]


Shares = tuple[float, float]
"""w and v."""


@dataclass(frozen=True)
class _Covariance:
    """The kernels before they are weighed.

    Attributes:
        parts: the kernel of parts.
        columns: of ``graph_features`` that are descriptors.
        scale: of these columns.
        pairs: columns of ``graph_features`` that are pairs of pharmacophore points.
    """

    parts: PartShares
    columns: Int
    scale: QuantileScale
    pairs: Int

    def see(self, graphs: Pack) -> _Seen:
        whole = graphs.graph_features if "graph_features" in graphs.arrays else np.zeros((len(graphs), 0), np.float32)
        z = self.scale(whole[:, self.columns]) if len(self.columns) else np.zeros((len(graphs), 0), np.float32)
        pairs = np.clip(np.rint(_TENTHS * whole[:, self.pairs]), 0, 255).astype(np.uint8)
        return _Seen(self.parts.see(graphs), z, pairs)

    def between(self, a: _Seen, b: _Seen) -> _Kernels:
        x, y = a.descriptors.astype(np.float64), b.descriptors.astype(np.float64)
        t = r = None
        if a.pairs.shape[1]:
            t = _tanimoto(a.pairs, b.pairs)[0]
        if x.shape[1]:
            squares = (x**2).sum(axis=1)[:, None] + (y**2).sum(axis=1) - 2 * x @ y.T
            r = np.exp(-np.maximum(squares, 0) / (2 * x.shape[1]))
        return _Kernels(self.parts.compare(a.parts, b.parts), t, r)


def _tanimoto(a: NDArray[np.uint8], b: NDArray[np.uint8]) -> tuple[Floats, Floats]:
    """(rows of a, rows of b) T and its denominator, which is 1 where both have no pairs."""
    x, y = a.astype(np.float64), b.astype(np.float64)
    dot = x @ y.T
    below = np.maximum((x**2).sum(axis=1)[:, None] + (y**2).sum(axis=1) - dot, 1.0)
    return dot / below, below


def _along(z: Floats, y: Floats, alpha: Floats) -> tuple[Floats, float]:
    """Integrated gradients of ``F(z) = sum over h of alpha_h exp(-|z - y_h|^2 / (2 d))`` on the path t z, and F(0).

    With ``k_t = exp(-|t z - y|^2 / (2 d))`` and the integrals ``I = int k_t dt`` and ``J = int t k_t dt`` from 0 to 1,
    column j has the sum over h of ``alpha (z_j y_j I - z_j^2 J) / d``. I follows from completing the square, and J from
    ``int (|z|^2 t - z.y) k_t dt = d (k_0 - k_1)``. Returns (rows, d) and a number.
    """
    d = z.shape[1]
    a, b, c = (z**2).sum(axis=1)[:, None], z @ y.T, (y**2).sum(axis=1)
    still = a == 0  # nothing changes
    a = np.where(still, 1.0, a)
    first, last = np.exp(-c / (2 * d)), np.exp(-np.maximum(a - 2 * b + c, 0) / (2 * d))
    s = np.sqrt(a / (2 * d))
    peak = np.exp(-np.maximum(c - b**2 / a, 0) / (2 * d))
    i = peak * np.sqrt(np.pi) / (2 * s) * (erf(s * (1 - b / a)) + erf(s * b / a))
    j = (b * i + d * (first - last)) / a
    each = (z * ((i * alpha) @ y) - z**2 * (j @ alpha)[:, None]) / d
    return np.where(still, 0.0, each), float(first @ alpha)


@dataclass(frozen=True)
class _Process:
    """The process of one target.

    Attributes:
        rows: those of the training graphs with a known target.
        alpha: (rows, outputs) ``(K + s I)^-1 (y - m)``.
        mean: (outputs,) m.
        shares: w and v.
        noise: s.
        slope: (2,) of the logistic function of classes.
    """

    rows: Int
    alpha: Floats
    mean: Floats
    shares: Shares
    noise: float
    slope: Floats


@dataclass
class FittedGaussianProcess(Fitted):
    """The posterior means of all targets, and what they compare with of the training graphs."""

    covariance: _Covariance
    seen: _Seen
    processes: list[_Process]

    def predict(self, graphs: Pack) -> Floats:
        found: list[list[Floats]] = [[] for _ in self.processes]
        for start in range(0, len(graphs), _TOGETHER):
            some = graphs
            if len(graphs) > _TOGETHER:
                some = graphs.select(np.arange(start, min(start + _TOGETHER, len(graphs))))
            kernels = self.covariance.between(self.covariance.see(some), self.seen)
            for t, process in enumerate(self.processes):
                k = kernels.weighed(process.shares)[:, process.rows]
                found[t].append(_outputs(self.task, k @ process.alpha + process.mean, process.slope))
        return joined(self.task, [np.concatenate(of) for of in found])

    def contributions(self, graphs: Pack, output: int = 0) -> Contributions:
        """Of parts to atoms that form them (:func:`ccn.methods.kernels.carrying.shares_of`), of pairs and descriptors.

        The posterior mean is a sum of the three. The baseline is that of a graph without any part or pair of the
        training graphs whose descriptors are the medians; descriptors share what they change on the straight path from
        there.
        """
        several = self.task.kind == "multiclass"
        process = self.processes[0 if several else output]
        made = [self._terms(graphs, process, k) for k in range(process.alpha.shape[1])]
        if several:
            return softmaxed([c.times(process.slope[0]) for c in made], output)
        if self.task.kind == "regression":
            return unscaled(self.task, output, made[0])
        return made[0].times(*process.slope)

    def _terms(self, graphs: Pack, process: _Process, column: int) -> Contributions:
        covariance, theirs, ours = self.covariance, self.seen, self.covariance.see(graphs)
        alpha = np.zeros(len(theirs.descriptors))
        alpha[process.rows] = process.alpha[:, column]
        f = covariance.between(ours, theirs).weighed(process.shares) @ alpha + process.mean[column]
        share, paired = process.shares if len(covariance.columns) else (1.0, process.shares[1])
        paired = paired if len(covariance.pairs) else 0.0
        each, start = np.zeros((len(graphs), 0)), 0.0
        if len(covariance.columns):
            z, y = ours.descriptors.astype(np.float64), theirs.descriptors.astype(np.float64)
            each, start = _along(z, y, (1 - share) * alpha)
        made = Contributions.none(graphs, f, process.mean[column] + start)
        made.whole[:, covariance.columns] += each
        if paired:  # the numerator of T is a sum over columns; the denominator is held
            below = _tanimoto(ours.pairs, theirs.pairs)[1]
            made.whole[:, covariance.pairs] += share * paired * ours.pairs * ((alpha / below) @ theirs.pairs)
        atoms = share * (1 - paired) * shares_of(covariance.parts, graphs, theirs.parts, alpha)
        return replace(made, atoms=atoms)

    def state(self) -> State:
        views, z, pairs = self.seen
        arrays: dict[str, NDArray[Any]] = {"descriptors": z, "quantiles": self.covariance.scale.quantiles}
        arrays |= {"columns": self.covariance.columns, "pairs": pairs, "pair_columns": self.covariance.pairs}
        for v, levels in enumerate(views):
            for level, bag in enumerate(levels):
                counts = np.bincount(bag.graph, minlength=bag.graphs)
                arrays |= {f"kind{v}.{level}": bag.key, f"count{v}.{level}": counts.astype(np.int32)}
        for t, p in enumerate(self.processes):
            arrays |= {f"rows{t}": p.rows, f"alpha{t}": p.alpha, f"mean{t}": p.mean, f"slope{t}": p.slope}
        data = {
            "parts": self.covariance.parts.settings(),
            "shares": [p.shares[0] for p in self.processes],
            "paired": [p.shares[1] for p in self.processes],
            "noises": [p.noise for p in self.processes],
        }
        return as_tensors(arrays, ""), data

    @classmethod
    def from_state(cls, tensors: Mapping[str, Tensor], data: Mapping[str, Any], task: Task, inputs: Inputs) -> Self:
        arrays = as_arrays(tensors, "")
        settings = dict(data["parts"])
        hidden = tuple(tuple(int(c) for c in of) for of in settings.pop("hidden"))
        parts = PartShares(**settings, hidden=hidden)  # type: ignore[arg-type]
        z, none = arrays["descriptors"], np.zeros(0, dtype=np.int64)
        pairs, places = arrays.get("pairs", np.zeros((len(z), 0), np.uint8)), arrays.get("pair_columns", none)
        views = [
            [_bag(arrays, f"{v}.{level}", len(z)) for level in range(parts.levels + 1)] for v in range(1 + any(hidden))
        ]
        processes = []
        paired = data.get("paired", [0.0] * len(data["shares"]))
        for t, (share, of, noise) in enumerate(zip(data["shares"], paired, data["noises"], strict=True)):
            rows, alpha, mean, slope = (arrays[f"{name}{t}"] for name in ("rows", "alpha", "mean", "slope"))
            outputs = _width(task)
            if alpha.shape != (len(rows), outputs) or mean.shape != (outputs,) or slope.shape != (2,):
                raise FileError("the file holds a process whose sizes do not agree; do not use it")
            if len(rows) and not 0 <= rows.min() <= rows.max() < len(z):
                raise FileError("the file holds a process of graphs that it does not hold; do not use it")
            processes.append(_Process(rows, alpha, mean, (float(share), float(of)), float(noise), slope))
        if (
            len(processes) != len(task.targets)
            or z.ndim != 2
            or z.shape[1] != len(arrays["columns"])
            or pairs.shape != (len(z), len(places))
            or pairs.dtype != np.uint8
        ):
            raise FileError("the file holds another number of processes than it says; do not use it")
        scale = QuantileScale.from_state(arrays["quantiles"])
        covariance = _Covariance(parts, arrays["columns"], scale, places)
        return cls(task, inputs, covariance, _Seen(views, z, pairs), processes)


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
    grouped = True

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
        kernels = covariance.between(seen, seen)
        processes = []
        for t in range(len(task.targets)):
            rows = np.flatnonzero(~np.isnan(y[:, t]))
            weight = examples.row_weights(task, t)
            weight = np.ones(len(rows)) if weight is None else np.maximum(weight[drawn][rows], 1e-6)
            groups = examples.groups_of(examples.train[drawn][rows])
            processes.append(self._fit(task, kernels, rows, y[rows, t], weight, groups))
        chosen = [{"share": q.shares[0], "pairs": q.shares[1], "noise": q.noise} for q in processes]
        return Outcome(FittedGaussianProcess(task, inputs, covariance, seen, processes), chosen)

    def _covariance(self, graphs: Pack, inputs: Inputs) -> _Covariance:
        columns = inputs.dense_columns(graphs)
        z = graphs.graph_features[:, columns] if len(columns) else np.zeros((len(graphs), 0))
        parts = PartShares(levels=self.depth, hidden=inputs.stereo_columns())
        return _Covariance(parts, columns, QuantileScale.fit(z), inputs.pair_columns())

    def _fit(self, task: Task, kernels: _Kernels, rows: Int, y: Floats, weight: Floats, groups: Int | None) -> _Process:
        if task.kind == "regression":
            table = y[:, None]
        elif task.kind == "multiclass":
            table = 2.0 * (y[:, None] == np.arange(len(task.classes))) - 1
        else:
            table = 2 * y[:, None] - 1
        few = np.arange(len(rows))
        if len(few) > _CHOSEN_ON:
            few = np.sort(np.random.default_rng(self.seed).choice(few, _CHOSEN_ON, replace=False))
        own = None if groups is None else groups[few]
        shares, noise, held = self._choose(kernels.select(rows[few]), table[few], weight[few], own)
        k = kernels.weighed(shares)[np.ix_(rows, rows)]
        alpha, mean = _solve(k, table, weight, noise)
        slope = np.array([1.0, 0.0])
        if task.kind != "regression" and held is not None:
            slope = _slope(held, table[few])
        return _Process(rows, alpha, mean, shares, noise, slope)

    def _choose(
        self, kernels: _Kernels, y: Floats, weight: Floats, groups: Int | None
    ) -> tuple[Shares, float, Floats | None]:
        """The shares, the noise, and with them the predictions of rows that were held out."""
        if len(y) < 2 * _FOLDS:
            return (0.5, 0.0), 0.1, None
        folds = folds_of(len(y), _FOLDS, self.seed, groups=groups)
        best: tuple[float, Shares, float, Floats] | None = None
        whole = (1.0,) if kernels.descriptors is None else _SHARES
        paired = (0.0,) if kernels.pairs is None else _PAIRED
        for shares in product(whole, paired):
            k = kernels.weighed(shares)
            found = np.empty((len(_NOISES), *y.shape))
            for fold in folds:
                inner = k[np.ix_(fold.train, fold.train)]
                for i, noise in enumerate(_NOISES):
                    alpha, mean = _solve(inner, y[fold.train], weight[fold.train], noise)
                    found[i, fold.test] = k[np.ix_(fold.test, fold.train)] @ alpha + mean
            for i, noise in enumerate(_NOISES):
                error = float(((found[i] - y) ** 2 * weight[:, None]).sum())
                if best is None or error < best[0]:
                    best = error, shares, noise, found[i]
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
