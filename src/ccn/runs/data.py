"""The data of a run: read as its configuration says, and dealt to the parts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ccn.datasets import Dataset, load, options_of
from ccn.datasets.splits import Kind, Split, load_splits, make_splits, random_split
from ccn.errors import ConfigurationError, DataError
from ccn.graphs.ragged import Int
from ccn.methods.fitting import Parts
from ccn.runs.config import Config

__all__ = ["Dealt", "deal", "read_data"]


@dataclass(frozen=True)
class Dealt:
    """The split of a data set, and the rows of its parts that have a target."""

    split: Split
    parts: Parts
    test: Int


def read_data(config: Config) -> Dataset:
    """The data set of a configuration."""
    d, f = config.data, config.recipe.features
    known = options_of(config.source)
    options: dict[str, Any] = {
        name: value
        for name in ("smiles_column", "weight_column", "group_column", "split_column", "id_column", "task")
        if (value := getattr(d, name)) is not None
    }
    if "features" in known:
        options |= {"features": f.molecules, "hydrogens": f.hydrogens}
    if d.strict and "strict" in known:
        options["strict"] = True
    if d.target_columns:
        options["target_columns" if "target_columns" in known else "targets"] = list(d.target_columns)
    data = load(config.source, **options)
    if not data.target_names:
        raise DataError(f"{config.source}: found no column to learn; name it with --target, for example --target pce")
    if data.task == "classification" and len(data.classes) < 2:
        raise DataError(
            f"{config.source}: the target {data.target_names[0]!r} has one class only ({data.classes[0]!r}); "
            "classification needs two or more"
        )
    if data.task == "classification" and len(data.target_names) > 1 and tuple(data.classes) != (0, 1):
        raise DataError(
            f"{config.source}: several targets of classes are labels, which must be 0 or 1; found "
            f"{', '.join(map(str, data.classes[:5]))}; name one with --target"
        )
    return data


def deal(data: Dataset, config: Config) -> Dealt:
    """The split of the configuration: a file of splits, a column, or drawn from the seed."""
    s = config.splitting
    classes = data.task == "classification" and len(data.target_names) == 1
    rows: Any = data.pack if data.smiles is None else data.smiles
    if s.splits_file is not None:
        split = load_splits(s.splits_file, rows)[0]
    else:
        kind: Kind = s.split or ("column" if data.splits is not None else "stratified" if classes else "random")
        if kind == "column" and data.splits is None:
            raise ConfigurationError("--split column needs --split-column, the column that says train, val or test")
        split = make_splits(
            kind,
            len(data),
            fractions=s.fractions,
            seed=config.seed,
            labels=data.targets if data.task == "classification" else None,
            molecules=data.smiles,
            canonical=data.canonical,
            column=data.splits,
            groups=None if config.data.group_column is None else data.groups,
            duplicates=s.duplicates,
        )[0]
    labelled = np.isnan(data.targets).sum(axis=1) < data.targets.shape[1]
    train, validation, test = (rows[labelled[rows]] for rows in (split.train, split.validation, split.test))
    if not len(train):
        raise DataError(f"{config.source}: no row of the training part has a target; give more rows, or another split")
    calibration = validation[:0]
    if data.task == "regression" and len(validation) > 1:
        # Half of the validation part is kept for the intervals: it neither fits nor stops.
        half = random_split(len(validation), (0.5, 0.5, 0.0), config.seed)
        validation, calibration = validation[half.train], validation[half.validation]
    return Dealt(split, Parts(train, validation, calibration), test)
