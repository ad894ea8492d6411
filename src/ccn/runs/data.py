"""The data of a run: read and split as its configuration says."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ccn.datasets import Dataset, load, options_of
from ccn.datasets.auxiliary import with_auxiliary
from ccn.datasets.dealing import fold_groups
from ccn.datasets.molecule_tables import COLUMN_OPTIONS, find_schema
from ccn.datasets.replicates import join
from ccn.datasets.splits import Kind, Split, load_splits, make_splits
from ccn.datasets.tables import open_table
from ccn.errors import ConfigurationError, DataError
from ccn.learning.examples import Examples, labelled, with_target
from ccn.runs.config import Config

__all__ = ["ALL", "divide", "divide_folds", "examples_of", "read_data", "read_source", "shared_molecules"]

ALL = "all"
"""What stands for all targets of a source, unless a column has this name."""
_SHOWN = 20  # columns that an error lists


def read_data(config: Config) -> Dataset:
    """The data set of a configuration."""
    d, f = config.data, config.recipe.reads()
    names = (*COLUMN_OPTIONS, "task", "sheet", "max_atoms", "standardise")
    how = {name: getattr(d, name) or None for name in names if name != "target_columns"}
    targets = _targets(config)
    if d.replicates != "keep" and "contradictions" in options_of(config.source):
        how["contradictions"] = False  # they are what is joined
    data = read_source(config.source, targets, (f.molecules, f.hydrogens), strict=d.strict, **how)
    if targets and not d.target_columns:
        only = f"the only candidate for a target is {targets[0]!r}"
        data = replace(data, note=f"{data.note}; {only}" if data.note else only)
    if not data.target_names:
        raise DataError(
            f"{config.source}: no column to learn detected; name it with --target, for example --target pce"
        )
    if data.task == "classification" and len(data.classes) < 2:
        raise DataError(
            f"{config.source}: the target {data.target_names[0]!r} has one class only ({data.classes[0]!r}); "
            "classification needs two or more"
        )
    if data.task == "classification" and len(data.target_names) > 1 and tuple(data.classes) != (0, 1):
        raise DataError(
            f"{config.source}: several targets of classes are labels, which must be 0 or 1, not "
            f"{', '.join(map(str, data.classes[:5]))}; name one with --target"
        )
    if d.auxiliary:
        if "target_columns" not in options_of(config.source):
            raise ConfigurationError(f"{config.source}: it has no columns for --auxiliary, which are those of a table")
        data = with_auxiliary(data, config.source, d.auxiliary, sheet=d.sheet)
    return data if d.replicates == "keep" else join(data, d.replicates)


def _targets(config: Config) -> tuple[str, ...]:
    """The targets of a configuration; none stands for all that the source has.

    Only a table has columns that may or may not be targets: without a name, it must have one candidate.
    """
    source, named = config.source, config.data.target_columns
    every = named == (ALL,)
    if named and not every:
        return named
    if "target_columns" not in options_of(source):
        return ()
    table = open_table(source, sheet=config.data.sheet)
    if every and ALL in table.columns:
        return named
    columns = {name: getattr(config.data, name) for name in COLUMN_OPTIONS if name != "target_columns"}
    candidates = tuple(c for c in find_schema(table, **columns).targets if c not in config.data.auxiliary)
    if every or len(candidates) < 2:
        return candidates
    listed = ", ".join(candidates[:_SHOWN]) + ", .." * (len(candidates) > _SHOWN)
    raise ConfigurationError(
        f"{source}: {len(candidates)} columns could be the target: {listed}; name one, for example "
        f"ccn train {shlex.quote(source)} --target {shlex.quote(candidates[0])}, or learn all of them together with "
        f"--target {ALL}"
    )


def read_source(
    source: str, targets: Sequence[str], features: tuple[str | None, bool], *, strict: bool, **how: Any
) -> Dataset:
    """A data set with these targets; if it has molecules, with a set of features, and hydrogens as vertices or not."""
    known = options_of(source)
    options = {name: value for name, value in how.items() if value is not None}
    if "features" in known:
        options["features"], options["hydrogens"] = features
    if strict and "strict" in known:
        options["strict"] = True
    if targets:
        options["target_columns" if "target_columns" in known else "targets"] = list(targets)
    return load(source, **options)


def divide(data: Dataset, config: Config) -> tuple[Split, Examples]:
    """The split of the configuration, and the labelled rows of it as examples; with folds there is no test part."""
    split = _split(data, config)
    return split, examples_of(data, split, config)


def divide_folds(data: Dataset, config: Config) -> list[Split]:
    """The folds of the configuration: test parts by its kind of split and, by the same, validation within the rest."""
    out = []
    for fold in _drawn(data, config, folds=config.splitting.folds):
        inner = _drawn(data.subset(fold.train), config, fractions=_without_test(config))[0]
        out.append(Split(fold.train[inner.train], fold.train[inner.validation], fold.test))
    return out


def examples_of(data: Dataset, split: Split, config: Config) -> Examples:
    """The labelled rows of a split.

    Half of the validation part of a regression is reserved for calibrating the intervals. With folds, the rest of it is
    for training where the method needs none. Censored rows are left out where the method cannot use them.
    """
    method = config.make(classification=data.task == "classification")
    if not labelled(data.targets)[split.train].any():
        raise DataError(f"{config.source}: no row of the training part has a target; give more rows, or another split")
    parts = with_target(split, data.targets, data.bounds, data.auxiliary)
    if data.task == "regression":
        parts = parts.with_calibration(config.seed)
    if config.splitting.folds is not None and not method.validates:
        train = np.concatenate([parts.train, parts.validation])
        parts = replace(parts, train=train, validation=train[:0], complete=False)
    examples = Examples.of_dataset(data, parts)
    groups = None
    if method.grouped:  # as the split keeps them together
        scaffolds = config.splitting.split == "scaffold" or None
        groups = fold_groups(data.canonical, data.groups, test=split.test, scaffolds=scaffolds)
    made = replace(examples, class_weight=config.data.class_weight, groups=groups)
    return made if method.bounds else made.exact()


def shared_molecules(data: Dataset, split: Split, say: Callable[[str], None]) -> int | None:
    """How many molecules have a target in more than one part of a split, said if there are any; None for other graphs.

    A column, a file of splits or ``duplicates = "ignore"`` may divide them.
    """
    if data.canonical is None:
        return None
    rows = with_target(split, data.targets, data.bounds).shared(data.canonical).tolist()
    count = len({data.canonical[i] for i in rows})
    if count:
        say(f"molecules in more than one part of the split: {count:,}, in {len(rows):,} rows; the parts are as given")
    return count


def _split(data: Dataset, config: Config) -> Split:
    """A file of splits, a column, or drawn from the seed."""
    s = config.splitting
    if s.splits_file is None:
        return _drawn(data, config, fractions=s.fractions if s.folds is None else _without_test(config))[0]
    if s.folds is not None:
        raise ConfigurationError("--folds deals all rows itself; leave out --splits-file")
    return load_splits(s.splits_file, data.pack if data.smiles is None else data.smiles)[0]


def _without_test(config: Config) -> tuple[float, ...]:
    """The fractions of training and validation, in proportion, with all rows."""
    both = config.splitting.fractions[:2]
    if len(both) < 2 or not sum(both):
        raise ConfigurationError(f"fractions={config.splitting.fractions}: give those of train and validation too")
    return (both[0] / sum(both), both[1] / sum(both), 0.0)


def _drawn(data: Dataset, config: Config, **how: Any) -> list[Split]:
    """Splits by the configured kind; the options are further ones of :func:`make_splits`."""
    s = config.splitting
    classes = data.task == "classification" and len(data.target_names) == 1 and data.per == "graph"
    kind: Kind = s.split or ("column" if data.splits is not None else "stratified" if classes else "random")
    if kind == "column" and data.splits is None:
        raise ConfigurationError("--split column needs --split-column, the column that says train, val or test")
    if kind == "column" and s.folds is not None:
        raise ConfigurationError("--folds deals all rows itself; leave out the split column, or add --split random")
    return make_splits(
        kind,
        len(data),
        seed=config.seed,
        labels=data.targets if data.task == "classification" and data.per == "graph" else None,
        molecules=data.smiles,
        canonical=data.canonical,
        column=data.splits,
        rows=data.rows,
        groups=None if config.data.group_column is None else data.groups,
        duplicates=s.duplicates,
        **how,
    )
