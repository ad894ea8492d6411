"""Which graphs of a data set look alike to message passing, to covariant networks of each order, and to everything.

All graphs are hashed once by colour refinement and grouped (:func:`ccn.expressivity.colours.message_passing`). Only
graphs in a group with others are looked at further: those that are the same graph are joined
(:mod:`ccn.expressivity.isomorphism`), and each of what is left is compared by covariant networks of order 1, 2 and 3
over integers, with any number of levels (:mod:`ccn.expressivity.exact`). Order k stands for orders 1 to k side by side:
it is shown what the orders below it leave alike.

**The floor.** Whatever cannot distinguish graphs gives one answer to all of them. On the rows of a data set the least
mean absolute error is then that of the median of each class, the least root mean squared error that of its mean, and
the highest accuracy that of its most frequent value. A floor holds for every model that sees these features alone, fit
to these very rows; it says nothing of what is reached.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ccn.datasets.dealing import groups_of
from ccn.errors import ConfigurationError
from ccn.expressivity.colours import message_passing
from ccn.expressivity.exact import classes, fits
from ccn.expressivity.isomorphism import Matrix, form, isomorphic, matrix
from ccn.graphs.graph import Graph
from ccn.graphs.pack import Pack
from ccn.graphs.ragged import Int

__all__ = ["MESSAGE_PASSING", "SAME", "Alike", "Pair", "accuracy_ceiling", "alike", "error_floors"]

MESSAGE_PASSING = "1-WL"
SAME = "same graph"
"""The finest view: graphs that are the same in all that is read of them."""

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Pair:
    """Two graphs, by number, that 1-WL does not distinguish, and the first view that does (None: no view)."""

    first: int
    second: int
    told: str | None


@dataclass(frozen=True)
class Alike:
    """Classes of graphs by view.

    Attributes:
        views: by name, from coarse to fine: ``1-WL``, ``order 1``, .., ``same graph``; (graphs,) equal numbers for
            graphs that look alike.
        skipped: by name, how many pairs a view was not shown since its tensors would be too large.
        undecided: pairs that all views find alike and for which it was not decided whether they are the same graph.
    """

    views: dict[str, Int]
    skipped: dict[str, int] = field(default_factory=dict)
    undecided: int = 0

    @property
    def same(self) -> Int:
        return self.views[SAME]

    def pairs(self, view: str = MESSAGE_PASSING) -> Iterator[Pair]:
        """Pairs of different graphs that look alike to a view, one graph of each kind, the first of its kind."""
        firsts = np.unique(self.same, return_index=True)[1]
        finer = [v for v in list(self.views)[list(self.views).index(view) + 1 :] if v != SAME]
        for group in _groups(self.views[view][firsts]):
            for i, j in combinations(sorted(firsts[group].tolist()), 2):
                yield Pair(i, j, next((v for v in finer if self.views[v][i] != self.views[v][j]), None))

    def same_pairs(self) -> Iterator[Pair]:
        """Pairs of rows that are the same graph: the first with each other one."""
        return (Pair(int(g[0]), int(i), None) for g in _groups(self.same) for i in g[1:])

    def pairs_alike(self, view: str) -> int:
        """How many pairs of different graphs look alike, each graph counted once however often it occurs."""
        count = np.bincount(self.views[view][np.unique(self.same, return_index=True)[1]])
        return int((count * (count - 1) // 2).sum())

    def graphs_alike(self, view: str) -> int:
        """How many graphs look like a different graph."""
        kinds = np.bincount(self.views[view][np.unique(self.same, return_index=True)[1]])
        return int((kinds[self.views[view]] > 1).sum())


def alike(
    graphs: Any,
    orders: Sequence[int] = (1, 2, 3),
    levels: int | None = None,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Alike:
    """Compare all graphs of a data set; see the module.

    Args:
        graphs: a :class:`ccn.Pack`, or what it can be made of. Graph-level features are ignored.
        orders: of the covariant networks, increasing.
        levels: of these networks; None for any number.
        progress: called with the number of groups done and of all groups.

    Example:
        Decalin and bicyclopentyl have the same colours; order 1 sees their rings.

        >>> import ccn
        >>> found = alike(ccn.datasets.load(["C1CCC2CCCCC2C1", "C1CCC(C1)C1CCCC1", "CCO", "OCC"]).graphs)
        >>> {view: of.tolist() for view, of in found.views.items() if view in ("1-WL", "order 1")}
        {'1-WL': [0, 0, 1, 1], 'order 1': [0, 1, 2, 2]}
        >>> list(found.pairs())
        [Pair(first=0, second=1, told='order 1')]
    """
    if list(orders) != sorted(set(orders)) or any(k < 0 for k in orders):
        raise ConfigurationError(f"orders={tuple(orders)}: give increasing numbers of at least 0, such as 1, 2, 3")
    pack = Pack.of(graphs).checked() if not isinstance(graphs, Pack) else graphs
    coarse = message_passing(pack)
    names = [f"order {k}" for k in orders]
    finer: dict[str, list[tuple[Any, ...]]] = {v: [(c,) for c in coarse.tolist()] for v in (*names, SAME)}
    skipped, undecided = dict.fromkeys(names, 0), 0
    groups = _groups(coarse)
    for number, group in enumerate(groups):
        members = [pack[int(i)] for i in group]
        same, firsts = _same(members)
        some = [members[i] for i in firsts]
        of = np.zeros(len(some), np.int64)
        for k, view in zip(orders, names, strict=True):
            of, left = _distinguished(some, of, k, levels)
            skipped[view] += left
            for i, s in zip(group.tolist(), same.tolist(), strict=True):
                finer[view][i] = (int(coarse[i]), int(of[s]))
        exact, unknown = _exact(some, of)
        undecided += unknown
        for i, s in zip(group.tolist(), same.tolist(), strict=True):
            finer[SAME][i] = (int(coarse[i]), int(of[s]), int(exact[s]))
        progress(number + 1, len(groups))
    views = {MESSAGE_PASSING: coarse, **{v: groups_of(keys) for v, keys in finer.items()}}
    return Alike(views, {v: count for v, count in skipped.items() if count}, undecided)


def _groups(of: Int) -> list[Int]:
    """The members of each class of several, in order."""
    order = np.argsort(of, kind="stable")
    cut = np.split(order, np.flatnonzero(np.diff(of[order])) + 1)
    return sorted((g for g in cut if len(g) > 1), key=lambda g: int(g[0]))


def _same(members: Sequence[Graph]) -> tuple[Int, list[int]]:
    """(members,) the kind of each by its form, and the first of each kind."""
    kind = groups_of([form(matrix(g)) for g in members])
    return kind, np.unique(kind, return_index=True)[1].tolist()


def _distinguished(graphs: Sequence[Graph], of: Int, order: int, levels: int | None) -> tuple[Int, int]:
    """The classes refined by what this order distinguishes, and how many pairs it was not shown."""
    keys, left = [(int(c), 0) for c in of], 0
    for group in _groups(of):
        some = [graphs[i] for i in group]
        if not fits(some, order):
            left += len(some) * (len(some) - 1) // 2
            continue
        for i, c in zip(group.tolist(), classes(some, order, levels).of.tolist(), strict=True):
            keys[i] = (int(of[i]), c)
    return groups_of(keys), left


def _exact(graphs: Sequence[Graph], of: Int) -> tuple[Int, int]:
    """(graphs,) within each class the number of the graph, and how many pairs were not decided."""
    out, unknown = np.zeros(len(graphs), np.int64), 0
    for group in _groups(of):
        kinds: list[Matrix] = []
        for i in group.tolist():
            m = matrix(graphs[i])
            found = [isomorphic(m, kind) for kind in kinds]
            out[i] = found.index(True) if True in found else len(kinds)
            if True not in found:
                unknown += found.count(None)
                kinds.append(m)
    return out, unknown


def error_floors(of: Int, y: Floats) -> tuple[float, float]:
    """The least MAE and RMSE of any function of the classes, on the rows that have a value.

    Example:
        >>> error_floors(np.array([0, 0, 1]), np.array([1.0, 3.0, 5.0]))
        (0.6666666666666666, 0.816496580927726)
    """
    there = ~np.isnan(y)
    if not there.any():
        return float("nan"), float("nan")
    absolute = squared = 0.0
    for part in _values(of[there], y[there]):
        absolute += float(np.abs(part - np.median(part)).sum())
        squared += float(((part - part.mean()) ** 2).sum())
    return absolute / int(there.sum()), float((squared / int(there.sum())) ** 0.5)


def accuracy_ceiling(of: Int, y: Floats) -> float:
    """The highest accuracy of any function of the classes, on the rows that have a value.

    Example:
        >>> accuracy_ceiling(np.array([0, 0, 0, 1]), np.array([1.0, 1.0, 0.0, 0.0]))
        0.75
    """
    there = ~np.isnan(y)
    if not there.any():
        return float("nan")
    right = sum(int(np.unique(part, return_counts=True)[1].max()) for part in _values(of[there], y[there]))
    return right / int(there.sum())


def _values(of: Int, y: Floats) -> list[Floats]:
    """The values of each class."""
    order = np.argsort(of, kind="stable")
    return np.split(y[order], np.flatnonzero(np.diff(of[order])) + 1)
