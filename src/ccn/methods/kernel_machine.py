"""Graph kernels with a support vector machine: C-SVM for classes, SVR for numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax, softmax
from torch import Tensor

from ccn.errors import ConfigurationError, FileError
from ccn.graphs.pack import Pack
from ccn.graphs.ragged import Int
from ccn.learning.contributions import Contributions, unscaled
from ccn.learning.examples import Examples
from ccn.learning.fitted import Fitted, State, as_arrays, as_tensors
from ccn.learning.inputs import Inputs
from ccn.learning.settings import Features
from ccn.learning.task import Floats, Task
from ccn.methods.choice import MANY_DEAR, Chosen, Round, best, grid, joined
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
from ccn.methods.kernels.carrying import kinds_of
from ccn.methods.method import Outcome
from ccn.methods.objects import from_tensor, to_tensor
from ccn.training.execution import Execution

__all__ = ["KERNELS", "FittedKernelMachine", "KernelMachine"]

_PREDICTED_TOGETHER = 2048  # rows
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


@dataclass(frozen=True)
class Machine:
    """A fitted support vector machine for one target.

    Attributes:
        kernel: the chosen kernel.
        svm: the fitted object of scikit-learn.
        rows: those of the training graphs that it was fitted on.
        sharpness: of classes: probabilities are the softmax of so many times the scores, the factor that makes rows
            it was not fitted on likeliest; the likeliest class is the machine's.
    """

    kernel: Kernel[Any]
    svm: Any
    rows: Int
    sharpness: float = 1.0

    def scores(self, k: Floats, classes: int) -> Floats:
        """(rows, classes) from kernels (rows, rows of the machine); minus infinity for a class it has not seen."""
        score = self.svm.decision_function(k)
        out = np.full((len(k), classes), -np.inf)
        seen = self.svm.classes_.astype(np.int64)
        out[:, seen] = np.stack([-score, score], axis=1) / 2 if score.ndim == 1 else score
        return out


@dataclass
class FittedKernelMachine(Fitted):
    """Machines, one per target, and the training graphs that they compare with.

    Attributes:
        graphs: the training graphs.
        machines: one per target.
        name: of the method.
        chosen: the settings of each machine.
        shared: graphs up to which the Gram matrix of the pack they are a part of is kept on disk; 0 for never.
    """

    graphs: Pack
    machines: list[Machine]
    name: str
    chosen: list[dict[str, Any]]
    shared: int = 0
    _seen: dict[Kernel[Any], Any] = field(default_factory=dict)  # what kernels see of the training graphs

    def predict(self, graphs: Pack) -> Floats:
        each: list[list[Floats]] = [[] for _ in self.machines]
        for start in range(0, len(graphs), _PREDICTED_TOGETHER):
            some = graphs[start : start + _PREDICTED_TOGETHER]
            compared = {kernel: self._compared(kernel, some) for kernel in {m.kernel for m in self.machines}}
            for predicted, machine in zip(each, self.machines, strict=True):
                predicted.append(self._predicted(machine, compared[machine.kernel][:, machine.rows]))
        return joined(self.task, [np.concatenate(predicted) for predicted in each])

    def _predicted(self, machine: Machine, k: Floats) -> Floats:
        """Scaled numbers (rows,), or probabilities (rows, classes)."""
        if self.task.kind == "regression":
            return np.asarray(machine.svm.predict(k))
        return np.asarray(softmax(machine.sharpness * machine.scores(k, len(self.task.classes)), axis=1))

    def _compared(self, kernel: Kernel[Any], graphs: Pack) -> Floats:
        """(graphs, training graphs)."""
        common = _common(graphs, self.shared)
        if common is not None and graphs.arrays is self.graphs.arrays:
            return np.asarray(stored_gram(kernel, common)[np.ix_(graphs.chosen, self.graphs.chosen)], dtype=np.float64)
        if kernel not in self._seen:
            self._seen[kernel] = kernel.see(self.graphs)
        return kernel.between(kernel.see(graphs), self._seen[kernel])

    def contributions(self, graphs: Pack, output: int = 0) -> Contributions:
        """Of the kernel of parts, for numbers and two classes: the decision is a sum over training graphs.

        The baseline is the machine's constant, the decision for a graph without any part of the training graphs.
        """
        machine = self.machines[0 if self.task.kind == "multiclass" else output]
        kernel = machine.kernel
        if self.task.kind == "multiclass" or not isinstance(kernel, PartKinds):
            return super().contributions(graphs, output)
        alpha = np.zeros(len(self.graphs))
        alpha[machine.rows[machine.svm.support_]] = machine.svm.dual_coef_[0]
        k = self._compared(kernel, graphs)
        constant = machine.svm.intercept_[0]
        made = Contributions.none(graphs, k @ alpha + constant, constant)
        made = replace(made, atoms=kinds_of(kernel, graphs, self.graphs, alpha))
        return unscaled(self.task, output, made) if self.task.kind == "regression" else made.times(machine.sharpness)

    def state(self) -> State:
        graphs = self.graphs.bare().compact()
        tensors = as_tensors(graphs.arrays, "graphs.")
        for t, machine in enumerate(self.machines):
            tensors |= as_tensors({**machine.kernel.state(), "rows": machine.rows}, f"{t}.")
            tensors[f"machine{t}"] = to_tensor(machine.svm)
        data = {
            "name": self.name,
            "chosen": self.chosen,
            "sharpness": [m.sharpness for m in self.machines],
            "kernels": [m.kernel.settings() for m in self.machines],
            "version": KERNELS[self.name].kernel.version,
            "directed": graphs.directed,
            "self_loops": graphs.self_loops,
        }
        return tensors, data

    @classmethod
    def from_state(cls, tensors: Mapping[str, Tensor], data: Mapping[str, Any], task: Task, inputs: Inputs) -> Self:
        name = data["name"]
        if data.get("version", 1) != KERNELS[name].kernel.version:
            raise FileError(f"the kernel of {name} was another when this file was written; fit it again")
        directed, loops = bool(data["directed"]), bool(data["self_loops"])
        graphs = Pack(as_arrays(tensors, "graphs."), directed=directed, self_loops=loops).checked()
        machines = []
        for t, settings in enumerate(data["kernels"]):
            arrays = as_arrays(tensors, f"{t}.")
            rows = arrays.pop("rows")
            if "labels" in arrays:
                arrays["labels"] = arrays["labels"].view(np.uint64)
            kernel = KERNELS[name].kernel(**settings).with_state(arrays)
            sharpness = float((data["sharpness"] or [1.0] * len(data["kernels"]))[t])
            svm = from_tensor(tensors[f"machine{t}"], ("SVR",) if task.kind == "regression" else ("SVC",))
            known = rows.dtype == np.int64 and ((rows >= 0) & (rows < len(graphs))).all()
            if rows.shape != (svm.n_features_in_,) or not known:
                raise FileError("a machine was fitted on rows that are not in the file: it was altered; do not use it")
            machines.append(Machine(kernel, svm, rows, sharpness))
        return cls(task, inputs, graphs, machines, name, list(data["chosen"]))


@dataclass(frozen=True, kw_only=True)
class KernelMachine(Chosen):
    """A kernel whose settings are chosen together with the machine's constant C.

    Attributes:
        C: the values tried, in place of the method's own.
        refit: fit the last machine on the validation rows too.
        max_rows: training rows above which so many are drawn; a Gram matrix has their square.
        cache: keep Gram matrices of up to ``max_rows`` graphs on disk. What is computed and kept is the matrix of all
            graphs of the pack that the rows are a part of, so that all splits of a data set share it. A kernel that
            is fitted sees all those graphs, but no target. Of a larger pack it is that of the rows drawn.
    """

    C: Sequence[float] | float | None = None
    many: int = MANY_DEAR
    refit: bool = False
    max_rows: int = 8_000
    cache: bool = True

    fitted = FittedKernelMachine

    def reads(self) -> Features:
        return self._with_features(Features(molecules=KERNELS[self.name].molecules))

    def learn(self, examples: Examples, inputs: Inputs, execution: Execution) -> Outcome:
        rows, train = self._drawn(examples)
        graphs = examples.graphs.select(rows)
        task = examples.task(rows[:train])
        y = task.encode(examples.targets[rows])
        support = np.arange(len(rows) if self.refit else train)
        points = self._points()
        grams: dict[str, tuple[Kernel[Any], NDArray[Any]]] = {}

        def gram(point: dict[str, Any]) -> tuple[Kernel[Any], NDArray[Any]]:
            settings = {k: v for k, v in point.items() if k != "C"}
            if repr(settings) not in grams:
                grams[repr(settings)] = self._gram(KERNELS[self.name].kernel(**settings), graphs)
            return grams[repr(settings)]

        groups = examples.groups_of(rows)
        machines, chosen = [], []
        for target, column in zip(examples.names, y.T, strict=True):
            if self.classification and len(np.unique(column[:train][~np.isnan(column[:train])])) < 2:
                raise ConfigurationError(f"{self.name}: the training rows have one class of {target!r} only; give both")
            tries = self.rounds(column, train, groups)

            def judge(point: dict[str, Any], rows: Int, held: Int, y: Floats = column) -> float:
                return self._try(gram(point)[1], y, rows, held, point["C"])

            point = best(points, tries, judge)
            kernel, k = gram(point)
            known = support[~np.isnan(column[support])]
            machine = Machine(kernel, self._svm(k, column, known, point["C"]), known)
            if self.classification:
                sharpness = self._sharpness(kernel, k, column, tries, point["C"], len(task.classes))
                machine = replace(machine, sharpness=sharpness)
            machines.append(machine)
            chosen.append(point)
        of = graphs.select(support)
        return Outcome(FittedKernelMachine(task, inputs, of, machines, self.name, chosen, self._shared), chosen)

    @property
    def _shared(self) -> int:
        """Graphs up to which the Gram matrix of the pack that the rows are a part of is kept."""
        return self.max_rows * 5 // 4 if self.cache else 0

    def _points(self) -> list[dict[str, Any]]:
        """The settings to choose from."""
        choice = KERNELS[self.name]
        tried = choice.tried(classification=self.classification)
        tried = tried if self.settings is None else {"C": tried["C"], **self.settings}
        known = [f.name for f in fields(choice.kernel)]
        return grid(tried if self.C is None else {**tried, "C": self.C}, [*known, "C"])

    def _drawn(self, examples: Examples) -> tuple[Int, int]:
        """Training rows and then validation rows, and how many are for training: not more than a Gram matrix can have,
        and as many for validation as that is a share of.
        """
        train, held = examples.train, examples.validation
        if len(train) > self.max_rows:
            rng = np.random.default_rng(self.seed)
            train = train[np.sort(rng.choice(len(train), self.max_rows, replace=False))]
            if len(held):
                held = held[np.sort(rng.permutation(len(held))[: max(1, self.max_rows // 8)])]
        return np.concatenate([train, held]), len(train)

    def _gram(self, kernel: Kernel[Any], graphs: Pack) -> tuple[Kernel[Any], NDArray[Any]]:
        """The kernel, fitted, and the Gram matrix of the graphs."""
        common = _common(graphs, self._shared)
        if common is None:
            fitted = kernel.fit(graphs)
            kept = self.cache and len(graphs) >= _KEPT_FROM
            return fitted, stored_gram(fitted, graphs) if kept else fitted.gram(graphs).astype(np.float32)
        fitted = kernel.fit(common)
        return fitted, stored_gram(fitted, common)[np.ix_(graphs.chosen, graphs.chosen)]

    def _svm(self, k: NDArray[Any], y: Floats, rows: Int, c: float) -> Any:
        """The machine fitted to some of the rows."""
        from sklearn.svm import SVC, SVR

        how = {"break_ties": True} if self.classification else {}  # so that the largest score is the prediction
        svm = (SVC if self.classification else SVR)(C=c, kernel="precomputed", cache_size=500, **how)
        return svm.fit(k[np.ix_(rows, rows)].astype(np.float64), y[rows])

    def _try(self, k: NDArray[Any], y: Floats, rows: Int, held: Int, c: float) -> float:
        if self.classification and len(np.unique(y[rows])) < 2:
            return float("nan")
        predicted = self._svm(k, y, rows, c).predict(k[np.ix_(held, rows)].astype(np.float64))
        return self.success(y[held], predicted)

    def _sharpness(
        self, kernel: Kernel[Any], k: NDArray[Any], y: Floats, tries: list[Round], c: float, classes: int
    ) -> float:
        scores, truth = [np.empty((0, classes))], [np.empty(0, np.int64)]
        for rows, held in tries:
            if len(np.unique(y[rows])) > 1 and len(held):
                machine = Machine(kernel, self._svm(k, y, rows, c), rows)
                scores.append(machine.scores(k[np.ix_(held, rows)].astype(np.float64), classes))
                truth.append(y[held].astype(np.int64))
        score, at = np.concatenate(scores), np.concatenate(truth)
        known = np.isfinite(score[np.arange(len(at)), at])  # of classes that the machine had seen
        score, at = score[known], at[known]
        if not len(at):
            return 1.0

        # Platt's correction: rows that are all predicted right would make the softmax infinitely sharp.
        doubt = 1 / (len(at) + 2)
        sought = np.full(score.shape, doubt / max(1, score.shape[1] - 1))
        sought[np.arange(len(at)), at] = 1 - doubt
        score = np.where(np.isfinite(score), score, score[np.isfinite(score)].min())

        def loss(log: float) -> float:
            return -float(np.mean((sought * log_softmax(np.exp(log) * score, axis=1)).sum(axis=1)))

        return float(np.exp(minimize_scalar(loss, bounds=(-5.0, 5.0), method="bounded").x))


def _common(graphs: Pack, largest: int) -> Pack | None:
    """The pack that the graphs are a part of, if its Gram matrix is kept."""
    every = Pack(graphs.arrays, directed=graphs.directed, self_loops=graphs.self_loops)
    return every if _KEPT_FROM <= len(every) <= largest else None
