"""Which rows of which data a cell learns from, makes its choices with and is tested on.

The paper's own protocol is ten stratified splits of 80/10/10, or one random split of the large data sets. Beside it
stand splits that others have published:

* ``MUTAG 5 folds`` and others: the five folds of the paper's authors (``ccn_folds.json``), which fix the test rows; of
  the other rows an eighth, drawn in proportion to the classes, is for choices;
* ``NCI1 10 folds``: the ten folds of the fair comparison of Errica et al. (2020), with their rows for choices;
* ``ZINC``: training, validation and test rows of the benchmark ZINC-12k as the file has them; splits are seeds.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from ccn.datasets import Dataset, load
from ccn.datasets.registry import Entry, fetch, find
from ccn.datasets.splits import Split, random_split, split_by_column, stratified_split
from ccn.errors import DataError

__all__ = ["FOLDS", "MOLECULES", "PROTOCOLS", "SPLITS", "Protocol"]

SPLITS = 10
"""Splits of the data sets of graph kernels, in the paper; cheap methods can have more."""
_SEEDS = 4  # of ZINC, as is usual there
MOLECULES = ("HCEP", "QM9", "ZINC")
"""Data sets of which a method chooses the features of atoms and bonds."""
_AUTHORS = Entry(
    "ccn_folds", "ccn_folds.json", "json", "LibCCNs, the code of the paper's authors", "none", "five folds a set"
)
_FAIR = Entry(
    "nci1_folds", "nci1_folds/folds.json", "json", "Errica et al. 2020, A fair comparison", "none", "ten folds of NCI1"
)
_ZINC = Entry(
    "ZINC",
    "zinc/zinc12k.csv.gz",
    "molecules",
    "ZINC-12k; Dwivedi et al. 2020; the training rows were drawn anew from the same pool",
    "see the source",
    "columns smiles, penalised_logp, split",
)


@dataclass(frozen=True)
class Protocol:
    """How the cells of one name get their rows.

    Attributes:
        dataset: the data set behind it.
        count: of splits.
        split: the rows of a split.
        classification: whether the data have classes.
        more: whether there can be more splits than ``count``.
    """

    dataset: str
    count: int
    split: Callable[[Dataset, int], Split]
    classification: bool = True
    more: bool = False

    def read(self, **options: Any) -> Dataset:
        """The data set; the options are those of :func:`ccn.datasets.load`."""
        if self.dataset != _ZINC.name:
            return load(self.dataset, **options)
        path = (find(_ZINC) or fetch(_ZINC)).path
        columns: dict[str, Any] = {
            "smiles_column": "smiles",
            "target_columns": "penalised_logp",
            "split_column": "split",
        }
        return load(path, **columns, **options)


def _stratified(data: Dataset, i: int) -> Split:
    return stratified_split(data.targets[:, 0], seed=(0, i))  # as in paper_splits


def _random(data: Dataset, i: int) -> Split:
    return random_split(len(data), seed=(0, i))


def _official(data: Dataset, i: int) -> Split:
    assert data.splits is not None
    return split_by_column(data.splits)


def _folds(entry: Entry) -> Any:
    path = (find(entry) or fetch(entry)).path
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise DataError(f"{path}: cannot be read as folds ({error})") from None


def _authors(data: Dataset, i: int, name: str) -> Split:
    test = np.asarray(_folds(_AUTHORS)[name][i])
    rest = np.setdiff1d(np.arange(len(data)), test)
    chosen = stratified_split(data.targets[rest, 0], (7 / 8, 1 / 8, 0.0), seed=(0, i))
    return Split(rest[chosen.train], rest[chosen.validation], test)


def _fair(data: Dataset, i: int) -> Split:
    fold = _folds(_FAIR)[i]
    (chosen,) = fold["model_selection"]
    return Split(chosen["train"], chosen["validation"], fold["test"])


_CLASSES = ("MUTAG", "PTC_MR", "PTC", "NCI1", "NCI109")
FOLDS: dict[str, Protocol] = {
    **{f"{name} 5 folds": Protocol(name, 5, partial(_authors, name=name)) for name in _CLASSES},
    "NCI1 10 folds": Protocol("NCI1", 10, _fair),
}
PROTOCOLS: dict[str, Protocol] = {
    **{name: Protocol(name, SPLITS, _stratified, more=True) for name in _CLASSES},
    **{name: Protocol(name, 1, _random, classification=False) for name in ("HCEP", "QM9")},
    **FOLDS,
    "ZINC": Protocol("ZINC", _SEEDS, _official, classification=False, more=True),
}
"""The protocol of each data set of the tables ``kernels``, ``hcep``, ``qm9``, ``folds`` and ``zinc``."""
