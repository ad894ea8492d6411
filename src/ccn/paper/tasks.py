"""Public tasks on molecules with a fixed test part: 11 of the ADMET group of TDC, and 15 assays of MoleculeACE.

A method learns from the training rows, of which it may put some aside for its choices, and predicts the test rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ccn.datasets.registry import Entry, fetch, find
from ccn.datasets.tables import find_column, number, open_table
from ccn.errors import DataError
from ccn.learning.metrics import metrics
from ccn.learning.task import Floats, make_task

__all__ = ["ADMET", "CLIFFS", "CLIFF_RMSE", "OURS", "TASKS", "Parts", "Task", "measure", "read_task"]

CLIFF_RMSE = "cliff_rmse"
"""The root mean squared error over the test rows that are part of an activity cliff."""


@dataclass(frozen=True)
class Task:
    """A table of molecules with one target and a fixed test part.

    Attributes:
        name: of its file.
        folder: of its file, below a data folder.
        metric: by which it is compared.
        rows: of training and test together, roughly.
        log: values that spread over orders of magnitude; the recipe of MapLight takes the logarithm of these.
    """

    name: str
    folder: str
    metric: str
    rows: int
    log: bool = False

    @property
    def classification(self) -> bool:
        return self.metric in ("roc_auc", "pr_auc")

    @property
    def cliffs(self) -> bool:
        """Whether rows are marked that are part of an activity cliff."""
        return self.folder == "moleculeace"

    @property
    def groups(self) -> Literal["scaffold"] | None:
        """What the test part has no row of in common with training."""
        return None if self.cliffs else "scaffold"

    @property
    def columns(self) -> tuple[str, ...]:
        return ("smiles", "y", "split", *(("cliff",) if self.cliffs else ()))

    @property
    def entry(self) -> Entry:
        """The data set; not in the list of named ones, since users have no other use for it than this experiment."""
        origin = (
            "MoleculeACE; van Tilborg et al. 2022" if self.cliffs else "Therapeutics Data Commons; Huang et al. 2021"
        )
        what = f"columns {', '.join(self.columns)}"
        return Entry(self.name, f"{self.folder}/{self.name}.csv.gz", "molecules", origin, "see the source", what)


_ADMET: dict[str, tuple[str, int]] = {
    "caco2_wang": ("mae", 910),
    "ppbr_az": ("mae", 2790),
    "half_life_obach": ("spearman", 667),
    "clearance_microsome_az": ("spearman", 1102),
    "herg": ("roc_auc", 655),
    "bioavailability_ma": ("roc_auc", 640),
    "dili": ("roc_auc", 475),
    "pgp_broccatelli": ("roc_auc", 1218),
    "cyp2c9_substrate_carbonmangels": ("pr_auc", 669),
    "ames": ("roc_auc", 7278),
    "cyp3a4_veith": ("pr_auc", 12328),
}
_CLIFFS = {
    "CHEMBL1862_Ki": 794,
    "CHEMBL2034_Ki": 750,
    "CHEMBL204_Ki": 2754,
    "CHEMBL214_Ki": 3317,
    "CHEMBL219_Ki": 1865,
    "CHEMBL231_Ki": 973,
    "CHEMBL234_Ki": 3657,
    "CHEMBL236_Ki": 2598,
    "CHEMBL237_Ki": 2603,
    "CHEMBL239_EC50": 1721,
    "CHEMBL262_Ki": 856,
    "CHEMBL2835_Ki": 615,
    "CHEMBL2971_Ki": 976,
    "CHEMBL4005_Ki": 960,
    "CHEMBL4616_EC50": 682,
}
ADMET = tuple(_ADMET)
CLIFFS = tuple(_CLIFFS)
TASKS = {
    **{name: Task(name, "tdc", *how, log=how[0] == "spearman") for name, how in _ADMET.items()},
    **{name: Task(name, "moleculeace", "rmse", rows) for name, rows in _CLIFFS.items()},
}
"""All tasks by name."""


OURS = ("auto", "trees", "gp", "ccn-2-default", "ccn-2-kernel")
"""Our methods in the order of the tables: the stack, then methods alone; trees are the stack without its covariant
members.
"""


@dataclass(frozen=True)
class Parts:
    """The rows of a task.

    Attributes:
        train, y: SMILES and targets of the training rows; a class is 0 or 1.
        test, known: of the test rows.
        cliff: (test rows,) whether a row is part of an activity cliff.
    """

    train: list[str]
    y: Floats
    test: list[str]
    known: Floats
    cliff: NDArray[np.bool_]


def read_task(task: Task) -> Parts:
    """The rows of a task from the data folder; an error says where its file should be."""
    table = open_table((find(task.entry) or fetch(task.entry)).path)
    at = [find_column(table, name, f"of {task.name}") for name in task.columns]
    smiles: dict[str, list[str]] = {"train": [], "test": []}
    values: dict[str, list[float]] = {"train": [], "test": []}
    cliff: list[bool] = []
    for row in table.rows():
        text, y, part, *more = (row.cells[i].strip() for i in at) if not row.fault else ("", "", "")
        value = number(y)
        if value is None or part not in smiles or (task.classification and value not in (0, 1)):
            kind = "0 or 1" if task.classification else "a number"
            raise DataError(f"{table.path}, row {row.number}: y must be {kind}, split train or test; correct the row")
        smiles[part].append(text)
        values[part].append(value)
        if part == "test":
            cliff.append(more == ["1"])
    if not (smiles["train"] and smiles["test"]):
        raise DataError(f"{table.path}: no rows for training or none for the test; the column split says which")
    known = {part: np.array(of) for part, of in values.items()}
    return Parts(smiles["train"], known["train"], smiles["test"], known["test"], np.array(cliff))


def measure(task: Task, parts: Parts, predicted: Floats) -> dict[str, float]:
    """All metrics on the test rows.

    Args:
        task, parts: the task and its rows.
        predicted: (test rows,) numbers, or probabilities of class 1.
    """
    classes = (0, 1) if task.classification else ()
    kind = make_task(parts.y[:, None], classification=task.classification, names=("y",), classes=classes)
    rows = np.stack([1 - predicted, predicted], axis=1) if task.classification else predicted[:, None]
    found = metrics(kind, parts.known[:, None], rows)
    if task.cliffs:
        on = parts.cliff
        found[CLIFF_RMSE] = metrics(kind, parts.known[on, None], rows[on])["rmse"]
    return found
