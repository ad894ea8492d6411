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
from ccn.features.scaling import Shape
from ccn.files import digest
from ccn.graphs.pack import Pack
from ccn.graphs.ragged import Int
from ccn.learning.inputs import Inputs
from ccn.learning.settings import Loss
from ccn.learning.task import Floats, Task, make_task

__all__ = ["Examples", "fingerprint", "labelled", "with_target"]


def labelled(targets: Floats) -> NDArray[np.bool_]:
    """(rows,) whether any target of the row is known."""
    return np.asarray(~np.isnan(targets).all(axis=1))


def with_target(split: Split, targets: Floats, bounds: Floats | None = None) -> Split:
    """The rows of each part that have a target; for training a bound of one is enough."""
    known = labelled(targets)
    parts = split.labelled(known)
    if bounds is None:
        return parts
    return replace(parts, train=split.train[(known | labelled(bounds[..., 0]))[split.train]])


@dataclass(frozen=True)
class Examples:
    """Graphs with targets, cut into parts by row numbers.

    Attributes:
        graphs: as they were read, before vertex features are made of their columns.
        targets: (graphs, targets); NaN where missing, a class as its number among ``classes``.
        split: the rows to fit on, to choose by, and to calibrate intervals with.
        bounds: (graphs, targets, 2) of targets that are censored and therefore NaN, as in :class:`Dataset`.
        names: of the targets; by default y0, y1, ..
        classification: the targets are classes, not numbers.
        classes: what the numbers of classes stand for.
        weights: (graphs,) of the rows, by default 1.
        class_weight: ``balanced``, or a weight per class.
        inputs: how the graphs were read; its vertex features are not fitted yet.
        molecules: canonical SMILES of the graphs, where they are molecules.
        groups: (graphs,) rows of one number are not divided by folds, such as those of one scaffold.
        target_scale: how numbers are bent before they are fitted; :func:`ccn.methods.method.fit` sets it.
    """

    graphs: Pack
    targets: Floats
    split: Split
    names: tuple[str, ...] = ()
    classification: bool = False
    classes: tuple[Any, ...] = ()
    weights: Floats | None = None
    class_weight: str | Mapping[Any, float] | None = None
    inputs: Inputs = field(default_factory=Inputs)
    molecules: Sequence[str] | None = None
    groups: Int | None = None
    target_scale: Shape = "linear"
    bounds: Floats | None = None

    def __post_init__(self) -> None:
        if self.targets.ndim != 2 or len(self.targets) != len(self.graphs):
            raise ConfigurationError(f"{len(self.graphs)} graphs, but targets of shape {self.targets.shape}")
        if not self.names:
            object.__setattr__(self, "names", tuple(f"y{i}" for i in range(self.targets.shape[1])))
        if np.isinf(self.targets).any():
            row, column = np.argwhere(np.isinf(self.targets))[0]
            raise ConfigurationError(f"target {column} of row {row} is infinite; leave it blank or correct it")
        if self.weights is not None and (
            self.weights.shape != (len(self.graphs),)
            or not (self.weights >= 0).all()
            or not np.isfinite(self.weights).all()
        ):
            raise ConfigurationError("sample weights: one finite number per graph is needed, none of them negative")

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
            with_target(split, data.targets, data.bounds),
            names=tuple(data.target_names),
            classification=data.task == "classification",
            classes=tuple(data.classes),
            weights=data.weights,
            inputs=Inputs.of_dataset(data),
            molecules=data.canonical,
            bounds=data.bounds,
        )

    def exact(self) -> Examples:
        """The same without bounds, and without the rows that have nothing else."""
        if self.bounds is None:
            return self
        return replace(self, bounds=None, split=with_target(self.split, self.targets))

    def molecules_of(self, rows: Int) -> list[str] | None:
        """The canonical SMILES of some rows, if they are molecules."""
        return None if self.molecules is None else [self.molecules[i] for i in rows.tolist()]

    def task(self, rows: Int | None = None, loss: Loss = "mse", scale: Shape | None = None) -> Task:
        """What is learned from these rows, by default those of the training part; targets are scaled by them.

        ``scale`` is by default :attr:`target_scale`.
        """
        return make_task(
            self.targets[self.train if rows is None else rows],
            classification=self.classification,
            names=self.names,
            classes=self.classes,
            loss=loss,
            scale=self.target_scale if scale is None else scale,
            class_weight=self.class_weight,
        )

    def row_weights(self, task: Task, target: int) -> Floats | None:
        """(training rows,) weights for a target, by those of rows and of classes; None if all are 1."""
        if self.weights is None and not task.class_weights:
            return None
        weight = np.ones(len(self.train)) if self.weights is None else self.weights[self.train]
        if not task.class_weights:
            return weight
        y, of = np.nan_to_num(self.targets[self.train, target]).astype(np.int64), np.array(task.class_weights)
        return weight * (np.where(y == 1, of[target], 1.0) if task.kind == "multilabel" else of[y])

    def with_validation(self, fraction: float, seed: int, *, calibration: bool) -> Examples:
        """The same with a share of the training rows drawn for validation, half of it for calibration if asked for.

        The draw is stratified where there is one target of classes. Rows with bounds alone stay in the training part.
        """
        if not 0 <= fraction < 1:
            raise ConfigurationError(f"validation_fraction={fraction}: a share of the rows, at least 0 and less than 1")
        kept = fraction / 2 if calibration else 0.0
        fractions = (1 - fraction, fraction - kept, kept)
        rows = self.exact().train
        targets = self.targets[rows]
        if self.classification and targets.shape[1] == 1:
            drawn = stratified_split(targets[:, 0], fractions, seed)
        else:
            drawn = random_split(len(targets), fractions, seed)
        parts = {"train": drawn.train, "validation": drawn.validation, "calibration": drawn.test}
        dealt = {part: rows[of] for part, of in parts.items()}
        dealt["train"] = np.concatenate([dealt["train"], np.setdiff1d(self.train, rows)])
        return replace(self, split=replace(self.split, **dealt, complete=False))

    def with_train(self, rows: Int) -> Examples:
        """The same with other rows to fit on."""
        return replace(self, split=replace(self.split, train=rows, complete=False))

    @property
    def sizes(self) -> dict[str, int]:
        """Rows of each part."""
        return {part: len(getattr(self.split, part)) for part in ("train", "validation", "calibration")}


def fingerprint(graphs: Pack, *others: NDArray[np.generic] | None) -> str:
    """A SHA-256 of graphs and arrays: the same data, the same text."""
    arrays = graphs.bare().compact().arrays
    return digest(*(x for name in sorted(arrays) for x in (name, arrays[name])), *(a for a in others if a is not None))
