"""Shapley values of trees: what each column contributes to the sum of the leaves that a row comes to.

The value of a set S of columns is the mean of a tree over the training rows that agree with x where it asks for a
column of S (Lundberg et al. 2020, path-dependent). It is a sum over leaves. A leaf with value v is behind conditions on
d distinct columns: x meets that of column i (o_i = 1) or not (o_i = 0), and a share z_i of the training rows at the
nodes that ask for i go the way to the leaf. Without the columns outside of S the leaf then counts v times the product
of o_i over S and of z_i over the others, and the Shapley value of column i is

    v (o_i - z_i) integral from 0 to 1 of the product over j != i of (u o_j + (1 - u) z_j) du,

since the weight of a set of k others is the integral of u^k (1 - u)^(d - 1 - k). The integrand is a polynomial of
degree d - 1, so that Gauss's rule with d / 2 points gives it exactly.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from ccn.engine.cpu.compiling import compiled
from ccn.graphs.ragged import Int, starts
from ccn.learning.contributions import path_rule
from ccn.learning.task import Floats

__all__ = ["Leaves", "leaves_of"]


@dataclass(frozen=True)
class Leaves:
    """The leaves of trees, each with its conditions, of which leaf i has ``start[i]:start[i + 1]``.

    Attributes:
        value: (leaves,).
        output: (leaves,) the output that the leaf's tree adds to.
        column: (conditions,) what is asked for; the columns of a leaf are distinct.
        low, high: (conditions,) the condition is met by ``low < x <= high``.
        share: (conditions,) of the training rows, at the nodes that ask, that go the way to the leaf.
    """

    value: Floats
    output: Int
    start: Int
    column: Int
    low: Floats
    high: Floats
    share: Floats

    def baseline(self, outputs: int = 1) -> Floats:
        """(outputs,) the value of no columns: the mean over training rows."""
        product = np.ones(len(self.value))
        np.multiply.at(product, np.repeat(np.arange(len(self.value)), np.diff(self.start)), self.share)
        return np.asarray(np.bincount(self.output, self.value * product, minlength=outputs), dtype=np.float64)

    def shapley(self, x: NDArray[Any], outputs: int = 1) -> Floats:
        """(rows, outputs, columns); their sum over columns and the baseline are the sum of the leaves of each row."""
        x = np.ascontiguousarray(x, dtype=np.float64)
        out = np.zeros((len(x), outputs, x.shape[1]))
        most = int(np.diff(self.start).max(initial=1))
        rules = [path_rule((d + 1) // 2) for d in range(1, most + 1)]
        at = starts([len(nodes) for nodes, _ in rules])
        nodes, weights = (np.concatenate(parts) for parts in zip(*rules, strict=True))
        held = (self.value, self.output, self.start, self.column, self.low, self.high, self.share, at, nodes, weights)

        def some(rows: slice) -> None:
            _add(x[rows], *held, out[rows], np.zeros(most), np.zeros(most), np.zeros(most))

        threads = torch.get_num_threads()
        step = max(1, -(-len(x) // threads))
        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(some, [slice(i, i + step) for i in range(0, len(x), step)]))
        return out


@compiled
def _add(
    x: Floats,
    value: Floats,
    output: Int,
    start: Int,
    column: Int,
    low: Floats,
    high: Floats,
    share: Floats,
    at: Int,
    nodes: Floats,
    weights: Floats,
    out: Floats,
    met: Floats,
    product: Floats,
    slope: Floats,
) -> None:
    """Add the Shapley values of rows x to ``out``; a leaf of d columns has the points ``at[d - 1]:at[d]``.

    ``met``, ``product`` and ``slope`` are room for one number for each column of a leaf.
    """
    for r in range(x.shape[0]):
        for leaf in range(value.shape[0]):
            first, d = start[leaf], start[leaf + 1] - start[leaf]
            for i in range(d):
                y = x[r, column[first + i]]
                met[i] = 1.0 if low[first + i] < y and y <= high[first + i] else 0.0
                slope[i] = 0.0
            for q in range(at[d - 1] if d else 0, at[d]):
                u, whole = nodes[q], weights[q]
                for i in range(d):
                    product[i] = u * met[i] + (1 - u) * share[first + i]
                    whole *= product[i]
                for i in range(d):
                    slope[i] += whole / product[i]
            for i in range(d):
                out[r, output[leaf], column[first + i]] += value[leaf] * (met[i] - share[first + i]) * slope[i]


def leaves_of(
    feature: NDArray[Any],
    threshold: NDArray[Any],
    left: NDArray[Any],
    right: NDArray[Any],
    value: NDArray[Any],
    cover: NDArray[Any],
    root: NDArray[Any],
    outputs: int = 1,
) -> Leaves:
    """The leaves of trees whose nodes stand one after another; a leaf leads to itself.

    ``cover`` (nodes,) counts the training rows at each node, or weighs them. Tree t adds to the output ``t % outputs``.
    """
    values, which, counts = [], [], []
    columns: list[int] = []
    lows: list[float] = []
    highs: list[float] = []
    shares: list[float] = []
    arrays = [a.tolist() for a in (feature, threshold, left, right, cover)]
    for t, start in enumerate(root.tolist()):
        for node, conditions in _paths(start, *arrays):
            values.append(value[node])
            which.append(t % outputs)
            counts.append(len(conditions))
            for column, (low, high, share) in conditions.items():
                columns.append(column)
                lows.append(low)
                highs.append(high)
                shares.append(share)
    numbers = (np.array(a, dtype=np.float64) for a in (lows, highs, shares))
    return Leaves(
        np.array(values, dtype=np.float64),
        np.array(which, dtype=np.int64),
        starts(counts),
        np.array(columns, dtype=np.int64),
        *numbers,
    )


_Conditions = dict[int, tuple[float, float, float]]


def _paths(
    start: int, feature: list[int], threshold: list[float], left: list[int], right: list[int], cover: list[float]
) -> Iterator[tuple[int, _Conditions]]:
    """Every leaf of a tree, with the condition and the share of each column on the way to it."""
    todo: list[tuple[int, _Conditions]] = [(start, {})]
    while todo:
        node, conditions = todo.pop()
        if left[node] == node:
            yield node, conditions
            continue
        column, limit = feature[node], threshold[node]
        low, high, share = conditions.get(column, (-np.inf, np.inf, 1.0))
        for child, bounds in ((left[node], (low, min(high, limit))), (right[node], (max(low, limit), high))):
            todo.append((child, {**conditions, column: (*bounds, share * cover[child] / cover[node])}))
