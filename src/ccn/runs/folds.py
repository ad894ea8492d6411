"""Cross-validation of a run: every row is predicted once by a model that has not seen it.

Finished folds are stored in the folder of the run, so that a killed run resumes at the first unfinished one.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from ccn.datasets import Dataset
from ccn.datasets.splits import Split
from ccn.errors import FileError
from ccn.files import digest, write_json
from ccn.graphs.ragged import Int
from ccn.learning.examples import Examples, fingerprint, labelled
from ccn.learning.model import Model, Prediction
from ccn.methods.method import Method, fit
from ccn.runs.config import Config, to_dict
from ccn.runs.data import examples_of
from ccn.training.execution import Execution, is_first

__all__ = ["Folds", "cross_validate"]


@dataclass(frozen=True)
class Folds:
    """Results of cross-validation: metrics of each fold, the rows in the order of the folds, and their predictions."""

    each: list[dict[str, float]]
    rows: Int
    predicted: Prediction

    def summary(self, model: Model, data: Dataset) -> dict[str, Any]:
        """Mean and standard deviation of the metrics over the folds, and the metrics of all rows together."""

        def over(of: Callable[[list[float]], Any]) -> dict[str, float]:
            known = {name: [f[name] for f in self.each if not np.isnan(f[name])] for name in self.each[0]}
            return {name: float(of(values)) if values else float("nan") for name, values in known.items()}

        return {
            "folds": len(self.each),
            "rows": len(self.rows),
            "mean": over(np.mean),
            "deviation": over(lambda values: np.std(values, ddof=1) if len(values) > 1 else np.nan),
            "pooled": model.metrics(data.targets[self.rows], self.predicted),
            "each": self.each,
        }


def cross_validate(
    data: Dataset, splits: Sequence[Split], config: Config, method: Method, execution: Execution
) -> Folds:
    """Fit the method once per fold, each in a folder of its own, and predict the rows that the fold left out."""
    root = execution.folder
    assert root is not None
    each, rows, made = [], [], []
    for i, split in enumerate(splits):
        examples = examples_of(data, split, config)
        test = split.test[labelled(data.targets)[split.test]]
        path, name = root / f"fold{i}" / "fold.json", f"fold {i + 1} of {len(splits)}"
        key = _key(examples, test, config)
        found = _read(path, key) if execution.resume else None
        if found is None:
            execution.say(f"{name}: train {len(examples.train):,}, test {len(test):,}")
            found = _fold(method, examples, test, execution.part(f"fold{i}", execution.time_limit))
            if is_first():
                path.parent.mkdir(parents=True, exist_ok=True)
                write_json(path, {"key": key, **found})
            execution = replace(execution, begin=lambda: None)
        else:
            execution.say(f"{name}: already done")
        each.append({k: float("nan") if v is None else v for k, v in found["metrics"].items()})
        rows.append(test)
        made.append([np.array(found[k], dtype=np.float64).reshape(len(test), -1) for k in ("mean", "spread")])
    mean, spread = (np.concatenate(parts) for parts in zip(*made, strict=True))
    return Folds(each, np.concatenate(rows), Prediction(mean, spread))


def _fold(method: Method, examples: Examples, test: Int, execution: Execution) -> dict[str, Any]:
    model, _ = fit(method, examples, execution, domain=False)
    predicted = model.predict(examples.graphs.select(test))
    metrics = model.metrics(examples.targets[test], predicted)
    return {"metrics": metrics, "mean": predicted.mean.tolist(), "spread": predicted.spread.tolist()}


def _key(examples: Examples, test: Int, config: Config) -> str:
    """Identifies a fold by its data and settings."""
    plain = {k: v for k, v in to_dict(config).items() if k not in ("source", "threads", "machine")}
    parts = (examples.train, examples.validation, test, examples.weights, examples.bounds, examples.auxiliary)
    return digest(plain, fingerprint(examples.graphs, np.asarray(examples.targets), *parts))


def _read(path: Path, key: str) -> Mapping[str, Any] | None:
    """The fold in a file, or None if there is none."""
    try:
        found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    if found.get("key") != key:
        raise FileError(f"{path}: a fold of other data or settings; give those, or replace the run with --overwrite")
    return found
