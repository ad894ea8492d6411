"""What a look at the data finds, as plain values that a report can be made of when the data are gone.

The data that flow: a data set and its split -> counts and distributions of each part, a few examples, rows that repeat
a molecule, salts, test molecules with a twin in training, cliffs (pairs that are alike but for the target), and for
each test row its nearest training molecule. All of it is bounded: of large data a regular sample is compared, and
``compared`` says how many rows that are.

Similarity is Tanimoto's of Morgan fingerprints (radius 2, 2,048 bits), the share of circular parts that two molecules
have in common.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ccn.chemistry.smiles import parse_smiles
from ccn.datasets.dataset import Dataset
from ccn.datasets.pictures import layout, spread
from ccn.datasets.splits import Split
from ccn.graphs.ragged import Int

__all__ = ["ALIKE", "FAR", "describe", "described"]

ALIKE = 0.75
"""Similarity from which two molecules can be a cliff."""
FAR = 1.5
"""Standard deviations of the target by which the two molecules of a cliff differ, if they are no classes."""
_SHOWN = 6  # pairs and groups that are kept
_EXAMPLES = 8
_CLIFF_ROWS, _TRAIN_ROWS, _HELD_ROWS = 3_000, 10_000, 1_000
_BINS = 24
_LARGEST = 100  # vertices of a graph that is drawn


def describe(data: Dataset, split: Split) -> dict[str, Any]:
    """What is found in the data, for ``data.json``; rows are numbered as in the source."""
    parts = {name: rows for name, rows in split.parts.items() if len(rows)}
    found: dict[str, Any] = {
        "name": data.name,
        "said": repr(data),
        "task": data.task,
        "targets": list(data.target_names),
        "units": list(data.units),
        "classes": [str(c) for c in data.classes],
        "molecules": data.smiles is not None,
        "parts": {name: len(rows) for name, rows in parts.items()},
        "dropped": dict(Counter(r.kind for r in data.dropped).most_common()),
        "noted": dict(Counter(r.kind for r in data.noted).most_common()),
        "distributions": [_distribution(data, parts, t) for t in range(len(data.target_names))],
    }
    if data.smiles is None or data.canonical is None:
        sizes = data.pack.sizes
        small = [i for i in spread(data, 4 * _EXAMPLES) if sizes[i] <= _LARGEST]
        chosen = small[:: max(1, len(small) // _EXAMPLES)][:_EXAMPLES]
        return found | {"graphs": [layout(data, i) for i in chosen], "vertex_names": list(data.vertex_names)}
    prints = _Prints(data)
    found |= {
        "examples": [described(data, i) for i in _examples(data, split.train)],
        "repeated": _repeated(data),
        "cliffs": _cliffs(data, prints),
    }
    held = {name: rows for name, rows in parts.items() if name in ("validation", "test")}
    return found | {"similarity": {name: _nearest(data, prints, rows, split.train) for name, rows in held.items()}}


def described(data: Dataset, i: int) -> dict[str, Any]:
    """A graph with its number, name and targets."""
    out: dict[str, Any] = {"row": _number(data, i)}
    if data.smiles is not None:
        out["smiles"] = data.smiles[i]
    if data.ids is not None:
        out["id"] = data.ids[i]
    return out | {"values": _values(data, i)}


def _number(data: Dataset, i: int) -> int:
    return i + 1 if data.rows is None else int(data.rows[i])


def _values(data: Dataset, i: int) -> list[Any]:
    """The targets of a row: numbers or classes, None where missing."""
    classes = data.classes if data.task == "classification" else None
    row = data.targets[i].tolist()
    return [None if np.isnan(y) else y if classes is None else str(classes[int(y)]) for y in row]


def _distribution(data: Dataset, parts: dict[str, Int], t: int) -> dict[str, Any]:
    """How the values of a target are distributed in each part: counts of classes, or of bins between edges."""
    y = np.asarray(data.targets)[:, t]
    known = y[~np.isnan(y)]
    of = {name: data.targets[rows][:, t] for name, rows in parts.items()}  # of one graph there may be several
    of = {name: values[~np.isnan(values)] for name, values in of.items()}
    if data.task == "classification":
        count = len(data.classes)
        return {"counts": {name: np.bincount(v.astype(int), minlength=count).tolist() for name, v in of.items()}}
    if not len(known):
        return {"edges": [], "counts": {}}
    edges = np.histogram_bin_edges(known, min(_BINS, math.ceil(2 * len(known) ** (1 / 3))))  # by Rice's rule
    return {
        "edges": edges.tolist(),
        "counts": {name: np.histogram(v, edges)[0].tolist() for name, v in of.items()},
        "mean": float(known.mean()),
        "deviation": float(known.std()),
        "missing": int(np.isnan(y).sum()),
    }


def _examples(data: Dataset, rows: Int) -> list[int]:
    """A few rows, evenly over the values of the first target."""
    known = rows[~np.isnan(data.targets[rows, 0])]
    known = known if len(known) else rows
    ordered = known[np.argsort(data.targets[known, 0], kind="stable")]
    places = np.linspace(0, len(ordered) - 1, min(_EXAMPLES, len(ordered))).round().astype(int)
    return [int(i) for i in dict.fromkeys(ordered[places].tolist())]


def _repeated(data: Dataset) -> dict[str, Any]:
    """Molecules in several rows, and those whose rows disagree, most of all first."""
    assert data.canonical is not None
    assert data.smiles is not None
    if data.replicates is not None:  # they were joined
        r = data.replicates
        span = np.nan_to_num(r.spread / np.array([max(s, 1e-300) for s in _deviations(data)])).max(axis=1, initial=0.0)
        order = [int(i) for i in np.argsort(-span, kind="stable") if span[i] > 0]
        worst = [
            {"smiles": r.smiles[i], "rows": list(r.rows[i]), "values": _plain(r.values[i])} for i in order[:_SHOWN]
        ]
        counts = {"molecules": len(r.rows), "rows": sum(map(len, r.rows)), "disagree": len(order)}
        return {**counts, "joined": r.how, "worst": worst}
    where: dict[str, list[int]] = {}
    for i, key in enumerate(data.canonical):
        where.setdefault(key, []).append(i)
    several = [rows for rows in where.values() if len(rows) > 1]
    deviation = np.array([max(s, 1e-300) for s in _deviations(data)])
    apart = []
    for together in several:
        y = data.targets[together]
        there = ~np.isnan(y)
        span = np.where(there, y, -np.inf).max(axis=0) - np.where(there, y, np.inf).min(axis=0)
        most = float((np.where(there.any(axis=0), span, 0.0) / deviation).max(initial=0.0))
        if most > 0:
            apart.append((most, together))
    apart.sort(key=lambda one: -one[0])
    worst = [
        {
            "smiles": data.smiles[rows[0]],
            "rows": [_number(data, i) for i in rows[:_SHOWN]],
            **({} if data.ids is None else {"ids": [data.ids[i] for i in rows[:_SHOWN]]}),
            "values": [_values(data, i) for i in rows[:_SHOWN]],
        }
        for _, rows in apart[:_SHOWN]
    ]
    return {"molecules": len(several), "rows": sum(map(len, several)), "disagree": len(apart), "worst": worst}


def _plain(values: NDArray[np.float64]) -> list[list[float | None]]:
    """Numbers (rows, targets) as lists, None where missing."""
    return [[None if np.isnan(y) else y for y in row] for row in values.tolist()]


def _deviations(data: Dataset) -> list[float]:
    """The standard deviation of each target; 1 for classes."""
    if data.task == "classification":
        return [1.0] * data.targets.shape[1]
    return [float(y[~np.isnan(y)].std()) if (~np.isnan(y)).any() else 0.0 for y in data.targets.T]


class _Prints:
    """Morgan fingerprints of the rows, made when they are asked for."""

    def __init__(self, data: Dataset) -> None:
        from rdkit.Chem import rdFingerprintGenerator

        assert data.canonical is not None
        self.smiles = data.canonical
        self.of = rdFingerprintGenerator.GetMorganGenerator(radius=2, fpSize=2048).GetFingerprint
        self.made: dict[int, Any] = {}

    def __call__(self, rows: Sequence[int]) -> list[Any]:
        for i in rows:
            if i not in self.made:
                self.made[i] = self.of(parse_smiles(self.smiles[i]))
        return [self.made[i] for i in rows]


def _some(rows: Int, most: int) -> list[int]:
    """The rows, or a regular sample of so many."""
    if len(rows) > most:
        rows = rows[np.linspace(0, len(rows) - 1, most).round().astype(int)]
    return [int(i) for i in rows.tolist()]


def _nearest(data: Dataset, prints: _Prints, held: Int, train: Int) -> dict[str, Any]:
    """For rows of a part that have a target the training molecule most like each of them."""
    from rdkit.DataStructs import BulkTanimotoSimilarity

    assert data.canonical is not None
    rows = _some(held[~np.isnan(data.targets[held]).all(axis=1)], _HELD_ROWS)
    others = _some(train, _TRAIN_ROWS)
    known = prints(others)
    nearest, similarity, same = [], [], []
    for i, own in zip(rows, prints(rows), strict=True):
        alike = np.array(BulkTanimotoSimilarity(own, known))
        j = int(alike.argmax())
        nearest.append(others[j])
        similarity.append(round(float(alike[j]), 4))
        same.append(data.canonical[others[j]] == data.canonical[i])
    twins = [(i, j) for i, j, s, one in zip(rows, nearest, similarity, same, strict=True) if s == 1.0 and not one]
    return {
        "rows": [_number(data, i) for i in rows],
        "similarity": similarity,
        "nearest": [described(data, j) for j in nearest],
        "same": sum(same),
        "twins": len(twins),
        "twin_pairs": [[described(data, i), described(data, j)] for i, j in twins[:_SHOWN]],
        "compared": {"of": len(held), "rows": len(rows), "train": len(others)},
    }


def _cliffs(data: Dataset, prints: _Prints) -> dict[str, Any]:
    """Pairs of molecules that are alike and have quite different targets, the most different first."""
    from rdkit.DataStructs import BulkTanimotoSimilarity

    assert data.canonical is not None
    rows = _some(np.flatnonzero(~np.isnan(data.targets).all(axis=1)), _CLIFF_ROWS)
    y = data.targets[rows] / np.array([s or 1.0 for s in _deviations(data)])
    least = 1.0 if data.task == "classification" else FAR
    known, found = prints(rows), []
    for a in range(1, len(rows)):
        alike = np.array(BulkTanimotoSimilarity(known[a], known[:a]))
        near = np.flatnonzero(alike >= ALIKE)
        if not len(near):
            continue
        apart = np.nan_to_num(np.abs(y[near] - y[a])).max(axis=1)
        for b, d in zip(near[apart >= least].tolist(), apart[apart >= least].tolist(), strict=True):
            if data.canonical[rows[a]] != data.canonical[rows[b]]:
                found.append((float(d), float(alike[b]), rows[b], rows[a]))
    found.sort(key=lambda one: (-one[0], -one[1], one[2:]))
    pairs = [
        {"similarity": round(s, 4), "deviations": round(d, 3), "pair": [described(data, i), described(data, j)]}
        for d, s, i, j in found[:_SHOWN]
    ]
    return {"count": len(found), "pairs": pairs, "compared": {"of": len(data), "rows": len(rows)}}
