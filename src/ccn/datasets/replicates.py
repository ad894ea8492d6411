"""Replicates: several measurements of one molecule joined into one row, with their spread."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ccn.datasets.dataset import Dataset, shorten, write_rows
from ccn.errors import ConfigurationError

__all__ = ["Joining", "Replicates", "join"]

Joining = Literal["keep", "mean", "median"]
_STRONG = 3.0  # times the usual spread
_Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Replicates:
    """Which rows were joined.

    Attributes:
        how: ``mean`` or ``median``.
        targets: their names.
        rows: for each molecule with several rows their numbers in the source; the first stands for all.
        smiles: of each of them, as in its first row.
        values: for each of them (rows, targets), NaN where missing or censored.
        spread: (molecules, targets) the standard deviation, NaN for fewer than two values.
    """

    how: str
    targets: tuple[str, ...]
    rows: tuple[tuple[int, ...], ...]
    smiles: tuple[str, ...]
    values: tuple[_Floats, ...]
    spread: _Floats

    @property
    def usual(self) -> _Floats:
        """(targets,) the median of the spreads: differences below it cannot be resolved; NaN without any."""
        return np.array([np.median(s[~np.isnan(s)]) if (~np.isnan(s)).any() else np.nan for s in self.spread.T])

    @property
    def disagree(self) -> NDArray[np.bool_]:
        """(molecules,) whether the values of a target differ by much more than usual."""
        usual = [np.median(s[s > 0]) if (s > 0).any() else np.inf for s in self.spread.T]
        return np.asarray((self.spread > _STRONG * np.array(usual)).any(axis=1))

    def summary(self) -> dict[str, Any]:
        """Counts and usual spreads, as plain data."""
        spread = {name: None if np.isnan(s) else float(s) for name, s in zip(self.targets, self.usual, strict=True)}
        rows = sum(map(len, self.rows))
        counts = {"rows": rows, "molecules": len(self.rows), "disagreeing": int(self.disagree.sum())}
        return {"how": self.how, **counts, "median_spread": spread}

    def write(self, path: Path) -> None:
        """Write every row that was joined as a CSV, with the row that stands for it; those that disagree first."""
        head = ["row", "joined_into", "smiles", *self.targets, *(f"{t}_spread" for t in self.targets), "disagrees"]
        lines = []
        for i in np.argsort(~self.disagree, kind="stable").tolist():
            for row, values in zip(self.rows[i], self.values[i], strict=True):
                numbers = ["" if np.isnan(v) else f"{v:.10g}" for v in (*values, *self.spread[i])]
                flag = "yes" if self.disagree[i] else "no"
                lines.append([row, self.rows[i][0], shorten(self.smiles[i]), *numbers, flag])
        write_rows(path, head, lines)


def join(data: Dataset, how: Literal["mean", "median"]) -> Dataset:
    """The data set with one row per molecule, by its canonical SMILES; ``data.replicates`` says what was joined.

    A target is the mean or median of its exact values, the mean with the weights of the rows; of censored values alone
    the tightest bounds are kept; of auxiliary columns the mean. Rows of different groups, parts of a split column or
    extra columns are not joined.
    """
    if data.canonical is None or data.task != "regression":
        what = "graphs that are not molecules" if data.canonical is None else "classes"
        raise ConfigurationError(f"replicates={how!r}: {data.name} has {what}; only numbers of molecules can be joined")
    labels: list[Sequence[Any]] = [c for c in (data.canonical, data.splits, data.groups) if c is not None]
    if extra := len(data.options.get("extra_columns", ())):
        labels.append([tuple(row) for row in data.pack.graph_features[:, -extra:].tolist()])
    found: dict[tuple[Any, ...], list[int]] = {}
    for i, key in enumerate(zip(*labels, strict=True)):
        found.setdefault(key, []).append(i)
    several = [rows for rows in found.values() if len(rows) > 1]
    given = (data.targets, data.bounds, data.weights, data.auxiliary)
    targets, bounds, weights, auxiliary = (None if a is None else a.copy() for a in given)
    assert targets is not None
    spread = np.full((len(several), targets.shape[1]), np.nan)
    for i, rows in enumerate(several):
        for t, y in enumerate(data.targets[rows].T):
            known = ~np.isnan(y)
            if known.any():
                w = None if data.weights is None else data.weights[rows][known]
                targets[rows[0], t] = np.median(y[known]) if how == "median" else np.average(y[known], weights=w)
                spread[i, t] = np.std(y[known], ddof=1) if known.sum() > 1 else np.nan
            if bounds is not None:
                bounds[rows[0], t] = np.nan if known.any() else _tightest(bounds[rows, t])
        if weights is not None:
            weights[rows[0]] = weights[rows].mean()
        if auxiliary is not None:
            there = ~np.isnan(auxiliary[rows])
            sums = np.where(there, auxiliary[rows], 0.0).sum(axis=0)
            auxiliary[rows[0]] = np.where(there.any(axis=0), sums / np.maximum(there.sum(axis=0), 1), np.nan)
    number = np.arange(1, len(data) + 1) if data.rows is None else data.rows
    smiles: Sequence[str] = data.canonical if data.smiles is None else data.smiles
    made = Replicates(
        how,
        data.target_names,
        tuple(tuple(number[rows].tolist()) for rows in several),
        tuple(smiles[rows[0]] for rows in several),
        tuple(data.targets[rows] for rows in several),
        spread,
    )
    joined = replace(data, targets=targets, bounds=bounds, weights=weights, auxiliary=auxiliary, replicates=made)
    return joined.subset(np.array([rows[0] for rows in found.values()], dtype=np.int64))


def _tightest(bounds: _Floats) -> _Floats:
    """The bounds (2,) that meet all of (rows, 2); NaN if there are none, or if they contradict each other."""
    there = bounds[~np.isnan(bounds[:, 0])]
    if not len(there):
        return np.full(2, np.nan)
    low, high = there[:, 0].max(), there[:, 1].min()
    return np.array([low, high]) if low <= high else np.full(2, np.nan)
