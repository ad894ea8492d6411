"""Model files: one ``model.safetensors`` with tensors and, in its header, everything else as JSON.

The header names the method and holds its settings, how graphs are read, what the predictions mean, how the model was
made and how good it was. The model is made from it by this package's own code, found by the name of the method in
:mod:`ccn.methods.registry`; nothing in the file is run.
"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

from ccn import sealed
from ccn.errors import CCNError, FileError
from ccn.files import json_safe
from ccn.learning.conformal import Calibration
from ccn.learning.inputs import Inputs
from ccn.learning.model import Model
from ccn.learning.old_files import FORMS_BEFORE, updated
from ccn.learning.plain import plain, unplain
from ccn.learning.task import Task
from ccn.version import __version__

__all__ = ["describe", "load", "model_path", "save"]

FORM, VERSION = "ccn model", 2
_FORMS = {**FORMS_BEFORE, FORM: VERSION}


def save(model: Model, path: str | Path) -> Path:
    """Write a model as one file; an error says which setting is code and cannot be written."""
    tensors, learned = model.fitted.state()
    data = {
        "ccn": __version__,
        "method": model.method,
        "settings": plain(dict(model.settings)),
        "inputs": model.inputs.to_dict(),
        "task": plain(model.task.to_dict()),
        "learned": learned,
        "calibration": None if model.calibration is None else asdict(model.calibration),
        "about": json_safe(plain(dict(model.about))),
    }
    sealed.write(Path(path), FORM, VERSION, tensors, data)
    return Path(path)


def load(path: str | Path) -> Model:
    """Read a model; a file that was cut, altered or made by a newer version is refused."""
    from ccn.methods.registry import fitted_class

    held = updated(sealed.read(model_path(path), _FORMS))
    data = held.data
    try:
        task, inputs = Task.from_dict(data["task"]), Inputs.from_dict(data["inputs"])
        scores = data["calibration"]
        return Model(
            data["method"],
            unplain(data["settings"]),
            fitted_class(data["method"]).from_state(held.tensors, data["learned"], task, inputs),
            None if scores is None else Calibration.from_dict(scores),
            data["about"],
        )
    except FileError as error:
        raise FileError(f"{path}: {error}") from None
    except (CCNError, KeyError, TypeError, RuntimeError) as error:
        raise FileError(
            f"{path}: written by ccn {data.get('ccn', '?')}, and this is ccn {__version__}, which cannot make its "
            f"model ({error}); install that version to use it"
        ) from None


def describe(path: str | Path) -> dict[str, Any]:
    """What the header of a model file says, without reading its tensors."""
    return updated(sealed.read(model_path(path), _FORMS, tensors=False)).data


def model_path(path: str | Path) -> Path:
    """The file of a model, or the one in a run's folder."""
    path = Path(path)
    return path / "model.safetensors" if path.is_dir() else path
