"""The scikit-learn interface: a classifier and a regressor for molecules and graphs, by any method.

Both are fitted on lists, arrays or columns of SMILES, RDKit molecules, :class:`ccn.Graph`, NetworkX graphs, on a
data frame with a column of SMILES, or on a :class:`ccn.Pack`, and follow scikit-learn's conventions: settings are
given to the constructor and never changed, what is learned has names that end in an underscore.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
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

from ccn.algebra.contractions import Contraction
from ccn.datasets.dataset import Dataset
from ccn.datasets.dealing import fold_groups, groups_of
from ccn.datasets.splits import Split
from ccn.errors import ConfigurationError
from ccn.explain.explanation import Explanation, explain
from ccn.graphs.pack import Pack, joined
from ccn.graphs.ragged import Int, Ragged
from ccn.learning import model_file
from ccn.learning.examples import Examples, labelled, with_target
from ccn.learning.inputs import Inputs, column_of, read
from ccn.learning.metrics import score
from ccn.learning.model import Model, Prediction
from ccn.learning.settings import Features
from ccn.learning.targets import Targets, read_as, read_auxiliary, read_targets
from ccn.learning.task import Floats, Per
from ccn.methods.domain import Assessment
from ccn.methods.method import Method, fit
from ccn.methods.network import FittedNetworks
from ccn.methods.registry import make_method
from ccn.schemes.named import resolve_scheme
from ccn.training.execution import Execution, Machine, torch_threads
from ccn.training.recipe import Recipe, from_dict
from ccn.training.recipe import recipe as named

__all__ = ["CCNClassifier", "CCNRegressor"]

_RECIPE_FIELDS = (
    "order", "levels", "channels", "contractions", "scheme", "readout", "epochs", "batch_size", "learning_rate",
    "patience", "members",
)  # fmt: skip


def _pair(validation: Any) -> tuple[Any, Any]:
    """Rows and targets of a validation part."""
    if isinstance(validation, Dataset):
        return validation, None
    try:
        rows, y = validation
    except (TypeError, ValueError):
        raise ConfigurationError("validation: give a pair of graphs and targets, or a data set") from None
    return rows, y


def _groups(given: Any, rows: int, graphs: int, molecules: Sequence[str] | None) -> Int | None:
    """The groups of all graphs, of which the first ``rows`` were given; one of the validation part is by itself."""
    if isinstance(given, str):
        if given != "scaffold":
            raise ConfigurationError(f"groups={given!r}: give 'scaffold', or one label for each row")
        if molecules is None:
            raise ConfigurationError("groups='scaffold': the rows are graphs, not molecules; give one label for each")
        return fold_groups(molecules, scaffolds=True)
    if given is None:
        return fold_groups(molecules)
    if np.ndim(given) != 1 or len(given) != rows:
        raise ConfigurationError(f"groups has shape {np.shape(given)}; give one label for each of the {rows} rows")
    of_rows = groups_of(given)
    return fold_groups(molecules, np.concatenate([of_rows, of_rows.max(initial=-1) + 1 + np.arange(graphs - rows)]))


def _padded(values: Floats, rows: int, fill: float) -> Floats:
    """The values of the first rows, and ``fill`` for those of the validation part behind them."""
    return np.concatenate([values, np.full((rows - len(values), *values.shape[1:]), fill)])


# A dataclass writes the constructor that scikit-learn wants: it stores every argument under its name, no more.
@dataclass(eq=False, repr=False)
class _Estimator(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """What classifier and regressor share; a setting that is None is as the method or its recipe says."""

    recipe: str | Recipe | None = None
    _: KW_ONLY
    method: str = "ccn"
    order: int | None = None
    levels: int | None = None
    channels: int | None = None
    contractions: str | Sequence[str | Contraction] | None = None
    scheme: Any = None
    readout: str | None = None
    features: str | None = None
    hydrogens: bool | None = None
    epochs: int | None = None
    batch_size: int | None = None
    learning_rate: float | None = None
    patience: int | None = None
    members: int | None = None
    settings: Mapping[str, Any] | None = None
    options: Mapping[str, Any] | None = None
    validation_fraction: float = 0.1
    time_limit: float | None = None
    folder: str | Path | None = None
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

    def _method(self, seed: int) -> Method:
        """The method with all that this estimator sets."""
        given = {name: getattr(self, name) for name in _RECIPE_FIELDS if getattr(self, name) is not None}
        settings = {**given, **(self.settings or {})}
        for key in ("scheme", "network__scheme", "network.scheme"):
            if isinstance(settings.get(key), str):  # an import path ends here: the model knows the name alone
                settings[key] = resolve_scheme(settings[key])
        reads = {"features": self.features, "hydrogens": self.hydrogens}
        options = {**{k: v for k, v in reads.items() if v is not None}, **(self.options or {})}
        if settings or self.settings is not None:
            options["settings"] = settings
        if self.recipe is not None:
            options["recipe"] = named(self.recipe)
        return make_method(self.method, classification=self._classifies, seed=seed, **options)

    @property
    def _classifies(self) -> bool:
        return isinstance(self, ClassifierMixin)

    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        validation: Any = None,
        groups: Any = None,
        auxiliary: Any = None,
    ) -> Self:
        """Fit to rows of molecules or graphs and their targets, NaN where missing.

        Args:
            X: the rows.
            y: (rows,) or (rows, targets) numbers; (rows,) classes, or (rows, labels) of zeros and ones. The targets of
                a data set may be left out.
            sample_weight: (rows,).
            validation: a data set, or a pair of rows and targets to choose by; without it a network draws a share of
                the rows, and other methods cross-validate.
            groups: one label per row, or ``scaffold`` for molecules, which is right where new molecules will have
                other scaffolds. Neither the validation part nor folds divide a group. Rows of one molecule are one.
            auxiliary: (rows,) or (rows, columns) numbers, or labels of 0 and 1 beside classes, that networks learn
                together with the targets where that helps on held-out rows; they are not predicted. A row may have
                nothing else.
        """
        random = self.random_state
        seed = random if isinstance(random, int) else int(check_random_state(random).randint(2**31 - 1))
        method = self._method(seed)
        targets = read_targets(X, y, classification=self._classifies, per=method.per())
        X, column, others = column_of(X)
        if others:
            more = ", .." if len(others) > 5 else ""
            warnings.warn(
                f"molecules are read from the column {column!r}; ignored: {', '.join(map(repr, others[:5]))}{more}",
                stacklevel=2,
            )
        held = None if validation is None else _pair(validation)
        if held is not None and column is not None:
            held = (column_of(held[0], column)[0], held[1])
        if isinstance(X, Dataset):
            sample_weight = X.weights if sample_weight is None else sample_weight
            groups = X.groups if groups is None else groups
        examples = self._examples(X, targets, method.reads(), held, sample_weight, groups, auxiliary)
        if method.validates and held is None:
            examples = examples.with_validation(self.validation_fraction, seed, calibration=not self._classifies)
        execution = Execution(
            Machine(device=self.device),
            folder=None if self.folder is None else Path(self.folder),
            resume=self.folder is not None,
            time_limit=self.time_limit,
            verbose=bool(self.verbose),
        )
        about = {"single": targets.single, "smiles_column": column}
        with torch_threads(self.n_jobs):
            self.model_, self.outcome_ = fit(method, examples, execution, about)
        self._told_edges = "edge_features" in (self.settings or {}) or self._ignores_edges(examples.graphs)
        for line in self.model_.about["warnings"]:
            warnings.warn(line, stacklevel=2)
        return self

    def _ignores_edges(self, graphs: Pack) -> bool:
        """Whether a network ignores features of edges that were given, not those of bonds; with a warning."""
        fitted = self.model_.fitted
        reads = fitted.reads_edges or not isinstance(fitted, FittedNetworks)
        if reads or not graphs.edge_width or fitted.inputs.molecules is not None:
            return False
        warnings.warn(
            f"the graphs have edge features of width {graphs.edge_width}, which this model ignores; to read them, fit "
            "the method 'ccn' with settings={'edge_features': True} to graphs that all have them",
            stacklevel=3,
        )
        return True

    def _examples(
        self,
        X: Any,
        targets: Targets,
        features: Features,
        validation: tuple[Any, Any] | None,
        sample_weight: Any,
        groups: Any,
        auxiliary: Any,
    ) -> Examples:
        """The rows with a target and, behind them, those of the validation part if it was given."""
        graphs, inputs, molecules = self._graphs(X, features)
        rows, values = len(graphs), targets.values
        if len(values) != rows:
            raise ConfigurationError(f"X has {rows} rows, y {len(values)}; give one target row for each")
        if not labelled(values).any():
            raise ConfigurationError("y has no value that is not missing")
        if validation is not None:
            more, y = validation
            held, _, held_molecules = self._graphs(more, features)
            held_values = self._known(more, y, targets.classes, targets.per)
            if len(held_values) != len(held):
                raise ConfigurationError(
                    f"validation has {len(held)} rows and {len(held_values)} targets; give one for each"
                )
            graphs = joined(graphs, held)
            if isinstance(values, Ragged) and isinstance(held_values, Ragged):
                values = Ragged.join(values, held_values)
            else:
                values = np.concatenate([np.asarray(values), np.asarray(held_values)])
            if molecules is not None:
                molecules = None if held_molecules is None else [*molecules, *held_molecules]
        every = np.arange(len(graphs))
        # The validation part is judged by exact values of the targets alone, and its rows are not weighted.
        bounds = None if targets.bounds is None else _padded(targets.bounds, len(every), np.nan)
        beside, beside_names = read_auxiliary(X, auxiliary)
        if beside is not None:
            if len(beside) != rows:
                raise ConfigurationError(f"auxiliary has {len(beside)} rows, X {rows}; give one for each")
            beside = _padded(beside, len(every), np.nan)
        weights = None if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
        if weights is not None:
            if weights.shape != (rows,):
                raise ConfigurationError(
                    f"sample_weight has shape {weights.shape}; give one number for each of the {rows} rows"
                )
            weights = _padded(weights, len(every), 1.0)
        return Examples(
            graphs,
            values,
            with_target(Split(every[:rows], every[rows:], every[:0]), values, bounds, beside),
            names=targets.names,
            classification=targets.classification,
            classes=targets.classes,
            weights=weights,
            class_weight=getattr(self, "class_weight", None),
            inputs=inputs,
            molecules=molecules,
            groups=_groups(groups, rows, len(every), molecules),
            bounds=bounds,
            per=targets.per,
            auxiliary=beside,
            auxiliary_names=beside_names,
        )

    def _known(self, X: Any, y: Any, classes: Sequence[Any], per: Per, unknown: float = np.nan) -> Any:
        """Targets to compare with, classes numbered like those of training; ``unknown`` where there is no such."""
        if self._classifies:
            return read_as(classes, X, y, unknown, per)
        return read_targets(X, y, classification=False, per=per).values

    def _graphs(self, X: Any, features: Features) -> tuple[Pack, Inputs, Sequence[str] | None]:
        """The graphs of X, how they were read, and their canonical SMILES if they are molecules."""
        if isinstance(X, Dataset):
            return X.pack, Inputs.of_dataset(X), X.canonical
        how = features.molecules, features.hydrogens
        graphs, molecules, canonical = read(X, *how, self.n_jobs or 1, canonical=True)
        return graphs, Inputs(*how) if molecules else Inputs(), canonical

    def _read(self, X: Any) -> Pack:
        check_is_fitted(self, "model_")
        rows, _, _ = column_of(X, self.smiles_column_)
        graphs = self.model_.inputs.read(rows, self.n_jobs or 1, X)
        if not getattr(self, "_told_edges", False):
            self._ignores_edges(graphs)
        return graphs

    def _predict(self, X: Any) -> Prediction:
        graphs = self._read(X)
        with torch_threads(self.n_jobs):
            return self.model_.predict(graphs)

    @property
    def smiles_column_(self) -> str | None:
        """The column of molecules, where a data frame or a named column was given."""
        check_is_fitted(self, "model_")
        name: str | None = self.model_.about.get("smiles_column")
        return name

    @property
    def chosen_(self) -> list[dict[str, Any]]:
        """What was chosen on validation data; one for each target, or one for all."""
        check_is_fitted(self, "model_")
        return [dict(c) for c in self.model_.about.get("chosen", ())]

    @property
    def _n_features_out(self) -> int:
        """Columns of :meth:`transform`, for ``get_feature_names_out`` and ``set_output``."""
        return self.model_.fitted.embedding_width

    def transform(self, X: Any) -> NDArray[np.floating[Any]]:
        """(rows, width) the invariant embedding that the last layers read; members side by side."""
        graphs = self._read(X)
        with torch_threads(self.n_jobs):
            return self.model_.embed(graphs)

    def explain(self, X: Any, *, target: str | None = None, label: str | None = None) -> list[Explanation]:
        """For each row what its atoms, bonds and molecule-level features contribute to the prediction.

        See :class:`ccn.explain.Explanation`. ``target`` is the name of one of several, ``label`` the class of more than
        two; by default the first target and the class that is predicted.
        """
        check_is_fitted(self, "model_")
        X, _, _ = column_of(X, self.smiles_column_)
        with torch_threads(self.n_jobs):
            return explain(self.model_, X, target=target, label=label, n_jobs=self.n_jobs or 1)

    def domain(self, X: Any, k: int = 1) -> Assessment:
        """How far each row is from what was learned: a distance, a word, the nearest training rows, what is unseen.

        See :class:`ccn.methods.domain.Assessment`; ``k`` is the number of nearest training rows.
        """
        graphs = self._read(X)
        if self.model_.domain is None:
            raise ConfigurationError("this model does not know what it has learned from; fit it again")
        with torch_threads(self.n_jobs):
            return self.model_.domain.assess(graphs, k)

    def nearest(self, X: Any, k: int = 5) -> list[list[dict[str, Any]]]:
        """For each row its ``k`` nearest training rows, nearest first, with their measured values.

        Each is a dictionary of ``row`` (the number in the training data), ``similarity``, the targets by name as they
        were measured, and, where known, ``smiles``, ``id`` and ``morgan``. A model from a file has them if it was saved
        with ``share_training``, or lies in the folder of its run.
        """
        found, measured = self.domain(X, k), self.model_.measured
        if measured is None:
            raise ConfigurationError(
                "this model does not hold its training rows; save it with share_training=True, or load it from the "
                "folder of its run"
            )

        def one(i: int, j: int) -> dict[str, Any]:
            near = int(found.rows[i, j])
            called = {"smiles": measured.smiles, "id": measured.names}
            out: dict[str, Any] = {"row": int(measured.row[near]), **{n: c[near] for n, c in called.items() if c}}
            out["similarity"] = float(found.similarity[i, j])
            if found.morgan is not None:
                out["morgan"] = float(found.morgan[i, j])
            return out | dict(zip(measured.targets, measured.values[near], strict=True))

        return [[one(i, j) for j in range(found.rows.shape[1])] for i in range(len(found))]

    def save(self, path: str | Path, *, share_training: bool = False) -> Path:
        """Write the model as one safetensors file that :meth:`load` reads, here or elsewhere.

        It holds no training molecules, unless ``share_training`` puts them in for :meth:`nearest`.
        """
        check_is_fitted(self, "model_")
        return model_file.save(self.model_, path, share_training=share_training)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """An estimator from a model file or the folder of a run; no code of the file is run."""
        model = model_file.load(path)
        model = model_file.with_measured_at_hand(model, path)
        if (model.task.kind == "regression") != issubclass(cls, RegressorMixin):
            other = "CCNRegressor" if model.task.kind == "regression" else "CCNClassifier"
            raise ConfigurationError(f"{path}: a model of the kind {model.task.kind}; load it with ccn.{other}")
        return cls.of_model(model)

    @classmethod
    def of_model(cls, model: Model) -> Self:
        """The estimator that fits such a model, fitted."""
        options = dict(model.settings)
        given = {name: options.pop(name) for name in ("settings", "features", "hydrogens") if name in options}
        if any(":" in str(value) for key, value in (given.get("settings") or {}).items() if key.endswith("scheme")):
            raise ConfigurationError("the file names code to import as its scheme, which no file of ccn does")
        recipe = options.pop("recipe", None)
        recipe = from_dict(recipe) if isinstance(recipe, Mapping) else recipe
        if recipe is None and not model.settings:
            recipe = getattr(model.fitted, "recipe", None)  # files of 0.1 have it there alone
        made = cls(recipe, method=model.method, options=options or None, random_state=model.about.get("seed"), **given)
        made.model_ = model
        return made


@dataclass(eq=False, repr=False)
class CCNRegressor(RegressorMixin, _Estimator):  # type: ignore[misc]
    """Numbers from molecules or graphs, with intervals.

    Args:
        recipe: ``default``, ``paper``, ``authors`` or a :class:`ccn.training.recipe.Recipe`; by default that of the
            method.
        method: what is fitted: ``ccn``, a covariant network, or another name in :data:`ccn.baselines.METHODS`.
        order, levels, channels, contractions: of the network.
        scheme: its parts, by name (:mod:`ccn.schemes.named`), as ``package.module:function``, or a function from a
            graph to its :class:`ccn.Scheme`; a model with a function that has no name cannot be saved.
        readout: what the last layers of the network read: ``invariants``, ``root``, or, for targets of each vertex or
            edge, ``vertex`` or ``edge``. Then ``y`` is a list per graph, and predictions have one row per vertex or
            edge of all graphs, one after another.
        features, hydrogens: the set of properties of atoms and bonds, and whether hydrogens are vertices; graphs bring
            their own features.
        epochs, batch_size, learning_rate, patience: of training.
        members: networks of the ensemble; five give better predictions and intervals that know where to be wide.
        settings: any further fields of the recipe, such as ``{"dropout": 0.2, "loss": "mae"}``, None being off and
            ``auto`` what the task needs; of a method without a recipe, the values to try: ``{"depth": (2, 3)}``.
        options: further options of the method's class, such as ``{"folds": 3}``, or of all methods
            ``{"target_scale": "auto"}`` for targets with heavy tails.
        validation_fraction: share of the rows that a network keeps to stop in time; half of it calibrates intervals.
        time_limit: seconds of training, after which the best so far is kept.
        folder: keeps checkpoints; the same fit, begun again after it was killed, resumes from them.
        random_state: same number, same result.
        n_jobs: threads of torch, None leaving its own number, and processes that parse many SMILES, None being one.
        device: ``cpu``, ``cuda``, ``mps`` or ``auto``.
        verbose: show a progress bar.

    Attributes:
        model_: the trained :class:`ccn.learning.model.Model`.
        smiles_column_: the column of molecules, where a data frame or a named column was given.

    Example:
        >>> import ccn
        >>> smiles = ["C", "CC", "CCC", "CCCC", "CO", "CCO", "CCCO", "CN", "CCN", "CCCN"]
        >>> net = ccn.CCNRegressor(epochs=2, channels=4, random_state=0).fit(smiles, range(10))
        >>> net.predict(["CCCCO"]).shape
        (1,)
    """

    def predict(self, X: Any, return_interval: float | None = None) -> Any:
        """The predictions, shaped like the targets; with ``return_interval=0.9`` also where 90 % of them fall.

        An interval of level 0.9 needs 9 calibration rows, one of 0.99 needs 99; with fewer it is an error.

        Returns:
            The predictions, or predictions and intervals: (rows, 2), or (rows, targets, 2) for several targets.
        """
        predicted = self._predict(X)
        mean = self._like_targets(predicted.mean)
        if return_interval is None:
            return mean
        self.model_.check_interval(return_interval)
        ends = self.model_.interval(predicted, return_interval)
        return mean, np.stack([self._like_targets(end) for end in ends], axis=-1)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """The coefficient of determination, in the mean over targets; missing targets do not count.

        The targets of a data set may be left out.
        """
        if sample_weight is not None:
            return float(super().score(X, y, sample_weight))
        check_is_fitted(self, "model_")
        known = np.asarray(self._known(X, y, (), self.model_.task.per))
        return score(known, self._predict(X).mean, classification=False)

    def _like_targets(self, values: Floats) -> Floats:
        return values[:, 0] if self.model_.about.get("single", True) and values.shape[1] == 1 else values


@dataclass(eq=False, repr=False, kw_only=True)
class CCNClassifier(ClassifierMixin, _Estimator):  # type: ignore[misc]
    """Classes of molecules or graphs: two, many, or several labels at once.

    Args:
        class_weight: ``balanced``, or a weight per class.
        recipe: this and all others as those of :class:`CCNRegressor`.

    Attributes:
        model_: the trained :class:`ccn.learning.model.Model`.

    Example:
        >>> import ccn
        >>> smiles = ["C", "CC", "CCC", "CCCC", "CO", "CCO", "CCCO", "CN", "CCN", "CCCN"]
        >>> net = ccn.CCNClassifier(epochs=2, channels=4, random_state=0).fit(smiles, ["O" in s for s in smiles])
        >>> net.classes_.tolist(), net.predict_proba(["CCCCO"]).shape
        ([False, True], (1, 2))
    """

    class_weight: str | Mapping[Any, float] | None = None

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags

    @property
    def classes_(self) -> Any:
        """The classes in order; for several labels one such array for each."""
        check_is_fitted(self, "model_")
        task = self.model_.task
        classes = np.array(task.classes)
        return [classes] * len(task.targets) if task.kind == "multilabel" else classes

    def predict_proba(self, X: Any) -> Floats:
        """(rows, classes), or for several labels (rows, labels) the probability of each."""
        return self._predict(X).mean

    def predict(self, X: Any) -> NDArray[Any]:
        """The likeliest class of each row, or (rows, labels) of zeros and ones."""
        p = self._predict(X).mean
        if self.model_.task.kind == "multilabel":
            return (p > 0.5).astype(np.int64)
        found: NDArray[Any] = np.asarray(self.classes_)[p.argmax(axis=1)]
        return found

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Accuracy; of several labels all that are known must be right. Missing classes do not count.

        The classes of a data set may be left out. Classes are matched by name; one that was not there in training is
        always missed.
        """
        if sample_weight is not None:
            return float(super().score(X, y, sample_weight))
        check_is_fitted(self, "model_")
        task = self.model_.task
        known, p = np.asarray(self._known(X, y, task.classes, task.per, -1)), self._predict(X).mean
        found = p > 0.5 if task.kind == "multilabel" else p.argmax(axis=1)[:, None]
        return score(known, found, classification=True)
