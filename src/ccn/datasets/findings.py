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
from collections.abc import Callable, Sequence
from functools import cache
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
    fingerprint = _fingerprint(data.canonical)
    found |= {
        "examples": [described(data, i) for i in _examples(data, split.train)],
        "repeated": _repeated(data),
        "cliffs": _cliffs(data, fingerprint),
    }
    held = {name: rows for name, rows in parts.items() if name in ("validation", "test")}
    return found | {"similarity": {name: _nearest(data, fingerprint, rows, split.train) for name, rows in held.items()}}


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
    return _some(known[np.argsort(data.targets[known, 0], kind="stable")], _EXAMPLES)


def _repeated(data: Dataset) -> dict[str, Any]:
    """Molecules in several rows, and those whose rows disagree, most of all first."""
    assert data.canonical is not None
    assert data.smiles is not None
    several: list[Sequence[int]]
    joined, smiles, ids = data.replicates, data.smiles, data.ids
    if joined is None:
        where: dict[str, list[int]] = {}
        for i, key in enumerate(data.canonical):
            where.setdefault(key, []).append(i)
        several = [rows for rows in where.values() if len(rows) > 1]
        span = [_range(data.targets[rows]) for rows in several]
    else:
        several, span = list(joined.rows), list(joined.spread)

    def shown(i: int) -> dict[str, Any]:
        if joined is not None:
            values = [[None if np.isnan(y) else y for y in row] for row in joined.values[i].tolist()]
            return {"smiles": joined.smiles[i], "rows": list(joined.rows[i]), "values": values}
        rows = several[i][:_SHOWN]
        return {
            "smiles": smiles[rows[0]],
            "rows": [_number(data, row) for row in rows],
            **({} if ids is None else {"ids": [ids[row] for row in rows]}),
            "values": [_values(data, row) for row in rows],
        }

    deviation = np.array([max(s, 1e-300) for s in _deviations(data)])
    most = np.array([np.nan_to_num(s / deviation).max(initial=0.0) for s in span])
    order = [i for i in np.argsort(-most, kind="stable").tolist() if most[i] > 0]
    return {
        "molecules": len(several),
        "rows": sum(map(len, several)),
        "disagree": len(order),
        **({} if joined is None else {"joined": joined.how}),
        "worst": [shown(i) for i in order[:_SHOWN]],
    }


def _range(y: NDArray[np.float64]) -> NDArray[np.float64]:
    """(targets,) the difference of the largest and the smallest value of (rows, targets); NaN without any."""
    return np.asarray(np.fmax.reduce(y) - np.fmin.reduce(y))


def _deviations(data: Dataset) -> list[float]:
    """The standard deviation of each target; 1 for classes."""
    if data.task == "classification":
        return [1.0] * data.targets.shape[1]
    return [float(y[~np.isnan(y)].std()) if (~np.isnan(y)).any() else 0.0 for y in data.targets.T]


Fingerprint = Callable[[int], Any]


def _fingerprint(smiles: Sequence[str]) -> Fingerprint:
    """A function from a row to its Morgan fingerprint, computed once."""
    from rdkit.Chem import rdFingerprintGenerator

    made = rdFingerprintGenerator.GetMorganGenerator(radius=2, fpSize=2048).GetFingerprint
    return cache(lambda i: made(parse_smiles(smiles[i])))


def _some(rows: Int, most: int) -> list[int]:
    """The rows, or a regular sample of so many."""
    return [int(i) for i in rows[spread(rows, most)]]


def _nearest(data: Dataset, fingerprint: Fingerprint, held: Int, train: Int) -> dict[str, Any]:
    """For rows of a part that have a target the training molecule most like each of them."""
    from rdkit.DataStructs import BulkTanimotoSimilarity

    assert data.canonical is not None
    rows = _some(held[~np.isnan(data.targets[held]).all(axis=1)], _HELD_ROWS)
    others = _some(train, _TRAIN_ROWS)
    known = [fingerprint(j) for j in others]
    nearest, similarity = [], []
    for i in rows:
        alike = np.array(BulkTanimotoSimilarity(fingerprint(i), known))
        nearest.append(others[int(alike.argmax())])
        similarity.append(round(float(alike.max()), 4))
    same = [data.canonical[i] == data.canonical[j] for i, j in zip(rows, nearest, strict=True)]
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


def _cliffs(data: Dataset, fingerprint: Fingerprint) -> dict[str, Any]:
    """Pairs of molecules that are alike and have quite different targets, the most different first."""
    from rdkit.DataStructs import BulkTanimotoSimilarity

    assert data.canonical is not None
    rows = _some(np.flatnonzero(~np.isnan(data.targets).all(axis=1)), _CLIFF_ROWS)
    y = data.targets[rows] / np.array([s or 1.0 for s in _deviations(data)])
    least = 1.0 if data.task == "classification" else FAR
    known, found = [fingerprint(i) for i in rows], []
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
