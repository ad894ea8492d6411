"""Graph kernels with a support vector machine: C-SVM for classes, SVR for numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax, softmax
from torch import Tensor

from ccn.errors import ConfigurationError, FileError
from ccn.features.scaling import TargetScale
from ccn.graphs.pack import Pack
from ccn.graphs.ragged import Int
from ccn.learning.task import Floats
from ccn.methods.choice import Round, best, grid, rounds, success
from ccn.methods.kernels import (
    WL,
    Graphlet,
    Kernel,
    MultiscaleLaplacian,
    PartKinds,
    RandomWalk,
    ShortestPath,
    WLEdge,
    WLOptimalAssignment,
    stored_gram,
)
from ccn.methods.method import Baseline, Given, as_arrays, as_tensors
from ccn.methods.objects import from_tensor, need_skops, to_tensor
from ccn.training.recipe import Features

__all__ = ["KERNELS", "KernelMachine"]

_ROWS = 2048  # predicted together
_KEPT_FROM = 100  # graphs from which a Gram matrix is worth keeping
_NUMBERS = {"C": (0.1, 1.0, 10.0, 100.0)}  # a larger C takes a machine for numbers minutes


@dataclass(frozen=True)
class _Choice:
    """A kernel, the values of its settings and of the machine's constant that are tried, and what it sees of atoms.

    ``numbers`` has what regression tries in their place.
    """

    kernel: type[Kernel[Any]]
    settings: Mapping[str, Sequence[Any]]
    C: Sequence[float] = (1.0, 10.0, 100.0, 1000.0)
    molecules: str = "element"
    numbers: Mapping[str, Sequence[Any]] = field(default_factory=lambda: _NUMBERS)

    def tried(self, *, classification: bool) -> dict[str, Sequence[Any]]:
        """All values that are tried."""
        return {**self.settings, "C": self.C, **({} if classification else self.numbers)}


KERNELS: dict[str, _Choice] = {
    "wl": _Choice(WL, {"depth": (1, 2, 3, 5)}),
    "wl-edge": _Choice(WLEdge, {"depth": (1, 2, 3, 5)}),
    "wl-oa": _Choice(WLOptimalAssignment, {"depth": (1, 2, 3, 5)}),
    "shortest-path": _Choice(ShortestPath, {}),
    "graphlet": _Choice(Graphlet, {"size": (3, 4), "connected": (False, True)}),
    "random-walk": _Choice(RandomWalk, {"steps": (3, 5), "discount": (0.1, 1.0)}),
    "multiscale-laplacian": _Choice(MultiscaleLaplacian, {"levels": (1, 2), "noise": (0.1, 0.01)}),
    "ccn-2-kernel": _Choice(
        PartKinds,
        {"order": (2,), "levels": (6,), "counted": (True, False)},
        C=(1.0, 2.0, 4.0, 8.0),
        molecules="compact",
        numbers={**_NUMBERS, "levels": (1, 2)},
    ),
}


@dataclass(eq=False, repr=False, kw_only=True)
class KernelMachine(Baseline):
    """A kernel whose settings are chosen together with the machine's constant C.

    Args:
        C: the values tried, in place of the method's own.
        settings: values of the kernel's settings that are tried, in place of the method's own.
        folds: of cross-validation.
        refit: fit the last machine on the validation rows too.
        max_rows: training rows above which so many are drawn; a Gram matrix has their square.
        cache: keep Gram matrices of up to ``max_rows`` graphs on disk. What is computed and kept is the matrix of all
            graphs of the pack that the rows are a part of, so that all splits of a data set share it. A kernel that
            is fitted sees all those graphs, but no target. Of a larger pack it is that of the rows drawn.

    Attributes:
        kernel_: the chosen kernel, one per target.
        sharpness_: of classes, one per target: probabilities are the softmax of so many times the machine's scores, a
            number that makes what is known of rows not fitted on likeliest; the likeliest class is the machine's own.
        support_: the training rows that were used.

    """

    C: Sequence[float] | float | None = None
    settings: Mapping[str, Any] | None = None
    folds: int = 5
    refit: bool = False
    max_rows: int = 8_000
    cache: bool = True

    METHODS = tuple(KERNELS)

    def check_packages(self) -> None:
        need_skops()

    def _learn(self, given: Given) -> None:
        given, train = self._drawn(given)
        self.support_ = np.arange(len(given.graphs) if self.refit else train)
        y = given.targets
        self.scale_ = None if self._classifies else TargetScale.fit(y[:train])
        y = y if self.scale_ is None else self.scale_.scale(y)
        choice = KERNELS[self.method]
        tried = choice.tried(classification=self._classifies)
        tried = tried if self.settings is None else {"C": tried["C"], **self.settings}
        own_names = [f.name for f in fields(choice.kernel)]
        points = grid(tried if self.C is None else {**tried, "C": self.C}, [*own_names, "C"])
        grams: dict[str, tuple[Kernel[Any], NDArray[Any]]] = {}

        def gram(point: dict[str, Any]) -> tuple[Kernel[Any], NDArray[Any]]:
            own = {k: v for k, v in point.items() if k != "C"}
            if repr(own) not in grams:
                grams[repr(own)] = self._gram(choice.kernel(**own), given.graphs)
            return grams[repr(own)]

        self.kernel_: list[Kernel[Any]] = []
        self.machine_: list[Any] = []
        self.chosen_: list[dict[str, Any]] = []
        self.sharpness_: list[float] = []
        for target, column in zip(self._names, y.T, strict=True):
            if self._classifies and len(np.unique(column[:train][~np.isnan(column[:train])])) < 2:
                raise ConfigurationError(
                    f"{self.method}: the training rows have one class of {target!r} only; give both"
                )
            parts = rounds(column, train, self.folds, self.random_state, classification=self._classifies, dear=True)

            def judge(point: dict[str, Any], y: Floats = column, parts: list[Round] = parts) -> float:
                k = gram(point)[1]
                return float(np.mean([self._try(k, y, rows, held, point["C"]) for rows, held in parts]))

            point, _ = best(points, judge)
            kernel, k = gram(point)
            rows = self.support_[~np.isnan(column[self.support_])]
            made = self._machine(point["C"]).fit(k[np.ix_(rows, rows)].astype(np.float64), column[rows])
            self.kernel_.append(kernel)
            self.machine_.append((made, rows))
            self.chosen_.append(point)
            if self._classifies:
                self.sharpness_.append(self._sharpness(k, column, parts, point["C"]))
        self.graphs_ = given.graphs.select(self.support_)
        self._seen: dict[Kernel[Any], Any] = {}  # what kernels see of them

    def _infer(self, graphs: Pack) -> Floats:
        found = np.stack(self._each(graphs, lambda t, machine, k: machine.predict(k)), axis=1)
        return found if self.scale_ is None else self.scale_.restore(found)

    def answers(self, graphs: Pack) -> Floats:
        if not self._classifies:
            return self._infer(graphs)
        found = self._each(graphs, lambda t, machine, k: softmax(self.sharpness_[t] * self._scores(machine, k), axis=1))
        return np.stack([p[:, 1] for p in found], axis=1) if self._multilabel else found[0]

    def _each(self, graphs: Pack, tell: Callable[[int, Any, Floats], Floats]) -> list[Floats]:
        """For each target what is told by its machine, of kernels (graphs, rows of the machine)."""
        found: list[list[Floats]] = [[] for _ in self.machine_]
        for start in range(0, len(graphs), _ROWS):
            some = graphs.select(np.arange(start, min(start + _ROWS, len(graphs))))
            seen: dict[Kernel[Any], Floats] = {}
            for t, (kernel, (machine, rows)) in enumerate(zip(self.kernel_, self.machine_, strict=True)):
                if kernel not in seen:
                    seen[kernel] = self._across(kernel, some)
                found[t].append(tell(t, machine, seen[kernel][:, rows]))
        return [np.concatenate(of) for of in found]

    def _scores(self, machine: Any, k: Floats) -> Floats:
        """(rows, classes) the larger the surer; minus infinity for a class that the machine has not seen."""
        score = machine.decision_function(k)
        out = np.full((len(k), len(self.classes_)), -np.inf)
        out[:, machine.classes_.astype(np.int64)] = np.stack([-score, score], axis=1) / 2 if score.ndim == 1 else score
        return out

    def _sharpness(self, k: NDArray[Any], y: Floats, parts: list[Round], c: float) -> float:
        scores, truth = [np.empty((0, len(self.classes_)))], [np.empty(0, np.int64)]
        for rows, held in parts:
            if len(np.unique(y[rows])) > 1 and len(held):
                made = self._machine(c).fit(k[np.ix_(rows, rows)].astype(np.float64), y[rows])
                scores.append(self._scores(made, k[np.ix_(held, rows)].astype(np.float64)))
                truth.append(y[held].astype(np.int64))
        score, at = np.concatenate(scores), np.concatenate(truth)
        known = np.isfinite(score[np.arange(len(at)), at])  # of classes that the machine had seen
        score, at = score[known], at[known]
        if not len(at):
            return 1.0

        # A little doubt, as Platt has it: rows that are all told right would make the softmax infinitely sharp.
        doubt = 1 / (len(at) + 2)
        sought = np.full(score.shape, doubt / max(1, score.shape[1] - 1))
        sought[np.arange(len(at)), at] = 1 - doubt
        score = np.where(np.isfinite(score), score, score[np.isfinite(score)].min())

        def loss(log: float) -> float:
            return -float(np.mean((sought * log_softmax(np.exp(log) * score, axis=1)).sum(axis=1)))

        return float(np.exp(minimize_scalar(loss, bounds=(-5.0, 5.0), method="bounded").x))

    def feature_definition(self) -> Features:
        return self._features(Features(molecules=KERNELS[self.method].molecules, vertices="given"))

    def _machine(self, c: float) -> Any:
        from sklearn.svm import SVC, SVR

        how = {"break_ties": True} if self._classifies else {}  # as the scores say
        return (SVC if self._classifies else SVR)(C=c, kernel="precomputed", cache_size=500, **how)

    def _try(self, k: NDArray[Any], y: Floats, rows: Int, held: Int, c: float) -> float:
        if self._classifies and len(np.unique(y[rows])) < 2:
            return float("nan")
        made = self._machine(c).fit(k[np.ix_(rows, rows)].astype(np.float64), y[rows])
        predicted = made.predict(k[np.ix_(held, rows)].astype(np.float64))
        return success(y[held], predicted, classification=self._classifies)

    def _drawn(self, given: Given) -> tuple[Given, int]:
        """Not more training rows than a Gram matrix can have, and as many for validation as that is a share of."""
        if given.train <= self.max_rows:
            return given, given.train
        rng = np.random.default_rng(self.random_state)
        rows = np.sort(rng.choice(given.train, self.max_rows, replace=False))
        held = np.arange(given.train, len(given.graphs))
        held = np.sort(rng.permutation(held)[: max(1, self.max_rows // 8)]) if len(held) else held
        kept = np.concatenate([rows, held])
        return Given(given.graphs.select(kept), given.targets[kept], len(rows)), len(rows)

    def _shared(self, graphs: Pack) -> Pack | None:
        """The pack that the graphs are a part of, if its Gram matrix is kept."""
        whole = Pack(graphs.arrays, directed=graphs.directed, self_loops=graphs.self_loops)
        return whole if self.cache and _KEPT_FROM <= len(whole) <= self.max_rows * 5 // 4 else None

    def _gram(self, kernel: Kernel[Any], graphs: Pack) -> tuple[Kernel[Any], NDArray[Any]]:
        """The kernel, fitted, and the Gram matrix of the graphs."""
        whole = self._shared(graphs)
        if whole is None:
            fitted = kernel.fit(graphs)
            kept = self.cache and len(graphs) >= _KEPT_FROM
            return fitted, stored_gram(fitted, graphs) if kept else fitted.gram(graphs).astype(np.float32)
        fitted = kernel.fit(whole)
        return fitted, stored_gram(fitted, whole)[np.ix_(graphs.chosen, graphs.chosen)]

    def _across(self, kernel: Kernel[Any], graphs: Pack) -> Floats:
        """(graphs, training rows)."""
        whole = self._shared(graphs)
        if whole is not None and graphs.arrays is self.graphs_.arrays:
            return np.asarray(stored_gram(kernel, whole)[np.ix_(graphs.chosen, self.graphs_.chosen)], dtype=np.float64)
        if kernel not in self._seen:
            self._seen[kernel] = kernel.see(self.graphs_)
        return kernel.between(kernel.see(graphs), self._seen[kernel])

    def _state(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        graphs = self.graphs_.bare().compact()
        tensors = as_tensors(graphs.arrays, "graphs.")
        for t, (kernel, (machine, rows)) in enumerate(zip(self.kernel_, self.machine_, strict=True)):
            tensors |= as_tensors({**kernel.state(), "rows": rows}, f"{t}.")
            tensors[f"machine{t}"] = to_tensor(machine)
        data = {
            "chosen": self.chosen_,
            "sharpness": self.sharpness_,
            "kernels": [k.settings() for k in self.kernel_],
            "version": KERNELS[self.method].kernel.version,
            "directed": graphs.directed,
            "self_loops": graphs.self_loops,
            "scale": None if self.scale_ is None else self.scale_.to_json(),
        }
        return tensors, data

    def _restore(self, tensors: Mapping[str, Tensor], data: Mapping[str, Any]) -> None:
        if data.get("version", 1) != KERNELS[self.method].kernel.version:
            raise FileError(f"the kernel of {self.method} was another when this file was written; fit it again")
        self.graphs_ = Pack(as_arrays(tensors, "graphs."), directed=data["directed"], self_loops=data["self_loops"])
        self._seen = {}
        self.support_ = np.arange(len(self.graphs_))
        self.scale_ = None if data["scale"] is None else TargetScale.from_json(data["scale"])
        self.chosen_, self.sharpness_ = list(data["chosen"]), list(data["sharpness"])
        self.kernel_, self.machine_ = [], []
        for t, settings in enumerate(data["kernels"]):
            arrays = as_arrays(tensors, f"{t}.")
            rows = arrays.pop("rows")
            if "labels" in arrays:
                arrays["labels"] = arrays["labels"].view(np.uint64)
            self.kernel_.append(KERNELS[self.method].kernel(**settings).with_state(arrays))
            self.machine_.append((from_tensor(tensors[f"machine{t}"]), rows))
