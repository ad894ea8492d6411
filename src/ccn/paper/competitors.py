"""The recipes that ours are compared with on molecules; each is fitted and asked in one call."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ccn.errors import DataError
from ccn.learning.task import Floats
from ccn.paper import chemprop
from ccn.paper.tasks import Task

__all__ = ["COMPETITORS", "Competitor", "missing"]

_TREES = 500
_BITS = 1024


@dataclass(frozen=True)
class Competitor:
    """A published recipe.

    Attributes:
        predict: from SMILES and targets of the training rows, SMILES of the test rows, the task and a seed to one
            number per test row, of classes the probability of class 1.
        versions: of the packages behind it.
        settings: for the record.
        missing: why it cannot run here; empty where it can.
    """

    predict: Callable[[Sequence[str], Floats, Sequence[str], Task, int], Floats]
    versions: Callable[[], Mapping[str, str]]
    settings: Mapping[str, Any] = field(default_factory=dict)
    missing: Callable[[], str] = lambda: ""


def missing(method: str) -> str:
    """Why a competitor cannot run here; empty where it can, and for methods of ours."""
    return COMPETITORS[method].missing() if method in COMPETITORS else ""


def _features(smiles: Iterable[str], *kinds: Callable[[Any], Sequence[float] | Floats]) -> Floats:
    """(molecules, columns) the features of these kinds, one beside another."""
    from rdkit import Chem, rdBase

    rows = []
    with rdBase.BlockLogs():
        for text in smiles:
            mol = Chem.MolFromSmiles(text)
            if mol is None:
                raise DataError(f"{text!r}: RDKit reads no molecule; correct the row or leave it out")
            rows.append(np.concatenate([np.asarray(kind(mol), dtype=np.float64) for kind in kinds]))
    return np.stack(rows)


def _morgan(mol: Any) -> Sequence[float]:
    from rdkit.Chem import rdFingerprintGenerator

    made = rdFingerprintGenerator.GetMorganGenerator(radius=2, fpSize=_BITS)
    counts: Sequence[float] = made.GetCountFingerprintAsNumPy(mol)
    return counts


def _avalon(mol: Any) -> Floats:
    from rdkit.Avalon.pyAvalonTools import GetAvalonCountFP
    from rdkit.DataStructs import ConvertToNumpyArray

    row = np.zeros(_BITS)
    ConvertToNumpyArray(GetAvalonCountFP(mol, nBits=_BITS), row)
    return row


def _erg(mol: Any) -> Sequence[float]:
    from rdkit.Chem.rdReducedGraphs import GetErGFingerprint

    row: Sequence[float] = GetErGFingerprint(mol)
    return row


def _descriptors(mol: Any) -> Sequence[float]:
    from rdkit.Chem import Descriptors

    calculate: Any = Descriptors.CalcMolDescriptors
    return list(calculate(mol, missingVal=float("nan"), silent=True).values())


def _threads() -> int:
    import torch

    return torch.get_num_threads()


def _of_sklearn(model: Callable[[bool, int], Any]) -> Callable[..., Floats]:
    """A competitor from an estimator that reads Morgan counts and descriptors, made of ``classification``, ``seed``."""

    def features(smiles: Sequence[str]) -> Floats:
        # Without what does not fit into single precision, in which scikit-learn's trees read.
        return np.clip(np.nan_to_num(_features(smiles, _morgan, _descriptors)), -1e30, 1e30)

    def predict(train: Sequence[str], y: Floats, test: Sequence[str], task: Task, seed: int) -> Floats:
        x, asked = features(train), features(test)
        fitted = model(task.classification, seed).fit(x, y)
        found: Floats = fitted.predict_proba(asked)[:, 1] if task.classification else fitted.predict(asked)
        return found

    return predict


def _forest(classification: bool, seed: int) -> Any:
    from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

    kind = RandomForestClassifier if classification else RandomForestRegressor
    return kind(_TREES, random_state=seed, n_jobs=_threads())


def _boosting(classification: bool, seed: int) -> Any:
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

    return (HistGradientBoostingClassifier if classification else HistGradientBoostingRegressor)(random_state=seed)


def _maplight(train: Sequence[str], y: Floats, test: Sequence[str], task: Task, seed: int) -> Floats:
    """CatBoost as published for the ADMET group: numbers are scaled, some of them logarithms, and fitted by MAE."""
    from catboost import CatBoostClassifier, CatBoostRegressor

    x, asked = (_features(smiles, _morgan, _avalon, _erg, _descriptors) for smiles in (train, test))
    how = {"random_strength": 2, "random_seed": seed, "thread_count": _threads(), "verbose": 0}
    how["allow_writing_files"] = False
    if task.classification:
        found: Floats = CatBoostClassifier(loss_function="Logloss", **how).fit(x, y).predict_proba(asked)[:, 1]
        return found
    offset = min(float(y.min()), 0.0)
    scaled = np.log10(y - offset + 1) if task.log else y
    mean, deviation = scaled.mean(), scaled.std() or 1.0
    fitted = CatBoostRegressor(loss_function="MAE", **how).fit(x, (scaled - mean) / deviation)
    back = fitted.predict(asked) * deviation + mean
    return np.asarray(10**back - 1 + offset if task.log else back)


def _chemprop(train: Sequence[str], y: Floats, test: Sequence[str], task: Task, seed: int) -> Floats:
    """``chemprop train`` and ``chemprop predict`` at their defaults."""
    with tempfile.TemporaryDirectory() as folder:
        chemprop.train(Path(folder), train, y, task.classification, seed)
        return chemprop.predict(Path(folder), test)


def _versions(*packages: str) -> Callable[[], Mapping[str, str]]:
    return lambda: {name: importlib.metadata.version(name) for name in packages}


_COUNTS = "Morgan counts (radius 2, 1,024 columns), RDKit descriptors"
COMPETITORS: dict[str, Competitor] = {
    "forest": Competitor(
        _of_sklearn(_forest), _versions("scikit-learn", "rdkit"), {"features": _COUNTS, "trees": _TREES}
    ),
    "boosting": Competitor(_of_sklearn(_boosting), _versions("scikit-learn", "rdkit"), {"features": _COUNTS}),
    "maplight": Competitor(
        _maplight,
        _versions("catboost", "rdkit"),
        {"features": f"{_COUNTS}, Avalon counts (1,024 columns), ErG", "random_strength": 2},
        lambda: "" if importlib.util.find_spec("catboost") else "it needs CatBoost: pip install 'ccn[admet]'",
    ),
    "chemprop": Competitor(_chemprop, chemprop.versions, missing=chemprop.missing),
}
"""By name, in the order of the tables; ``forest`` and ``boosting`` are not those of the registry, which see counts of
atoms and bonds."""
