"""The scikit-learn face: a classifier and a regressor for molecules and graphs.

Both are fitted on lists, arrays or columns of SMILES, RDKit molecules, :class:`ccn.Graph`, NetworkX graphs,
or on a :class:`ccn.Pack`, and follow scikit-learn's conventions: settings are given to the constructor and
never changed, what is learned has names that end in an underscore.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import (
    BaseEstimator,
    ClassifierMixin,
    ClassNamePrefixFeaturesOutMixin,
    RegressorMixin,
    TransformerMixin,
)
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from ccn.datasets.dataset import Dataset
from ccn.errors import ConfigurationError
from ccn.graphs.pack import Pack
from ccn.learning import model_file
from ccn.learning.inputs import Inputs, read
from ccn.learning.metrics import score
from ccn.learning.targets import Targets, read_as, read_classes, read_numbers
from ccn.learning.task import Floats
from ccn.methods.fitting import Run, fit, split
from ccn.training.machine import Machine
from ccn.training.recipe import Recipe
from ccn.training.recipe import recipe as named

__all__ = ["CCNClassifier", "CCNRegressor"]


# A dataclass writes the constructor that scikit-learn wants: it stores every argument under its name, no more.
@dataclass(eq=False, repr=False)
class _Estimator(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """What classifier and regressor share; a setting that is None is as the recipe says."""

    recipe: str | Recipe = "default"
    _: KW_ONLY
    order: int | None = None
    levels: int | None = None
    channels: int | None = None
    contractions: str | None = None
    features: str | None = None
    epochs: int | None = None
    batch_size: int | None = None
    learning_rate: float | None = None
    patience: int | None = None
    members: int | None = None
    settings: Mapping[str, Any] | None = None
    validation_fraction: float = 0.1
    time_limit: float | None = None
    random_state: int | np.random.RandomState | None = None
    n_jobs: int | None = None
    device: str = "cpu"
    verbose: int = 0

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.one_d_array = True
        tags.input_tags.string = True
        tags.target_tags.required = True
        tags.target_tags.multi_output = True
        tags.non_deterministic = self.random_state is None
        return tags

    @property
    def _jobs(self) -> int:
        """Processes that parse SMILES; one unless said otherwise, as everywhere in scikit-learn."""
        return self.n_jobs or 1

    def resolved_recipe(self) -> Recipe:
        """The recipe with all that this estimator overrides."""
        own = {
            "order": self.order,
            "levels": self.levels,
            "channels": self.channels,
            "contractions": self.contractions,
            "molecules": self.features,
            "epochs": self.epochs,
            "batch_size": self.batch_size,
            "learning_rate": self.learning_rate,
            "patience": self.patience,
            "members": self.members,
        }
        given = {k: v for k, v in own.items() if v is not None}
        return named(self.recipe, **given).override(**(self.settings or {}))

    def _fit(self, X: Any, targets: Targets, sample_weight: Any, class_weight: Any) -> None:
        """Read the graphs, draw the parts and train."""
        recipe = self.resolved_recipe()
        of = recipe.features
        graphs, molecules = (
            (X.pack, False) if isinstance(X, Dataset) else read(X, of.molecules, of.hydrogens, self._jobs)
        )
        if len(targets.values) != len(graphs):
            raise ConfigurationError(f"X has {len(graphs)} rows, y {len(targets.values)}; give one target row for each")
        labelled = np.any(~np.isnan(targets.values), axis=1)
        if not np.any(labelled):
            raise ConfigurationError("y has no value that is not missing")
        graphs, values = graphs.select(np.flatnonzero(labelled)), targets.values[labelled]
        if sample_weight is None and isinstance(X, Dataset):
            sample_weight = X.weights
        weights = None if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
        if weights is not None and weights.shape != labelled.shape:
            raise ConfigurationError(
                f"sample_weight has shape {weights.shape}; give one number for each of the {len(labelled)} rows"
            )
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        parts = split(
            values,
            self.validation_fraction,
            seed,
            classification=targets.classification,
            calibration=not targets.classification,
        )
        if isinstance(X, Dataset):
            inputs = Inputs.of_dataset(X, np.flatnonzero(labelled)[parts.train], of)
        else:
            inputs = Inputs.fit(graphs.select(parts.train), of, molecules=molecules)
        with _threads(self.n_jobs):
            self.model_ = fit(
                inputs.vertices(graphs),
                values,
                parts,
                recipe,
                inputs,
                classification=targets.classification,
                names=targets.names,
                classes=targets.classes,
                class_weight=class_weight,
                weights=None if weights is None else weights[labelled],
                seed=seed,
                machine=Machine(device=self.device),
                run=Run(time_limit=self.time_limit, verbose=bool(self.verbose)),
                about={"estimator": type(self).__name__, "single": targets.single},
            )

    def _read(self, X: Any) -> Pack:
        check_is_fitted(self, "model_")
        return self.model_.inputs(self.model_.inputs.align(X) if isinstance(X, Dataset) else X, self._jobs)

    def _predict(self, X: Any) -> Floats:
        graphs = self._read(X)
        with _threads(self.n_jobs):
            return self.model_.predict(graphs)

    @property
    def _n_features_out(self) -> int:
        """Columns of :meth:`transform`, for ``get_feature_names_out`` and ``set_output``."""
        return sum(sum(net.readout_widths) for net in self.model_.members)

    def transform(self, X: Any) -> NDArray[np.floating[Any]]:
        """(rows, width) the invariant embedding that the last layers read; members side by side."""
        graphs = self._read(X)
        with _threads(self.n_jobs):
            return self.model_.embed(graphs)

    def save(self, path: str | Path) -> Path:
        """Write the model as one safetensors file that :meth:`load` reads, here or elsewhere."""
        check_is_fitted(self, "model_")
        return model_file.save(self.model_, path)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """An estimator from a model file; no code of the file is run."""
        model = model_file.load(path)
        if (model.task.kind == "regression") != issubclass(cls, RegressorMixin):
            other = "CCNRegressor" if model.task.kind == "regression" else "CCNClassifier"
            raise ConfigurationError(f"{path}: a model of the kind {model.task.kind}; load it with ccn.{other}")
        if not model.members:
            raise ConfigurationError(f"{path}: not a network of ccn; load it with ccn.methods.load")
        made = cls(model.recipe)
        made.model_ = model
        made._learned()
        return made

    def _learned(self) -> None:
        """Set what scikit-learn expects beside the model."""


@dataclass(eq=False, repr=False)
class CCNRegressor(RegressorMixin, _Estimator):  # type: ignore[misc]
    """Numbers from molecules or graphs, with intervals.

    Args:
        recipe: ``default``, ``paper`` or a :class:`ccn.training.recipe.Recipe`.
        order, levels, channels, contractions: of the network.
        features: the set of properties of atoms and bonds; graphs bring their own.
        epochs, batch_size, learning_rate, patience: of training.
        members: networks of the ensemble; five give better predictions and intervals that know where to be wide.
        settings: any further fields of the recipe, such as ``{"dropout": 0.2, "loss": "mae"}``.
        validation_fraction: share of the rows kept to stop in time; half of it calibrates the intervals.
        time_limit: seconds of training, after which the best so far is kept.
        random_state: same number, same result.
        n_jobs: threads of torch, None leaving its own number, and processes that parse many SMILES, None being one.
        device: ``cpu``, ``cuda``, ``mps`` or ``auto``.
        verbose: show a progress bar.

    Attributes:
        model_: the trained :class:`ccn.learning.model.Model`.

    Example:
        >>> import ccn
        >>> smiles = ["C", "CC", "CCC", "CCCC", "CO", "CCO", "CCCO", "CN", "CCN", "CCCN"]
        >>> net = ccn.CCNRegressor(epochs=2, channels=4, random_state=0).fit(smiles, range(10))
        >>> net.predict(["CCCCO"]).shape
        (1,)

    """

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Train on rows of molecules or graphs and their targets, (rows,) or (rows, targets), NaN where missing."""
        self._fit(X, read_numbers(X, y), sample_weight, None)
        return self

    def predict(self, X: Any, return_interval: float | None = None) -> Any:
        """The predictions, shaped like the targets; with ``return_interval=0.9`` also where 90 % of them fall.

        Returns:
            The predictions, or predictions and intervals: (rows, 2), or (rows, targets, 2) for several targets.

        """
        if return_interval is None:
            return self._like_targets(self._predict(X))
        graphs = self._read(X)
        with _threads(self.n_jobs):
            middle, low, high = self.model_.interval(graphs, return_interval)
        return self._like_targets(middle), np.stack([self._like_targets(low), self._like_targets(high)], axis=-1)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """The coefficient of determination; the targets of a data set may be left out."""
        if y is not None:
            return float(super().score(X, y, sample_weight))
        return score(read_numbers(X, None).values, self._predict(X), classification=False)

    def _like_targets(self, values: Floats) -> Floats:
        return values[:, 0] if self.model_.about.get("single", True) and values.shape[1] == 1 else values


