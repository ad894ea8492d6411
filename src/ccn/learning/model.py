"""A trained model: what a method has learned, its calibrated intervals, and how it was made."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray

from ccn.errors import ConfigurationError
from ccn.features.scaling import TargetScale
from ccn.graphs.pack import Pack
from ccn.graphs.ragged import Int
from ccn.learning.conformal import Calibration, calibrate, choose_floor
from ccn.learning.contributions import Contributions
from ccn.learning.doubts import check_finite, doubts, tails
from ccn.learning.examples import Examples
from ccn.learning.fitted import Fitted, Prediction
from ccn.learning.inputs import Inputs
from ccn.learning.measured import Measured
from ccn.learning.metrics import metrics
from ccn.learning.seen import SEEN, Seen
from ccn.learning.task import Floats, Task
from ccn.learning.trust import BANDS, by_distance, error_name, errors, reliability, thresholds

if TYPE_CHECKING:
    from ccn.methods.domain import Domain

__all__ = ["LEVEL", "Model", "Prediction"]

LEVEL = 0.9  # of the intervals whose coverage is measured
_TOGETHER = 500  # graphs explained at a time
_SOME = 200  # training rows that are predicted where none were held out
_COMPARED = 1000  # training rows that are compared with the others where none were held out


@dataclass(frozen=True)
class Model:
    """A fitted method and what stands around it.

    Attributes:
        method: the name of the method in the registry.
        settings: what the method was made with, as plain data.
        fitted: what it has learned.
        calibration: of intervals; None for classification and where no rows were left for it.
        about: how it was made: version, seed, parts, metrics, fingerprint of the data, columns.
        seen: hashes of the molecules it was made with; None where they are unknown or no molecules.
        domain: what it has learned from, as far as new graphs can be compared with it; None in files of versions that
            did not have it and for graphs whose parts are too large.
        measured: the training graphs of the domain with their values, where they are at hand.

    Example:
        >>> import ccn
        >>> smiles = ["C" * n + end for n in range(1, 9) for end in ("O", "N")]
        >>> model = ccn.CCNRegressor(method="ridge").fit(smiles, [float(len(s)) for s in smiles]).model_
        >>> graphs = model.inputs.parse(["CCO", "CCN"])[0]
        >>> model.method, model.task.kind, model.predict(graphs).mean.shape
        ('ridge', 'regression', (2, 1))
    """

    method: str
    settings: Mapping[str, Any]
    fitted: Fitted
    calibration: Calibration | None = None
    about: Mapping[str, Any] = field(default_factory=dict)
    seen: Seen | None = None
    domain: Domain | None = None
    measured: Measured | None = None

    @property
    def task(self) -> Task:
        """What the predictions mean."""
        return self.fitted.task

    @property
    def inputs(self) -> Inputs:
        """How graphs are read. ``graphs`` in all methods here are as :meth:`Inputs.read` gives them."""
        return self.fitted.inputs

    def predict(self, graphs: Pack) -> Prediction:
        """Predictions in the targets' units, or probabilities."""
        return self.fitted.prediction(graphs)

    def interval(self, predicted: Prediction, level: float) -> tuple[Floats, Floats]:
        """Lower and upper end of prediction intervals with coverage ``level``, each (graphs, targets).

        Infinite for targets with too few calibration rows for this level; :meth:`check_interval` says which.
        """
        mean, spread = self._bent(predicted)
        half = self.check_interval(level, warn=False).half_width(level, spread)
        return self._scale.unbend(mean - half), self._scale.unbend(mean + half)

    def calibrated(self) -> bool:
        """Whether there are intervals of level :data:`LEVEL`, of some target at least."""
        if self.calibration is None:
            return False
        return len(self.calibration.shortage(LEVEL, self.task.targets)[0]) < len(self.task.targets)

    def check_interval(self, level: float, *, warn: bool = True) -> Calibration:
        """The calibration; an error if it has no intervals of this level, a warning if it has none of some targets."""
        if self.calibration is None:
            raise ConfigurationError(
                "this model has no calibrated intervals: they need a regression and a validation part, half of which "
                "is kept for calibration"
            )
        few, why = self.calibration.shortage(level, self.task.targets)
        if len(few) == len(self.task.targets):
            raise ConfigurationError(why)
        if few and warn:
            warnings.warn(why, stacklevel=3)
        return self.calibration

    # Intervals are made on the scale that was fitted, bent but in no other unit, and their ends are bent back, which
    # changes nothing about what they cover. Where the scale is linear all of this is the identity.

    @property
    def _scale(self) -> TargetScale:
        count = len(self.task.targets)
        return self.task.scale or TargetScale((0.0,) * count, (1.0,) * count)

    def _bent(self, predicted: Prediction) -> tuple[Floats, Floats]:
        return self._scale.bend(predicted.mean), predicted.spread * self._scale.slope(predicted.mean)

    def metrics(self, targets: Floats, predicted: Prediction) -> dict[str, float]:
        """The metrics of the task for rows with known targets."""
        return metrics(self.task, targets, predicted.mean, each=True)

    def coverage(self, targets: Floats, predicted: Prediction, level: float = LEVEL) -> dict[str, Any] | None:
        """The coverage of the intervals of this level and their mean width; None without, a reason if there are too few
        calibration rows.
        """
        if self.calibration is None:
            return None
        few, why = self.calibration.shortage(level, self.task.targets)
        if len(few) == len(self.task.targets):
            return {"level": level, "reason": why}
        self.check_interval(level)  # a warning if some have too few
        low, high = self.interval(predicted, level)
        there = ~np.isnan(targets) & ~np.isinf(high - low)
        inside = (low <= targets) & (targets <= high)
        width = np.where(there, high - low, np.nan)
        return {
            "level": level,
            "coverage": float(inside[there].mean()) if there.any() else math.nan,
            "mean_width": {
                name: float(np.nanmean(width[:, i])) if there[:, i].any() else math.nan
                for i, name in enumerate(self.task.targets)
            },
            "rows": int(there.any(axis=1).sum()),
        }

    def overlap(
        self,
        molecules: Sequence[str] | None,
        targets: Floats,
        predicted: Prediction,
        level: float = LEVEL,
        parts: Sequence[str] = SEEN,
    ) -> dict[str, Any] | None:
        """How many rows are molecules of the parts that the model was made with, and what holds without them.

        Args:
            molecules: canonical SMILES, one per row; None where the rows are no molecules.
            targets, predicted: of the rows.
            level: of the intervals.
            parts: those that count.

        Returns:
            Rows of each part, a row in two of them for the first; ``exact``, false if there may be more; and if there
            are any, ``without`` them: rows, metrics, coverage of the intervals. None if it is unknown.
        """
        if self.seen is None or molecules is None:
            return None
        out: dict[str, Any] = {}
        new = np.ones(len(molecules), dtype=bool)
        for part, rows in self.seen.parts(molecules).items():
            if part in parts:
                out[part] = int((rows & new).sum())
                new &= ~rows
        out["exact"] = self.seen.exact
        if not new.all():
            known, of_new = targets[new], predicted.select(new)
            interval = self.coverage(known, of_new, level)
            out["without"] = {"rows": len(known), "metrics": self.metrics(known, of_new), "interval": interval}
        return out

    def explain(self, graphs: Pack, output: int = 0) -> Contributions:
        """The contributions of vertices, edges and molecule-level features (:mod:`ccn.learning.contributions`)."""
        if not 0 <= output < self.task.outputs:
            raise ConfigurationError(f"output={output}: the model has the outputs 0 to {self.task.outputs - 1}")
        batches = (graphs[at : at + _TOGETHER] for at in range(0, len(graphs), _TOGETHER))
        return Contributions.join([self.fitted.contributions(batch, output) for batch in batches])

    def embed(self, graphs: Pack) -> NDArray[np.floating[Any]]:
        """The invariant embedding, one row per graph; those of the members side by side."""
        return self.fitted.embed(graphs)

    def to(self, device: torch.device) -> Model:
        """The model, moved to a device."""
        self.fitted.to(device)
        return self

    def held_out(self, examples: Examples) -> Model:
        """The model with metrics on the rows that were not fitted, and calibrated on those kept for it.

        What is doubtful about it is in ``about["warnings"]``, by the validation rows or, without any, some of training.
        """
        parts = {part: getattr(examples.split, part) for part in ("validation", "calibration")}
        parts = {part: rows for part, rows in parts.items() if len(rows)}
        predicted = {part: self.predict(examples.graphs.select(rows)) for part, rows in parts.items()}
        judged, rows = "validation", examples.validation
        if judged not in predicted:
            judged, rows = "training", examples.train[:: max(1, len(examples.train) // _SOME)]
        p = predicted[judged] if judged in predicted else self.predict(examples.graphs.select(rows))
        for part, each in {**predicted, judged: p}.items():
            check_finite(each.mean, part)
        wary = tails(self.task, examples.targets[examples.train])
        wary += doubts(self.task, examples.targets[rows], p.mean, judged)
        known = {part: examples.targets[rows] for part, rows in parts.items()}
        measured = {part: self.metrics(known[part], predicted[part]) for part in parts}
        about = {**self.about, "metrics": measured, "warnings": wary}
        if self.seen is not None:
            molecules = {part: examples.molecules_of(rows) for part, rows in parts.items()}
            about["overlap"] = {
                part: self.overlap(molecules[part], known[part], predicted[part], parts=("train",)) for part in parts
            }
        made = replace(self, about=about)
        if "calibration" in predicted:
            floor = self._floors(examples.targets[examples.validation], predicted.get("validation"))
            made = made._calibrated(known["calibration"], predicted["calibration"], floor)
        if not predicted:
            return made._with_words(examples, examples.validation, None)
        mean, spread = (np.concatenate([getattr(p, a) for p in predicted.values()]) for a in ("mean", "spread"))
        return made._with_words(examples, np.concatenate(list(parts.values())), Prediction(mean, spread))

    def cross_validated(self, examples: Examples, rows: Int, predicted: Prediction, folds: Int | None = None) -> Model:
        """The same for a method that has predicted its rows out of fold: these count as validation and calibrate.

        ``folds`` (rows,) says with which others each was held out.
        """
        targets = examples.targets[rows]
        check_finite(predicted.mean, "validation")
        wary = tails(self.task, targets) + doubts(self.task, targets, predicted.mean, "validation")
        measured = {"metrics": {"validation": self.metrics(targets, predicted)}, "warnings": wary}
        made = replace(self, about={**self.about, **measured})
        made = made._calibrated(targets, predicted, self._floors(targets, predicted))
        return made._with_words(examples, rows, predicted, folds)

    def _calibrated(self, targets: Floats, predicted: Prediction, floor: Sequence[float]) -> Model:
        """The model with intervals by these rows, where numbers are predicted."""
        if self.task.kind != "regression":
            return self
        return replace(self, calibration=calibrate(self._scale.bend(targets), *self._bent(predicted), floor))

    def _with_words(
        self, examples: Examples, rows: Int, predicted: Prediction | None, folds: Int | None = None
    ) -> Model:
        """The model with the words of its domain chosen on held-out rows, and ``about["trust"]`` as measured there."""
        if self.domain is None or self.measured is None:
            return self
        compared = self.measured.row
        if predicted is None:
            some = compared[:: max(1, len(compared) // _COMPARED)]
            near = self.domain.distance(examples.graphs.select(some), (some, compared))
            return replace(self, domain=self.domain.with_words(*thresholds(near)))
        apart = None
        if folds is not None:
            fold_of = np.full(len(examples.graphs), -1)
            fold_of[rows] = folds
            apart = (folds, fold_of[compared])
        targets, graphs = examples.targets[rows], examples.graphs.select(rows)
        distance, error = self.domain.distance(graphs, apart), errors(self.task, targets, predicted.mean)
        there = np.isfinite(error)
        domain = self.domain.with_words(*thresholds(distance[there], error[there]))
        bands = np.unique([0.0, *np.quantile(distance, np.arange(1, BANDS) / BANDS), 1.0])
        words = {"inside": domain.inside, "outside": domain.outside, "bands": bands.tolist()}
        made = replace(self, domain=domain, about={**self.about, "trust": {**words, "error": error_name(self.task)}})
        return made.with_trust("validation", made.trust(targets, predicted, distance))

    def with_trust(self, part: str, found: Mapping[str, Any]) -> Model:
        """The model with what :meth:`trust` found for a part of the data."""
        before = self.about.get("trust") or {}
        parts = {**before.get("parts", {}), part: dict(found)}
        return replace(self, about={**self.about, "trust": {**before, "parts": parts}})

    def trust(self, targets: Floats, predicted: Prediction, distance: Floats) -> dict[str, Any]:
        """How errors and the coverage of intervals depend on the distance, and how reliable probabilities are.

        Args:
            targets, predicted: of some rows.
            distance: (rows,) of them, as :meth:`ccn.methods.domain.Domain.distance` gives it.

        Returns:
            Plain data: ``rank_correlation`` of distance and error, ``words`` and ``bands`` with rows, error, metrics
            and coverage of each, and ``reliability`` of probabilities.
        """
        assert self.domain is not None
        covered = None
        if self.calibration is not None and not self.calibration.shortage(LEVEL, self.task.targets)[0]:
            low, high = self.interval(predicted, LEVEL)
            covered = np.where(np.isnan(targets), np.nan, (low <= targets) & (targets <= high))

        def measure(rows: NDArray[np.bool_]) -> dict[str, Any]:
            found: dict[str, Any] = {"metrics": metrics(self.task, targets[rows], predicted.mean[rows])}
            return found if covered is None else {**found, "coverage": float(np.nanmean(covered[rows]))}

        bands, word = np.array(self.about["trust"]["bands"]), self.domain.words(distance)
        found = by_distance(self.task, targets, predicted.mean, distance, word, bands, measure)
        sure = reliability(self.task, targets, predicted.mean)
        return found if sure is None else {**found, "reliability": sure}

    def _floors(self, targets: Floats, usual: Prediction | None) -> Sequence[float]:
        """What is added to the spread of an ensemble, one for each target, chosen on rows that do not calibrate."""
        scale = self.task.scale
        if usual is None or scale is None or not usual.spread.any():
            return ()
        mean, spread = self._bent(usual)
        error, least = np.abs(scale.bend(targets) - mean), 1e-6 * np.array(scale.deviation)
        columns = zip(error.T, spread.T, ~np.isnan(error.T), strict=True)
        floors = [choose_floor(e[known], s[known], LEVEL) if known.any() else 0.0 for e, s, known in columns]
        return [float(x) for x in np.maximum(floors, least)]
