"""Runs of all tasks, made up: molecules with random targets, and predictions near them."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ccn.datasets import load
from ccn.datasets.columns import Strings
from ccn.datasets.findings import describe
from ccn.datasets.splits import Split
from ccn.learning.metrics import metrics
from ccn.learning.task import Task
from ccn.reports.run import Run

ROWS = 90
NASTY = "<script>alert('x')</script> & \"$a_1$\" of a very long name that no title of a figure has room for"
SMILES = [f"{'C' * (1 + i // 6)}{('O', 'N', 'C(=O)O', 'C#N', 'c1ccccc1', 'S(=O)(=O)C')[i % 6]}" for i in range(ROWS)]
BANDS = [
    {"from": a, "to": b, "rows": 15, "error": 0.5 + a, "distance": a + 0.1, "coverage": 0.9}
    for a, b in ((0.0, 0.3), (0.3, 1.0))
]
WORDS = {word: {"rows": 10, "error": 0.5 + i, "coverage": 0.9} for i, word in enumerate(("inside", "edge", "outside"))}
TRUST = {
    "inside": 0.3,
    "outside": 0.6,
    "bands": [0.0, 0.3, 1.0],
    "error": "MAE",
    "parts": {"validation": {"words": WORDS, "bands": BANDS}, "test": {"words": WORDS, "bands": BANDS}},
}
Make = Callable[..., Run]


def make_run(kind: str, targets: int = 1, molecules: bool = True, folder: Path = Path("run")) -> Run:
    """A run of a task whose first target has a name that must be escaped."""
    rng = np.random.default_rng(len(kind) + targets)
    names = tuple(NASTY if t == 0 else f"target {t}" for t in range(targets))
    numbers = kind == "regression"
    classes: tuple[Any, ...] = () if numbers else (0, 1) if kind == "multilabel" else ("<b>no</b>", "yes", "so")
    classes = classes[:2] if kind == "binary" else classes
    raw = rng.normal(size=(ROWS, targets)) if numbers else rng.integers(len(classes), size=(ROWS, targets))
    table = [[float(y) if numbers else classes[int(y)] for y in row] for row in raw.tolist()]
    task = Task(kind, names, classes)  # type: ignore[arg-type]
    if molecules:
        given: Any = [*SMILES[:-2], SMILES[0], SMILES[1]]  # two are there twice
    else:
        import networkx as nx

        given = [nx.path_graph(2 + i % 5) for i in range(ROWS)]
    column = [row[0] for row in table] if targets == 1 else table
    data = load(given, targets=column, task="regression" if numbers else "classification")
    units = ("mg/kg",) * targets if numbers else ()
    spelled = Strings.of(given) if molecules else None
    data = replace(data, target_names=names, units=units, smiles=spelled, canonical=spelled)
    split = Split(np.arange(50), np.arange(50, 60), np.arange(60, ROWS))
    known = data.targets[split.test]
    if numbers or kind == "multilabel":
        p = known + rng.normal(size=known.shape) if numbers else np.clip(rng.random(known.shape), 0.01, 0.99)
    else:
        p = rng.dirichlet(np.ones(len(classes)), size=len(known))
    found = metrics(task, known, p, each=True)
    epochs = [
        {"member": str(m), "epoch": str(e), "train_loss": str(1 / e), "validation_loss": str(2 / e)}
        for m in range(2)
        for e in (1, 2, 3)
    ]
    board = [{"method": m, "metrics": metrics(task, known, p), "weight": 0.5} for m in ("stack", "gp", "constant")]
    return Run(
        folder,
        {"source": "some/where/molecules.csv", "method": "auto", "seed": 3, "splitting": {"split": "none"}},
        {
            "task": kind,
            "metrics": {"validation": found, "test": found},
            "interval": {"level": 0.9, "coverage": 0.875, "mean_width": {NASTY: 1.5}, "rows": 30} if numbers else None,
            "members": [{"epochs": 7, "ended": "patience", "best_epoch": 5}],
            "seconds": 12.3,
            "overlap": {"test": {"train": 0, "exact": True}} if molecules else None,
            "shared_molecules": 0,
            "warnings": [f"{NASTY}: all predictions are 1"],
            "graphs": {"train": 50, "validation": 10, "test": 30},
            "versions": {"ccn": "1", "Python": "3"},
            **({"trust": TRUST} if molecules else {}),
        },
        json.loads(json.dumps(describe(data, split))),
        {"chosen": [{"depth": 3}, {"depth": 3}], "leaderboard": board},
        task,
        epochs,
        [int(i) + 1 for i in split.test],
        [NASTY] * len(known) if molecules else [],
        [given[i] for i in split.test] if molecules else [],
        known,
        p,
        p - 1.5 if numbers else None,
        p + 1.5 if numbers else None,
    )


@pytest.fixture(scope="session")
def run_of() -> Make:
    return make_run
