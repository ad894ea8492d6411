"""The graphs that are measured on: generated molecule-like ones and, where the data are available, real molecules."""

from __future__ import annotations

import csv
import gzip
import os
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

import ccn
from ccn.testing import random_molecule_like

FEATURES = 16


def generated(count: int, seed: int = 0) -> list[ccn.Graph]:
    """Molecule-like graphs of 18 to 30 vertices, degree at most 4: trees with a few rings of 5 and 6."""
    rng = np.random.default_rng(seed)
    return [random_molecule_like(int(rng.integers(18, 31)), rng, FEATURES) for _ in range(count)]


def regular(vertices: int, degree: int, seed: int = 0) -> list[ccn.Graph]:
    """One random regular graph, for growth with the part size."""
    import networkx as nx

    rng = np.random.default_rng(seed)
    g = nx.random_regular_graph(degree, vertices, seed=seed)
    features = torch.from_numpy(rng.normal(size=(vertices, FEATURES)).astype(np.float32))
    return [ccn.Graph(list(g.edges), features)]


def smiles_of(name: str, count: int = 2000) -> list[str] | None:
    """The SMILES of the first molecules of QM9 or HCEP from the folder in CCN_DATA, or None without it."""
    folder = os.environ.get("CCN_DATA")
    path = Path(folder or ".") / name / f"{name}.csv.gz"
    if not folder or not path.exists():
        return None
    with gzip.open(path, "rt", newline="") as f:
        rows = csv.DictReader(f)
        return [row["smiles"] for row, _ in zip(rows, range(count), strict=False)]


def molecules(name: str, count: int = 2000) -> list[ccn.Graph] | None:
    """The first molecules of QM9 or HCEP from the folder in CCN_DATA, or None without it."""
    smiles = smiles_of(name, count)
    if smiles is None:
        return None
    rng = np.random.default_rng(0)
    graphs = [ccn.Graph.from_smiles(s) for s in smiles]
    noise: list[Tensor] = [torch.from_numpy(rng.normal(size=(g.n, FEATURES)).astype(np.float32)) for g in graphs]
    return [ccn.Graph(g.edges, x) for g, x in zip(graphs, noise, strict=True)]
