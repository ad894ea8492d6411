"""What a method is fitted on: graphs, targets, and which rows are for what."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ccn.datasets.dataset import Dataset
from ccn.datasets.splits import Split, random_split, stratified_split
from ccn.errors import ConfigurationError
from ccn.features.scaling import Scale, Shape
from ccn.files import digest
from ccn.graphs.pack import Pack
from ccn.graphs.ragged import Int, Ragged
from ccn.learning.inputs import Inputs
from ccn.learning.settings import Loss
from ccn.learning.task import Floats, Per, Task, make_task

__all__ = ["Examples", "fingerprint", "labelled", "with_target"]


def labelled(targets: Floats | Ragged) -> NDArray[np.bool_]:
    """(rows,) whether any target of the row is known; of vertices or edges, any of the graph."""
    known = np.asarray(~np.isnan(np.asarray(targets)).all(axis=1))
    return targets.any(known) if isinstance(targets, Ragged) else known


def with_target(
    split: Split, targets: Floats | Ragged, bounds: Floats | None = None, auxiliary: Floats | None = None
) -> Split:
    """The rows of each part that have a target; for training a bound of one or an auxiliary value is enough."""
    known = labelled(targets)
    parts = split.labelled(known)
    for more in (None if bounds is None else bounds[..., 0], auxiliary):
        if more is not None:
            known = known | labelled(more)
    return replace(parts, train=split.train[known[split.train]])


@dataclass(frozen=True)
class Examples:
    """Graphs with targets, cut into parts by row numbers.

    Attributes:
        graphs: as they were read, before vertex features are made of their columns.
        targets: (graphs, targets); NaN where missing, a class as its number among ``classes``. Those of vertices or
            edges are a :class:`Ragged` with a row for each of them.
        per: what has targets.
        split: the rows to fit on, to choose by, and to calibrate intervals with.
        bounds: (graphs, targets, 2) of targets that are censored and therefore NaN, as in :class:`Dataset`.
        names: of the targets; by default y0, y1, ..
        classification: the targets are classes, not numbers.
        classes: what the numbers of classes stand for.
        weights: (graphs,) of the rows, by default 1.
        class_weight: ``balanced``, or a weight per class.
        inputs: how the graphs were read; its vertex features are not fitted yet.
        molecules: canonical SMILES of the graphs, where they are molecules.
        groups: (graphs,) rows of one number, such as those of one scaffold, are divided neither by folds nor by a draw
            of validation rows.
        auxiliary: (graphs, columns) numbers, or labels of 0 and 1 beside classes, that may be learned with the targets
            and are not predicted; NaN where missing. Rows that have nothing else are for training alone.
        auxiliary_names: of these columns.
        target_scale: how numbers are bent before they are fitted; :func:`ccn.methods.method.fit` sets it.

    Example:
        >>> import ccn
        >>> from ccn.datasets.splits import Split
        >>> data = ccn.datasets.load("MUTAG")
        >>> examples = Examples.of_dataset(data, Split(range(100), range(100, 120), []))
        >>> len(examples.train), examples.task().kind
        (100, 'binary')
    """

    graphs: Pack
    targets: Any
    split: Split
    names: tuple[str, ...] = ()
    classification: bool = False
    classes: tuple[Any, ...] = ()
    weights: Floats | None = None
    class_weight: str | Mapping[Any, float] | None = None
    inputs: Inputs = field(default_factory=Inputs)
    molecules: Sequence[str] | None = None
    groups: Int | None = None
    target_scale: Scale = "linear"
    bounds: Floats | None = None
    per: Per = "graph"
    auxiliary: Floats | None = None
    auxiliary_names: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if isinstance(self.targets, Ragged):
            _check_items(self.graphs, self.targets, self.per)
        if self.targets.ndim != 2 or len(self.targets) != len(self.graphs):
            raise ConfigurationError(f"{len(self.graphs)} graphs, but targets of shape {self.targets.shape}")
        if not self.names:
            object.__setattr__(self, "names", tuple(f"y{i}" for i in range(self.targets.shape[1])))
        if len(infinite := np.argwhere(np.isinf(np.asarray(self.targets)))):
            row, column = infinite[0]
            raise ConfigurationError(f"target {column} of row {row} is infinite; leave it blank or correct it")
        w = self.weights
        if w is not None and not (w.shape == (len(self.graphs),) and (w >= 0).all() and np.isfinite(w).all()):
            raise ConfigurationError("sample weights: one finite number per graph is needed, none of them negative")
        if self.auxiliary is not None:
            self._check_auxiliary(self.auxiliary)

    def _check_auxiliary(self, values: Floats) -> None:
        if not self.auxiliary_names:
            object.__setattr__(self, "auxiliary_names", tuple(f"auxiliary{i}" for i in range(values.shape[-1])))
        if values.shape != (len(self.graphs), len(self.auxiliary_names)):
            raise ConfigurationError(
                f"auxiliary columns of shape {values.shape}: give one row for each of the {len(self.graphs)} graphs"
            )
        if np.isinf(values).any():
            raise ConfigurationError(f"an auxiliary value of row {np.argwhere(np.isinf(values))[0, 0]} is infinite")
        if both := set(self.auxiliary_names) & set(self.names):
            raise ConfigurationError(f"{min(both)!r} is both a target and an auxiliary column; leave one out")
        if not self.classification:
            return
        if len(self.classes) > 2:
            raise ConfigurationError(
                f"a target of {len(self.classes)} classes cannot be learned together with auxiliary columns; leave "
                "these out"
            )
        wrong = ~np.isnan(values) & (values != 0) & (values != 1)
        if wrong.any():
            name = self.auxiliary_names[np.argwhere(wrong)[0, 1]]
            raise ConfigurationError(
                f"the auxiliary column {name!r} has other values than 0 and 1; beside classes leave it out, or make "
                "labels of it"
            )

    @property
    def train(self) -> Int:
        """Rows to fit on."""
        return self.split.train

    @property
    def validation(self) -> Int:
        """Rows to choose by."""
        return self.split.validation

    @classmethod
    def of_dataset(cls, data: Dataset, split: Split) -> Examples:
        """The rows of a data set that have a target, in the parts of a split."""
        return cls(
            data.pack,
            data.targets,
            with_target(split, data.targets, data.bounds, data.auxiliary),
            names=tuple(data.target_names),
            classification=data.task == "classification",
            classes=tuple(data.classes),
            weights=data.weights,
            inputs=Inputs.of_dataset(data),
            molecules=data.canonical,
            bounds=data.bounds,
            per=data.per,
            auxiliary=data.auxiliary,
            auxiliary_names=data.auxiliary_names,
        )

    def items(self, rows: Int) -> Int:
        """The rows of the targets of some graphs: the same numbers, or those of their vertices or edges."""
        return self.targets.rows(rows) if isinstance(self.targets, Ragged) else rows

    def item_weights(self) -> Floats | None:
        """One weight for each row of the targets, or None."""
        if self.weights is None or not isinstance(self.targets, Ragged):
            return self.weights
        return np.repeat(self.weights, self.targets.counts)

    def exact(self) -> Examples:
        """The same without bounds, and without the rows that have nothing else."""
        if self.bounds is None:
            return self
        return replace(self, bounds=None, split=with_target(self.split, self.targets, None, self.auxiliary))

    def without_auxiliary(self) -> Examples:
        """The same without auxiliary columns, and without the rows that have nothing else."""
        if self.auxiliary is None:
            return self
        split = with_target(self.split, self.targets, self.bounds)
        return replace(self, auxiliary=None, auxiliary_names=(), split=split)

    def jointly(self) -> Examples:
        """The same with auxiliary columns behind the targets, known in training rows alone, so that none of them counts
        in validation; columns of which these rows have less than two values are left out.
        """
        if self.auxiliary is None:
            return self
        values = np.full_like(self.auxiliary, np.nan)
        values[self.train] = self.auxiliary[self.train]
        used = np.flatnonzero((~np.isnan(values)).sum(axis=0) > 1)
        if not len(used):
            return self.without_auxiliary()
        if isinstance(self.class_weight, Mapping):
            raise ConfigurationError("auxiliary columns need class_weight='balanced' or none, not weights of classes")
        bounds, scale = self.bounds, self.target_scale
        if bounds is not None:
            bounds = np.concatenate([bounds, np.full((len(bounds), len(used), 2), np.nan)], axis=1)
        if not isinstance(scale, str):
            auto: Shape = "auto"
            scale = (*scale, *[auto] * len(used))
        return replace(
            self,
            targets=np.concatenate([self.targets, values[:, used]], axis=1),
            names=(*self.names, *(self.auxiliary_names[i] for i in used)),
            classes=(0, 1) if self.classification else (),
            bounds=bounds,
            target_scale=scale,
            auxiliary=None,
            auxiliary_names=(),
        )

    def molecules_of(self, rows: Int) -> list[str] | None:
        """The canonical SMILES of some rows, if they are molecules and have one row each."""
        return None if self.molecules is None or self.per != "graph" else [self.molecules[i] for i in rows.tolist()]

    def groups_of(self, rows: Int) -> Int | None:
        """The groups of some rows, if there are any."""
        return None if self.groups is None else self.groups[rows]

    def task(self, rows: Int | None = None, loss: Loss = "mse", scale: Scale | None = None) -> Task:
        """What is learned from these rows, by default those of the training part; targets are scaled by them.

        ``scale`` is by default :attr:`target_scale`.
        """
        task = make_task(
            self.targets[self.train if rows is None else rows],
            classification=self.classification,
            names=self.names,
            classes=self.classes,
            loss=loss,
            scale=self.target_scale if scale is None else scale,
            class_weight=self.class_weight,
        )
        return replace(task, per=self.per)

    def row_weights(self, task: Task, target: int) -> Floats | None:
        """(training rows,) weights for a target, by those of rows and of classes; None if all are 1."""
        if self.weights is None and not task.class_weights:
            return None
        weight = np.ones(len(self.train)) if self.weights is None else self.weights[self.train]
        if not task.class_weights:
            return weight
        y, of = np.nan_to_num(self.targets[self.train][:, target]).astype(np.int64), np.array(task.class_weights)
        return weight * (np.where(y == 1, of[target], 1.0) if task.kind == "multilabel" else of[y])

    def with_validation(self, fraction: float, seed: int, *, calibration: bool) -> Examples:
        """The same with a share of the training rows drawn for validation, half of it for calibration if asked for.

        The draw is stratified where there is one target of classes. Rows with bounds or auxiliary values alone stay in
        the training part.
        """
        if not 0 <= fraction < 1:
            raise ConfigurationError(f"validation_fraction={fraction}: a share of the rows, at least 0 and less than 1")
        kept = fraction / 2 if calibration else 0.0
        fractions = (1 - fraction, fraction - kept, kept)
        rows = self.exact().without_auxiliary().train
        groups = self.groups_of(rows)
        if groups is not None and len(np.unique(groups)) < np.count_nonzero(fractions):
            groups = None  # too few for the parts
        if self.classification and self.targets.shape[1] == 1 and self.per == "graph":
            drawn = stratified_split(self.targets[rows][:, 0], fractions, seed, groups=groups)
        else:
            drawn = random_split(len(rows), fractions, seed, groups=groups)
        train = np.concatenate([rows[drawn.train], np.setdiff1d(self.train, rows)])
        held = {"validation": rows[drawn.validation], "calibration": rows[drawn.test]}
        return replace(self, split=replace(self.split, train=train, **held, complete=False))

    def with_train(self, rows: Int) -> Examples:
        """The same with other rows to fit on."""
        return replace(self, split=replace(self.split, train=rows, complete=False))

    @property
    def sizes(self) -> dict[str, int]:
        """Rows of each part."""
        return {part: len(getattr(self.split, part)) for part in ("train", "validation", "calibration")}


def _check_items(graphs: Pack, targets: Ragged, per: Per) -> None:
    """An error unless every graph has a target for each of its vertices or edges."""
    wanted, items = (graphs.sizes, "vertices") if per == "vertex" else (graphs.given_edges, "edges")
    if len(targets) == len(graphs) and (wrong := np.flatnonzero(targets.counts != wanted)).size:
        i = int(wrong[0])
        raise ConfigurationError(
            f"graph {i} has {int(targets.counts[i])} targets, but {int(wanted[i])} {items}; give one for each, NaN "
            "where it is missing"
        )


def fingerprint(graphs: Pack, *others: NDArray[np.generic] | None) -> str:
    """A SHA-256 of graphs and arrays: the same data, the same text."""
    arrays = graphs.bare().compact().arrays
    return digest(*(x for name in sorted(arrays) for x in (name, arrays[name])), *(a for a in others if a is not None))
