"""Model files: one ``model.safetensors`` with the weights and, in its header, everything else as JSON.

The header says how graphs are read, how the networks are made, what their outputs mean, how they were
trained, on what (a fingerprint) and how well they did. A model is made from it by this package's own
code; nothing in the file is run. Members of an ensemble have the prefixes ``member0.``, ``member1.``, ..
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ccn import sealed
from ccn.errors import CCNError, FileError
from ccn.learning.conformal import Calibration
from ccn.learning.inputs import Inputs
from ccn.learning.model import Model
from ccn.learning.task import Task
from ccn.models import CCN
from ccn.training.recipe import from_dict, plain, to_dict, unplain
from ccn.version import __version__

__all__ = ["describe", "load", "model_path", "save"]

FORM, VERSION = "ccn model", 1


def save(model: Model, path: str | Path) -> Path:
    """Write a model as one file; an error says which setting is code and cannot be written."""
    if not model.members:
        from ccn.methods import model as of_method

        return of_method.save(model, Path(path))
    data = {
        "ccn": __version__,
        "network": plain(dict(model.options)),
        "inputs": model.inputs.to_dict(),
        "task": plain(model.task.to_dict()),
        "recipe": to_dict(model.recipe),
        "members": len(model.members),
        "calibration": None if model.calibration is None else asdict(model.calibration),
        "about": _json(model.about),
    }
    tensors = {f"member{i}.{k}": v for i, net in enumerate(model.members) for k, v in net.state_dict().items()}
    sealed.write(Path(path), FORM, VERSION, tensors, data)
    return Path(path)


def load(path: str | Path) -> Model:
    """Read a model; a file that was cut, altered or made by a newer version is refused."""
    if _of_method(path):
        from ccn.methods import model as of_method

        return of_method.load(model_path(path))
    _, tensors, data = sealed.read(model_path(path), FORM, VERSION)
    members = []
    try:
        options = unplain(data["network"])
        for i in range(data["members"]):
            prefix = f"member{i}."
            weights = {k.removeprefix(prefix): v for k, v in tensors.items() if k.startswith(prefix)}
            net = CCN(**options).to(weights["embedding.weight"].dtype)
            net.load_state_dict(weights)
            members.append(net.eval())
        scores = data["calibration"]
        return Model(
            tuple(members),
            options,
            Task.from_dict(data["task"]),
            Inputs.from_dict(data["inputs"]),
            from_dict(data["recipe"]),
            None if scores is None else Calibration.from_dict(scores),
            data["about"],
        )
    except (CCNError, KeyError, TypeError, RuntimeError) as error:
        raise FileError(
            f"{path}: written by ccn {data.get('ccn', '?')}, and this is ccn {__version__}, which cannot make its "
            f"network ({error}); install that version to use it"
        ) from None


def describe(path: str | Path) -> dict[str, Any]:
    """What the header of a model file says, without reading its weights."""
    if _of_method(path):
        from ccn.methods import model as of_method

        return of_method.describe(model_path(path))
    return sealed.read_header(model_path(path), FORM, VERSION)[1]


def _of_method(path: str | Path) -> bool:
    """Whether a method of :mod:`ccn.methods` wrote the file; its code is imported only then."""
    return sealed.form_of(model_path(path)) == "ccn baseline"


def model_path(path: str | Path) -> Path:
    """The file of a model, or the one in a run's folder."""
    path = Path(path)
    return path / "model.safetensors" if path.is_dir() else path


def _json(value: Any) -> Any:
    """The same with null for what is not a number, which JSON does not have."""
    if isinstance(value, Mapping):
        return {str(k): _json(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_json(v) for v in value]
    return None if isinstance(value, float) and not math.isfinite(value) else plain(value)
