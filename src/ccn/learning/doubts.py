"""What is doubtful about a model that was just fitted: predictions that diverged or do not depend on the input."""

from __future__ import annotations

import numpy as np

from ccn.errors import TrainingError
from ccn.features.scaling import heavy_tailed
from ccn.learning.metrics import each_target
from ccn.learning.task import Floats, Task

__all__ = ["check_finite", "doubts", "tails"]

_LEAST = 10  # rows below which R2 and the predicted classes say too little
_FEW = 5  # rows of which all may have one prediction by chance
_CONSTANT = 1e-6  # of the deviation of the targets
_WORST = -1.0  # R2
_REMEDY = "try fewer --epochs, a smaller --learning-rate, --target-scale auto or more data"


def check_finite(predictions: Floats, part: str) -> None:
    """An error unless all predictions for the rows of a part are finite."""
    rows = int((~np.isfinite(predictions).all(axis=1)).sum())
    if rows:
        raise TrainingError(
            f"the predictions for {rows} of {len(predictions)} {part} rows are not finite: the fit diverged; "
            f"{_REMEDY}, and look for extreme values among features and targets"
        )


def doubts(task: Task, targets: Floats, predictions: Floats, part: str) -> list[str]:
    """Warnings about the predictions for some rows, each with a remedy.

    A number is doubtful if it is the same for all rows although the targets differ, or far worse than their mean
    (R2 below -1); a class, if it is the only one predicted although there are others.

    Args:
        targets: (rows, targets) as in the data.
        predictions: what :meth:`Task.decode` gives.
        part: the name of the rows.
    """
    found = []
    for name, (_, y, p) in zip(task.targets, each_target(task, targets, predictions), strict=True):
        if len(np.unique(y)) < 2:
            continue
        where = f"{name}: on {len(y)} {part} rows"
        if task.kind == "regression":
            squares = float(((y - y.mean()) ** 2).sum())
            r2 = 1 - float(((y - p) ** 2).sum()) / squares if squares else 0.0
            if np.ptp(p) < _CONSTANT * y.std() and len(y) >= _FEW:
                found.append(f"{where} all predictions are {p.mean():.4g}, so that nothing was learned; {_REMEDY}")
            elif r2 < _WORST and len(y) >= _LEAST:
                found.append(f"{where} R2 is {r2:.3g}, far worse than predicting their mean; {_REMEDY}")
            continue
        guess = p.argmax(axis=1)
        if len(y) >= _LEAST and (guess == guess[0]).all():
            remedy = "try a smaller --learning-rate" if task.class_weights else "try --class-weight balanced"
            found.append(f"{where} only the class {task.classes[guess[0]]} is predicted; {remedy}, or more data")
    return found


def tails(task: Task, targets: Floats) -> list[str]:
    """A hint for each target of the training rows whose tail is heavy and that is fitted on a linear scale."""
    if task.scale is None:
        return []
    return [
        f"{name}: it has a heavy tail (most values lie close together, a few far out); if rare values should not rule "
        "the fit, use --target-scale auto"
        for name, y, shape in zip(task.targets, targets.T, task.scale.shapes, strict=True)
        if shape == "linear" and heavy_tailed(y[~np.isnan(y)])
    ]