@dataclass(eq=False, repr=False, kw_only=True)
class CCNClassifier(ClassifierMixin, _Estimator):  # type: ignore[misc]
    """Classes of molecules or graphs: two, many, or several labels at once.

    Args:
        class_weight: ``balanced``, or a weight per class.
        recipe, order, levels, channels, contractions, features, epochs, batch_size, learning_rate, patience, members,
            settings, validation_fraction, time_limit, random_state, n_jobs, device, verbose: as those of
            :class:`CCNRegressor`.

    Attributes:
        model_: the trained :class:`ccn.learning.model.Model`.
        classes_: the classes in order; for several labels one such array for each.

    """

    class_weight: str | Mapping[Any, float] | None = None

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Train on rows of molecules or graphs and their classes.

        ``y`` is (rows,) of any labels, or (rows, labels) of zeros, ones and NaN where missing.
        """
        self._fit(X, read_classes(X, y), sample_weight, self.class_weight)
        self._learned()
        return self

    def _learned(self) -> None:
        task = self.model_.task
        own = np.array(task.classes)
        self.classes_: Any = [own] * len(task.targets) if task.kind == "multilabel" else own

    def predict_proba(self, X: Any) -> Floats:
        """(rows, classes), or for several labels (rows, labels) the probability of each."""
        return self._predict(X)

    def predict(self, X: Any) -> NDArray[Any]:
        """The likeliest class of each row, or (rows, labels) of zeros and ones."""
        p = self._predict(X)
        if self.model_.task.kind == "multilabel":
            return (p > 0.5).astype(np.int64)
        found: NDArray[Any] = np.asarray(self.classes_)[p.argmax(axis=1)]
        return found

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Accuracy; the classes of a data set may be left out, and go by their names."""
        if y is not None:
            return float(super().score(X, y, sample_weight))
        p, task = self._predict(X), self.model_.task
        found = p > 0.5 if task.kind == "multilabel" else p.argmax(axis=1)[:, None]
        return score(read_as(task.classes, X, None, -1), found, classification=True)


@contextmanager
def _threads(count: int | None) -> Iterator[None]:
    """So many threads for torch, afterwards as many as before."""
    import torch

    if count is None:
        yield
        return
    import joblib

    before = torch.get_num_threads()
    torch.set_num_threads(joblib.effective_n_jobs(count))
    try:
        yield
    finally:
        torch.set_num_threads(before)
