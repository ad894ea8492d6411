"""The least error of any method that sees labelled graphs only, since equal graphs have different targets.

A function of the graph gives one value to all molecules with the same labelled skeleton. The least mean absolute error
is that of the median of their targets, the least mean squared error that of the mean.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ccn.datasets.dataset import Dataset
from ccn.errors import DataError
from ccn.graphs.pack import Pack
from ccn.graphs.ragged import Int

__all__ = ["classes", "floor"]

_FIRST = 3  # atomic number of the first label: hydrogens and dummies are special to RDKit


def classes(graphs: Pack) -> Int:
    """(graphs,) integers, equal for graphs that are isomorphic with their vertex features; without edge features."""
    from rdkit import Chem

    _, labels = np.unique(graphs.arrays["features"], axis=0, return_inverse=True)
    elements = (_FIRST + labels.reshape(-1)).tolist()
    if max(elements, default=0) > 118:
        raise DataError(f"{max(elements) - _FIRST + 1} distinct vertex labels are too many to compare graphs by")
    arrays = graphs.arrays
    row, column = arrays["row"].tolist(), arrays["column"].tolist()
    vertex, entry = arrays["vertex_start"].tolist(), arrays["entry_start"].tolist()
    numbers: dict[str, int] = {}
    found = np.empty(len(graphs), dtype=np.int64)
    for i, g in enumerate(graphs.chosen.tolist()):
        mol = Chem.RWMol()
        for element in elements[vertex[g] : vertex[g + 1]]:
            atom = Chem.Atom(element)
            atom.SetNoImplicit(True)
            mol.AddAtom(atom)
        for u, v in zip(row[entry[g] : entry[g + 1]], column[entry[g] : entry[g + 1]], strict=True):
            if u < v:
                mol.AddBond(u, v, Chem.BondType.SINGLE)
        mol.UpdatePropertyCache(strict=False)
        found[i] = numbers.setdefault(Chem.MolToSmiles(mol), len(numbers))
    return found


def floor(data: Dataset) -> dict[str, Any]:
    """The least errors of any function of the graphs and vertex features, over all graphs of a regression.

    Returns the ``details`` of a record: ``targets``, ``mae`` and ``rmse`` per target in its unit, ``scale`` (the
    standard deviation of the target), and the number of distinct graphs.
    """
    group = classes(data.pack)
    order = np.argsort(group, kind="stable")
    ends = np.flatnonzero(np.diff(group[order])) + 1
    mae, rmse = [], []
    for y in data.targets.T:
        parts = np.split(y[order], ends)
        mae.append(sum(float(np.abs(p - np.median(p)).sum()) for p in parts) / len(y))
        rmse.append((sum(float(((p - p.mean()) ** 2).sum()) for p in parts) / len(y)) ** 0.5)
    scale: NDArray[np.float64] = data.targets.std(axis=0)
    errors = {"mae": mae, "rmse": rmse, "scale": scale.tolist()}
    return {"targets": list(data.target_names), **errors, "graphs": len(parts)}
