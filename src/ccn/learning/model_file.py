"""Model files: one ``model.safetensors`` with tensors and, in its header, everything else as JSON.

The header names the method and holds its settings, how graphs are read, what the predictions mean, how the model was
made and how good it was. The model is made from it by this package's own code, found by the name of the method in
:mod:`ccn.methods.registry`; nothing in the file is run.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from ccn import sealed
from ccn.engine import using_backend
from ccn.errors import CCNError, FileError
from ccn.files import json_safe
from ccn.learning.conformal import Calibration
from ccn.learning.fitted import under
from ccn.learning.inputs import Inputs
from ccn.learning.measured import FILE, Measured
from ccn.learning.model import Model
from ccn.learning.old_files import FORMS_BEFORE, updated
from ccn.learning.plain import plain, unplain
from ccn.learning.seen import Seen
from ccn.learning.task import Task
from ccn.version import __version__

__all__ = ["describe", "dumps", "load", "loads", "model_path", "save", "with_measured", "with_measured_at_hand"]

FORM, VERSION = "ccn model", 2
_FORMS = {**FORMS_BEFORE, FORM: VERSION}
_DOMAIN, _TRAINING = "domain/", "training/rows"


def save(model: Model, path: str | Path, *, share_training: bool = False) -> Path:
    """Write a model as one file; an error says which setting is code and cannot be written.

    With ``share_training`` the file holds the training molecules of its domain and their values as they are.
    """
    tensors, learned = model.fitted.state()
    hashes, salted = ({}, None) if model.seen is None else model.seen.state()
    known, domain = ({}, None) if model.domain is None else model.domain.state()
    others = {f"{_DOMAIN}{key}": t for key, t in known.items()}
    if share_training and model.measured is not None:
        others[_TRAINING] = torch.from_numpy(np.frombuffer(model.measured.text().encode(), dtype=np.uint8).copy())
    data = {
        "ccn": __version__,
        "method": model.method,
        "settings": plain(dict(model.settings)),
        "inputs": model.inputs.to_dict(),
        "task": plain(model.task.to_dict()),
        "learned": learned,
        "calibration": None if model.calibration is None else asdict(model.calibration),
        "about": json_safe(plain(dict(model.about))),
        "seen": salted,
        "domain": domain,
    }
    sealed.write(Path(path), FORM, VERSION, {**tensors, **hashes, **others}, data)
    return Path(path)


def load(path: str | Path) -> Model:
    """Read a model; a file that was cut, altered or made by a newer version is refused."""
    from ccn.methods.domain import Domain
    from ccn.methods.registry import fitted_class

    held = _read(path, tensors=True)
    data = held.data
    try:
        task, inputs = Task.from_dict(data["task"]), Inputs.from_dict(data["inputs"])
        scores, salted, near = data["calibration"], data.get("seen"), data.get("domain")
        seen = None if salted is None else Seen.from_state(held.tensors, salted)
        domain = None if near is None else Domain.from_state(under(_DOMAIN, held.tensors), near)
        mine = ("seen/", _DOMAIN, _TRAINING)
        tensors = {name: t for name, t in held.tensors.items() if not name.startswith(mine)}
        model = Model(
            data["method"],
            unplain(data["settings"]),
            fitted_class(data["method"]).from_state(tensors, data["learned"], task, inputs),
            None if scores is None else Calibration.from_dict(scores),
            data["about"],
            seen,
            domain,
            _measured(held, task, domain),
        )
        _check_answer(model)
        return model
    except FileError as error:
        raise FileError(f"{path}: {error}") from None
    except Exception as error:  # whatever a header that was forged makes the constructors raise
        raise _unreadable(path, data, error) from None


def dumps(model: Model) -> bytes:
    """The content of the file of a model, for another machine."""
    with tempfile.TemporaryDirectory() as folder:
        return save(model, Path(folder) / "model.safetensors").read_bytes()


def loads(content: bytes) -> Model:
    """The model of what :func:`dumps` gave."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.safetensors"
        path.write_bytes(content)
        return load(path)


