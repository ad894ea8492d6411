"""The methods that the paper compares with, and its own, by name, as estimators.

>>> from ccn.baselines import method
>>> wl = method("wl", "classification").fit(["CO", "CCO", "CCCO", "CN", "CCN", "CCCN"], [1, 1, 1, 0, 0, 0])
>>> wl.predict(["CCCCO"]).tolist()
[1]

>>> from ccn.baselines import METHODS
>>> "wl" in METHODS, "auto" in METHODS
(True, True)
"""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Any, Literal

from ccn.errors import ConfigurationError
from ccn.estimators import CCNClassifier, CCNRegressor
from ccn.learning import model_file
from ccn.methods.registry import METHODS, make_method

__all__ = ["METHODS", "load", "method"]

_KINDS = {"classification": CCNClassifier, "regression": CCNRegressor}


def method(name: str, task: Literal["classification", "regression"], **options: Any) -> CCNClassifier | CCNRegressor:
    """An estimator by the name of its method; the options are those of the estimator and of the method's class.

    The seed is 0 unless ``random_state`` is given.

    Example:
        >>> method("wl", "classification", C=(1.0, 10.0), random_state=3).options
        {'C': (1.0, 10.0)}
    """
    if task not in _KINDS:
        raise ConfigurationError(f"task={task!r}: choose classification or regression")
    known = {f.name for f in fields(_KINDS[task])}
    of_estimator = {key: value for key, value in options.items() if key in known}
    of_method = {key: value for key, value in options.items() if key not in known}
    make_method(name, classification=task == "classification", **of_method)  # an error now if it has no such option
    return _KINDS[task](method=name, options=of_method or None, **{"random_state": 0, **of_estimator})


def load(path: str | Path) -> CCNClassifier | CCNRegressor:
    """A fitted estimator from a model file or the folder of a run; no code of the file is run.

    Example:
        >>> wl = method("wl", "classification").fit(["CO", "CCO", "CCCO", "CN", "CCN", "CCCN"], [1, 1, 1, 0, 0, 0])
        >>> load(wl.save("wl.safetensors")).predict(["CCCCO"]).tolist()
        [1]
    """
    model = model_file.load(path)
    return _KINDS["regression" if model.task.kind == "regression" else "classification"].of_model(model)
