"""The report of a training run in Markdown (data, metrics, settings, how to use the model), and its picture."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ccn.files import write_figure
from ccn.learning.metrics import LABELS
from ccn.learning.task import Floats, Task
from ccn.methods.registry import make_method
from ccn.reports.markup import markdown

if TYPE_CHECKING:
    from ccn.datasets import Dataset
    from ccn.learning.model import Model
    from ccn.runs.config import Config

__all__ = [
    "censored_text",
    "crossed_rows",
    "draw_run",
    "figure",
    "leaderboard_rows",
    "metrics_rows",
    "overlap_text",
    "replicates_text",
    "report",
]

_NEW = "new molecules"
_ENDS = {
    "epochs": "all",
    "patience": "stopped early",
    "time limit": "stopped by the time limit",
    "validation loss rose": "stopped, since the validation loss rose",
}


def figure(value: float | None) -> str:
    """A number with four significant digits; a dash where it is undefined."""
    return "-" if value is None or not math.isfinite(value) else f"{value:.4g}"


def metrics_rows(
    found: Mapping[str, Mapping[str, float]], overlap: Mapping[str, Any] | None = None
) -> tuple[list[str], list[list[str]]]:
    """Head and rows of a table of metrics: one row per metric, one column per part.

    With the ``overlap`` of the parts (:meth:`ccn.learning.model.Model.overlap`), a part that has any gets a second
    column, without it.
    """
    columns: dict[str, Mapping[str, float]] = {}
    for part, values in found.items():
        if part != "calibration":  # used for the intervals only
            columns[part] = values
            without = ((overlap or {}).get(part) or {}).get("without")
            if without:
                columns[f"{part}, {_NEW}" if part else _NEW] = without["metrics"]
    if len(columns) > 1 and "" in columns:
        columns = {part or "all rows": values for part, values in columns.items()}
    names = list(next(iter(columns.values()), {}))
    return ["", *columns], [[LABELS.get(n, n), *(figure(c.get(n)) for c in columns.values())] for n in names]


def leaderboard_rows(board: Sequence[Mapping[str, Any]]) -> tuple[list[str], list[list[str]]]:
    """Head and rows of a table of the members of a stack: their metrics, weights and processor time."""
    names = list(board[0]["metrics"])
    rows = []
    for row in board:
        weight, seconds = ("" if row.get(key) is None else figure(row[key]) for key in ("weight", "seconds"))
        rows.append([row["method"], *(figure(row["metrics"][n]) for n in names), weight, seconds])
    return ["", *(LABELS.get(n, n) for n in names), "weight", "seconds"], rows


def overlap_text(found: Mapping[str, Any] | None, rows: int, where: str = "") -> str:
    """One sentence on the rows whose molecules the model was made with; ``where`` says of which part they are."""
    if found is None:
        return "Whether the model was trained on any of these rows is unknown: its file has no hashes of molecules."
    there = {part: found[part] for part in ("train", "validation") if found.get(part)}
    more = "" if found["exact"] else " There may be more: another version of RDKit wrote the SMILES of training."
    if not there:
        return f"No molecule of the {rows:,} {where}rows was used in training.{more}"
    counts, kept = ", ".join(f"{part} {count:,}" for part, count in there.items()), found["without"]["rows"]
    interval = (found["without"]["interval"] if kept else None) or {}
    covered = (
        f"; intervals covered {100 * interval['coverage']:.1f} % of their targets" if "coverage" in interval else ""
    )
    return (
        f"{sum(there.values()):,} of the {rows:,} {where}rows are molecules that were used in training ({counts}); the "
        f"column {_NEW!r} has the metrics of the {kept:,} others{covered}.{more}"
    )


def crossed_rows(found: Mapping[str, Any]) -> tuple[list[str], list[list[str]]]:
    """Head and rows of a table of the metrics of cross-validation."""
    names = {
        "mean": f"mean of {found['folds']} folds",
        "deviation": "standard deviation",
        "pooled": "all rows together",
    }
    return metrics_rows({title: found[key] for key, title in names.items()})


def censored_text(found: Mapping[str, Any]) -> str:
    """One sentence on the values that are known by a bound alone."""
    values = ", ".join(f"{name} {count:,}" for name, count in found["values"].items() if count)
    return (
        f"Censored values: {values}. Of {found['rows']:,} rows with no others, {found['trained_on']:,} are used as "
        f"bounds in training and {found['left_out']:,} are left out; metrics and intervals are of exact values."
    )


def replicates_text(found: Mapping[str, Any]) -> str:
    """One or two sentences on the measurements that were joined and on their spread."""
    if not found["rows"]:
        return "Replicates: no molecule has several rows."
    said = (
        f"Replicates: {found['rows']:,} rows joined into {found['molecules']:,} molecules ({found['how']}); "
        f"{found['disagreeing']:,} of these disagree strongly (replicates.csv)."
    )
    spread = ", ".join(f"{name} {figure(s)}" for name, s in found["median_spread"].items() if s is not None)
    return f"{said} Differences below the median spread cannot be resolved: {spread}." if spread else said


def report(
    folder: Path, model: Model, data: Dataset, found: Mapping[str, Any], config: Config, drawn: bool = False
) -> str:
    """The report; ``drawn`` says whether there is a picture, report.png."""
    sizes = ", ".join(f"{name} {count:,}" for name, count in found["graphs"].items() if count)
    units = dict(zip(data.target_names, data.units or [""] * len(data.target_names), strict=True))
    targets = ", ".join(f"{name} ({unit})" if unit else name for name, unit in units.items())
    crossed, tested = found.get("cross_validation"), "the test part was used once, for the metrics below"
    if crossed:
        tested = (
            f"there is no test part: in each of {crossed['folds']} folds, a model that was fitted on the other rows "
            "predicted those of the fold (predictions.csv), and the model of this run was then fitted on all rows"
        )
        if before := crossed.get("seen_before"):
            tested += (
                f". {before:,} of the rows are molecules that the model it started from has seen: their predictions "
                "are better than those of new ones"
            )
    shown = metrics_rows(found["metrics"], found["overlap"])
    parts = [
        f"# {targets} from {data.name}",
        f"Task: {found['task']}. Data: {data}.",
        f"Rows: {sizes}. {_chosen_on(model)}; {tested}.",
        "## Metrics",
        *([markdown(*crossed_rows(crossed))] if crossed else []),
        *([markdown(*shown)] if shown[1] else []),
    ]
    if board := model.about.get("leaderboard"):
        parts += ["Members, on rows that they were not fitted on:", markdown(*leaderboard_rows(board))]
    parts += [f"Warning: {line}." for line in found["warnings"]]
    if found["overlap"] is None:
        parts.append("Rows of one structure in two parts are not recognised: the graphs are not molecules.")
    if found.get("censored"):
        parts.append(censored_text(found["censored"]))
    if found.get("replicates"):
        parts.append(replicates_text(found["replicates"]))
    if found["shared_molecules"]:
        parts.append(f"Molecules in more than one part of the split: {found['shared_molecules']:,}.")
    for part, same in (found["overlap"] or {}).items():
        if "without" in same:
            parts.append(overlap_text(same, found["graphs"][part], f"{part} "))
    if drawn:
        parts.append("![losses, and predictions on the test part](report.png)")
    interval = found.get("interval") or {}
    if "reason" in interval:
        parts.append(f"No intervals: {interval['reason']}.")
    elif interval:
        width = ", ".join(f"{name} {figure(w)}" for name, w in interval["mean_width"].items())
        parts.append(
            f"{100 * interval['level']:.0f} % intervals covered {100 * interval['coverage']:.1f} % of the targets of "
            f"{interval['rows']} test rows; mean width: {width}."
        )
    predict = f"ccn predict {folder.name} new.csv -o predictions.csv" + " --interval 0.9" * ("coverage" in interval)
    parts += [
        "## Training",
        f"{_made(model, found, config)}{_scaled(model.task)}; seed {config.seed}; {found['seconds']:.0f} s.",
        "All settings: config.toml. To repeat the run: `ccn train --config config.toml --output another`.",
        "## Usage",
        f"```\n{predict}\nccn evaluate {folder.name} other.csv\nccn info {folder.name}\n```",
    ]
    return "\n\n".join(parts) + "\n"


def _chosen_on(model: Model) -> str:
    """Which rows the choices were made on."""
    if not model.about.get("leaderboard"):
        return "Choices were made on the validation part"
    return (
        "Members were chosen and weighed by folds of all rows but those of the test part, each predicted by models "
        "that were not fitted on it; the column 'validation' has these predictions"
    )


def _made(model: Model, found: Mapping[str, Any], config: Config) -> str:
    """The method, what it chose, and how the training of its networks ended."""
    chosen = {", ".join(f"{k} {v}" for k, v in one.items()) for one in model.about["chosen"] if one}
    begun = model.about.get("from")
    said = f"Method {config.method}" + (f", from the model {begun['sha256'][:16]}" if begun else "")
    said += "".join(f"; chosen by validation: {c}" for c in sorted(chosen))
    if not found["members"]:
        return said
    n, members = config.recipe.network, len(found["members"])
    network = ""
    if "network" in make_method(config.method, classification=False).recipe_fields():
        network = f": order {n.order}, {n.levels} levels, {n.channels} channels"
    ended = ", ".join(
        f"{m['epochs']} epochs ({_ENDS[m['ended']]}), epoch {m['best_epoch']} kept" for m in found["members"]
    )
    return f"{said}; recipe {config.recipe.name}{network}; {members} member{'s' * (members > 1)}, {ended}"


def _scaled(task: Task) -> str:
    """The scale on which targets were fitted, if it is not linear."""
    shapes = () if task.scale is None or not task.scale.bends else task.scale.shapes
    said = ", ".join(f"{name} {shape}" for name, shape in zip(task.targets, shapes, strict=False))
    return f"; fitted on the scale: {said}" * bool(said)


def draw_run(
    path: Path, history: Sequence[Mapping[str, Any]], task: Task, tested: tuple[Floats, Floats] | None
) -> bool:
    """Draw the losses of all members, and for up to five targets predictions against measured values or the confusion
    matrix; False if matplotlib is not installed or there is nothing to draw.
    """
    if find_spec("matplotlib") is None:
        return False
    from matplotlib.figure import Figure  # without pyplot, which would choose a window system

    targets, predictions = tested or (np.zeros((0, 1)), np.zeros((0, 1)))
    names = task.targets[:5] if len(targets) else ()
    count = bool(history) + len(names)
    if not count:
        return False
    figure: Any = Figure(figsize=(4.2 * count, 3.8), layout="constrained")
    panels = iter(np.atleast_1d(figure.subplots(1, count)))
    if history:
        _losses(next(panels), history)
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
    write_figure(path, figure, dpi=120)
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
    panel.xaxis.get_major_locator().set_params(integer=True)
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