def _measured(held: sealed.Sealed, task: Task, domain: Any) -> Measured | None:
    """The training rows in a file; a ValueError if they are not those of its domain."""
    shared = held.tensors.get(_TRAINING)
    if shared is None:
        return None
    if domain is None or shared.ndim != 1 or shared.dtype != torch.uint8:
        raise ValueError("training rows must be a text, of a model that has a domain")
    made = Measured.from_text(shared.numpy().tobytes().decode(), task.targets)
    if len(made) != len(domain):
        raise ValueError(f"{len(made)} training rows, but {len(domain)} in its domain")
    return made


def with_measured(model: Model, path: str | Path) -> Model:
    """The model with the training rows that lie beside its file, in the folder of its run; an error without any."""
    if model.measured is not None:
        return model
    beside, sha256 = _beside(path), model.about.get("training")
    if model.domain is None or not isinstance(sha256, str) or not beside.is_file():
        raise FileError(
            f"{beside}: there are no training rows of this model; use it in the folder of its run, or train with "
            "--share-training"
        )
    found = Measured.read(beside, model.task.targets, sha256)
    if len(found) != len(model.domain):
        raise FileError(f"{beside}: {len(found)} rows, but the model compares with {len(model.domain)}")
    return replace(model, measured=found)


def with_measured_at_hand(model: Model, path: str | Path) -> Model:
    """The same where the training rows lie beside the file; else the model as it is."""
    there = isinstance(model.about.get("training"), str) and _beside(path).is_file()
    return with_measured(model, path) if there else model


def _beside(path: str | Path) -> Path:
    """Where a run keeps the training rows of its model."""
    return model_path(path).parent / FILE


def _check_answer(model: Model) -> None:
    """Ask the model for one prediction: an error of whatever kind if what the file holds does not fit together."""
    task = model.task
    try:
        with using_backend("torch"):  # which compiles nothing
            example = model.inputs.example()
            predicted = model.predict(example)
    except CCNError:
        if model.inputs.molecules is None:  # its graphs may need what the example has not
            return
        raise
    width = len(task.classes if task.kind in ("binary", "multiclass") else task.targets)
    counts = {"graph": len(example), "vertex": int(example.sizes.sum()), "edge": int(example.given_edges.sum())}
    shape = predicted.mean.shape
    if shape != (counts[task.per], width) or (model.calibration and model.interval(predicted, 0.5)[0].shape != shape):
        raise ValueError(f"predictions of shape {shape} for {width} columns")


def describe(path: str | Path) -> dict[str, Any]:
    """What the header of a model file says, without reading its tensors."""
    return _read(path, tensors=False).data


def _read(path: str | Path, *, tensors: bool) -> sealed.Sealed:
    """The content of a file as this version writes it; an error if its header is not that of a model."""
    held = sealed.read(model_path(path), _FORMS, tensors=tensors)
    try:
        held = updated(held)
        _check_header(held.data)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise _unreadable(path, held.data, error) from None
    return held


def _unreadable(path: str | Path, data: Any, error: Exception) -> FileError:
    writer = data.get("ccn", "?") if isinstance(data, dict) else "?"
    return FileError(
        f"{path}: written by ccn {writer}, and this is ccn {__version__}, which cannot make its model "
        f"({type(error).__name__}: {error}); install that version to use it, or take another copy if it was altered"
    )


def _check_header(data: Mapping[str, Any]) -> None:
    """An error unless all that the commands show of a model has the types that they expect."""
    Task.from_dict(data["task"])
    Inputs.from_dict(data["inputs"])
    kinds = {"ccn": str, "method": str, "settings": dict, "learned": dict, "about": dict}
    about: dict[str, type] = dict.fromkeys(("graphs", "metrics", "overlap", "from", "trust"), dict)
    about |= dict.fromkeys(("warnings", "chosen", "members", "target_columns", "units"), list)
    for part, expected in ((data, kinds), (data["about"], about)):
        for key, kind in expected.items():
            if not isinstance(part.get(key, kind()), kind):
                raise TypeError(f"{key} is not a {kind.__name__}")
    missing = kinds.keys() - data.keys()
    if missing:
        raise KeyError(min(missing))
    scores = data["calibration"]
    if scores is not None:
        Calibration.from_dict(scores)


def model_path(path: str | Path) -> Path:
    """The file of a model, or the one in a run's folder."""
    path = Path(path)
    return path / "model.safetensors" if path.is_dir() else path
