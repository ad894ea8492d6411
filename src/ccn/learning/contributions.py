"""What the vertices, edges and molecule-level features of graphs contribute to one output: numbers that add up.

For every graph

    sum of atoms + sum of bonds + sum of whole + lacking + residual = prediction - baseline

on the margin of the output: a number on the scale that was fitted (:class:`TargetScale`), in the targets' units if
that is linear; the log odds of a class or label; the log probability of one of several classes. The
arrays of many graphs stand one after another, as in a :class:`~ccn.graphs.pack.Pack`.

Every :class:`~ccn.learning.fitted.Fitted` gives its own. Sums and multiples of contributions are contributions. A
function of one margin carries them on by the slope of its secant, ``f(prediction) - f(baseline)`` over ``prediction -
baseline``, so that they add up again: the mean of several models is taken in this way where it is one of values, such
as probabilities.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import add
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, log_softmax, softmax

from ccn.features.scaling import Bend
from ccn.graphs.pack import Pack
from ccn.graphs.ragged import Int, ranges, starts
from ccn.learning.task import Floats, Task

__all__ = ["SMALLEST", "Contributions", "margin_of", "path_rule", "pooled", "softmaxed", "unscaled", "value_of"]

SMALLEST = 1e-6
"""Probabilities are kept so far from 0 and 1 where their logarithm is taken."""
_STILL = 1e-9  # a difference below which the slope of a secant is that of a tangent
_STEP = 1e-4  # of that tangent
_STEPS = 48  # of the path through a softmax


@dataclass(frozen=True)
class Contributions:
    """Contributions to one output for each of some graphs.

    Attributes:
        prediction, baseline: (graphs,) on the margin.
        atoms: (vertices of all graphs,).
        bonds: (edges of all graphs,), in the order of the edge features.
        whole: (graphs, columns) of the features of each graph as a whole.
        lacking: (graphs,) of kinds of parts that training graphs have and the graph does not have.
        atom_counts, bond_counts: (graphs,).
    """

    prediction: Floats
    baseline: Floats
    atoms: Floats
    bonds: Floats
    whole: Floats
    lacking: Floats
    atom_counts: Int
    bond_counts: Int

    @classmethod
    def none(cls, graphs: Pack, prediction: Floats, baseline: Any) -> Self:
        """Those of graphs of which nothing is known but the prediction."""
        edges = np.diff(graphs.arrays["edge_start"])[graphs.chosen].astype(np.int64)
        width = graphs.graph_width if "graph_features" in graphs.arrays else 0
        prediction = np.asarray(prediction, dtype=np.float64)
        return cls(
            prediction,
            np.broadcast_to(np.asarray(baseline, dtype=np.float64), prediction.shape).copy(),
            np.zeros(int(graphs.sizes.sum())),
            np.zeros(int(edges.sum())),
            np.zeros((len(graphs), width)),
            np.zeros(len(graphs)),
            graphs.sizes,
            edges,
        )

    def __len__(self) -> int:
        return len(self.prediction)

    @property
    def difference(self) -> Floats:
        """(graphs,) what the contributions are to add up to."""
        return self.prediction - self.baseline

    @property
    def residual(self) -> Floats:
        """(graphs,) by how much the contributions miss the difference."""
        graphs = np.arange(len(self))
        atoms = np.bincount(np.repeat(graphs, self.atom_counts), self.atoms, minlength=len(self))
        bonds = np.bincount(np.repeat(graphs, self.bond_counts), self.bonds, minlength=len(self))
        return np.asarray(self.difference - (atoms + bonds + self.whole.sum(axis=1) + self.lacking))

    def times(self, factor: Any, shift: Any = 0.0) -> Self:
        """``factor * margin + shift``, with one factor and one shift or one for each graph."""
        f = np.broadcast_to(np.asarray(factor, dtype=np.float64), (len(self),))
        return replace(
            self,
            prediction=f * self.prediction + shift,
            baseline=f * self.baseline + shift,
            atoms=np.repeat(f, self.atom_counts) * self.atoms,
            bonds=np.repeat(f, self.bond_counts) * self.bonds,
            whole=f[:, None] * self.whole,
            lacking=f * self.lacking,
        )

    def __add__(self, other: Contributions) -> Self:
        sums = {name: getattr(self, name) + getattr(other, name) for name in _NUMBERS}
        return replace(self, **sums)

    def through(self, function: Callable[[Floats], Floats] | None) -> Self:
        """Contributions to a function of the margin; None is the identity."""
        if function is None:
            return self
        low, high = self.baseline, self.prediction
        still = np.abs(high - low) <= _STILL * (1 + np.abs(high))
        a, b = np.where(still, high - _STEP, low), np.where(still, high + _STEP, high)
        slope = (function(b) - function(a)) / (b - a)
        return replace(self.times(slope), prediction=function(high), baseline=function(low))

    def select(self, rows: NDArray[Any]) -> Self:
        """Those of some of the graphs."""
        chosen = np.arange(len(self))[rows]
        of_graphs = ("prediction", "baseline", "whole", "lacking", "atom_counts", "bond_counts")
        parts: dict[str, Any] = {name: getattr(self, name)[chosen] for name in of_graphs}
        parts["atoms"] = self.atoms[ranges(starts(self.atom_counts)[chosen], parts["atom_counts"])]
        parts["bonds"] = self.bonds[ranges(starts(self.bond_counts)[chosen], parts["bond_counts"])]
        return replace(self, **parts)

    @classmethod
    def join(cls, several: Sequence[Contributions]) -> Self:
        """Those of several packs, one after another."""
        names = (*_NUMBERS, "atom_counts", "bond_counts")
        return cls(**{name: np.concatenate([getattr(c, name) for c in several]) for name in names})


_NUMBERS = ("prediction", "baseline", "atoms", "bonds", "whole", "lacking")


def unscaled(task: Task, output: int, made: Contributions) -> Contributions:
    """From the numbers that are fitted, with mean 0 and deviation 1, to the margin; those of classes are margins."""
    if task.scale is None:
        return made
    return made.times(task.scale.deviation[output], task.scale.mean[output])


def _bend(task: Task, output: int) -> Bend | None:
    """How a number was bent before it was fitted, if it was."""
    bends = () if task.scale is None else task.scale.bends
    return bends[output] if bends and bends[output].kind != "linear" else None


def value_of(task: Task, output: int) -> Callable[[Floats], Floats] | None:
    """From the margin to the prediction: the target in its units or a probability; None where they are the same."""
    if task.kind == "regression":
        bend = _bend(task, output)
        return None if bend is None else bend.predicted
    return np.exp if task.kind == "multiclass" else expit


def margin_of(task: Task, output: int) -> Callable[[Floats], Floats] | None:
    """The inverse of :func:`value_of`."""
    if task.kind == "regression":
        bend = _bend(task, output)
        return None if bend is None else bend.finite

    def log_odds(p: Floats) -> Floats:
        p = np.clip(p, SMALLEST, 1 - SMALLEST)
        return np.asarray(np.log(p) if task.kind == "multiclass" else np.log(p) - np.log1p(-p))

    return log_odds


def pooled(task: Task, output: int, several: Sequence[tuple[Task, Contributions]]) -> Contributions:
    """Of the margin in ``task`` of the mean of the values that several models predict, each with its own task."""
    values = [made.through(value_of(of, output)) for of, made in several]
    return reduce(add, values).times(1 / len(values)).through(margin_of(task, output))


def path_rule(points: int) -> tuple[Floats, Floats]:
    """Nodes and weights (points,) of the Gauss-Legendre rule for integrals from 0 to 1."""
    nodes, weights = np.polynomial.legendre.leggauss(points)
    return (nodes + 1) / 2, weights / 2


def softmaxed(scores: Sequence[Contributions], chosen: int) -> Contributions:
    """Of the log probability of a class, from those to the scores of all classes.

    Each score counts with its mean slope on the straight path from the baselines to the predictions.
    """
    start, end = (np.stack([getattr(s, name) for s in scores], axis=1) for name in ("baseline", "prediction"))
    slope = np.zeros_like(start)
    for t, w in zip(*path_rule(_STEPS), strict=True):
        slope -= w * softmax(start + t * (end - start), axis=1)
    slope[:, chosen] += 1
    total = reduce(add, [s.times(slope[:, k]) for k, s in enumerate(scores)])
    return replace(
        total,
        prediction=log_softmax(end, axis=1)[:, chosen],
        baseline=log_softmax(start, axis=1)[:, chosen],
    )
