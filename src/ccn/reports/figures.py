"""The picture of a training run: losses by epoch, and predictions on the test part."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from ccn.learning.task import Floats, Task

__all__ = ["draw_run"]


def draw_run(
    path: Path, history: Sequence[Mapping[str, Any]], task: Task, tested: tuple[Floats, Floats] | None
) -> bool:
    """Draw a run; False if matplotlib is not installed or there is nothing to draw.

    The losses of all members, then for each of up to five targets predictions against measured values, or the
    confusion matrix.
    """
    if find_spec("matplotlib") is None:
        return False
    from matplotlib.figure import Figure  # without pyplot, which would choose a window system

    rows = list(history)
    targets, predictions = tested or (np.zeros((0, 1)), np.zeros((0, 1)))
    names = task.targets[:5] if len(targets) else ()
    count = bool(rows) + len(names)
    if not count:
        return False
    figure: Any = Figure(figsize=(4.2 * count, 3.8), layout="constrained")
    panels = iter(np.atleast_1d(figure.subplots(1, count)))
    if rows:
        _losses(next(panels), rows)
    for i, name in enumerate(names):
        panel = next(panels)
        there = ~np.isnan(targets[:, i])
        y, p = targets[there, i], predictions[there] if task.kind in ("binary", "multiclass") else predictions[there, i]
        if task.kind == "regression":
            _scatter(panel, y, p)
        else:
            guess = p.argmax(axis=1) if p.ndim == 2 else (p > 0.5).astype(int)
            _confusion(panel, y.astype(int), guess, [str(c) for c in task.classes])
        panel.set_title(f"{name}, test part")
    figure.savefig(path, dpi=120)
    return True


def _losses(panel: Any, rows: Sequence[Mapping[str, Any]]) -> None:
    for member in dict.fromkeys(row["member"] for row in rows):
        of_member = [row for row in rows if row["member"] == member]
        epochs = [int(row["epoch"]) for row in of_member]
        for key, colour in (("train_loss", "C0"), ("validation_loss", "C1")):
            if of_member[0].get(key):
                label = key.removesuffix("_loss") if member == rows[0]["member"] else None
                panel.plot(epochs, [float(row[key]) for row in of_member], colour, lw=1, label=label)
    panel.set(xlabel="epoch", ylabel="loss", title="training", yscale="log")
    panel.legend()


def _scatter(panel: Any, y: Floats, p: Floats) -> None:
    both = np.concatenate([y, p])
    ends = [both.min(), both.max()] if len(both) else []
    panel.plot(ends, ends, "0.7", lw=1, zorder=0)
    panel.scatter(y, p, s=8, alpha=0.5, linewidths=0)
    panel.set(xlabel="measured", ylabel="predicted", aspect="equal")


def _confusion(panel: Any, y: Any, guess: Any, classes: list[str]) -> None:
    count = np.zeros((len(classes), len(classes)), dtype=int)
    np.add.at(count, (y, guess), 1)
    panel.imshow(count, cmap="Blues")
    for (i, j), k in np.ndenumerate(count):
        panel.text(j, i, str(k), ha="center", va="center", color="white" if k > count.max() / 2 else "black")
    places = range(len(classes))
    panel.set(xlabel="predicted", ylabel="true", xticks=places, yticks=places, xticklabels=classes, yticklabels=classes)
