"""Graphs with discrete labels that the tests of baselines share."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import torch

import ccn
from ccn.testing import random_permutation

SMILES = ["C" * i + x for i in range(1, 8) for x in ("O", "N", "", "F", "Cl")]
SIZE = np.array([float(len(s.replace("Cl", "F"))) for s in SMILES])
OXYGEN = np.array(["yes" if "O" in s else "no" for s in SMILES])


def labelled(count: int, seed: int = 0, labels: int = 3, largest: int = 9, density: float = 0.3) -> list[ccn.Graph]:
    """Random graphs of 1 to ``largest`` vertices with one-hot labels, not all connected."""
    rng = np.random.default_rng(seed)
    made = []
    for _ in range(count):
        n = int(rng.integers(1, largest + 1))
        edges = [(i, j) for i in range(n) for j in range(i + 1, n) if rng.random() < density]
        made.append(ccn.Graph(edges, torch.eye(labels)[torch.from_numpy(rng.integers(0, labels, n))]))
    return made


def permuted(graphs: list[ccn.Graph], seed: int = 0) -> list[ccn.Graph]:
    """The same graphs, numbered otherwise."""
    rng = np.random.default_rng(seed)
    return [g.permute(random_permutation(g.n, rng)) for g in graphs]


def label(g: ccn.Graph) -> list[int]:
    """The label of each vertex."""
    return [int(x) for x in g.features.argmax(dim=1)]


def near(g: ccn.Graph) -> list[list[int]]:
    """The neighbours of each vertex."""
    return [g.entries[1][g.entries[0] == i].tolist() for i in range(g.n)]


def rounds(g: ccn.Graph, depth: int) -> list[list[Any]]:
    """The labels of Weisfeiler-Lehman refinement as nested tuples, round by round."""
    found: list[list[Any]] = [label(g)]
    around = near(g)
    for _ in range(depth):
        old = found[-1]
        found.append([(old[i], tuple(sorted((old[j] for j in around[i]), key=repr))) for i in range(g.n)])
    return found


def products(bags: list[Counter[Any]]) -> Any:
    """The Gram matrix of bags."""
    return np.array([[sum(a[x] * b[x] for x in a) for b in bags] for a in bags], dtype=float)


def same_as_grakel(ours: Any, theirs: Any, graphs: list[ccn.Graph], factor: float = 1.0) -> None:
    """Compare Gram matrices; GraKeL's optimal assignment forgets vertices without edges: such graphs are left out."""
    graphs = [g for g in graphs if all(near(g))]
    assert len(graphs) >= 3
    given = [(dict.fromkeys(map(tuple, g.entries.T.tolist()), 1), dict(enumerate(label(g)))) for g in graphs]
    np.testing.assert_allclose(factor * ours.gram(graphs, normalise=False), theirs.fit_transform(given))
