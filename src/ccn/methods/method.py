"""What all methods share: how they read graphs and targets, what they are to scikit-learn, and how they are saved.

A file is one sealed safetensors file (:mod:`ccn.sealed`): arrays as tensors, settings as JSON, and fitted
scikit-learn objects as the bytes that skops makes of them. Reading them back runs no code from the file.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, fields, replace
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted
from torch import Tensor

from ccn import sealed
from ccn.datasets.dataset import Dataset
from ccn.errors import ConfigurationError
from ccn.graphs.pack import Pack
from ccn.learning.inputs import Inputs, read
from ccn.learning.metrics import score
from ccn.learning.targets import Targets, read_as, read_classes, read_numbers
from ccn.learning.task import Floats, Kind, Task
from ccn.training.recipe import Features, plain, unplain
from ccn.version import __version__

__all__ = ["FORM", "VERSION", "Baseline", "Given", "TaskName"]

FORM, VERSION = "ccn baseline", 1
TaskName = Literal["classification", "regression"]


@dataclass(frozen=True)
class Given:
    """What a method is fitted on: the training rows first, then those of the validation part.

    Attributes:
        graphs: of all rows.
        targets: (rows, targets), NaN where missing, a class as its number.
        train: number of training rows.

    """

    graphs: Pack
    targets: Floats
    train: int


@dataclass(eq=False, repr=False)
class Baseline(BaseEstimator, ABC):  # type: ignore[misc]
    """A method with scikit-learn's conventions.

    Args:
        method: the name it has in the registry.
        task: ``classification`` or ``regression``.
        features: the set of properties of atoms where the rows are SMILES or molecules; by default as the method
            says, which is the element alone for most.
        hydrogens: then hydrogens are vertices too.
        random_state: same number, same result.

    Attributes:
        classes_: of classification.
        chosen_: what was chosen on validation data; one for each target, or one for all.

    """

    method: str
    task: TaskName
    _: KW_ONLY
    features: str | None = None
    hydrogens: bool | None = None
    random_state: int = 0

    METHODS: ClassVar[tuple[str, ...]]

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import ClassifierTags, RegressorTags

        tags = super().__sklearn_tags__()
        tags.estimator_type = "classifier" if self._classifies else "regressor"
        tags.classifier_tags = ClassifierTags() if self._classifies else None
        tags.regressor_tags = None if self._classifies else RegressorTags()
        tags.input_tags.two_d_array = False
        tags.input_tags.one_d_array = True
        tags.input_tags.string = True
        tags.target_tags.required = True
        return tags

    @property
    def _classifies(self) -> bool:
        return self.task == "classification"

    def _check(self) -> None:
        if self.task not in ("classification", "regression"):
            raise ConfigurationError(f"task={self.task!r}: choose classification or regression")
        if self.method not in self.METHODS:
            raise ConfigurationError(f"method={self.method!r}: {type(self).__name__} makes {', '.join(self.METHODS)}")

    def fit(self, graphs: Any, y: Any = None, validation: Any = None) -> Self:
        """Learn from rows and their targets.

        Args:
            graphs: a list, array or column of SMILES, molecules or graphs, a :class:`ccn.Pack`, or a data set.
            y: (rows,) or (rows, targets), NaN where missing; that of a data set may be left out.
            validation: rows to choose by, as a pair of graphs and targets or a data set; without it methods
                cross-validate, or keep some of the training rows.

        """
        self._check()
        pack, molecules = self._parse(graphs)
        targets = self._targets(graphs, y)
        more = None if validation is None else _pair(validation)
        train, values = len(pack), targets.values
        _check_rows("training", pack, values)
        if more is not None:
            held = self._parse(more[0])[0]
            known = read_as(targets.classes, *more) if self._classifies else read_numbers(*more).values
            _check_rows("validation", held, known)
            pack, values = _together(pack, held), np.concatenate([values, known])
        self._names, self._single = targets.names, targets.single
        if self._classifies:
            self.classes_ = np.array(targets.classes)
        features = self.feature_definition()
        rows = np.arange(train)
        if isinstance(graphs, Dataset):
            self.inputs_ = Inputs.of_dataset(graphs, rows, features)
        else:
            self.inputs_ = Inputs.fit(pack.select(rows), features, molecules=molecules)
        self._learn(Given(pack, values, train))
        return self

    def predict(self, graphs: Any) -> NDArray[Any]:
        """The predictions, shaped like the targets."""
        check_is_fitted(self, "inputs_")
        found = self._infer(self._read(graphs))
        if self._classifies and not self._multilabel:
            return np.asarray(self.classes_[found[:, 0].astype(np.int64)])
        if self._classifies:
            return found.astype(np.int64)
        return found[:, 0] if self._single and found.shape[1] == 1 else found

    def predict_proba(self, graphs: Any) -> Floats:
        """(rows, classes), or for several labels (rows, labels) the probability of each.

        Linear methods have none, and are sure of what they say.
        """
        check_is_fitted(self, "inputs_")
        if not self._classifies:
            raise ConfigurationError("a regression has no probabilities; use predict")
        return self.answers(self.inputs_.vertices(self._read(graphs)))

    def score(self, graphs: Any, y: Any = None) -> float:
        """Accuracy, or the coefficient of determination, of the predictions; rows without a target do not count.

        Classes go by their names, and one that was not there in training is always missed. Of several labels all that
        are known must be right; of several numbers it is the mean.
        """
        check_is_fitted(self, "inputs_")
        known = read_as(self._class_list(), graphs, y, -1) if self._classifies else read_numbers(graphs, y).values
        found = self._infer(self._read(graphs))
        _check_rows("score", found, known)
        return score(known, found, classification=self._classifies)

    @property
    def _multilabel(self) -> bool:
        return self._classifies and len(self._names) > 1

    def task_of(self) -> Task:
        """What the answers mean."""
        many = len(getattr(self, "classes_", ())) > 2
        kind: Kind = "multilabel" if self._multilabel else "multiclass" if many else "binary"
        return Task(kind if self._classifies else "regression", self._names, self._class_list())

    def answers(self, graphs: Pack) -> Floats:
        """Numbers (rows, targets), or probabilities of classes (rows, classes) or labels (rows, labels).

        Graphs are as :attr:`inputs_` gives them. A method that has no probabilities is sure of what it says.
        """
        found = self._infer(graphs)
        if not self._classifies or self._multilabel:
            return found
        return np.asarray(np.eye(len(self.classes_))[found[:, 0].astype(np.int64)])

    def _class_list(self) -> tuple[Any, ...]:
        return tuple(self.classes_.tolist()) if self._classifies else ()

    # What a method adds

    @abstractmethod
    def _learn(self, given: Given) -> None:
        """Learn; graphs are as they were read."""

    @abstractmethod
    def _infer(self, graphs: Pack) -> Floats:
        """(rows, targets) predictions; a class is its number."""

    def check_packages(self) -> None:
        """An error if a package is missing that the method needs, to be fitted or to be saved."""

    def _state(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        """What was learned, as tensors and plain data; a method that has none cannot be saved."""
        raise ConfigurationError(
            f"{self.method}: what it has learned cannot be written to a file that is safe to load; fit it again instead"
        )

    def _restore(self, tensors: Mapping[str, Tensor], data: Mapping[str, Any]) -> None:
        """Take over what :meth:`_state` gave."""

    def feature_definition(self) -> Features:
        """What vertices and edges of molecules carry, where the method is given SMILES."""
        return self._features(Features(molecules="element", vertices="given"))

    def _features(self, usual: Features) -> Features:
        own = {"molecules": self.features, "hydrogens": self.hydrogens}
        return replace(usual, **{k: v for k, v in own.items() if v is not None})  # type: ignore[arg-type]

    # Reading

    def _parse(self, graphs: Any) -> tuple[Pack, bool]:
        if isinstance(graphs, Dataset):
            return graphs.pack, False
        how = self.feature_definition()
        return read(graphs, how.molecules, how.hydrogens)

    def _read(self, graphs: Any) -> Pack:
        """New graphs, as those of training were read, before features are made of their own."""
        how = self.inputs_
        if isinstance(graphs, Dataset):
            pack = graphs.pack
        else:
            pack, molecules = read(graphs, how.molecules or "element", how.hydrogens)
            if molecules and how.molecules is None:
                raise ConfigurationError(
                    "the method was fitted on graphs with features of their own, molecules have none"
                )
        how.vertices.rows(pack.select([0]))  # an error if they are of another kind
        return pack

    def _targets(self, graphs: Any, y: Any) -> Targets:
        return read_classes(graphs, y) if self._classifies else read_numbers(graphs, y)

    # Files

    def _settings(self) -> dict[str, Any]:
        """What the method was made with, as plain data."""
        return {f.name: plain(getattr(self, f.name)) for f in fields(self) if f.name != "folder"}

    def save(self, path: str | Path, **more: Any) -> Path:
        """Write the fitted method as one file that :func:`ccn.methods.load` reads, with ``more`` plain data."""
        check_is_fitted(self, "inputs_")
        tensors, data = self._state()
        about = {
            "ccn": __version__,
            "settings": self._settings(),
            "inputs": self.inputs_.to_dict(),
            "names": list(self._names),
            "single": self._single,
            "classes": list(self._class_list()),
            "task": self.task_of().to_dict(),
            "learned": data,
            **more,
        }
        sealed.write(Path(path), FORM, VERSION, tensors, about)
        return Path(path)

    @classmethod
    def from_file(cls, tensors: Mapping[str, Tensor], about: Mapping[str, Any]) -> Self:
        """The fitted method that :meth:`save` wrote."""
        made = cls(**{k: unplain(v) for k, v in about["settings"].items()})
        made.inputs_ = Inputs.from_dict(about["inputs"])
        made._names, made._single = tuple(about["names"]), bool(about["single"])
        if made._classifies:
            made.classes_ = np.array(about["classes"])
        made._restore(tensors, about["learned"])
        return made


def _check_rows(part: str, graphs: Pack | Floats, targets: Floats) -> None:
    if len(graphs) != len(targets):
        raise ConfigurationError(f"{part}: there are {len(graphs)} rows and {len(targets)} targets; give one for each")


def _pair(validation: Any) -> tuple[Any, Any]:
    if isinstance(validation, Dataset):
        return validation, None
    try:
        graphs, y = validation
    except (TypeError, ValueError):
        raise ConfigurationError("validation: give a pair of graphs and targets, or a data set") from None
    return graphs, y


def _together(a: Pack, b: Pack) -> Pack:
    """Two packs as one; parts of one pack stay parts of it."""
    if a.arrays is b.arrays:
        return Pack(a.arrays, np.concatenate([a.chosen, b.chosen]), directed=a.directed, self_loops=a.self_loops)
    return Pack.join([a, b])


def as_tensors(arrays: Mapping[str, NDArray[Any]], prefix: str) -> dict[str, Tensor]:
    """Arrays as tensors of a file; 64-bit names as signed numbers, which torch can hold."""
    return {
        f"{prefix}{key}": torch.from_numpy(np.array(a.view(np.int64) if a.dtype == np.uint64 else a))
        for key, a in arrays.items()
    }


def as_arrays(tensors: Mapping[str, Tensor], prefix: str) -> dict[str, NDArray[Any]]:
    """The arrays of the tensors that begin with ``prefix``."""
    return {key.removeprefix(prefix): t.numpy() for key, t in tensors.items() if key.startswith(prefix)}
